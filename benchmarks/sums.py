"""How far apart one sum of floats comes out when its rows are added in another order, or by several threads.

    python benchmarks/sums.py [--rows N] [--engines NAMES]

Adds the same numbers as they came, shuffled and sorted: on SQLite, on DuckDB with one to eight threads, and on a
PostgreSQL of its own without and with parallel workers. Prints the widest relative difference between any two sums, or
averages, of one set of numbers: of rows in no particular order, and with sorted ones among them.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np

from assay.model import ComparisonOptions

Floats = np.ndarray
QUERY = "SELECT sum(x), avg(x) FROM numbers"


def inputs(count: int) -> dict[str, Floats]:
    """Numbers as tables hold them: prices, shares, amounts over many sizes."""
    chance = np.random.default_rng(7)
    return {
        "amounts of 0 to 1,000 with cents": np.round(chance.random(count) * 1000, 2),
        "shares of 0 to 1": chance.random(count),
        "sizes from 1e-6 to 1e9": 10 ** chance.uniform(-6, 9, count),
    }


def orders(values: Floats) -> tuple[list[Floats], list[Floats]]:
    """In no particular order, and sorted either way."""
    chance = np.random.default_rng(11)
    return [values, chance.permutation(values), chance.permutation(values)], [np.sort(values), np.sort(values)[::-1]]


def on_sqlite(values: Floats) -> Iterable[tuple[float, ...]]:
    """One connection, one thread."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE numbers (x REAL)")
        connection.executemany("INSERT INTO numbers VALUES (?)", ((value,) for value in values.tolist()))
        yield connection.execute(QUERY).fetchone()


def on_duckdb(values: Floats) -> Iterable[tuple[float, ...]]:
    """With one, two, four and eight threads, three times each."""
    with duckdb.connect() as connection:
        connection.register("given", {"x": np.ascontiguousarray(values)})
        connection.execute("CREATE TABLE numbers AS SELECT x FROM given")
        for threads in (1, 2, 4, 8):
            connection.execute(f"SET threads = {threads}")
            for _ in range(3):
                found = connection.execute(QUERY).fetchone()
                assert found is not None
                yield found


def on_postgres(url: str) -> Callable[[Floats], Iterable[tuple[float, ...]]]:
    """Without parallel workers and with up to eight, three times each."""
    import psycopg

    def sums(values: Floats) -> Iterable[tuple[float, ...]]:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS numbers")
            connection.execute("CREATE UNLOGGED TABLE numbers (x float8)")
            with connection.cursor().copy("COPY numbers FROM STDIN") as copy:
                for start in range(0, len(values), 100_000):
                    copy.write("".join(f"{value!r}\n" for value in values[start : start + 100_000].tolist()))
            connection.execute("ANALYZE numbers")
            connection.execute("SET parallel_setup_cost = 0")
            connection.execute("SET parallel_tuple_cost = 0")
            connection.execute("SET min_parallel_table_scan_size = 0")
            for workers in (0, 2, 4, 8):
                connection.execute(f"SET max_parallel_workers_per_gather = {workers}")
                for _ in range(3):
                    found = connection.execute(QUERY).fetchone()
                    assert found is not None
                    yield found

    return sums


def spread(found: list[tuple[float, ...]]) -> float:
    """The widest relative difference between two values of one column."""
    return max((max(column) - min(column)) / max(map(abs, column)) for column in zip(*found, strict=True))


def measure(engine: str, sums: Callable[[Floats], Iterable[tuple[float, ...]]], count: int) -> float:
    """Print one line for each set of numbers; the widest difference of rows in no particular order."""
    widest = 0.0
    for name, values in inputs(count).items():
        mixed, in_order = orders(values)
        found = [each for ordered in mixed for each in sums(ordered)]
        with_sorted = [*found, *(each for ordered in in_order for each in sums(ordered))]
        widest = max(widest, spread(found))
        print(
            f"{engine:<11} {count:>11,} {name:<34} {spread(found):.1e}, with sorted ones {spread(with_sorted):.1e}",
            flush=True,
        )
    return widest


def main() -> int:
    """Measure every engine and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--engines", default="sqlite,duckdb,postgresql", help="PostgreSQL is started for this")
    options = parser.parse_args()
    engines = options.engines.split(",")
    widest = [0.0]
    if "sqlite" in engines:
        widest.append(measure("SQLite", on_sqlite, options.rows))
    if "duckdb" in engines:
        widest.append(measure("DuckDB", on_duckdb, options.rows))
    if "postgresql" in engines:
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        import servers

        with servers.postgres_server() as server:
            widest.append(measure("PostgreSQL", on_postgres(server.url), options.rows))
    tolerance = ComparisonOptions().relative_tolerance
    print(f"widest of rows in no particular order {max(widest):.1e}, tolerance {tolerance:.0e}")
    return int(max(widest) > tolerance)


if __name__ == "__main__":
    sys.exit(main())
