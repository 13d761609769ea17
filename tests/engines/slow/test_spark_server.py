"""The Spark engine on a real Spark, started once: values, reads only, limits, verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Execution, Limits
from assay.model.results.cells import FrozenMap
from assay.model.results.times import Interval, moment_of
from assay.registry import engine_class
from assay.testing.conformance import CHECKS, Adapter, Check, Gap, conform, prepare
from assay.testing.servers import ServerUnavailable, running

# Not imported here: in a process without a main file, such as a worker of pytest, the client ends the process.
if find_spec("pyspark") is None:
    pytest.skip("the client of Spark Connect is not installed: pip install 'assay[spark]'", allow_module_level=True)

from assay.engines.spark.engine import SparkConnectEngine, SparkEngine
from assay.engines.warehouse.held import read
from assay.sql.harmless.known import is_known

_SETUP = """
CREATE SCHEMA shop;
CREATE TABLE shop.sales (id INT NOT NULL, region STRING, amount DECIMAL(12,2), day DATE, sold TIMESTAMP) USING parquet;
INSERT INTO shop.sales VALUES
    (1, 'north', 10.50, DATE'2024-01-01', TIMESTAMP'2024-01-01 23:30:00-05:00'),
    (2, 'north', 4.50, DATE'2024-01-02', TIMESTAMP'2024-01-02 12:00:00Z'),
    (3, 'south', 7.25, DATE'2024-01-02', TIMESTAMP'2024-03-31 00:30:00Z'),
    (4, 'south', NULL, DATE'2024-02-10', NULL),
    (5, NULL, 1.00, DATE'2024-03-01', TIMESTAMP'2024-07-01 00:00:00+02:00');
CREATE TABLE shop.events (id INT, tags ARRAY<STRING>, attributes MAP<STRING, INT>,
    who STRUCT<name: STRING, age: INT>, doc STRING) USING parquet;
INSERT INTO shop.events VALUES
    (1, array('a', 'b'), map('x', 1, 'y', 2), named_struct('name', 'ann', 'age', 30), '{"n": [1, 2, 3], "p": 2.50}'),
    (2, array(), map(), named_struct('name', 'bob', 'age', NULL), '{"n": []}');
