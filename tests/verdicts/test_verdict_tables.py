"""Pairs of queries on one small database per engine, and the verdict that each must get.

The tables are beside this file: a line a case, with the outcome, all flags, where it matters a
near miss, and why. They vary the kinds of the verdict corpus. Each table is judged in one run.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assay import Case, Evidence, evaluate
from many_cases import each

HERE = Path(__file__).parent
OUTCOMES = {"match": "correct", "mismatch": "incorrect", "unscored": "unscored"}


def _table(engine: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / f"{engine}.jsonl").read_text("utf-8").splitlines()]


TABLES = {engine: _table(engine) for engine in ("sqlite", "duckdb")}


def _make_sqlite(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.commit()
    connection.close()


def _make_duckdb(path: Path, script: str) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(script)


MAKERS: dict[str, Callable[[Path, str], None]] = {"sqlite": _make_sqlite, "duckdb": _make_duckdb}


def _golds(row: dict[str, Any]) -> tuple[str, ...]:
    return (row["gold"],) if isinstance(row["gold"], str) else tuple(row["gold"])


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Evidence]:
    found: dict[tuple[str, str], Evidence] = {}
    for engine, rows in TABLES.items():
        path = tmp_path_factory.mktemp("verdicts") / f"shop.{engine}"
        MAKERS[engine](path, (HERE / f"{engine}.sql").read_text("utf-8"))
        before = path.read_bytes()
        run = evaluate(
            [Case(id=row["id"], question="", golds=_golds(row)) for row in rows],
            {row["id"]: row["pred"] for row in rows},
            databases=f"{engine}:///{path.as_posix()}",
            metrics=["match"],
            workers=1,
        )
        assert path.read_bytes() == before
        found |= {(engine, evidence.case.id): evidence for evidence in run.evidence}
    return found


@pytest.mark.journey
@each(
    ("engine", "row"),
    [pytest.param(engine, row, id=f"{engine} {row['id']}") for engine, rows in TABLES.items() for row in rows],
)
def test_every_case_of_the_tables_gets_its_verdict(
    judged: dict[tuple[str, str], Evidence], engine: str, row: dict[str, Any]
) -> None:
    evidence = judged[engine, row["id"]]
    near = [miss.kind for miss in evidence.comparison.near_misses] if evidence.comparison else []
    assert evidence.verdict.outcome == OUTCOMES[row["expect"]], evidence.verdict.reason
    assert sorted(evidence.verdict.flags) == row["flags"]
    assert evidence.verdict.reason
    if "near" in row:
        assert row["near"] in near


def test_a_text_of_nothing_but_comments_and_a_word_is_read_at_once() -> None:
    from assay.scoring.queries.verdicts import _BEGINS_LIKE_SQL

    assert _BEGINS_LIKE_SQL.match("/**/" * 5_000 + "hello") is None
    assert _BEGINS_LIKE_SQL.match("/**/(-- select\n" * 100 + "Select 1") is not None
