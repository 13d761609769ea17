"""The four engines that these tests ask: SQLite and DuckDB in this process, PostgreSQL and MariaDB on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any

import pytest

ENGINES = ["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgres", "mysql"))]
Run = Callable[[str], "list[tuple[Any, ...]] | None"]
"""Gives the rows of a query; None: the engine refuses it."""


@contextmanager
def connected(request: pytest.FixtureRequest, dialect: str, statements: Iterable[str]) -> Iterator[Any]:
    """A connection to a database of its own, which these statements make: as an owner, on a server."""
    if dialect in ("sqlite", "duckdb"):
        with closing(import_module({"sqlite": "sqlite3"}.get(dialect, dialect)).connect(":memory:")) as connection:
            for statement in statements:
                connection.execute(statement)
            yield connection
    elif dialect == "postgres":
        psycopg, server = pytest.importorskip("psycopg"), request.getfixturevalue("postgres")
        server.create("sql_tests", ";".join(statements))
        try:
            with psycopg.connect(server.database("sql_tests"), autocommit=True) as connection:
                yield connection
        finally:
            server.drop("sql_tests")
    else:
        with closing(request.getfixturevalue("mariadb").connect()) as connection, connection.cursor() as cursor:
            try:
                for statement in ("CREATE DATABASE sql_tests", "USE sql_tests", *statements):
                    cursor.execute(statement)
                yield connection
            finally:
                cursor.execute("DROP DATABASE IF EXISTS sql_tests")


@contextmanager
def running(request: pytest.FixtureRequest, dialect: str, statements: Iterable[str]) -> Iterator[Run]:
    with connected(request, dialect, statements) as connection:
        cursor = connection.cursor()

        def run(query: str) -> list[tuple[Any, ...]] | None:
            try:
                cursor.execute(query)
                return [tuple(row) for row in cursor.fetchall()]
            except Exception:  # noqa: BLE001 - each driver has errors of its own
                return None

        yield run
