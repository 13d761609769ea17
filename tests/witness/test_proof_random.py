"""Whatever is proved of random pairs survives random databases, and what the solver decides for small tables does."""

from __future__ import annotations

import sqlite3

import pytest
from looking import schema_of

from assay.model import Proof, Unproved
from assay.witness.proof import prove

from .proof_pairs import SCHEMA, TRIPLES
from .random_databases import differences, same_bag
from .random_queries import random_pair

SCHEMAS = {dialect: schema_of(SCHEMA, dialect) for dialect in ("sqlite", "duckdb")}


def proved_wrongly(dialect: str, seeds: range, databases: range) -> tuple[int, list[str]]:
    """How many pairs were proved, and which of them some database parts."""
    proved, wrong = 0, []
    for seed in seeds:
        one, other = random_pair(seed)
        if one == other:
            continue
        found = prove(one, other, SCHEMAS[dialect], dialect=dialect, ordered=False)
        if isinstance(found, Proof):
            proved += 1
            wrong += [
                f"{one} | {other} | {text}"
                for text in differences(dialect, SCHEMA, one, other, SCHEMAS["sqlite"], databases)
            ]
    return proved, wrong


@pytest.mark.parametrize(("dialect", "databases"), [("sqlite", 40), ("duckdb", 5)])
def test_no_random_pair_is_proved_wrongly(dialect: str, databases: int) -> None:
    proved, wrong = proved_wrongly(dialect, range(10_000, 10_350), range(databases))
    assert wrong == []
    assert proved > 8


EQUAL = "SELECT team_id FROM player WHERE age IS NOT NULL GROUP BY team_id HAVING COUNT(DISTINCT goals) > 1"
SPLIT = "SELECT team_id FROM player WHERE age IS NOT NULL GROUP BY team_id HAVING MIN(goals) < MAX(goals)"


def test_what_no_rule_decides_is_decided_for_small_tables() -> None:
    pytest.importorskip("z3", reason="the extra prove is not installed")
    assert isinstance(prove(EQUAL, SPLIT, SCHEMAS["sqlite"], dialect="sqlite", ordered=False), Unproved)
    found = prove(EQUAL, SPLIT, SCHEMAS["sqlite"], dialect="sqlite", ordered=False, max_rows=2)
    assert isinstance(found, Proof)
    assert found.up_to_rows == 2
    assert found.strength == "bounded"
    assert "2 rows" in found.text
    assert prove(EQUAL, SPLIT, SCHEMAS["sqlite"], dialect="sqlite", ordered=False, max_rows=2) == found


def test_the_models_of_twins_part_them_when_executed() -> None:
    pytest.importorskip("z3", reason="the extra prove is not installed")
    shown = 0
    for _, one, _, twin in TRIPLES[:15]:
        found = prove(one, twin, SCHEMAS["sqlite"], dialect="sqlite", ordered=False, max_rows=2)
        assert isinstance(found, Unproved) or found.up_to_rows is not None
        if isinstance(found, Unproved) and found.model:
            database = sqlite3.connect(":memory:")
            database.executescript(SCHEMA)
            for name, rows in found.model:
                for row in rows:
                    database.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            shown += not same_bag(database.execute(one).fetchall(), database.execute(twin).fetchall())
            database.close()
    assert shown >= 10
