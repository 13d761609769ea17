"""Looking for witnesses and proofs in this process: the queries of these tests are the tests' own."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache

from assay.engines.duckdb import DuckdbEngine
from assay.engines.sqlite import SqliteEngine
from assay.model import DatabaseSchema, Row
from assay.model.witness import Refutation
from assay.ports import ScratchDatabase
from assay.scoring.queries.gold_answers import read_answers
from assay.sql.schema.ddl import read_ddl
from assay.witness import Budget, RealData, RealTable, Refuter
from assay.witness.search import finds_nothing


def _sqlite(schema: DatabaseSchema, *, without_keys: bool = False) -> ScratchDatabase:
    return SqliteEngine.scratch(schema, without_keys=without_keys)


def _duckdb(schema: DatabaseSchema, *, without_keys: bool = False) -> ScratchDatabase:
    return DuckdbEngine.scratch(schema, without_keys=without_keys)


@lru_cache
def _refuter(engine: str) -> Refuter:
    """One for all pairs, as in a worker."""
    return Refuter(_sqlite if engine == "sqlite" else _duckdb, read_answers)


def close() -> None:
    for engine in ("sqlite", "duckdb"):
        _refuter(engine).close()


@lru_cache
def schema_of(ddl: str, dialect: str = "sqlite") -> DatabaseSchema:
    return read_ddl(ddl, dialect).schema


def look(
    first: str,
    second: str,
    ddl: str,
    *,
    rows: str | None = None,
    engine: str = "sqlite",
    trials: int = 1500,
    seed: int = 0,
    proves: bool = False,
) -> Refutation:
    """What the search says, alone unless it ``proves``; ``rows`` are statements that fill the real database."""

    def real(filled: Mapping[str, Sequence[str]]) -> RealData:
        with sqlite3.connect(":memory:") as connection:
            connection.executescript(f"{ddl};{rows}")
            tables = {}
            for table, columns in filled.items():
                names = ", ".join(f'"{name}"' for name in columns) or "1"
                found: list[Row] = connection.execute(f"SELECT {names} FROM {table}").fetchall()
                tables[table.strip('"').lower()] = RealTable(columns=tuple(columns), rows=tuple(found))
            selects = [not finds_nothing(connection.execute(query).fetchall()) for query in (first, second)]
        connection.close()
        return RealData(tables=tables, selects=(selects[0], selects[1]))

    return _refuter(engine).refute(
        first,
        second,
        schema_of(ddl, engine),
        dialect=engine,
        read_real=None if rows is None else real,
        budget=Budget(seconds=20.0, trials=trials),
        seed=seed,
        proves=proves,
    )


def made_by_sqlite(outcome: Refutation, queries: Sequence[str]) -> list[list[Row]]:
    """The results of queries on the witness as plain sqlite3 makes it from the witness's own statements."""
    assert outcome.witness is not None
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        for statement in outcome.witness.statements:
            connection.execute(statement)
        connection.commit()
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return [connection.execute(query).fetchall() for query in queries]
    finally:
        connection.close()
