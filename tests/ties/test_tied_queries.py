"""No wrong verdict over random golds with ties: scored on each engine, beside what brute force allows."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tied_queries import Gold, Table, golds, literal, predictions

from assay import Case, Limits, Prediction, registry
from assay.engines.pool.executor import Executor
from assay.model import ComparisonOptions, DatabaseUrl, Evidence
from assay.scoring.queries.scorer import QueryScorer

GOLDS = 60
ANSWERS = 6


@pytest.fixture
def scorer() -> Iterator[QueryScorer]:
    executor = Executor(engines=registry.engine_references(), limits=Limits())
    yield QueryScorer(executor, [], ComparisonOptions(columns="strict", near_misses=False))
    executor.close()


def _score_all(scorer: QueryScorer, url: str, table: Table, engine: str, chance: random.Random) -> int:
    """Judge random answers to random golds; how many of the golds' orders could not be seen."""
    unseen = 0
    for gold in golds(chance, table, engine, GOLDS):
        for rows in predictions(chance, gold, ANSWERS):
            if rows:
                evidence = _one(scorer, url, gold, f"VALUES {', '.join(map(literal, rows))}")
                strict = "strict_order" in evidence.verdict.flags
                unseen += strict
                said = f"{gold.query}\n{rows}\n{evidence.verdict}"
                assert evidence.verdict.outcome != "unscored", said
                if not strict:
                    _holds(gold, rows, evidence, said)
    return unseen


def _holds(gold: Gold, rows: list[Any], evidence: Evidence, said: str) -> None:
    verdict = evidence.verdict
    known = verdict.ambiguity is None or verdict.ambiguity.complete
    if verdict.outcome == "correct" or known:
        assert (verdict.outcome == "correct") == gold.allows(rows), said
    assert ("ambiguous_gold" in verdict.flags) == (verdict.ambiguity is not None) == (gold.choices > 1), said
    if verdict.ambiguity is not None and known:
        assert verdict.ambiguity.choices == gold.choices, said


def _one(scorer: QueryScorer, url: str, gold: Gold, query: str) -> Evidence:
    case = Case(id="1", question="", golds=(gold.query,))
    return scorer.score(case, Prediction(case_id="1", query=query), DatabaseUrl(text=url)).evidence


def _sqlite(path: Path, statements: list[str]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def _duckdb(path: Path, statements: list[str]) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


MAKERS: dict[str, Callable[[Path, list[str]], None]] = {"sqlite": _sqlite, "duckdb": _duckdb}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_every_answer_that_gold_allows_is_right_and_no_other(
    scorer: QueryScorer, tmp_path: Path, engine: str, seed: int
) -> None:
    chance = random.Random(f"{engine} {seed}")
    table = Table.of(chance, 7)
    path = tmp_path / f"t.{engine}"
    MAKERS[engine](path, table.statements())
    assert _score_all(scorer, f"{engine}:///{path.as_posix()}", table, engine, chance) == 0


def test_so_on_postgresql(scorer: QueryScorer, postgres: Any) -> None:
    chance = random.Random("postgres")
    table = Table.of(chance, 7)
    url = postgres.create("assay_ties", ";".join(table.statements()))
    try:
        assert _score_all(scorer, url, table, "postgres", chance) == 0
    finally:
        postgres.drop("assay_ties")


def test_so_on_mariadb(scorer: QueryScorer, mariadb: Any) -> None:
    chance = random.Random("mariadb")
    table = Table.of(chance, 7)
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE ties")
        cursor.execute("USE ties")
        for statement in table.statements():
            cursor.execute(statement)
        cursor.execute("CREATE USER ties IDENTIFIED BY 'ties'")
        cursor.execute("GRANT SELECT ON ties.* TO ties")
    url = f"mysql+pymysql://ties:ties@{mariadb.host}:{mariadb.port}/ties"
    assert _score_all(scorer, url, table, "mariadb", chance) == 0
