"""Small tables of symbols: what the solver decides, and that its models are only believed when executed."""

from __future__ import annotations

import sqlite3

import pytest

pytest.importorskip("z3", reason="the extra prove is not installed")

from assay.model import Proof, Unproved
from assay.witness.proof import prove

from .proof_pairs import SCHEMA, TRIPLES
from .random_databases import same_bag, schema_of

SQLITE = schema_of(SCHEMA)
EQUAL = "SELECT team_id FROM player WHERE age IS NOT NULL GROUP BY team_id HAVING COUNT(DISTINCT goals) > 1"
SPLIT = "SELECT team_id FROM player WHERE age IS NOT NULL GROUP BY team_id HAVING MIN(goals) < MAX(goals)"


def test_what_no_rule_decides_is_decided_for_small_tables() -> None:
    assert isinstance(prove(EQUAL, SPLIT, SQLITE, dialect="sqlite", ordered=False), Unproved)
    found = prove(EQUAL, SPLIT, SQLITE, dialect="sqlite", ordered=False, max_rows=2)
    assert isinstance(found, Proof)
    assert found.up_to_rows == 2
    assert found.strength == "bounded"
    assert "2 rows" in found.text
    assert prove(EQUAL, SPLIT, SQLITE, dialect="sqlite", ordered=False, max_rows=2) == found


def test_the_models_of_twins_part_them_when_executed() -> None:
    shown = 0
    for _, one, _, twin in TRIPLES[:15]:
        found = prove(one, twin, SQLITE, dialect="sqlite", ordered=False, max_rows=2)
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
