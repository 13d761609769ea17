"""BigQuery: Google's own client, and the engine's SQL, on an emulator. It is DuckDB inside: values prove little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import assay
from assay.engines.bigquery.engine import BigqueryEngine
from assay.model import DatabaseUrl, Limits
from assay.registry import engine_class
from assay.testing.conformance import CHECKS, Adapter, Check, Gap, conform, prepare
from assay.testing.servers import ServerUnavailable, running

pytest.importorskip("google.cloud.bigquery", reason="needs the extra bigquery")

TYPES: Any = {
    "integer": "INT64",
    "text": "STRING",
    "decimal": "NUMERIC",
    "real": "FLOAT64",
    "boolean": "BOOL",
    "date": "DATE",
    "timestamp": "DATETIME",
    "binary": "BYTES",
}
GAPS: dict[str, Gap] = {
    "texts_are_exact": Gap(whose="never", why="BigQuery writes a quote in a text as \\', not ''", shows="its 100%"),
    "decimals_are_exact": Gap(
        whose="upstream", why="the emulator rounds a NUMERIC to three digits", shows="found [Decimal('12345678901.235')"
    ),
    "columns_keep_their_names": Gap(
        whose="upstream", why="the emulator renames the second column of a name; BigQuery refuses it", shows="'a_1'"
    ),
    "content_has_a_fingerprint": Gap(
        whose="ours", why="the URL stands for a warehouse's content", shows="its fingerprint has not"
    ),
}
_NOT_TRIED = {"what_takes_too_long_is_ended", "monstrous_texts_are_survived", "rows_are_capped", "bytes_are_capped"}
"""Checks with queries that the emulator neither limits nor cancels, and that block all others: see the fake's tests."""
_NOT_TRIED |= {"no_query_reads_files"}
"""Its queries call functions of the emulator's DuckDB, which BigQuery does not have."""


@pytest.fixture(scope="module")
def url() -> Iterator[DatabaseUrl]:
    try:
        with running("bigquery") as server:
            yield DatabaseUrl.parse(server.url)
    except ServerUnavailable as error:
        pytest.skip(str(error))


def write(url: DatabaseUrl, statement: str) -> None:
    from google.cloud.bigquery import QueryJobConfig

    engine = BigqueryEngine.open(url, Limits())
    engine._connect().query(statement, QueryJobConfig(default_dataset="test.test")).result()
    engine.close()


@pytest.fixture(scope="module")
def adapter(url: DatabaseUrl) -> Adapter:
    found = Adapter(
        engine=engine_class(url),
        url=url,
        absent=DatabaseUrl.parse(str(url).replace("test/test", "test/absent")),
        write=lambda statement: write(url, statement),
        types=TYPES,
        binary_literal=lambda value: f"FROM_HEX('{value.hex()}')",
        gaps=GAPS,
    )
    prepare(found)
    return found


@pytest.mark.parametrize("check", [check for check in CHECKS if check.name not in _NOT_TRIED], ids=str)
def test_the_engine_holds(adapter: Adapter, check: Check[Adapter]) -> None:
    gap = conform(adapter, check)
    if gap is not None and gap.whose != "never":
        pytest.xfail(f"{gap.whose}: {gap.why}")