CREATE VIEW shop.big_sales AS SELECT id, amount FROM shop.sales WHERE amount > 5
"""


@pytest.fixture(scope="module")
def server() -> Iterator[DatabaseUrl]:
    try:
        with running("spark") as started:
            yield DatabaseUrl.parse(started.url)
    except ServerUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def write(server: DatabaseUrl) -> Iterator[Any]:
    engine = SparkEngine.open(_at(server, "default"), Limits(timeout_s=120.0))
    session = engine._connect()
    session.session.conf.set("spark.sql.storeAssignmentPolicy", "LEGACY")  # texts go into columns of dates
    yield lambda statement: session.session.sql(statement).collect()
    session.close()
    engine.close()


@pytest.fixture(scope="module")
def shop(server: DatabaseUrl, write: Any) -> DatabaseUrl:
    for statement in _SETUP.split(";"):
        write(statement)
    return _at(server, "shop")


@pytest.fixture(scope="module")
def engine(shop: DatabaseUrl) -> Iterator[SparkEngine]:
    opened = SparkEngine.open(shop, Limits(timeout_s=120.0))
    yield opened
    opened.close()


def _at(server: DatabaseUrl, schema: str) -> DatabaseUrl:
    return DatabaseUrl.parse(server.reveal().replace("sc://", "spark://").rstrip("/") + f"/spark_catalog/{schema}")


# Of each query its rows, derived by hand from the tables above.
QUERIES: tuple[tuple[str, list[tuple[object, ...]]], ...] = (
    ("SELECT COUNT(*) FROM sales", [(5,)]),
    ("SELECT id FROM sales WHERE region = 'north' ORDER BY id", [(1,), (2,)]),
    ("SELECT region, COUNT(*) FROM sales GROUP BY region ORDER BY region", [(None, 1), ("north", 2), ("south", 2)]),
    ("SELECT region FROM sales GROUP BY ALL ORDER BY region DESC", [("south",), ("north",), (None,)]),
    ("SELECT MAX(amount) FROM sales", [(Decimal("10.50"),)]),
    ("SELECT SUM(amount) FROM sales", [(Decimal("23.25"),)]),
    ("SELECT id FROM sales WHERE amount IS NULL", [(4,)]),
    ("SELECT region, COUNT(*) AS n FROM sales GROUP BY ALL HAVING n > 1 ORDER BY region", [("north", 2), ("south", 2)]),
    (
        "SELECT id FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY region ORDER BY day DESC, id) = 1 ORDER BY id",
        [(2,), (4,), (5,)],
    ),
    ("SELECT id, RANK() OVER (ORDER BY day) FROM sales WHERE id < 4 ORDER BY id", [(1, 1), (2, 2), (3, 2)]),
    ("SELECT id, LAG(id) OVER (ORDER BY id) FROM sales WHERE id < 3 ORDER BY id", [(1, None), (2, 1)]),
    ("SELECT day FROM sales WHERE id = 1", [(date(2024, 1, 1),)]),
    ("SELECT sold FROM sales WHERE id = 1", [(datetime(2024, 1, 2, 4, 30, tzinfo=UTC),)]),
    ("SELECT CAST(sold AS DATE) FROM sales WHERE id = 1", [(date(2024, 1, 2),)]),
    ("SELECT CAST(sold AS STRING) FROM sales WHERE id = 5", [("2024-06-30 22:00:00",)]),
    (
        "SELECT from_utc_timestamp(sold, 'America/New_York') FROM sales WHERE id = 1",
        [(datetime(2024, 1, 1, 23, 30, tzinfo=UTC),)],
    ),
    ("SELECT hour(convert_timezone('UTC', 'Europe/Vienna', TIMESTAMP_NTZ'2024-03-31 00:30:00'))", [(1,)]),
    ("SELECT hour(convert_timezone('UTC', 'Europe/Vienna', TIMESTAMP_NTZ'2024-03-31 01:30:00'))", [(3,)]),
    ("SELECT day FROM sales WHERE day >= DATE'2024-02-01' ORDER BY day", [(date(2024, 2, 10),), (date(2024, 3, 1),)]),
    (
        "SELECT CAST(date_trunc('MONTH', day) AS DATE), COUNT(*) FROM sales GROUP BY 1 ORDER BY 1",
        [(date(2024, 1, 1), 3), (date(2024, 2, 1), 1), (date(2024, 3, 1), 1)],
    ),
    ("SELECT datediff(MAX(day), MIN(day)) FROM sales", [(60,)]),
    ("SELECT add_months(day, 1) FROM sales WHERE id = 4", [(date(2024, 3, 10),)]),
    ("SELECT MAX(day) - MIN(day) FROM sales", [(timedelta(days=60),)]),
    (
        (
            "SELECT * FROM (SELECT region, month(day) AS m, amount FROM sales WHERE region IS NOT NULL) "
            "PIVOT (SUM(amount) FOR m IN (1, 2)) ORDER BY region"
        ),
        [("north", Decimal("15.00"), None), ("south", Decimal("7.25"), None)],
    ),
    (
        (
            "SELECT id, what, number FROM (SELECT id, CAST(id AS INT) AS a, id * 2 AS b FROM sales WHERE id = 1) "
            "UNPIVOT (number FOR what IN (a, b)) ORDER BY what"
        ),
        [(1, "a", 1), (1, "b", 2)],
    ),
    ("SELECT id, tag FROM events LATERAL VIEW explode(tags) t AS tag ORDER BY tag", [(1, "a"), (1, "b")]),
    ("SELECT id, tag FROM events LATERAL VIEW OUTER explode(tags) t AS tag WHERE id = 2", [(2, None)]),
    ("SELECT posexplode(tags) FROM events ORDER BY 1", [(0, "a"), (1, "b")]),
    ("SELECT explode(attributes) FROM events ORDER BY 1", [("x", 1), ("y", 2)]),
    ("SELECT attributes['y'] FROM events WHERE id = 1", [(2,)]),
    ("SELECT attributes FROM events WHERE id = 1", [({"x": 1, "y": 2},)]),
    ("SELECT who FROM events WHERE id = 2", [({"name": "bob", "age": None},)]),
    ("SELECT who.name FROM events ORDER BY id", [("ann",), ("bob",)]),
    ("SELECT size(tags), element_at(tags, 1) FROM events WHERE id = 1", [(2, "a")]),
    ("SELECT get_json_object(doc, '$.n[1]') FROM events WHERE id = 1", [("2",)]),
    ("SELECT from_json(doc, 'n ARRAY<INT>').n FROM events ORDER BY id", [([1, 2, 3],), ([],)]),
    ("SELECT parse_json(doc) FROM events WHERE id = 1", [({"n": [1, 2, 3], "p": Decimal("2.50")},)]),
    ("SELECT variant_get(parse_json(doc), '$.p', 'DECIMAL(9,2)') FROM events WHERE id = 1", [(Decimal("2.50"),)]),
    ("SELECT parse_json(doc):n[2]::int FROM events WHERE id = 1", [(3,)]),
    ("SELECT transform(tags, t -> upper(t)) FROM events WHERE id = 1", [(["A", "B"],)]),
    ("SELECT filter(array(1, 2, 3), n -> n > 1)", [([2, 3],)]),
    ("SELECT collect_set(region) FROM sales WHERE region = 'north'", [(["north"],)]),
    ("SELECT s.id FROM sales s LEFT SEMI JOIN events e ON s.id = e.id ORDER BY 1", [(1,), (2,)]),
    ("SELECT s.id FROM sales s LEFT ANTI JOIN events e ON s.id = e.id ORDER BY 1", [(3,), (4,), (5,)]),
    ("SELECT id FROM sales EXCEPT SELECT id FROM events ORDER BY 1", [(3,), (4,), (5,)]),
    ("SELECT id FROM big_sales ORDER BY id", [(1,), (3,)]),
    ("SELECT * EXCEPT (amount, day, sold) FROM sales WHERE id = 1", [(1, "north")]),
    ("SELECT id AS n, n + 1 AS m FROM sales WHERE id = 1", [(1, 2)]),
    ("SELECT id FROM `spark_catalog`.`shop`.`sales` WHERE id <=> 1", [(1,)]),
    ("SELECT 7 / 2, 7 DIV 2, try_divide(1, 0)", [(3.5, 3, None)]),
    ("SELECT bround(2.5D), round(2.5D)", [(2.0, 3.0)]),
    ("SELECT 1 AS a, 2 AS a", [(1, 2)]),
    ("SELECT id FROM sales ORDER BY amount NULLS LAST LIMIT 1", [(5,)]),
    ("SELECT id FROM sales ORDER BY amount LIMIT 1", [(4,)]),
    ("SELECT percentile_approx(id, 0.5) FROM sales", [(3,)]),
    ("SELECT COUNT(*) FILTER (WHERE amount > 5) FROM sales", [(2,)]),
    ("SELECT id FROM VALUES (1, 'a'), (2, 'b') AS t(id, name) WHERE name = 'b'", [(2,)]),
    ("VALUES (1, 'a')", [(1, "a")]),
)


def test_queries_give_what_can_be_derived_by_hand(engine: SparkEngine) -> None:
    wrong = []
    for query, wanted in QUERIES:
        found = engine.execute(query)
        if found.failure is not None or list(found.result.rows if found.result is not None else ()) != wanted:
            wrong.append((query, found.failure or found.result))
    assert not wrong


VALUES: tuple[tuple[str, object], ...] = (
    ("1Y", 1),
    ("2S", 2),
    ("9223372036854775807L", 9223372036854775807),
    (
        "CAST(12345678901234567890123456789012345678 AS DECIMAL(38,0))",
        Decimal("12345678901234567890123456789012345678"),
    ),
    ("CAST(-0.10 AS DECIMAL(4,2))", Decimal("-0.10")),
    ("0.1D", 0.1),
    ("double('inf')", float("inf")),
    ("TRUE", True),
    ("'naïve\\n'", "naïve\n"),
    ("X'00FF'", b"\x00\xff"),
    ("DATE'0001-01-01'", date(1, 1, 1)),
    ("DATE'+12000-01-01'", moment_of("12000-01-01")),
    ("TIMESTAMP'2024-01-01 12:00:00.123456+02:00'", datetime(2024, 1, 1, 10, 0, 0, 123456, tzinfo=UTC)),
    ("TIMESTAMP_NTZ'2024-01-01 12:00:00'", datetime(2024, 1, 1, 12)),  # noqa: DTZ001 - it has no zone
    ("INTERVAL '1 02:03:04.5' DAY TO SECOND", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
    ("INTERVAL '1-2' YEAR TO MONTH", Interval(months=14)),
    ("array(INTERVAL '3' MONTH)", [Interval(months=3)]),
    ("make_interval(1, 2, 0, 4)", Interval(months=14, days=4)),
    ("map('a', NULL)", {"a": None}),
    ("map(array(1), 2)", {(1,): 2}),
    ("map(named_struct('x', 1), 2)", {FrozenMap({"x": 1}): 2}),
    ("struct(1, 'b')", {"col1": 1, "col2": "b"}),
    ("named_struct('x', 1, 'x', 2)", {"x_0": 1, "x_1": 2}),
    ("array(named_struct('d', 1.50), NULL)", [{"d": Decimal("1.50")}, None]),
    ("""parse_json('{"a": 2.50, "b": [1, null]}')""", {"a": Decimal("2.50"), "b": [1, None]}),
    ("array(parse_json('1.5'))", [Decimal("1.5")]),
    ("NULL", None),
)


def test_each_type_becomes_the_cell_that_it_should(engine: SparkEngine) -> None:
    found = engine.execute(f"SELECT {', '.join(text for text, _ in VALUES)}, double('nan')")
    assert found.result is not None, found.failure
    *cells, not_a_number = found.result.rows[0]
    wrong = [
        (text, cell)
        for (text, wanted), cell in zip(VALUES, cells, strict=True)
        if (cell, type(cell)) != (wanted, type(wanted))
    ]
    assert not wrong
    assert isinstance(not_a_number, float)
    assert math.isnan(not_a_number)


@pytest.mark.parametrize("shell", ["{}", "array({})", "map(1, {})", "named_struct('m', {})"])
def test_the_server_itself_refuses_a_map_whose_keys_repeat(engine: SparkEngine, shell: str) -> None:
    failure = engine.execute(f"SELECT {shell.format('map(1, 2, 1, 3)')}").failure
    assert "DUPLICATED_MAP_KEY" in failure.message


# One of each kind: the tests of the reading of texts have all of them.
HARMFUL = (
    "SELECT TRANSFORM(id) USING 'touch {file}' AS (x STRING) FROM sales",
    "SELECT * FROM text.`/etc/passwd`",
    "SELECT * FROM `org.apache.spark.sql.execution.datasources.text`.`/etc/passwd`",
    "SELECT reflect('java.lang.System', 'getProperty', 'user.home')",
    "SELECT '${env:PATH}'",
    "SELECT '${spark.sql.ansi.enabled}'",
    "SET spark.sql.ansi.enabled = false",
    "FROM sales INSERT INTO sales SELECT *",
    "WITH x AS (SELECT 1) INSERT INTO sales SELECT 9, 'x', 1, NULL, NULL",
    "INSERT OVERWRITE DIRECTORY '{file}' USING csv SELECT 1",
    "SELECT * FROM sales) ; DROP TABLE sales; --",
    "BEGIN DROP TABLE sales; END",
    "EXECUTE IMMEDIATE 'DROP TABLE sales'",
)


def test_what_is_no_harmless_read_neither_runs_nor_leaves_a_trace(engine: SparkEngine, tmp_path: Path) -> None:
    file = tmp_path / "written"
    texts = [text.replace("{file}", str(file)) for text in HARMFUL]
    assert [text for text in texts if engine.execute(text).failure is None] == []
    assert not file.exists()
    assert engine.execute("SELECT COUNT(*) FROM sales").result.rows == ((5,),)


@pytest.mark.parametrize(
    "outputs",
    [
        *("id", "`id`", "sales.id", "*", "1", "'x'", "id AS x", "DISTINCT id", "count(*)", "explode(array(1))"),
        *("natural", "lateral", "pivot", "watermark", "asof", "window", "cluster"),
    ],
)
def test_select_behind_from_is_no_alias_before_what_is_sent(shop: DatabaseUrl, write: Any, outputs: str) -> None:
    """Otherwise Spark would read a file: ``FROM t SELECT (a), text.`path` ``."""
    text = f"FROM shop.sales SELECT {outputs}, text.`/etc/hostname`"
    if isinstance(read(text, "spark", allowed=frozenset()), Execution):
        return
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        write(text)


def test_each_function_of_spark_is_decided(write: Any) -> None:
    names = {row[0] for row in write("SHOW SYSTEM FUNCTIONS")}
    operators = {"between", "case", "cast", "in", "not", "when"}
    unknown = {name for name in names - operators if name.isidentifier() and not is_known(name, name, "spark")}
    reaching = {"java_method", "reflect", "try_reflect", "python_worker_logs"}
    with_schemas_from_elsewhere = {"from_avro", "to_avro", "from_protobuf", "to_protobuf"}
    assert unknown == reaching | with_schemas_from_elsewhere


def test_the_server_itself_refuses_commands_and_files(engine: SparkEngine) -> None:
    """What the reading of the text would let pass still meets the session's settings and the question to the server."""
    for text in (
        "SHOW TABLES",
        "DROP TABLE sales",
        "SET spark.sql.ansi.enabled = false",
        "SELECT * FROM text.`/etc/passwd`",
    ):
        assert engine._run(text, check=False).failure is not None, text
    found = engine._run("SELECT '${spark.sql.ansi.enabled}'", check=False)
    assert found.result is not None, found.failure
    assert found.result.rows == (("${spark.sql.ansi.enabled}",),)


