"""BigQuery: Google's own client over HTTP to a fake of the service, which fails on demand."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.engines.bigquery.engine import BigqueryEngine
from assay.engines.bigquery.values import reader_of
from assay.errors import DatabaseError
from assay.model import Cost, DatabaseUrl, Execution, Limits
from assay.model.results.times import Interval
from assay.testing import BigqueryFake, FakeQuery, Fault

pytest.importorskip("google.cloud.bigquery", reason="needs the extra bigquery")
from google.cloud.bigquery import SchemaField

ENDLESS = "SELECT SUM(a) FROM t CROSS JOIN u"
LIMITS = Limits(timeout_s=20.0)


def field(kind: str, mode: str = "NULLABLE", name: str = "a", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "mode": mode, **more}


@contextmanager
def opened(fake: BigqueryFake, limits: Limits = LIMITS, more: str = "") -> Iterator[BigqueryEngine]:
    with closing(BigqueryEngine.open(DatabaseUrl.parse(fake.url + more), limits)) as engine:
        yield engine


def executed(fake: BigqueryFake, query: str, limits: Limits = LIMITS, more: str = "") -> Execution:
    with opened(fake, limits, more) as engine:
        return engine.execute(query)


def failure_of(execution: Execution) -> tuple[str, str, str]:
    assert execution.failure is not None, execution
    return execution.failure.kind, execution.failure.blame, execution.failure.message


def cell_of(wire: Any, kind: str, mode: str = "NULLABLE", **more: Any) -> Any:
    return reader_of(SchemaField.from_api_repr(field(kind, mode, **more)))(wire)


# Values.


@pytest.mark.parametrize(
    ("kind", "wire", "cell"),
    [
        ("INTEGER", "-9223372036854775808", -(2**63)),
        ("FLOAT", "Infinity", math.inf),
        ("FLOAT", "-Infinity", -math.inf),
        ("FLOAT", "1.0E-7", 1e-7),
        ("NUMERIC", "99999999999999999999999999999.999999999", Decimal("99999999999999999999999999999.999999999")),
        ("BIGNUMERIC", "0.00000000000000000000000000000000000001", Decimal("1E-38")),
        ("BOOLEAN", "true", True),
        ("BOOLEAN", "false", False),
        ("STRING", "", ""),
        ("BYTES", "AP8=", b"\x00\xff"),
        ("DATE", "0001-01-01", date(1, 1, 1)),
        ("TIME", "23:59:59.999999", time(23, 59, 59, 999999)),
        ("TIME", "12:00:00", time(12)),
        ("DATETIME", "2024-02-29T12:34:56.5", datetime(2024, 2, 29, 12, 34, 56, 500000)),  # noqa: DTZ001  # noqa: DTZ001
        ("TIMESTAMP", "-62135596800000000", datetime(1, 1, 1, tzinfo=UTC)),
        ("TIMESTAMP", "253402300799999999", datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        ("INTERVAL", "1-2 3 4:5:6.789", Interval(months=14, days=3, nanoseconds=14_706_789_000_000)),
        ("INTERVAL", "-0-1 -2 -10:0:0", Interval(months=-1, days=-2, nanoseconds=-36_000_000_000_000)),
        ("JSON", '{"a": 2.50, "b": [1, null]}', {"a": Decimal("2.50"), "b": [1, None]}),
        ("JSON", '"text"', "text"),
        ("GEOGRAPHY", "POINT(1 2)", "POINT(1 2)"),
    ],
)
def test_values_are_exact(kind: str, wire: str, cell: object) -> None:
    read = cell_of(wire, kind)
    assert (read, type(read)) == (cell, type(cell))
    assert cell_of(None, kind) is None
    assert cell_of([{"v": wire}, {"v": None}], kind, "REPEATED") == [cell, None]


def test_structs_ranges_and_arrays_hold_cells() -> None:
    fields = [field("INTEGER", name="x"), field("STRING", "REPEATED", name="y")]
    wire = {"f": [{"v": "1"}, {"v": [{"v": "b"}]}]}
    assert cell_of(wire, "RECORD", fields=fields) == {"x": 1, "y": ["b"]}
    twice = [field("INTEGER", name="x"), field("INTEGER", name="x")]
    assert cell_of({"f": [{"v": "1"}, {"v": "2"}]}, "RECORD", fields=twice) == [1, 2]
    days: Any = {"rangeElementType": {"type": "DATE"}}
    assert cell_of("[2020-01-01, UNBOUNDED)", "RANGE", **days) == {"start": date(2020, 1, 1), "end": None}
    assert [cell_of(empty, "INTEGER", "REPEATED") for empty in ([], None)] == [[], []], "as the service sends them"
    assert str(cell_of('{"a": 2.50}', "JSON")["a"]) == "2.50"
    assert math.isnan(cell_of("NaN", "FLOAT"))


WRITTEN: dict[str, Any] = {
    "INTEGER": st.integers(-(2**63), 2**63 - 1).map(lambda n: (str(n), n)),
    "NUMERIC": st.decimals(allow_nan=False, allow_infinity=False).map(lambda d: (f"{d:f}", d)),
    "BYTES": st.binary().map(lambda b: (base64.b64encode(b).decode(), b)),
    "FLOAT": st.floats(allow_nan=False, allow_infinity=False).map(lambda f: (repr(f), f)),
    "DATE": st.dates().map(lambda d: (d.isoformat(), d)),
    "DATETIME": st.datetimes().map(lambda d: (d.isoformat(), d)),
    "TIME": st.times().map(lambda t: (t.isoformat(), t)),
    "TIMESTAMP": st.datetimes(timezones=st.just(UTC)).map(
        lambda d: (str((d - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)), d)
    ),
    "STRING": st.text().map(lambda t: (t, t)),
    "JSON": st.recursive(st.integers() | st.text() | st.none(), st.lists).map(lambda j: (json.dumps(j), j)),
}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(WRITTEN)).flatmap(lambda kind: st.tuples(st.just(kind), WRITTEN[kind])))
def test_any_value_comes_back_as_it_was_written(case: tuple[str, tuple[str, object]]) -> None:
    kind, (wire, value) = case
    assert cell_of(wire, kind) == value


# Results.


def test_a_result_comes_page_by_page_with_its_cost() -> None:
    rows = tuple((str(number),) for number in range(2500))
    query = FakeQuery(fields=(field("INTEGER"),), rows=rows, bytes_billed=123)
    with BigqueryFake({"SELECT a FROM t": query}) as fake:
        execution = executed(fake, "SELECT a FROM t")
        assert [row[0] for row in execution.result.rows] == list(range(2500))
        assert (execution.cost.bytes_billed, execution.cost.queries) == (123, 1)
        config = fake.jobs[-1]
        assert config["query"]["defaultDataset"] == {"projectId": "p", "datasetId": "d"}
        assert (config["labels"], config["jobTimeoutMs"]) == ({"application": "assay"}, "20000")


def test_an_empty_result_keeps_its_columns_and_names_may_come_twice() -> None:
    fields = (field("INTEGER"), field("STRING", name="b"), field("STRING", name="b"))
    with BigqueryFake({"SELECT a": FakeQuery(fields=fields, rows=())}) as fake:
        execution = executed(fake, "SELECT a")
    assert (execution.status, execution.columns) == ("empty", ("a", "b", "b"))


def test_rows_are_capped_while_pages_come() -> None:
    rows = tuple((str(number),) for number in range(5000))
    with BigqueryFake({"SELECT a FROM t": FakeQuery(rows=rows, page_rows=100)}) as fake:
        execution = executed(fake, "SELECT a FROM t", Limits(timeout_s=20, max_rows=150))
        pages = [call for call in fake.calls if "/queries/" in call.path]
    assert (execution.status, execution.row_count) == ("truncated", 150)
    assert len(pages) <= 4


def test_a_result_with_fewer_rows_than_announced_is_no_result() -> None:
    query = FakeQuery(rows=(("1",), ("2",), ("3",)), lost_rows=1)
    with BigqueryFake({"SELECT a FROM t": query}) as fake:
        kind, blame, message = failure_of(executed(fake, "SELECT a FROM t"))
    assert (kind, blame) == ("unreadable_database", "engine")
    assert "2 of its 3 rows" in message


# What is sent.


@pytest.mark.parametrize(
    ("statement_type", "kind"), [("SCRIPT", "several_statements"), ("INSERT", "writes"), ("EXPORT_DATA", "writes")]
)
def test_what_the_service_does_not_read_as_a_query_is_not_run(statement_type: str, kind: str) -> None:
    with BigqueryFake({"SELECT a FROM t": FakeQuery(statement_type=statement_type)}) as fake:
        execution = executed(fake, "SELECT a FROM t")
        assert (execution.status, failure_of(execution)[0]) == ("refused", kind)
        assert not fake.jobs


def test_a_query_that_bills_too_much_fails_and_the_next_one_runs() -> None:
    costly = FakeQuery(bytes_billed=2_000_000)
    with BigqueryFake({"SELECT a FROM t": costly}) as fake:
        with opened(fake, Limits(timeout_s=20, max_bytes_billed=1_000_000)) as engine:
            kind, blame, message = failure_of(engine.execute("SELECT a FROM t"))
            assert (kind, blame) == ("billing_limit", "system")
            assert "2000000 or higher required" in message
            assert engine.execute("SELECT 1").failure is not None  # 10 MiB, the least that a query bills
        with opened(fake, more="&maximum_bytes_billed=3000000") as engine:
            assert engine.execute("SELECT a FROM t").failure is None


def test_the_bytes_of_queries_are_estimated_without_running_them() -> None:
    queries = {"SELECT a": FakeQuery(bytes_billed=5), "SELECT b": FakeQuery(bytes_billed=7)}
    queries["DELETE FROM t"] = FakeQuery(statement_type="DELETE", bytes_billed=100)
    with BigqueryFake(queries) as fake:
        url = DatabaseUrl.parse(fake.url)
        total = BigqueryEngine.estimate(url, ["SELECT a", "SELECT b", "DELETE FROM t", "nonsense"], timeout_s=20)
        assert total == Cost(queries=3, bytes_billed=12)  # what is no query at all bills nothing
        fake.faults.add(Fault(kind="failed", on="dry_run", status=403, reason="accessDenied", message="Access Denied"))
        assert BigqueryEngine.estimate(url, ["SELECT a"], timeout_s=20) is None
        assert not fake.jobs


# Time.


@pytest.mark.timeout(60)
@pytest.mark.parametrize("keeps_limit", [True, False])
def test_a_job_without_end_is_cancelled_at_the_limit(*, keeps_limit: bool) -> None:
    query = FakeQuery(running_s=math.inf, keeps_limit=keeps_limit)
    with BigqueryFake({ENDLESS: query}) as fake, opened(fake, Limits(timeout_s=1.0)) as engine:
        assert engine.execute(ENDLESS).status == "timeout"
        assert keeps_limit or fake.cancelled == [ENDLESS]
        assert engine.execute("SELECT 1").status == "rows"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("api", ["dry_run", "insert", "results"])
def test_a_service_that_does_not_answer_ends_at_the_limit(api: Any) -> None:
    faults = [Fault(kind="slow", on=api, seconds=50, times=1)]
    with BigqueryFake({"SELECT a": FakeQuery()}, faults=faults) as fake:
        assert executed(fake, "SELECT a", Limits(timeout_s=0.5)).status == "timeout"


@pytest.mark.timeout(60)
def test_an_error_that_does_not_pass_is_retried_within_the_limit() -> None:
    with BigqueryFake({"SELECT a": FakeQuery()}, faults=[Fault(kind="unavailable", on="insert", status=500)]) as fake:
        execution = executed(fake, "SELECT a", Limits(timeout_s=1.0))
    assert execution.status == "timeout" or failure_of(execution)[:2] == ("unreadable_database", "engine")


# Faults.


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="busy", on="insert", times=1, retry_after="1"),
        Fault(kind="unavailable", on="insert", times=2, status=503),
        Fault(kind="unavailable", on="results", times=1, status=500),
        Fault(kind="dropped", on="results", times=1),
        Fault(kind="cut_off", on="results", times=1),
        Fault(kind="cut_off", on="results", after=1, times=1),
        Fault(kind="dropped", on="dry_run", times=1),
    ],
)
def test_a_fault_that_passes_costs_no_result(fault: Fault) -> None:
    rows = tuple((str(number),) for number in range(300))
    with BigqueryFake({"SELECT a FROM t": FakeQuery(rows=rows, page_rows=100)}, faults=[fault]) as fake:
        execution = executed(fake, "SELECT a FROM t")
    assert execution.failure is None
    assert execution.row_count == 300


NOT_ALLOWED = "Access Denied: Table {0}: User does not have permission to query table {0}"


@pytest.mark.parametrize(
    ("reason", "message", "kind", "words"),
    [
        ("quotaExceeded", "Quota exceeded: free query bytes scanned", "unreadable_database", "quota of the project p"),
        ("billingNotEnabled", "Billing has not been enabled", "unreadable_database", "no active billing account"),
        (
            "accessDenied",
            "Access Denied: Project p: User does not have bigquery.jobs.create permission in project p.",
            "unreadable_database",
            "roles/bigquery.jobUser",
        ),
        ("accessDenied", NOT_ALLOWED.format("p:d.t"), "unreadable_database", "roles/bigquery.dataViewer"),
        (
            "accessDenied",
            NOT_ALLOWED.format("other:x.t") + ", or perhaps it does not exist.",
            "error",
            "perhaps it does",
        ),
        ("notFound", "Not found: Dataset p:d was not found in location US", "unreadable_database", "?location="),
        ("notFound", "Not found: Dataset p:other was not found in location US", "error", "p:other"),
        ("notFound", "Not found: Table p:d.nope was not found in location EU", "error", "p:d.nope"),
        ("invalidQuery", "Unrecognized name: nope at [1:8]", "error", "Unrecognized name: nope at [1:8]"),
        ("responseTooLarge", "Response too large to return.", "error", "Response too large"),
        ("resourcesExceeded", "Resources exceeded during query execution", "error", "Resources exceeded"),
    ],
)
@pytest.mark.parametrize("api", ["dry_run", "insert"])
def test_errors_say_in_one_line_what_to_do(reason: str, message: str, kind: str, words: str, api: Any) -> None:
    status = {"notFound": 404, "invalidQuery": 400, "resourcesExceeded": 400}.get(reason, 403)
    fault = Fault(kind="failed", on=api, status=status, reason=reason, message=message)
    with BigqueryFake({"SELECT a": FakeQuery()}, faults=[fault]) as fake:
        found, _, told = failure_of(executed(fake, "SELECT a"))
    assert found == kind
    assert words in told
    assert "\n" not in told


def test_a_job_that_fails_is_told_in_the_services_words_and_a_cancelled_one_is_run_once_more() -> None:
    for reason in ("responseTooLarge", "resourcesExceeded"):
        with BigqueryFake({"SELECT a": FakeQuery(error=(reason, f"It failed: {reason}"))}) as fake:
            assert failure_of(executed(fake, "SELECT a")) == ("error", "system", f"It failed: {reason}")
    stopped = FakeQuery(error=("stopped", "Job execution was cancelled: User requested cancellation"))
    with BigqueryFake({"SELECT a": stopped}) as fake:
        kind, blame, message = failure_of(executed(fake, "SELECT a"))
        assert len(fake.jobs) == 2
    assert (kind, blame) == ("unreadable_database", "engine")
    assert "cancelled" in message


# Login.


def test_a_token_is_sent_and_an_expired_one_is_explained_and_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BQ_TOKEN", "ya29.a-secret-token")
    with BigqueryFake({"SELECT a": FakeQuery()}, token="ya29.a-secret-token") as fake:
        more = "&access_token=${BQ_TOKEN}"
        assert executed(fake, "SELECT a", more=more).failure is None
        fake.faults.add(Fault(kind="unauthorised", on="insert"))
        kind, _, message = failure_of(executed(fake, "SELECT a", more=more))
        assert kind == "unreadable_database"
        assert "expired" in message
        assert "access_token, a token as ${NAME}" in message
        with pytest.raises(DatabaseError) as error:
            BigqueryEngine.check(DatabaseUrl.parse(f"{fake.url}&access_token=ya29.another-token"))
        assert "another-token" not in str(error.value)
        assert "expired" in str(error.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("bigquery:///d", "bigquery://PROJECT/DATASET"),
        ("bigquery://user@p/d", "bigquery://PROJECT/DATASET"),
        ("bigquery://p/d/t", "one dataset"),
        ("bigquery://p/d?locaton=EU", "unknown parameter 'locaton' .did you mean 'location'"),
        ("bigquery://p/d?maximum_bytes_billed=1GB", "whole number"),
        ("bigquery://p:99/d", "the project that is billed, without user and port: write bigquery://PROJECT/DATASET"),
        ("bigquery://p/a.b.c", "the path is not the name of a dataset"),
        ("bigquery://p/d?access_token=x&credentials_path=/dev/null", "credentials_path is '/dev/null': write"),
        ("bigquery://p/d?api_endpoint=http://bigquery.example:9050&access_token=secret-token", "without encryption"),
    ],
)
def test_a_wrong_url_says_what_to_write(url: str, words: str) -> None:
    with pytest.raises(DatabaseError, match=words):
        BigqueryEngine.check(DatabaseUrl.parse(url))


def test_missing_credentials_are_explained(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = DatabaseUrl.parse(f"bigquery://p/d?credentials_path={tmp_path}/absent.json")
    with pytest.raises(DatabaseError, match=r"absent\.json': write credentials_path= and the path of an existing file"):
        BigqueryEngine.check(absent)
    key = tmp_path / "key.json"
    with BigqueryFake() as fake:
        for content in (b"{}", b"", b"[", b"\xff", b'{"type": "authorized_user"}', b"[]"):
            key.write_bytes(content)
            for address in ("bigquery://p/d?", f"{fake.url}&"):  # an emulator needs no key, and a given one must be one
                with pytest.raises(DatabaseError, match=r"key\.json' is not a service account's key file"):
                    BigqueryEngine.check(DatabaseUrl.parse(f"{address}credentials_path={key}"))
    with pytest.raises(DatabaseError, match="omit one of the two"):
        BigqueryEngine.check(DatabaseUrl.parse(f"bigquery://p/d?access_token=x&credentials_path={key}"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with pytest.raises(DatabaseError, match="no usable credentials"):
        BigqueryEngine.check(DatabaseUrl.parse("bigquery://p/d"))


# The URL.


def test_the_dataset_must_be_there_in_its_location() -> None:
    with BigqueryFake() as fake:
        BigqueryEngine.check(DatabaseUrl.parse(fake.url))
        BigqueryEngine.check(DatabaseUrl.parse(f"{fake.url}&location=eu"))
        with pytest.raises(DatabaseError, match=r"is in EU: write .location=EU"):
            BigqueryEngine.check(DatabaseUrl.parse(f"{fake.url}&location=US"))
        with pytest.raises(DatabaseError, match=r"the dataset p\.absent does not exist"):
            BigqueryEngine.check(DatabaseUrl.parse(fake.url.replace("p/d", "p/absent")))


# The schema and the account.


def test_the_schema_has_nested_types_and_costs_nothing() -> None:
    nested = field("RECORD", "REPEATED", name="s", fields=[field("NUMERIC", precision="10", scale="2"), field("JSON")])
    tables = {"t": (field("INTEGER", "REQUIRED", name="id"), nested), "a": (field("STRING", maxLength="5"),)}
    with BigqueryFake(tables=tables) as fake:
        with opened(fake) as engine:
            schema = engine.schema()
        assert not fake.jobs
    found = {table.name: {column.name: column.type for column in table.columns} for table in schema.tables}
    assert found == {"a": {"a": "STRING(5)"}, "t": {"id": "INT64", "s": "ARRAY<STRUCT<a NUMERIC(10, 2), a JSON>>"}}
    assert [column.not_null for column in schema.tables[1].columns] == [True, False]


def test_what_the_account_may_do_beyond_reading_is_told() -> None:
    with BigqueryFake(tables={"t": (field("INTEGER"),)}, permissions=["bigquery.tables.updateData"]) as fake:
        assert "bigquery.tables.updateData" in BigqueryEngine.warnings(DatabaseUrl.parse(fake.url))[0]
    with BigqueryFake(tables={"t": (field("INTEGER"),)}) as fake:
        assert BigqueryEngine.warnings(DatabaseUrl.parse(fake.url)) == ()


def test_a_url_without_a_dataset_says_what_queries_must_write() -> None:
    with BigqueryFake() as fake:
        url = DatabaseUrl.parse(fake.url.replace("p/d", "p"))
        BigqueryEngine.check(url)
        (warning,) = BigqueryEngine.warnings(url)
    assert "names no dataset, so queries must write PROJECT.DATASET" in warning


def test_a_reader_needs_two_roles() -> None:
    grants = "\n".join(BigqueryEngine.reader_grants(DatabaseUrl.parse("bigquery://p/other.d")))
    assert "projects add-iam-policy-binding p " in grants
    assert "ON SCHEMA `other`.`d`" in grants


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("http://127.0.0.1:1", "no server responds at 127.0.0.1:1 (connection refused): check api_endpoint in the URL"),
        ("http://nowhere.invalid", "there is no host nowhere.invalid: check api_endpoint in the URL"),
    ],
)
@pytest.mark.parametrize("login", ["", "&access_token=sesame"])
def test_a_server_that_is_not_there_is_named_and_not_asked_again(endpoint: str, words: str, login: str) -> None:
    from assay.engines.bigquery.errors import unreachable

    if "nowhere" in endpoint and login:
        return  # no token is sent to another machine without encryption
    url = DatabaseUrl.parse(f"bigquery://p/d?api_endpoint={endpoint}{login}")
    with pytest.raises(DatabaseError) as error:
        BigqueryEngine.check(url)
    assert words in str(error.value)
    with closing(BigqueryEngine(url, Limits())) as engine:
        engine._connection = engine._connect()
        with pytest.raises(Exception, match=r"onnection") as refused:
            engine._connection._http.request("GET", endpoint)
        assert unreachable(refused.value) is not None
        assert not engine._retry()._predicate(refused.value)


@pytest.mark.parametrize("endpoint", ["ftp://x", "http://", "http://[::1", "http://h:99999", "http://h:x", "h"])
def test_an_address_that_cannot_be_one(endpoint: str) -> None:
    with pytest.raises(DatabaseError, match="write api_endpoint= and an address, for example https://HOST"):
        BigqueryEngine.open(DatabaseUrl.parse(f"bigquery://p/d?api_endpoint={endpoint}"), Limits())
