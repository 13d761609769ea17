"""Pairs of queries that are equal, and their twins that are not: what is proved, and that nothing is proved wrongly."""

from __future__ import annotations

import sqlite3
from functools import cache

import duckdb
import pytest
from looking import schema_of

from assay.model import Proof
from assay.witness.proof import prove
from many_cases import each

from .proof_pairs import SCHEMA, TRIPLES
from .random_databases import differences, filled

SCHEMAS = {dialect: schema_of(SCHEMA, dialect) for dialect in ("sqlite", "duckdb")}
IDS = [f"{kind}-{place}" for place, (kind, *_) in enumerate(TRIPLES)]


@cache
def runs(dialect: str, query: str) -> bool:
    """Whether an engine accepts a query: DuckDB wants every column in GROUP BY, SQLite names no columns of VALUES."""
    connection = filled(dialect, SCHEMA, {})
    try:
        connection.execute(query)
    except (sqlite3.Error, duckdb.Error):
        return False
    finally:
        connection.close()
    return True


def dialects(*queries: str) -> list[str]:
    return [dialect for dialect in SCHEMAS if all(runs(dialect, query) for query in queries)]


@each(("kind", "one", "other", "twin"), TRIPLES, ids=IDS)
def test_an_equal_pair_is_proved_and_its_twin_is_not(kind: str, one: str, other: str, twin: str) -> None:
    assert dialects(one, other)
    for dialect in dialects(one, other):
        schema = SCHEMAS[dialect]
        found = prove(one, other, schema, dialect=dialect, ordered=False)
        assert isinstance(found, Proof), (kind, found)
        for query in (one, other):
            assert not isinstance(prove(query, twin, schema, dialect=dialect, ordered=False), Proof)
            assert not isinstance(prove(twin, query, schema, dialect=dialect, ordered=False), Proof)


@pytest.mark.parametrize(("kind", "one", "other", "twin"), TRIPLES, ids=IDS)
def test_no_database_parts_what_is_called_equal(kind: str, one: str, other: str, twin: str) -> None:
    del kind, twin
    for dialect in dialects(one, other):
        seeds = range(40) if dialect == "sqlite" else range(3)
        assert next(differences(dialect, SCHEMA, one, other, SCHEMAS["sqlite"], seeds), None) is None


def test_most_twins_are_parted_by_some_small_database() -> None:
    parted = [
        next(differences("sqlite", SCHEMA, one, twin, SCHEMAS["sqlite"], range(150)), None) is not None
        for _, one, _, twin in TRIPLES
        if "sqlite" in dialects(one, twin)
    ]
    assert sum(parted) >= 0.95 * len(parted)