def test_a_query_is_interrupted_at_its_limit_and_leaves_the_server_free(shop: DatabaseUrl) -> None:
    engine = SparkEngine.open(shop, Limits(timeout_s=3.0))
    engine.execute("SELECT 1")
    slow = "SELECT SUM(id % 7) FROM range(1000000000000)"
    assert engine.execute(slow).status == "timeout"  # to its end it would take hours
    engine.close()
    after = SparkEngine.open(shop, Limits(timeout_s=60.0))
    assert after.execute("SELECT COUNT(*) FROM sales").status == "rows"
    after.close()


def test_errors_are_one_line_with_their_condition_and_place(engine: SparkEngine) -> None:
    messages = {}
    for text in ("SELECT\nnope FROM sales", "SELECT * FROM nowhere", "SELECT 1 / 0", "SELECT CAST('x' AS INT)"):
        failure = engine.execute(text).failure
        messages[text] = failure.message
    assert all("\n" not in message and "JVM" not in message for message in messages.values())
    assert "line 2 pos 0" in messages["SELECT\nnope FROM sales"]
    assert "[TABLE_OR_VIEW_NOT_FOUND]" in messages["SELECT * FROM nowhere"]
    assert "[DIVIDE_BY_ZERO]" in messages["SELECT 1 / 0"]
    assert "[CAST_INVALID_INPUT]" in messages["SELECT CAST('x' AS INT)"]


