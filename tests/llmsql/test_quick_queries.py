"""The engine's short way, in one read transaction, gives what its long way gives."""

from __future__ import annotations

import pytest
from small_benchmark import TABLE, Benchmark

from assay.engines.sqlite.engine import SqliteEngine
from assay.model import DatabaseUrl, Execution, Limits

COUNT = "(WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM n LIMIT {}) SELECT x FROM n)"


@pytest.mark.parametrize(
    "query",
    [
        f'SELECT * FROM "{TABLE}"',
        "SELECT 1 WHERE 0",
        *(f"SELECT * FROM {COUNT.format(number)}" for number in (63, 64, 65, 100, 101, 9000)),
        "",
        "-- nothing",
        "SELECT 1;",
        "SELECT 1; SELECT 2",
        "SELECT nothing",
        "SELECT CAST(x'ff' AS TEXT)",
        "SELECT * FROM json_each('[1, 2]')",
        f'DELETE FROM "{TABLE}"',
        "COMMIT",
        "ATTACH 'x' AS y",
        "SELECT load_extension('x')",
        "SELECT '\ud800'",
        "SELECT * FROM (WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM n) SELECT max(x) FROM n)",
    ],
)
def test_the_short_way_gives_what_the_long_way_gives(benchmark: Benchmark, query: str) -> None:
    url = DatabaseUrl.parse(f"sqlite:///{benchmark.database}")
    limits = Limits(timeout_s=0.2, max_rows=100)
    long = SqliteEngine.open(url, limits)
    short = SqliteEngine.open(url, limits)
    short.hold()
    try:
        expected = long.execute(query)
        for _ in range(2):  # a query that is refused or stopped leaves nothing behind
            found = short.execute_quick(query)
            if isinstance(found, Execution):
                assert (found.status, found.result, found.failure) == (
                    expected.status,
                    expected.result,
                    expected.failure,
                )
            else:
                assert expected.succeeded
                assert expected.result is not None
                assert tuple(found) == expected.result.rows
    finally:
        long.close()
        short.close()