TABLES = (
    (
        "CREATE TABLE orders (id INT64, customer STRUCT<name STRING, city STRING>, "
        "items ARRAY<STRUCT<sku STRING, n INT64>>, "
        "at TIMESTAMP, doc JSON)"
    ),
    (
        "INSERT INTO orders VALUES "
        "(1, STRUCT('Ada', 'Bern'), [STRUCT('a', 2), STRUCT('b', 1)], TIMESTAMP '2024-03-31 00:30:00+00', "
        'JSON \'{"paid": true, "sum": 12.5, "tags": ["x", "y"]}\'), '
        "(2, STRUCT('Ben', 'Rome'), [STRUCT('a', 5)], TIMESTAMP '2024-03-31 23:30:00+00', "
        'JSON \'{"paid": false, "sum": 3}\'), '
        "(3, STRUCT('Ada', 'Bern'), [], TIMESTAMP '2024-07-01 12:00:00+00', JSON '{\"paid\": true, \"sum\": 7.25}')"
    ),
    "CREATE TABLE sales (region STRING, quarter STRING, amount INT64)",
    "INSERT INTO sales VALUES ('N', 'Q1', 10), ('N', 'Q2', 20), ('S', 'Q1', 5), ('S', 'Q2', NULL), ('S', 'Q1', 7)",
)
RIGHT = (
    ("SELECT customer.name FROM orders", "SELECT o.customer.name FROM orders AS o"),
    ("SELECT COUNT(DISTINCT customer.city) AS n FROM orders", "SELECT 2 AS n"),
    (
        "SELECT i.sku, SUM(i.n) AS n FROM orders, UNNEST(items) AS i GROUP BY i.sku",
        "SELECT 'a', 7 UNION ALL SELECT 'b', 1",
    ),
    ("SELECT id FROM orders WHERE ARRAY_LENGTH(items) = 0", "SELECT 3"),
    ("SELECT id, ARRAY_LENGTH(items) AS n FROM orders", "SELECT 1, 2 UNION ALL SELECT 2, 1 UNION ALL SELECT 3, 0"),
    (
        "SELECT o.id, i.sku FROM orders AS o LEFT JOIN UNNEST(o.items) AS i",
        "SELECT 1, 'a' UNION ALL SELECT 1, 'b' UNION ALL SELECT 2, 'a' UNION ALL SELECT 3, NULL",
    ),
    ("SELECT items[OFFSET(0)].sku AS s FROM orders WHERE id = 1", "SELECT 'a'"),
    ("SELECT items[SAFE_OFFSET(1)].sku AS s FROM orders WHERE id = 2", "SELECT CAST(NULL AS STRING)"),
    ("SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM UNNEST(items) AS i WHERE i.n > 3)", "SELECT 2"),
    ("SELECT ARRAY_AGG(id ORDER BY id DESC) AS ids FROM orders", "SELECT [3, 2, 1]"),
    ("SELECT STRING_AGG(customer.name, '/' ORDER BY id) AS s FROM orders", "SELECT 'Ada/Ben/Ada'"),
    ("SELECT x FROM UNNEST(GENERATE_ARRAY(1, 5, 2)) AS x", "SELECT x FROM UNNEST([1, 3, 5]) AS x"),
    ("SELECT x, pos FROM UNNEST(['p', 'q']) AS x WITH OFFSET AS pos", "SELECT 'p', 0 UNION ALL SELECT 'q', 1"),
    (
        "SELECT d FROM UNNEST(GENERATE_DATE_ARRAY('2024-02-28', '2024-03-01')) AS d",
        "SELECT DATE '2024-02-28' UNION ALL SELECT DATE '2024-02-29' UNION ALL SELECT DATE '2024-03-01'",
    ),
    ("SELECT JSON_VALUE(doc, '$.sum') AS s FROM orders WHERE id = 2", "SELECT '3'"),
    ("SELECT id FROM orders WHERE JSON_VALUE(doc, '$.paid') = 'true'", "SELECT 1 UNION ALL SELECT 3"),
    ("SELECT SUM(CAST(JSON_VALUE(doc, '$.sum') AS NUMERIC)) AS s FROM orders", "SELECT NUMERIC '22.75'"),
    ("SELECT JSON_VALUE(doc, '$.tags[1]') AS t FROM orders WHERE id = 1", "SELECT 'y'"),
    ("SELECT DATE(at) AS d FROM orders WHERE id = 2", "SELECT DATE '2024-03-31'"),
    ("SELECT EXTRACT(YEAR FROM at) AS y, COUNT(*) AS n FROM orders GROUP BY y", "SELECT 2024, 3"),
    ("SELECT TIMESTAMP_TRUNC(at, MONTH) AS m FROM orders WHERE id = 3", "SELECT TIMESTAMP '2024-07-01 00:00:00+00'"),
    ("SELECT TIMESTAMP_DIFF(MAX(at), MIN(at), DAY) AS n FROM orders", "SELECT 92"),
    ("SELECT FORMAT_DATE('%Y-%m', DATE '2024-02-29') AS m", "SELECT '2024-02'"),
    ("SELECT DATE_ADD(DATE '2024-01-31', INTERVAL 1 MONTH) AS d", "SELECT DATE '2024-02-29'"),
    ("SELECT DATE_DIFF(DATE '2024-03-01', DATE '2024-02-28', DAY) AS n", "SELECT 2"),
    ("SELECT id FROM orders WHERE at >= TIMESTAMP '2024-04-01 00:00:00+02'", "SELECT 2 UNION ALL SELECT 3"),
    ("SELECT PARSE_DATE('%d.%m.%Y', '29.02.2024') AS d", "SELECT DATE '2024-02-29'"),
    (
        (
            "SELECT region, amount FROM sales WHERE amount > 0 "
            "QUALIFY 1 = RANK() OVER (PARTITION BY region ORDER BY -amount)"
        ),
        "SELECT 'N', 20 UNION ALL SELECT 'S', 7",
    ),
    (
        "SELECT * FROM (SELECT region, quarter, amount FROM sales) PIVOT (SUM(amount) FOR quarter IN ('Q1', 'Q2'))",
        "SELECT 'N', 10, 20 UNION ALL SELECT 'S', 12, NULL",
    ),
    ("SELECT * EXCEPT (quarter) FROM sales WHERE region = 'N'", "SELECT region, amount FROM sales WHERE region = 'N'"),
    (
        "SELECT * REPLACE (amount * 2 AS amount) FROM sales WHERE region = 'N'",
        "SELECT region, quarter, amount + amount FROM sales WHERE region = 'N'",
    ),
    ("SELECT region FROM sales EXCEPT DISTINCT SELECT 'N'", "SELECT 'S'"),
    ("SELECT region FROM sales INTERSECT DISTINCT SELECT 'N'", "SELECT 'N'"),
    (
        "SELECT region, SUM(amount) AS s FROM sales GROUP BY ROLLUP (region)",
        "SELECT 'N', 30 UNION ALL SELECT 'S', 12 UNION ALL SELECT NULL, 42",
    ),
    ("SELECT region, COUNTIF(amount > 6) AS n FROM sales GROUP BY 1", "SELECT 'N', 2 UNION ALL SELECT 'S', 1"),
    ("SELECT SAFE_DIVIDE(1, 0) AS x", "SELECT CAST(NULL AS FLOAT64)"),
    ("SELECT 7 / 2 AS x, DIV(7, 2) AS y", "SELECT 3.5, 3"),
    ("SELECT IFNULL(amount, 0) AS a FROM sales WHERE quarter = 'Q2'", "SELECT 20 UNION ALL SELECT 0"),
    ("SELECT `region` FROM `test.test.sales` AS s WHERE s.quarter = 'Q2'", "SELECT 'N' UNION ALL SELECT 'S'"),
    ("WITH t AS (SELECT region, SUM(amount) AS s FROM sales GROUP BY region) SELECT MAX(s) AS m FROM t", "SELECT 30"),
)
"""Predicted query and gold query, which is written with the result that was derived by hand."""
WRONG = (
    ("SELECT region FROM sales", "SELECT DISTINCT region FROM sales"),
    ("SELECT id FROM orders, UNNEST(items)", "SELECT id FROM orders"),
    ("SELECT 7 / 2 AS x", "SELECT DIV(7, 2)"),
    ("SELECT id FROM orders WHERE at >= TIMESTAMP '2024-04-01'", "SELECT 2 UNION ALL SELECT 3"),
)


def test_queries_of_its_dialect_are_judged(url: DatabaseUrl) -> None:
    for statement in TABLES:
        write(url, statement)
    pairs = {f"right {n}": pair for n, pair in enumerate(RIGHT)} | {f"wrong {n}": pair for n, pair in enumerate(WRONG)}
    cases = [{"id": name, "question": name, "gold": gold} for name, (_, gold) in pairs.items()]
    run = assay.evaluate(cases, {name: query for name, (query, _) in pairs.items()}, databases=str(url), workers=1)
    found = {item.case.id: (item.outcome, item.verdict.reason) for item in run.evidence}
    wanted = {"right": "correct", "wrong": "incorrect"}
    others = {name: (*pairs[name], *told) for name, told in found.items() if told[0] != wanted[name.partition(" ")[0]]}
    assert not others, "\n".join(map(str, others.items()))