@pytest.mark.parametrize(("path", "says"), [("spark_catalog/absent", "SCHEMA_NOT_FOUND"), ("absent/x", "absent")])
def test_a_missing_catalogue_or_schema_is_named(server: DatabaseUrl, path: str, says: str) -> None:
    url = DatabaseUrl.parse(f"{server.reveal().rstrip('/').replace('sc://', 'spark://')}/{path}")
    with pytest.raises(DatabaseError, match=says):
        SparkEngine.check(url)


def test_the_schema_has_tables_views_and_types(engine: SparkEngine) -> None:
    tables = {table.name: table for table in engine.schema().tables}
    assert [(name, table.kind) for name, table in tables.items()] == [
        ("big_sales", "view"),
        ("events", "table"),
        ("sales", "table"),
    ]
    assert [(column.name, column.type) for column in tables["sales"].columns][:3] == [
        ("id", "INT"),
        ("region", "STRING"),
        ("amount", "DECIMAL(12,2)"),
    ]
    assert tables["sales"].columns[0].values


def test_open_spark_is_said_to_have_no_rights(shop: DatabaseUrl) -> None:
    (sentence,) = SparkEngine.warnings(shop)
    assert "open Spark has no rights" in sentence
    assert SparkEngine.reader_grants(shop) == ()


