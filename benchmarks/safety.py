"""What the limits and guards cost: each engine against the same library without them.

    python benchmarks/safety.py QUESTIONS DB_TEMPLATE [--rounds N]

for instance with Spider's development set:

    python benchmarks/safety.py spider-dev/dev.jsonl 'sqlite:///spider-dev/database/{db_id}/{db_id}.sqlite'

Every distinct gold runs through Assay's SQLite engine, rows fetched into tuples, and in the same
process through what is left of it without limits and guards: no authorizer, no look at the clock, no
caps, no settings that hold SQLite. Each round opens the databases anew, before the
clock starts, so that each query is prepared as in a run. Query by query the two take turns, and who
is first changes from query to query and from round to round. Machines are noisy: each query counts
with the best of its rounds. The sums' ratio is at most 1.15. Beside it, for information, the same
against `sqlite3` alone, which does not say what became of a query.

For information too: DuckDB, and PostgreSQL and MariaDB where a server can be found or started (see
tests/servers.py and tests/engines/mariadb_server.py), each against its driver alone, on tables and
queries made here. Exits with 1 where the bound is missed.
"""

from __future__ import annotations

import argparse
import gc
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from assay.api.inputs import FileOptions, read_inputs
from assay.api.workers import locator
from assay.engines.duckdb.engine import DuckdbEngine
from assay.engines.sqlite.engine import SqliteEngine
from assay.model import DatabaseUrl, Execution, Limits, Result

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


def round_seconds(pairs: Sequence[Pair], turn: int) -> list[tuple[float, float]]:
    """How long each query takes, guarded and bare."""
    clock = time.perf_counter
    found = []
    gc.collect()
    for pair in pairs:
        ways: tuple[Fetch, Fetch] = (pair.guarded, pair.bare)
        for query in pair.queries:
            seconds = [0.0, 0.0]
            for way in (turn, 1 - turn):
                run = ways[way]
                started = clock()
                rows = run(query)
                seconds[way] = clock() - started
                del rows
            turn = 1 - turn
            found.append((seconds[0], seconds[1]))
    return found


def measure(name: str, open_pairs: Callable[[ExitStack], Sequence[Pair]], rounds: int) -> float:
    """Measure in turn, print the sums, and give the ratio. Each round opens the databases anew."""
    best: list[tuple[float, float]] = []
    with ExitStack() as stack:
        kept = [_working(pair) for pair in open_pairs(stack)]
    for number in range(rounds):
        with ExitStack() as stack:
            pairs = [replace(pair, queries=queries) for pair, queries in zip(open_pairs(stack), kept, strict=True)]
            found = round_seconds(pairs, number % 2)
        best = [(min(a, c), min(b, d)) for (a, b), (c, d) in zip(best or found, found, strict=True)]
    guarded, bare = (sum(column) for column in zip(*best, strict=True))
    print(
        f"{name:22}  {len(best):5} queries  guarded {guarded:.4f} s  bare {bare:.4f} s  "
        f"{guarded / bare:.3f} times  {(guarded - bare) / len(best) * 1e6:+.1f} us a query",
        flush=True,
    )
    return guarded / bare


def _working(pair: Pair) -> list[str]:
    """The queries that both ways answer, so that both do the same work."""
    kept = []
    for query in pair.queries:
        execution = pair.guarded(query)
        if execution.result is None or execution.status == "truncated":
            print(f"left out: {query[:80]!r}: {execution.failure.message if execution.failure else execution.status}")
            continue
        bare = pair.bare(query)
        rows = bare.result.rows if isinstance(bare, Execution) and bare.result is not None else bare
        if not isinstance(rows, list | tuple) or len(rows) != len(execution.result.rows):
            raise SystemExit(f"the two ways do not give the same rows: {query!r}")
        kept.append(query)
    return kept


def golds_of(questions: str, template: str) -> dict[str, list[str]]:
    """Database URL to the distinct golds of a question set."""
    locate, _ = locator(template)
    queries: dict[str, dict[str, None]] = {}
    for case in read_inputs(questions, lambda _: "", FileOptions(), allow_unmatched=False).cases:
        queries.setdefault(locate(case.database).text, {}).update(dict.fromkeys(case.golds))
    return {text: list(found) for text, found in queries.items()}


def sqlite_pairs(stack: ExitStack, golds: dict[str, list[str]], *, library: bool) -> list[Pair]:
    """Assay's engine, beside itself without limits and guards or beside the library."""
    pairs = []
    for text, queries in golds.items():
        url = DatabaseUrl(text=text)
        engine = stack.enter_context(closing(SqliteEngine.open(url, LIMITS)))
        plain = stack.enter_context(closing(plain_sqlite(url)))
        if library:
            bare: Fetch = lambda query, plain=plain: plain.execute(query).fetchall()  # noqa: E731
        else:
            bare = unlimited(plain)
        pairs.append(Pair(guarded=engine.execute, bare=bare, queries=queries))
    return pairs


def unlimited(connection: sqlite3.Connection) -> Callable[[str], Execution]:
    """What is left of the engine's `execute` where nothing is limited or guarded."""

    def execute(query: str) -> Execution:
        started = time.perf_counter()
        cursor = connection.execute(query)
        rows = tuple(cursor.fetchall())
        columns = tuple([column[0] for column in cursor.description])
        return Execution(
            query=query,
            status="rows" if rows else "empty",
            result=Result(columns=columns, rows=rows),
            wall_time_s=time.perf_counter() - started,
            row_count=len(rows),
            columns=columns,
        )

    return execute


def plain_sqlite(url: DatabaseUrl) -> sqlite3.Connection:
    """A connection whose schema is read, as that of Assay's engine is."""
    connection = sqlite3.connect(f"file:{quote(url.path)}?mode=ro", uri=True, isolation_level=None)
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    return connection


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
            f"SELECT region, count(*) FROM customer JOIN sale ON customer.id = customer_id WHERE product > {i} "  # noqa: ISC004
            "GROUP BY region ORDER BY region",
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
    from assay.engines.postgres.engine import PostgresEngine

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

    from assay.engines.mysql.engine import MariadbEngine

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
    golds = golds_of(arguments.questions, arguments.db)
    ratio = measure("SQLite", lambda stack: sqlite_pairs(stack, golds, library=False), arguments.rounds)
    measure("SQLite, bare sqlite3", lambda stack: sqlite_pairs(stack, golds, library=True), arguments.rounds)
    print(f"{'':22}  bound {BOUND:g}: {'kept' if ratio <= BOUND else 'missed'}")
    for name, make in (("DuckDB", duckdb_pair), ("PostgreSQL", postgres_pair), ("MariaDB", mariadb_pair)):
        try:
            with make() as pair:
                measure(name, lambda _, pair=pair: [pair], max(3, arguments.rounds // 3))
        except ImportError as reason:
            print(f"{name:22}  not measured: {reason}")
    return int(ratio > BOUND)


if __name__ == "__main__":
    raise SystemExit(main())
