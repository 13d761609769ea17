"""What the limits and guards cost: each engine against the same library without them.

    python benchmarks/safety.py QUESTIONS DB_TEMPLATE [--rounds N]

for instance with Spider's development set:

    python benchmarks/safety.py spider-dev/dev.jsonl 'sqlite:///spider-dev/database/{db_id}/{db_id}.sqlite'

Every distinct gold runs through Assay's SQLite engine and through `sqlite3` on a connection of its
own, file opened read-only in both, rows fetched into tuples, in one process. Both are opened before
the clock starts. Query by query the two take turns, and who is first changes from query to query
and from round to round; each round gives a ratio, and their median counts: at most 1.15.

The same for DuckDB, and for PostgreSQL and MariaDB where a server can be found or started (see
tests/servers.py and tests/engines/mariadb_server.py), on tables and queries made here; these have
no bound. Exits with 1 where SQLite's bound is missed.
"""

from __future__ import annotations

import argparse
import gc
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.api.inputs import FileOptions, locator, read_inputs
from assay.engines.duckdb import DuckdbEngine
from assay.engines.sqlite import SqliteEngine
from assay.model import DatabaseUrl, Execution, Limits

BOUND = 1.15
LIMITS = Limits()
_ROOT = Path(__file__).resolve().parents[1]

Fetch = Callable[[str], object]
"""Executes a query and fetches its rows. A bare one raises where the query fails; Assay's says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One database, opened in both ways, and the queries for it."""

    guarded: Callable[[str], Execution]
    bare: Fetch
    queries: Sequence[str]


def round_seconds(pairs: Sequence[Pair], first: int) -> tuple[float, float]:
    """How long all queries take, guarded and bare."""
    clock = time.perf_counter
    seconds = [0.0, 0.0]
    turn = first
    gc.collect()
    for pair in pairs:
        ways: tuple[Fetch, Fetch] = (pair.guarded, pair.bare)
        for query in pair.queries:
            for way in (turn, 1 - turn):
                run = ways[way]
                started = clock()
                rows = run(query)
                seconds[way] += clock() - started
                del rows
            turn = 1 - turn
    return seconds[0], seconds[1]


def measure(name: str, pairs: Sequence[Pair], rounds: int) -> float:
    """Measure in turn, print the medians, and give the ratio."""
    pairs = [_working(pair) for pair in pairs]
    round_seconds(pairs, 0)
    found = [round_seconds(pairs, number % 2) for number in range(rounds)]
    guarded, bare = (statistics.median(column) for column in zip(*found, strict=True))
    ratio = statistics.median(each[0] / each[1] for each in found)
    count = sum(len(pair.queries) for pair in pairs)
    beyond_us = (guarded - bare) / count * 1e6
    print(
        f"{name:10}  {count:5} queries  guarded {guarded:.4f} s  bare {bare:.4f} s  "
        f"{ratio:.3f} times  {beyond_us:+.1f} us a query"
    )
    return ratio


def _working(pair: Pair) -> Pair:
    """The queries that both ways answer, so that both do the same work."""
    kept = []
    for query in pair.queries:
        execution = pair.guarded(query)
        if execution.result is None or execution.status == "truncated":
            print(f"left out: {query[:80]!r}: {execution.failure.message if execution.failure else execution.status}")
            continue
        bare = pair.bare(query)
        if not isinstance(bare, list) or len(bare) != len(execution.result.rows):
            raise SystemExit(f"the two ways do not give the same rows: {query!r}")
        kept.append(query)
    return Pair(guarded=pair.guarded, bare=pair.bare, queries=kept)


def sqlite_pairs(stack: ExitStack, questions: str, template: str) -> list[Pair]:
    """Every distinct gold of a question set, by database."""
    locate, _ = locator(template)
    queries: dict[str, dict[str, None]] = {}
    for case in read_inputs(questions, lambda _: "", FileOptions(), allow_unmatched=False).cases:
        queries.setdefault(locate(case.database).text, {}).update(dict.fromkeys(case.golds))
    pairs = []
    for text, golds in queries.items():
        url = DatabaseUrl(text=text)
        engine = stack.enter_context(closing(SqliteEngine.open(url, LIMITS)))
        uri = f"file:{quote(url.path)}?mode=ro"
        plain = stack.enter_context(closing(sqlite3.connect(uri, uri=True, isolation_level=None)))
        pairs.append(
            Pair(
                guarded=engine.execute,
                bare=lambda query, plain=plain: plain.execute(query).fetchall(),
                queries=[*golds],
            )
        )
    return pairs


TABLES = """
CREATE TABLE customer(id INTEGER PRIMARY KEY, name VARCHAR(40), region VARCHAR(10), since DATE);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer_id INTEGER, product INTEGER, amount DECIMAL(10, 2), day DATE);
"""
REGIONS = ("north", "south", "east", "west")


def table_rows() -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """500 customers and 20,000 sales, the same each time."""
    customers = [(i, f"name {i}", REGIONS[i % 4], f"20{i % 24:02}-0{i % 9 + 1}-11") for i in range(500)]
    sales = [
        (i, i * 7 % 500, i % 37, f"{i * 13 % 9973}.{i % 100:02}", f"2025-{i % 12 + 1:02}-{i % 28 + 1:02}")
        for i in range(20_000)
    ]
    return customers, sales