def test_a_run_judges_predictions(shop: DatabaseUrl, tmp_path: Path) -> None:
    import assay

    cases = [
        {"id": "1", "question": "How many?", "gold": "SELECT COUNT(*) FROM sales"},
        {"id": "2", "question": "Which regions?", "gold": "SELECT DISTINCT region FROM sales"},
        {"id": "3", "question": "Who?", "gold": "SELECT who.name FROM events"},
        {"id": "4", "question": "Best of each?", "gold": QUERIES[8][0]},
    ]
    predictions = {
        "1": "SELECT COUNT(id) AS n FROM sales",
        "2": "SELECT region FROM sales",
        "3": "SELECT who['name'] AS name FROM events",
        "4": "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY region ORDER BY day DESC, id) AS r "
        "FROM sales) WHERE r = 1 ORDER BY id",
    }
    with pytest.warns(UserWarning, match="open Spark has no rights"):
        run = assay.evaluate(cases, predictions, databases=shop.reveal(), output=tmp_path / "run")
    assert [case.verdict.outcome for case in run.evidence] == ["correct", "incorrect", "correct", "correct"]


GAPS = {
    "content_has_a_fingerprint": Gap(
        whose="ours",
        why="no hash of a table's content is cheap on Spark: the URL stands for it",
        shows="the content has changed, and its fingerprint has not",
    ),
}


