"""Make the tables of ``tables.sql``, and read the queries about them.

They are not TPC-H's own data and queries, so no figure is one of TPC-H's: what matters is how long queries of that kind
take, and how many rows they give. Every value follows from the number of its row, so that all runs measure the same.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

_HERE = Path(__file__).parent
_NUMBERS_EACH = 50
"""Each table has numbers of its own."""


def make_tables(path: str, *, scale: int = 1) -> None:
    """Write the tables into a new DuckDB file: at scale 1 about six million lines of orders."""
    with duckdb.connect(path) as connection:
        connection.execute("SET enable_progress_bar = false")
        for number, statement in enumerate(_statements("tables.sql")):
            connection.execute(_filled(statement, scale, number * _NUMBERS_EACH))
        connection.execute("CHECKPOINT")


def queries() -> list[str]:
    """The 22 queries."""
    return _statements("queries.sql")


def _statements(name: str) -> list[str]:
    lines = (_HERE / name).read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def _filled(statement: str, scale: int, first: int) -> str:
    """The statement with its random numbers, from the number ``first`` on, and its scale."""
    begin, *parts = statement.replace("{scale}", str(scale)).split("{random")
    for part in parts:
        told, _, rest = part.partition("}")
        which, _, below = told.partition(":")
        begin += f"(hash(range * 1000 + {first + int(which or 1)}) % {below})::BIGINT{rest}"
    return begin
