"""Snowflake's SQL on an emulator (fakesnow, which is DuckDB inside): what it gives says little of the real service's
values, but queries, schema and verdicts go the whole way through the real connector.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from assay.model import DatabaseUrl, Limits

pytest.importorskip("snowflake.connector", reason="the connector is not installed: pip install 'assay[snowflake]'")

from assay.engines.snowflake.engine import SnowflakeEngine
from assay.engines.snowflake.url import connection_arguments

_SETUP = """
CREATE OR REPLACE TABLE sales (id NUMBER(10,0) NOT NULL, region VARCHAR, amount NUMBER(12,2), day DATE);
INSERT INTO sales VALUES (1, 'north', 10.50, '2024-01-01'), (2, 'north', 4.50, '2024-01-02'),
    (3, 'south', 7.25, '2024-01-02'), (4, 'south', NULL, '2024-02-10'), (5, NULL, 1.00, '2024-03-01');
CREATE OR REPLACE TABLE events (id NUMBER(10,0), doc VARIANT, tags ARRAY);
INSERT INTO events SELECT 1, PARSE_JSON('{"user": {"name": "ann", "age": 30}, "n": [1, 2, 3]}'),
    PARSE_JSON('["a", "b"]');
INSERT INTO events SELECT 2, PARSE_JSON('{"user": {"name": "bob"}, "n": []}'), PARSE_JSON('[]');
CREATE OR REPLACE VIEW big_sales AS SELECT id, amount FROM sales WHERE amount > 5
"""


@pytest.fixture(scope="module")
def url(snowflake_emulator: Any) -> DatabaseUrl:
    from snowflake import connector

    found = DatabaseUrl.parse(snowflake_emulator.url.replace("/TEST/", "/SALES/"))
    with connector.connect(**connection_arguments(found)) as connection:
        for statement in _SETUP.split(";"):
            connection.cursor().execute(statement)
    return found


# Of each query its rows, derived by hand.
QUERIES: tuple[tuple[str, list[tuple[object, ...]]], ...] = (
    ("SELECT COUNT(*) FROM sales", [(5,)]),
    ("SELECT id FROM sales WHERE region = 'north' ORDER BY id", [(1,), (2,)]),
    ("SELECT region, COUNT(*) FROM sales GROUP BY region ORDER BY region", [("north", 2), ("south", 2), (None, 1)]),
    ("SELECT MAX(amount) FROM sales", [(Decimal("10.50"),)]),
    ("SELECT id FROM sales WHERE amount IS NULL", [(4,)]),
    ("SELECT DISTINCT region FROM sales WHERE region IS NOT NULL ORDER BY 1", [("north",), ("south",)]),
    ("SELECT region, COUNT(*) AS n FROM sales GROUP BY ALL HAVING n > 1 ORDER BY region", [("north", 2), ("south", 2)]),
    (
        "SELECT id FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY region ORDER BY day DESC, id) = 1 ORDER BY id",
        [(2,), (4,), (5,)],
    ),
    ("SELECT id, RANK() OVER (ORDER BY day) FROM sales WHERE id < 4 ORDER BY id", [(1, 1), (2, 2), (3, 2)]),
    ("SELECT id, LAG(id) OVER (ORDER BY id) FROM sales WHERE id < 3 ORDER BY id", [(1, None), (2, 1)]),
    ("SELECT day FROM sales WHERE id = 1", [(date(2024, 1, 1),)]),
    (
        "SELECT DATE_TRUNC('month', day)::date, COUNT(*) FROM sales GROUP BY 1 ORDER BY 1",
        [(date(2024, 1, 1), 3), (date(2024, 2, 1), 1), (date(2024, 3, 1), 1)],
    ),
    ("SELECT DATEDIFF('day', MIN(day), MAX(day)) FROM sales", [(60,)]),
    ("SELECT DATEADD('day', 1, day)::date FROM sales WHERE id = 1", [(date(2024, 1, 2),)]),
    ("SELECT YEAR(day), MONTH(day) FROM sales WHERE id = 4", [(2024, 2)]),
    ("SELECT MONTHNAME(day) FROM sales WHERE id = 5", [("Mar",)]),
    ("SELECT doc:user.name::string FROM events ORDER BY id", [("ann",), ("bob",)]),
    ("SELECT doc:user.age::int FROM events ORDER BY id", [(30,), (None,)]),
    ("SELECT doc:n[0]::int FROM events WHERE id = 1", [(1,)]),
    ("SELECT doc FROM events WHERE id = 2", [({"user": {"name": "bob"}, "n": []},)]),
    ("SELECT tags FROM events ORDER BY id", [(["a", "b"],), ([],)]),
    ("SELECT id, f.value::int FROM events, LATERAL FLATTEN(input => doc:n) f ORDER BY 2", [(1, 1), (1, 2), (1, 3)]),
    ("SELECT ARRAY_SIZE(tags) FROM events ORDER BY id", [(2,), (0,)]),
    ("SELECT COALESCE(region, '?') FROM sales WHERE id = 5", [("?",)]),
    ("SELECT IFF(amount > 5, 'big', 'small') FROM sales WHERE id IN (1, 2) ORDER BY id", [("big",), ("small",)]),
    ("SELECT NVL(amount, 0) FROM sales WHERE id = 4", [(Decimal("0.00"),)]),
    ("SELECT ZEROIFNULL(amount) FROM sales WHERE id = 4", [(Decimal("0.00"),)]),
    ("SELECT CASE region WHEN 'north' THEN 1 ELSE 0 END FROM sales WHERE id = 3", [(0,)]),
    ("SELECT UPPER(region) || '!' FROM sales WHERE id = 1", [("NORTH!",)]),
    ("SELECT SUBSTR(region, 2, 3) FROM sales WHERE id = 1", [("ort",)]),
    ("SELECT id FROM sales WHERE region ILIKE 'NOR%' ORDER BY id LIMIT 1", [(1,)]),
    ("SELECT LISTAGG(id, ',') WITHIN GROUP (ORDER BY id) FROM sales WHERE region = 'south'", [("3,4",)]),
    ("SELECT s.id FROM sales s JOIN events e ON s.id = e.id ORDER BY 1", [(1,), (2,)]),
    ("SELECT s.id FROM sales s LEFT JOIN events e ON s.id = e.id WHERE e.id IS NULL ORDER BY 1", [(3,), (4,), (5,)]),
    ("SELECT id FROM sales EXCEPT SELECT id FROM events ORDER BY 1", [(3,), (4,), (5,)]),
    ("SELECT id FROM big_sales ORDER BY id", [(1,), (3,)]),
    (
        "WITH n AS (SELECT region, SUM(amount) AS s FROM sales GROUP BY region) SELECT region FROM n WHERE s > 10",
        [("north",)],
    ),
    ("SELECT * EXCLUDE (amount, day) FROM sales WHERE id = 1", [(1, "north")]),
    ("SELECT TRY_CAST('x' AS INT), TRY_CAST('7' AS INT)", [(None, 7)]),
    ("SELECT '2024-05-06 07:08:09'::timestamp_ntz", [(datetime(2024, 5, 6, 7, 8, 9),)]),  # noqa: DTZ001 - it has no zone
    ("SELECT id FROM sales WHERE EXISTS (SELECT 1 FROM events WHERE events.id = sales.id) ORDER BY id", [(1,), (2,)]),
    ("SELECT 1 AS a, 2 AS a", [(1, 2)]),
)


def test_queries_give_what_can_be_derived_by_hand(url: DatabaseUrl) -> None:
    engine = SnowflakeEngine.open(url, Limits())
    wrong = []
    for query, wanted in QUERIES:
        found = engine.execute(query)
        if found.failure is not None or list(found.result.rows if found.result is not None else ()) != wanted:
            wrong.append((query, found.failure or found.result))
    engine.close()
    assert not wrong


def test_the_schema_has_tables_and_types_but_no_unenforced_key(url: DatabaseUrl) -> None:
    engine = SnowflakeEngine.open(url, Limits())
    tables = {table.name: table for table in engine.schema().tables}
    engine.close()
    assert (tables["SALES"].kind, tables["EVENTS"].kind) == ("table", "table")  # the emulator lists no views
    assert [(column.name, column.type) for column in tables["SALES"].columns][:3] == [
        ("ID", "NUMBER(10,0)"),
        ("REGION", "TEXT"),
        ("AMOUNT", "NUMBER(12,2)"),
    ]
    assert tables["SALES"].primary_key == ()