@pytest.fixture(scope="module")
def adapter(server: DatabaseUrl, write: Any) -> Adapter:
    write("CREATE SCHEMA kit")

    def write_there(statement: str) -> None:
        if statement.startswith("UPDATE kinds SET a_real = "):  # tables of Parquet have no UPDATE
            value = statement.split()[5]
            write("CREATE TABLE kit.copy AS SELECT * FROM kit.kinds")
            write(
                f"INSERT OVERWRITE kit.kinds SELECT id, a_integer, a_text, a_decimal, IF(id = 3, {value}, a_real), "
                "a_boolean, a_date, a_timestamp, a_binary FROM kit.copy"
            )
            write("DROP TABLE kit.copy")
            return
        statement = statement.replace("it''s", "it\\'s")
        for name in ("kinds", "digit"):
            statement = statement.replace(f" {name} ", f" kit.{name} ")
        write(statement)

    found = Adapter(
        engine=engine_class(_at(server, "kit")),
        url=_at(server, "kit"),
        absent=_at(server, "absent"),
        write=write_there,
        types={"text": "STRING", "timestamp": "TIMESTAMP_NTZ", "real": "DOUBLE", "binary": "BINARY"},
        gaps=GAPS,
    )
    prepare(found)
    return found


# Spark ends a task between two of its rows: a join of billions without a result goes on, beside all later queries.
_ENDS_LATE = "what_takes_too_long_is_ended"


@pytest.mark.parametrize("check", [check for check in CHECKS if check.name != _ENDS_LATE], ids=str)
def test_the_engine_holds(adapter: Adapter, check: Check[Adapter]) -> None:
    gap = conform(adapter, check)
    if gap is not None and gap.whose != "never":
        pytest.xfail(f"{gap.whose}: {gap.why}")


def test_both_schemes_name_the_same_engine(server: DatabaseUrl) -> None:
    SparkConnectEngine.check(server)