def inserts() -> Iterator[str]:
    """The rows as statements of 1,000 rows."""
    for table, rows in zip(("customer", "sale"), table_rows(), strict=True):
        for start in range(0, len(rows), 1000):
            yield f"INSERT INTO {table} VALUES {', '.join(map(str, rows[start : start + 1000]))}"


def made_queries() -> list[str]:
    """Look-ups, groups, joins, and some thousand rows."""
    queries = []
    for i in range(20):
        queries += [
            f"SELECT name, since FROM customer WHERE id = {i * 17}",
            f"SELECT count(*), sum(amount) FROM sale WHERE product = {i}",
            f"SELECT region, count(*) FROM customer JOIN sale ON customer.id = customer_id "
            f"WHERE product > {i} GROUP BY region ORDER BY region",
            f"SELECT product, avg(amount), max(day) FROM sale WHERE customer_id > {i * 20} GROUP BY product",
            f"SELECT id, amount, day FROM sale WHERE id < {i * 150 + 10} ORDER BY amount DESC, id",
        ]
    return queries


@contextmanager
def duckdb_pair() -> Iterator[Pair]:
    """A DuckDB file."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "sales.duckdb"
        with duckdb.connect(str(path)) as writer:
            for statement in (*TABLES.strip().splitlines(), *inserts()):
                writer.execute(statement)
        copy = Path(folder) / "plain.duckdb"  # one file cannot be open in one process with two configurations
        copy.write_bytes(path.read_bytes())
        engine = stack.enter_context(closing(DuckdbEngine.open(DatabaseUrl(text=f"duckdb:///{path}"), LIMITS)))
        plain = stack.enter_context(duckdb.connect(str(copy), read_only=True))
        yield Pair(guarded=engine.execute, bare=lambda query: plain.execute(query).fetchall(), queries=made_queries())


@contextmanager
def postgres_pair() -> Iterator[Pair]:
    """A database of a PostgreSQL server, connected to as a role that may only read."""
    import psycopg

    sys.path.insert(0, str(_ROOT / "tests"))
    import servers
    from assay.engines.postgres import PostgresEngine

    with ExitStack() as stack:
        try:
            server = stack.enter_context(servers.postgres_server())
        except servers.NoServer as reason:
            raise ImportError(str(reason)) from reason
        name = "assay_safety"
        url = server.create(name, TABLES + ";".join(inserts()) + "; ANALYZE")
        stack.callback(server.drop, name)
        engine = stack.enter_context(closing(PostgresEngine.open(DatabaseUrl(text=url), LIMITS)))
        plain = stack.enter_context(psycopg.connect(url, autocommit=True))
        yield Pair(guarded=engine.execute, bare=lambda query: plain.execute(query).fetchall(), queries=made_queries())


@contextmanager
def mariadb_pair() -> Iterator[Pair]:
    """A database of a MariaDB server, connected to as a user that may only read."""
    import pymysql

    sys.path.insert(0, str(_ROOT / "tests" / "engines"))
    from mariadb_server import MariadbServer, Unavailable

    from assay.engines.sqlalchemy_mysql import MariadbEngine

    with ExitStack() as stack:
        try:
            server = stack.enter_context(closing(MariadbServer()))
        except Unavailable as reason:
            raise ImportError(str(reason)) from reason
        with closing(server.connect()) as boss, boss.cursor() as cursor:
            cursor.execute("CREATE DATABASE sales")
            cursor.execute("USE sales")
            for statement in (*TABLES.strip().splitlines(), *inserts()):
                cursor.execute(statement)
            cursor.execute("CREATE USER reader IDENTIFIED BY 'reader'")
            cursor.execute("GRANT SELECT ON sales.* TO reader")
        url = f"mariadb+pymysql://reader:reader@{server.host}:{server.port}/sales"
        engine = stack.enter_context(closing(MariadbEngine.open(DatabaseUrl(text=url), LIMITS)))
        plain = stack.enter_context(
            closing(
                pymysql.connect(
                    host=server.host,
                    port=server.port,
                    user="reader",
                    password="reader",
                    database="sales",
                    autocommit=True,
                )
            )
        )

        def fetch(query: str) -> list[Any]:
            with plain.cursor() as cursor:
                cursor.execute(query)
                return list(cursor.fetchall())

        yield Pair(guarded=engine.execute, bare=fetch, queries=made_queries())


def main() -> int:
    """Measure each engine and print its ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions")
    parser.add_argument("db")
    parser.add_argument("--rounds", type=int, default=21)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        ratio = measure("SQLite", sqlite_pairs(stack, arguments.questions, arguments.db), arguments.rounds)
    print(f"{'':10}  bound {BOUND:g}: {'kept' if ratio <= BOUND else 'missed'}")
    for name, make in (("DuckDB", duckdb_pair), ("PostgreSQL", postgres_pair), ("MariaDB", mariadb_pair)):
        try:
            with make() as pair:
                measure(name, [pair], max(3, arguments.rounds // 3))
        except ImportError as reason:
            print(f"{name:10}  not measured: {reason}")
    return int(ratio > BOUND)


if __name__ == "__main__":
    raise SystemExit(main())
