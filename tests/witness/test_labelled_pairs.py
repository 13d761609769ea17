"""Hundreds of pairs of the kinds that mislead, each with its truth: no outcome contradicts it, no witness its DDL."""

from __future__ import annotations

import sqlite3
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from looking import look, schema_of

from assay.model.witness import Refutation

from .random_databases import differences

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.syspath_prepend(str(ROOT))
    read = import_module("benchmarks.pairs").read_pairs
    text = (ROOT / "benchmarks" / "pairs.txt").read_text(encoding="utf-8")
    return [pair for pair in read(text) if pair.engine == "sqlite"]


def honours(ddl: str, outcome: Refutation) -> bool:
    """Whether plain SQLite, with foreign keys on, takes the witness into the tables as they were declared."""
    assert outcome.witness is not None
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.executescript(f"PRAGMA foreign_keys = ON; {ddl}")
        connection.execute("BEGIN")
        connection.execute("PRAGMA defer_foreign_keys = ON")
        for statement in outcome.witness.statements:
            if statement.startswith("INSERT"):
                connection.execute(statement)
        connection.execute("COMMIT")
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return True


def decide(pair: Any, trials: int, *, proves: bool = True) -> str:
    outcome = look(pair.first, pair.second, pair.ddl, trials=trials, proves=proves)
    allowed = {"eq": ("proved", "bounded", "unknown", "tie"), "ne": ("refuted", "unknown", "tie"), "tie": ()}
    assert outcome.kind in (allowed[pair.truth] or ("tie", "unknown", "proved")), (pair.title, outcome.reason)
    assert outcome.witness is None or honours(pair.ddl, outcome), pair.title
    return outcome.kind


def test_a_few_are_decided_as_they_are_labelled(pairs: list[Any]) -> None:
    for pair in [pair for pair in pairs if pair.truth == "ne"][::30]:
        assert decide(pair, 300, proves=False) == "refuted", pair.title


@pytest.mark.parametrize("part", range(8))
def test_all_are_decided_as_they_are_labelled(pairs: list[Any], part: int) -> None:
    """Nearly all that differ are refuted, more than half of those that do not are proved."""
    said = [(pair.truth, decide(pair, 800)) for pair in pairs[part::8]]
    differ = [kind for truth, kind in said if truth == "ne"]
    same = [kind for truth, kind in said if truth == "eq"]
    assert differ.count("refuted") >= 0.9 * len(differ)
    assert same.count("proved") >= 0.4 * len(same)


@pytest.mark.parametrize("part", range(8))
def test_no_random_database_parts_what_is_labelled_the_same(pairs: list[Any], part: int) -> None:
    for pair in [pair for pair in pairs if pair.truth == "eq"][part::8]:
        if "ORDER BY" in pair.first or "CHECK" in pair.ddl:  # these databases know neither
            continue
        schema = schema_of(pair.ddl, "sqlite")
        found = next(differences("sqlite", pair.ddl, pair.first, pair.second, schema, range(25)), None)
        assert found is None, pair.title
