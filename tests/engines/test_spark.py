"""What the Spark and Databricks engines do without a server: URLs, values of Arrow, texts, errors."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib.util import find_spec

import pytest

from assay.engines.spark.url import databricks_address, spark_address
from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Limits
from assay.model.results.cells import MapEntries
from assay.model.results.times import moment_of
from assay.sql.statement import without_last_semicolon


def _url(text: str) -> DatabaseUrl:
    return DatabaseUrl.parse(text)


@pytest.mark.parametrize(
    ("text", "connects", "catalog", "schema"),
    [
        ("spark://h/", "sc://h:15002/", None, None),
        ("spark://h:1234/c/s", "sc://h:1234/", "c", "s"),
        ("spark://h/c/s?token=a%3Db&use_ssl=true", "sc://h:15002/;use_ssl=true;token=a%3Db", "c", "s"),
        ("spark://token:x%40y@h/c/s", "sc://h:15002/;token=x%40y", "c", "s"),
        ("sc://h:1/;token=x;use_ssl=true", "sc://h:1/;use_ssl=true;token=x", None, None),
        ("sc://h:1/;user_id=ann;catalog=c;schema=s", "sc://h:1/;user_id=ann", "c", "s"),
        ("spark://[::1]:9/c/s%20t?allow=my_udf", "sc://[::1]:9/", "c", "s t"),
    ],
)
def test_both_forms_of_a_url_say_where_and_what(text: str, connects: str, catalog: str, schema: str) -> None:
    address = spark_address(_url(text))
    assert (address.connect_string, address.catalog, address.schema) == (connects, catalog, schema)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("spark:///c/s", "the host is missing"),
        ("spark://h:x/", "the port is not a number"),
        ("spark://h/c/s/t", "a catalog and a schema were expected"),
        ("spark://h/s", "a catalog without a schema"),
        ("sc://h/;tokn=secret-1", "'tokn' .did you mean 'token'"),
        ("sc://h/;token", "has no value"),
        ("spark://h/?session_id=1", "unknown parameter 'session_id'"),
    ],
)
def test_a_wrong_url_is_refused_with_what_to_write(text: str, says: str) -> None:
    with pytest.raises(DatabaseError, match=says) as raised:
        spark_address(_url(text))
    assert "spark://" in str(raised.value)


def test_a_databricks_url_is_that_of_its_sqlalchemy_dialect() -> None:
    address = databricks_address(_url("databricks://token:dapi1@h/?http_path=/sql/1&catalog=c&schema=s"))
    assert address.databricks_arguments == {
        "server_hostname": "h",
        "access_token": "dapi1",
        "catalog": "c",
        "schema": "s",
        "http_path": "/sql/1",
    }
    assert databricks_address(_url("databricks://dapi1@h/c/s?http_path=/p")).databricks_arguments["schema"] == "s"
    with pytest.raises(DatabaseError, match="has no token and no http_path"):
        databricks_address(_url("databricks://h/c/s"))


def test_only_the_last_semicolon_goes() -> None:
    assert without_last_semicolon("SELECT ';' -- ;\n; ; -- c", "databricks") == "SELECT ';' -- ;\n"
    assert without_last_semicolon("SELECT 1", "databricks") == "SELECT 1"
    assert without_last_semicolon("SELECT '", "databricks") == "SELECT '"


def test_arrow_values_become_cells_by_position_also_from_slices() -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'assay[arrow]'")
    from assay.engines.spark.values import rows_of

    maps = pa.array([[("a", 1)], None, [("b", 2), ("c", None)], []], pa.map_(pa.string(), pa.int32()))
    odd_maps = pa.array([[([1], 2)], None, [], [([3], 4)]], pa.map_(pa.list_(pa.int32()), pa.int32()))
    lists = pa.array([[Decimal("1.50")], None, [], [None]], pa.list_(pa.decimal128(9, 2)))
    structs = pa.array([{"x": 1, "y": b"\x00"}, None, {"x": None, "y": b""}, {"x": 2, "y": None}])
    moments = pa.array([0, None, 10**18, -(10**18)], pa.timestamp("us", tz="UTC"))
    spans = pa.array([timedelta(days=1), None, timedelta(0), timedelta(microseconds=-1)], pa.duration("us"))
    table = pa.Table.from_arrays([maps, odd_maps, lists, structs, moments, spans], names=["a", "a", "c", "d", "e", "f"])
    expected: list[tuple[object, ...]] = [
        ({"a": 1}, {(1,): 2}, [Decimal("1.50")], {"x": 1, "y": b"\x00"}, datetime(1970, 1, 1, tzinfo=UTC)),
        (None, None, None, None, None),
        ({"b": 2, "c": None}, {}, [], {"x": None, "y": b""}, moment_of("33658-09-27 01:46:40+00")),
        ({}, {(3,): 4}, [None], {"x": 2, "y": None}, moment_of("-29719-04-05 22:13:20+00")),
    ]
    for start in range(4):
        for batch in (table.slice(start), table.to_batches()[0].slice(start)):
            assert [row[:5] for row in rows_of(batch)] == expected[start:]
    assert [row[5] for row in rows_of(table)] == [timedelta(days=1), None, timedelta(0), timedelta(microseconds=-1)]
    assert rows_of(table.slice(4)) == []
    days = pa.array([2932897, -719163, None, -719162], pa.date32())  # the day after 9999-12-31, before 0001-01-01
    assert [row[0] for row in rows_of(pa.table([days], names=["d"]))] == [
        moment_of("10000-01-01"),
        moment_of("0001-12-31 BC"),
        None,
        date.min,
    ]


def test_maps_and_structs_keep_entries_whose_keys_repeat() -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'assay[arrow]'")
    from assay.engines.spark.values import rows_of

    maps = pa.array([[("a", 1), ("a", 2)], [("a", 1)], [], None], pa.map_(pa.string(), pa.int32()))
    nested = pa.array([[[("a", 1), ("a", 2)]], [], None, [None]], pa.list_(pa.map_(pa.string(), pa.int32())))
    structs = pa.StructArray.from_arrays([pa.array([1] * 4), pa.array([2] * 4)], names=["x", "x"])
    twice = MapEntries([("a", 1), ("a", 2)])
    pair = MapEntries([("x", 1), ("x", 2)])
    found = rows_of(pa.Table.from_arrays([maps, nested, structs], names=["a", "b", "c"]))
    assert found == [(twice, [twice], pair), ({"a": 1}, [], pair), ({}, None, pair), (None, [None], pair)]
    assert [type(row[0]) for row in found] == [MapEntries, dict, dict, type(None)]


needs_client = pytest.mark.skipif(
    find_spec("pyspark") is None,
    reason="the client of Spark Connect is not installed: pip install 'assay[spark]'",
)


@needs_client
def test_intervals_of_months_are_cast_to_text_wherever_they_stand() -> None:
    from pyspark.sql import types as t

    from assay.engines.spark.values import portable

    month = t.YearMonthIntervalType()
    plain = t.StructType([t.StructField("a", t.ArrayType(t.LongType())), t.StructField("b", t.DayTimeIntervalType())])
    assert portable(plain) is plain
    assert portable(t.CalendarIntervalType()) == t.StringType()
    nested = t.MapType(t.StringType(), t.ArrayType(t.StructType([t.StructField("x", month, True)])))
    assert portable(nested).simpleString() == "map<string,array<struct<x:string>>>"


@needs_client
def test_no_server_is_one_line_that_names_the_place_and_not_the_token() -> None:
    from assay.engines.spark.engine import SparkEngine

    with pytest.raises(DatabaseError, match=r"127\.0\.0\.1:1\b") as raised:
        SparkEngine.check(_url("spark://127.0.0.1:1/c/s?token=secret-token-1"))
    assert "secret-token-1" not in str(raised.value)
    assert "\n" not in str(raised.value)


@needs_client
def test_the_driver_can_be_imported_in_a_process_without_a_main_file() -> None:
    """Otherwise it takes itself for its own doctests, and exits."""
    code = "from assay.engines.spark.engine import SparkEngine; SparkEngine.require(); print('fine')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("fine", "")


def test_errors_of_the_server_keep_their_condition_and_lose_the_rest() -> None:
    from assay.engines.spark.errors import explain

    class ServerError(Exception):
        def getCondition(self) -> str:  # noqa: N802 - the driver's name
            return "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"

    text = "[UNRESOLVED_COLUMN] no x. SQLSTATE: 42703; line 3 pos 7;\n'Project ['x]\n\nJVM stacktrace:\norg.Foo"
    problem = explain(ServerError(text), place="h:1", wrapped=True)
    assert (problem.kind, problem.message) == ("error", "[UNRESOLVED_COLUMN] no x. SQLSTATE: 42703; line 2 pos 7")
    assert explain(ValueError("x"), place="h:1", wrapped=False) is None


def test_a_databricks_reader_gets_grants_and_the_engine_says_that_it_is_untested() -> None:
    from assay.engines.spark.databricks import DatabricksEngine

    url = _url("databricks://token:x@h/main/my-schema?http_path=/p")
    assert DatabricksEngine.reader_grants(url)[-1] == "GRANT SELECT ON SCHEMA `main`.`my-schema` TO `assay_reader`;"
    assert "not tested with a Databricks account" in DatabricksEngine.warnings(url)[0]


class _FakeCursor:
    """A cursor of Databricks' connector with one result."""

    def __init__(self, statements: list[str]) -> None:
        pa = pytest.importorskip("pyarrow")
        self.description = [("n", "decimal"), ("n", "decimal"), ("v", "variant")]
        self._left = pa.table(
            [pa.array([Decimal("1.50"), None]), pa.array([2, 3]), pa.array(['{"a": 2.50}', None])],
            names=["n", "n", "v"],
        )
        self._statements = statements

    def execute(self, statement: str) -> None:
        self._statements.append(statement)
        if "nope" in statement:
            raise ValueError("[UNRESOLVED_COLUMN] nope\n== SQL ==\nSELECT nope")

    def fetchmany_arrow(self, wanted: int) -> object:
        given, self._left = self._left.slice(0, wanted), self._left.slice(wanted)
        return given


