"""Small random databases that honour a schema's constraints, for attacking what was proved."""

from __future__ import annotations

import itertools
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence

import duckdb

from assay.model import DatabaseSchema

Rows = list[tuple[object, ...]]


def literals(*queries: str) -> tuple[list[str], list[int]]:
    texts = {text for query in queries for text in re.findall(r"'([^']*)'", query)}
    numbers = {int(text) for query in queries for text in re.findall(r"(?<![\w'.])\d+(?![\w'.])", query)}
    near = sorted({one + step for one in numbers if one < 10**6 for step in (-1, 0, 1)})
    return ["a", "b", *sorted(texts), *sorted(text.lower() for text in texts)], near


def random_tables(schema: DatabaseSchema, queries: Sequence[str], seed: int) -> dict[str, Rows]:
    """Rows for each table: few values, so that they meet; keys unique; references found; NULL where it may be."""
    draw = random.Random(seed)
    texts, numbers = literals(*queries)
    nulls = draw.choice([0.0, 0.15, 0.4])
    made: dict[str, Rows] = {}
    for table in schema.tables:
        names = [column.name for column in table.columns]
        keys = [tuple(names.index(name) for name in key) for key in (table.primary_key, *table.unique) if key]
        parents = {key.columns[0]: (key.table, key.referenced[0]) for key in table.foreign_keys}
        rows: Rows = []
        for _ in range(draw.choice([0, 1, 2, 3, 5, 7])):
            row: list[object] = []
            for column in table.columns:
                optional = not column.not_null and column.name not in table.primary_key
                if column.name in parents and parents[column.name][0] != table.name:
                    parent, at = parents[column.name]
                    place = [c.name for t in schema.tables if t.name == parent for c in t.columns].index(at)
                    pool = [one[place] for one in made[parent]]
                elif column.name in parents:
                    place = names.index(parents[column.name][1])
                    pool = [one[place] for one in rows]
                elif "INT" in column.type.upper():
                    pool = [1, 2, 3, *numbers] if draw.random() < 0.5 else [1, 2, 3]
                else:
                    pool = list(texts)
                absent = optional and (not pool or draw.random() < nulls)
                row.append(None if absent or not pool else draw.choice(pool))
            whole = all(
                value is not None or not (column.not_null or column.name in table.primary_key)
                for value, column in zip(row, table.columns, strict=True)
            )
            clash = any(
                all(row[place] is not None and row[place] == other[place] for place in key)
                for key in keys
                for other in rows
            )
            if whole and not clash:
                rows.append(tuple(row))
        made[table.name] = rows
    return made


def filled(engine: str, ddl: str, tables: dict[str, Rows]) -> sqlite3.Connection | duckdb.DuckDBPyConnection:
    connection: sqlite3.Connection | duckdb.DuckDBPyConnection
    if engine == "sqlite":
        connection = sqlite3.connect(":memory:")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.executescript(ddl)
    else:
        connection = duckdb.connect(":memory:", config={"threads": 1})
        connection.execute(ddl)
    for name, rows in tables.items():
        for row in rows:
            connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    return connection


def same_bag(one: Rows, other: Rows) -> bool:
    """Whether two results are one bag of rows, columns in any one order."""
    if len(one) != len(other) or (one and len(one[0]) != len(other[0])):
        return False
    if not one:
        return True
    wanted = Counter(_plain(row) for row in one)
    return any(
        Counter(_plain([row[place] for place in order]) for row in other) == wanted
        for order in itertools.permutations(range(len(one[0])))
    )


def _plain(row: Sequence[object]) -> tuple[tuple[str, str], ...]:
    # Numbers of another type are one number; the last digits of a mean depend on the order of adding.
    return tuple(
        ("number", f"{float(cell):.9g}") if isinstance(cell, int | float) else ("", repr(cell)) for cell in row
    )


def differences(engine: str, ddl: str, one: str, other: str, schema: DatabaseSchema, seeds: range) -> Iterator[str]:
    for seed in seeds:
        tables = random_tables(schema, (one, other), seed)
        connection = filled(engine, ddl, tables)
        results = [connection.execute(query).fetchall() for query in (one, other)]
        connection.close()
        if not same_bag(*results):
            yield f"seed {seed}: {results[0]} and {results[1]} on {tables}"