class _FakeConnection:
    def __init__(self) -> None:
        self.statements: list[str] = []

    def cursor(self) -> _FakeCursor:
        return _FakeCursor(self.statements)

    def close(self) -> None:
        pass


def test_databricks_explains_a_query_before_it_runs_it_and_reads_its_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    sql = pytest.importorskip("databricks.sql", reason="the driver is not installed: pip install 'assay[databricks]'")
    from assay.engines.spark.databricks import DatabricksEngine

    connection = _FakeConnection()
    arguments: dict[str, object] = {}
    monkeypatch.setattr(sql, "connect", lambda **given: arguments.update(given) or connection)
    url = _url("databricks://token:dapi-secret@h/c/s?http_path=/p")
    engine = DatabricksEngine.open(url, Limits(timeout_s=6.5, max_rows=10))
    found = engine.execute("SELECT 1;")
    assert (found.columns, found.result and found.result.rows) == (
        ("n", "n", "v"),
        ((Decimal("1.50"), 2, {"a": Decimal("2.50")}), (None, 3, None)),
    )
    assert connection.statements == [
        "EXPLAIN WITH assay_query AS (\nSELECT 1\n) SELECT * FROM assay_query",
        "SELECT 1",
    ]
    assert arguments["session_configuration"] == {"STATEMENT_TIMEOUT": "7", "TIMEZONE": "UTC"}
    failed = engine.execute("SELECT nope")
    assert failed.failure.message == "[UNRESOLVED_COLUMN] nope"
    assert connection.statements[-1].startswith("EXPLAIN")
    refused = engine.execute("DROP TABLE t")
    assert (refused.status, len(connection.statements)) == ("refused", 3)
    engine.close()
