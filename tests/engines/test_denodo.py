"""Denodo over HTTP: a real server on loopback, a real database behind it, and everything that goes wrong."""

from __future__ import annotations

import base64
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import gather_evidence
from assay.engines.denodo.engine import DenodoHttpEngine, DenodoHttpsEngine
from assay.engines.denodo.rows import MalformedAnswer, parse_cut_rows, parse_rows
from assay.engines.denodo.sqlalchemy import DenodoFlightSqlEngine, DenodoPsycopg2Engine
from assay.engines.denodo.url import read_endpoint
from assay.errors import DatabaseError, MissingDependency
from assay.model import DatabaseUrl, Execution, Limits, Verdict
from assay.model.failure import is_final
from many_cases import each

sys.path.insert(0, str(Path(__file__).parent))
from denodo_catalog import OWN, PATH, Catalog, seconds_of, start


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    catalog, server = start(tmp_path)
    yield catalog
    catalog.release.set()
    server.shutdown()
    server.server_close()
    catalog.database.close()


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port where nobody listens: it is taken meanwhile, so that nobody else does."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@contextmanager
def opened(catalog: Catalog, *, credentials: str = OWN, options: str = "", **limits: float) -> Iterator[Any]:
    url = DatabaseUrl.parse(catalog.url(credentials=credentials, options=options))
    engine = DenodoHttpEngine.open(url, Limits(**{"timeout_s": 60.0, **limits}))  # type: ignore[arg-type]
    yield engine
    engine.close()
    engine.close()


def run(catalog: Catalog, query: str, **more: Any) -> Execution:
    with opened(catalog, **more) as engine:
        return engine.execute(query)


def rows_of(execution: Execution) -> tuple[tuple[object, ...], ...]:
    assert execution.result is not None, execution.failure
    return execution.result.rows


def kind_of(execution: Execution) -> str:
    return execution.failure.kind


def message_of(execution: Execution) -> str:
    return execution.failure.message


def test_rows_and_columns_come_as_the_server_sends_them(catalog: Catalog) -> None:
    done = run(catalog, 'SELECT "id", "city" FROM "bank"."customer" ORDER BY "id"')
    assert (done.status, done.columns, done.row_count) == ("rows", ("id", "city"), 4)
    assert rows_of(done) == ((1, "Oslo"), (2, "Rome"), (3, "Oslo"), (4, None))
    assert catalog.paths == [f"{PATH}?serverId=1"]
    assert done.wall_time_s is not None
    twice = run(catalog, "SELECT id AS a, name AS a FROM bank.customer WHERE id = 1")
    assert (twice.columns, rows_of(twice)) == (("a", "a"), ((1, "Ada"),))


@pytest.mark.parametrize("body", ["{}", '{"rows": null}', '{"rows": []}'])
def test_an_empty_result_has_no_columns(catalog: Catalog, body: str) -> None:
    catalog.fault, catalog.raw = "raw", body.encode()
    done = run(catalog, "SELECT 1")
    assert (done.status, done.columns, rows_of(done), done.failure) == ("empty", (), (), None)


def test_one_row_more_than_the_limit_is_asked_for_and_a_cut_is_said(catalog: Catalog) -> None:
    whole = run(catalog, "SELECT id FROM bank.customer ORDER BY id", max_rows=4)
    cut = run(catalog, "SELECT id FROM bank.customer ORDER BY id", max_rows=3)
    assert (whole.status, whole.row_count) == ("rows", 4)
    assert (cut.status, rows_of(cut), kind_of(cut)) == ("truncated", ((1,), (2,), (3,)), "truncated")
    assert [asked["limit"] for asked in catalog.asked] == [5, 4]


def test_a_huge_answer_is_cut_on_the_way_and_keeps_its_whole_rows(catalog: Catalog) -> None:
    done = run(catalog, "SELECT range AS n, repeat('x', 100) AS t FROM range(50000)", max_result_bytes=100_000)
    assert (done.status, kind_of(done)) == ("truncated", "truncated")
    assert 500 < len(rows_of(done)) < 1000
    assert rows_of(done)[7] == (7, "x" * 100)


@pytest.mark.parametrize("dropped", [False, True])
def test_the_connection_is_kept_between_queries_and_made_anew_if_the_server_closed_it(
    catalog: Catalog, dropped: bool
) -> None:
    catalog.drop_kept = dropped
    with opened(catalog) as engine:
        assert [engine.execute(f"SELECT {n}").status for n in range(4)] == ["rows"] * 4
    assert dropped or len(catalog.connections) == 1


@pytest.mark.parametrize("fault", ["slow", "trickle"])
def test_the_timeout_holds_for_the_whole_exchange_and_the_engine_goes_on(
    catalog: Catalog, settled: Callable[..., Any], fault: str
) -> None:
    catalog.fault = fault
    with opened(catalog, timeout_s=0.4) as engine:
        done, took = seconds_of(lambda: engine.execute("SELECT 1"))
        assert (done.status, kind_of(done)) == ("timeout", "timeout")
        assert took > 0.35
        catalog.fault = None
        assert settled(engine, "SELECT 1").status == "rows"


def test_an_error_is_its_first_line(catalog: Catalog) -> None:
    catalog.fault = "500"
    done = run(catalog, "SELECT 1 FROM x")
    assert (done.status, kind_of(done), message_of(done)) == ("error", "error", "View 'x' not found")


@pytest.mark.parametrize(
    ("fault", "status", "kind", "says"),
    [
        ("500-html", "error", "error", "500"),
        ("403", "error", "unreadable_database", "rejects user 'ada'"),
        ("404", "error", "unreadable_database", "check the address"),
        ("404-spring", "error", "unreadable_database", "check the address"),
        ("503", "error", "unreadable_database", "not available"),
        ("504", "timeout", "timeout", "a gateway timed out"),
        ("redirect", "error", "unreadable_database", "/login"),
        ("cut", "error", "unreadable_database", "broke before the response was complete"),
        ("garbage", "error", "unreadable_database", "is not JSON"),
        ("html", "error", "unreadable_database", "<html>Sign in"),
    ],
)
def test_trouble_on_the_way_is_not_the_querys_fault(
    catalog: Catalog, fault: str, status: str, kind: str, says: str
) -> None:
    catalog.fault = fault
    done = run(catalog, "SELECT 1")
    assert (done.status, kind_of(done)) == (status, kind)
    assert says in message_of(done)


@pytest.mark.parametrize(
    ("query", "status", "kind"),
    [
        ("", "error", "no_query"),
        (" ; -- nothing", "error", "no_query"),
        ("I cannot answer that.", "refused", "no_query"),
        ("DROP VIEW customer", "refused", "writes"),
        ("INSERT INTO bank.customer VALUES (9, 'x', 'y')", "refused", "writes"),
        ("WITH x AS (SELECT 1 AS a) INSERT INTO bank.loan SELECT a, a, a FROM x", "refused", "writes"),
        ("SELECT * INTO copy FROM bank.customer", "refused", "writes"),
        ("SELECT id FROM bank.customer CONTEXT('cache_invalidate' = 'all_rows')", "refused", "writes"),
        ("SELECT id FROM bank.customer; DROP VIEW customer", "refused", "several_statements"),
        ("CALL stop_everything()", "refused", "refused"),
        ("SELECT '\ud800'", "error", "error"),
    ],
)
def test_what_is_not_one_query_is_never_sent(catalog: Catalog, query: str, status: str, kind: str) -> None:
    done = run(catalog, query)
    assert (done.status, kind_of(done)) == (status, kind)
    assert catalog.asked == []


def test_a_query_that_only_denodo_understands_is_sent(catalog: Catalog) -> None:
    done = run(catalog, "SELECT id FROM bank.customer WHERE name CONTAINS 'a'")
    assert kind_of(done) == "error"
    assert len(catalog.asked) == 1


@pytest.mark.parametrize("credentials", ["ada:wrong%40secret@", ":wrong%40secret@", ""])
def test_refused_credentials_say_so_and_stay_secret(catalog: Catalog, credentials: str) -> None:
    url = DatabaseUrl.parse(catalog.url(credentials=credentials))
    with pytest.raises(DatabaseError, match=r"rejects|none are given") as caught:
        DenodoHttpEngine.check(url)
    assert "wrong" not in str(caught.value)
    assert base64.b64encode(b"ada:wrong@secret").decode() not in str(caught.value)
    assert "trace" not in str(caught.value)


def test_a_server_that_repeats_the_password_does_not_give_it_away(catalog: Catalog) -> None:
    catalog.fault = "echo"
    assert message_of(run(catalog, "SELECT 1")) == "user ada with *** may not"


def test_a_password_without_a_user_is_a_bearer_token(catalog: Catalog) -> None:
    assert run(catalog, "SELECT 1", credentials=":tok-123@").status == "rows"


def test_server_id_and_execution_path_come_from_the_url(catalog: Catalog) -> None:
    assert run(catalog, "SELECT 1", options="?serverId=7&execution=/else/where").status == "rows"
    assert catalog.paths == ["/else/where?serverId=7"]


def test_check_lets_a_server_pass_that_answers(catalog: Catalog) -> None:
    DenodoHttpEngine.check(DatabaseUrl.parse(catalog.url()))
    catalog.fault = "500"
    with pytest.warns(UserWarning, match=r"answers SELECT 1 with an error \(View 'x' not found\)"):
        DenodoHttpEngine.check(DatabaseUrl.parse(catalog.url()))
    assert catalog.asked == [{"vql": "SELECT 1", "limit": 2}] * 2


def test_check_says_that_a_server_is_down(free_port: int) -> None:
    url = DatabaseUrl.parse(f"denodo+http://ada:hidden@127.0.0.1:{free_port}/denodo-data-catalog")
    with pytest.raises(DatabaseError, match="the connection failed") as caught:
        DenodoHttpEngine.check(url)
    assert "hidden" not in str(caught.value)


def test_check_waits_a_bounded_time(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.engines.denodo.engine.CHECK_TIMEOUT_S", 0.3)
    catalog.fault = "slow"
    with pytest.raises(DatabaseError, match=r"did not respond within 0\.3 s"):
        DenodoHttpEngine.check(DatabaseUrl.parse(catalog.url()))


def test_plain_http_where_https_is_spoken_says_so(catalog: Catalog) -> None:
    url = DatabaseUrl.parse(catalog.url().replace("denodo+http:", "denodo+https:"))
    with pytest.raises(DatabaseError, match="the connection failed"):
        DenodoHttpsEngine.check(url)


def test_the_fingerprint_knows_server_and_user_but_not_the_password(catalog: Catalog) -> None:
    def of(**parts: str) -> str:
        return DenodoHttpEngine.fingerprint(DatabaseUrl.parse(catalog.url(**parts)))

    assert of() == of(credentials="ada:other@") == of(options="?verify=0")
    assert len({of(), of(options="?serverId=2"), of(credentials="bob:x@")}) == 3


@each(
    ("text", "says"),
    [
        ("denodo+http://ada:p@ss@host/x", "%40"),
        ("denodo+http://ada:p/ss@host/x", "%2F"),
        ("denodo+http://ada:secret@host:port/x", "cannot be read"),
        ("denodo+http://ada:secret@host/x?serverid=1", "did you mean 'serverId'"),
        ("denodo+http://ada:secret@host/x?serverId=one", "'one'"),
        ("denodo+http://ada:secret@host/x?verify=maybe", "'maybe'"),
        ("denodo+http:///x", "names no host"),
    ],
)
def test_a_url_that_cannot_be_used_says_why_without_its_password(text: str, says: str) -> None:
    with pytest.raises(DatabaseError) as caught:
        DenodoHttpEngine.open(DatabaseUrl.parse(text), Limits())
    assert says in str(caught.value)
    assert all(part not in str(caught.value) for part in ("p@ss", "p/ss", "secret"))


def test_a_url_is_read_with_its_defaults() -> None:
    endpoint = read_endpoint(DatabaseUrl.parse("denodo+https://a%40b:c%3Ad@[::1]/denodo-data-catalog/?verify=0"))
    assert endpoint.execution_url == f"https://[::1]:443{PATH}"
    assert (endpoint.user, endpoint.server_id, endpoint.verify) == ("a@b", 1, False)
    assert endpoint.password.reveal() == "c:d"
    assert "c:d" not in repr(endpoint)


@each(
    ("text", "value"),
    [
        ("12345678901234567890123456789", 12345678901234567890123456789),
        ("1.0", 1.0),
        ("0.30000000000000004", 0.30000000000000004),
        ("1234567890.12345678901", Decimal("1234567890.12345678901")),
        ("-0.000000000000000000012", -1.2e-20),
        ("1e3", 1000.0),
        ("1e999", Decimal("1e999")),
        ("1e-999", Decimal("1e-999")),
        ("0e-999", 0.0),
        ("true", True),
        ('"2024-01-31"', "2024-01-31"),
        ('[{"a": 1}]', [{"a": 1}]),
    ],
)
def test_values_are_kept_exactly(text: str, value: object) -> None:
    body = f'{{"rows": [{{"values": [{{"column": "c", "value": {text}}}]}}]}}'
    answer = parse_rows(body.encode())
    assert (answer.columns, answer.rows) == (("c",), [(value,)])
    assert type(answer.rows[0][0]) is type(value)


def test_cells_may_come_in_another_order_and_without_nulls() -> None:
    first = '{"values": [{"column": "a", "value": 1}, {"column": "b", "value": 2}]}'
    second = '{"values": [{"value": 4, "column": "b"}, {"column": "a"}]}'
    third = '{"values": [{"column": "b", "value": 6}]}, {"values": []}'
    answer = parse_rows(f'{{"rows": [{first}, {second}, {third}]}}'.encode())
    assert (answer.columns, answer.rows) == (("a", "b"), [(1, 2), (None, 4), (None, 6), (None, None)])


FAILED_EXECUTIONS: list[tuple[object, str]] = [
    ([{"message": "View 'x' not found\n\tat com.denodo.Parser"}], "View 'x' not found"),
    (["no connection"], "no connection"),
    ("no connection\nmore", "no connection"),
    ({"message": "no connection"}, "no connection"),
    ([{"error": {"reason": "no connection"}}], "no connection"),
    ([{"message": "a"}, {"message": "b"}, {"message": "a"}], "a; b"),
    ([{"message": letter} for letter in "abcde"], "a; b; c; and 2 more"),
    ([{}], "gives no reason"),
    ([None], "gives no reason"),
    ([{"code": 17}], "gives no reason"),
]
ROWS = [{"values": [{"column": "a", "value": 1}]}]


@each("rows", [{}, {"rows": None}, {"rows": []}, {"rows": ROWS}, {"rows": [1]}], ids=str)
@each("name", ["executionErrors", "execution_errors", "errors", "error"])
@each(("errors", "message"), FAILED_EXECUTIONS, ids=str)
def test_an_error_reported_with_status_200_is_a_failure_whatever_is_beside_it(
    name: str, rows: dict[str, object], errors: object, message: str
) -> None:
    for answer in ({**rows, name: errors}, {name: errors, **rows}, {**rows, name: errors, "masked": True}):
        read = parse_rows(json.dumps(answer).encode())
        assert message in str(read.error)
        assert read.rows == []


def test_rows_that_cannot_be_read_do_not_hide_an_error() -> None:
    rows = [{"values": [{"column": name, "value": 1}]} for name in "ab"]
    assert parse_rows(json.dumps({"rows": rows, "executionErrors": ["gone"]}).encode()).error == "gone"


@each("masked", [{}, {"masked": False}, {"masked": None}, {"masked": "false"}])
@each("none", [None, [], "", {}, False])
def test_no_error_and_no_rows_is_an_empty_result(none: object, masked: dict[str, object]) -> None:
    read = parse_rows(json.dumps({"executionErrors": none, **masked}).encode())
    assert (read.error, read.rows, read.masked) == (None, [], False)
    read = parse_rows(json.dumps({"rows": ROWS, "executionErrors": none, **masked}).encode())
    assert (read.error, read.rows, read.masked) == (None, [(1,)], False)


@pytest.mark.parametrize("said", [True, "true", 1, ["name"], {"columns": ["name"]}])
@pytest.mark.parametrize("name", ["masked", "is_masked", "isMasked"])
def test_masked_values_are_no_result(catalog: Catalog, name: str, said: object) -> None:
    catalog.fault, catalog.raw = "raw", json.dumps({"rows": ROWS, name: said}).encode()
    done = run(catalog, "SELECT 1 AS a")
    assert (done.status, kind_of(done), done.result) == ("error", "masked", None)
    assert "account" in message_of(done)


@given(
    st.lists(st.sampled_from(["id", "name", "column", "value", "values"]), min_size=1, max_size=4, unique=True),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_cells_are_read_in_every_form(columns: list[str], data: st.DataObject) -> None:
    """Cells with more keys, under the newer name and in any order are those that the documented form has."""
    plain = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
    register = st.dictionaries(
        st.sampled_from(["column", "columnName", "value", "values", "x"]), plain | st.just([]), max_size=3
    )
    value = plain | register | st.lists(plain | register, max_size=2)
    rows = [tuple(data.draw(value) for _ in columns) for _ in range(data.draw(st.integers(1, 3)))]

    def cell(column: str, value: object) -> dict[str, object]:
        named = data.draw(st.sampled_from(["column", "columnName"]))
        found = {named: column, "value": value}
        for name in data.draw(st.lists(st.sampled_from(["type", "nullable", "label", "name"]), unique=True)):
            found[name] = data.draw(plain)
        if value is None and data.draw(st.booleans()):
            del found["value"]
        return dict(data.draw(st.permutations(list(found.items()))))

    said = [{"values": [cell(*pair) for pair in zip(columns, row, strict=True)], "row": 1} for row in rows]
    read = parse_rows(json.dumps({"rows": said, "executionErrors": [], "masked": False}).encode())
    assert (read.columns, read.rows) == (tuple(columns), rows)


@each(
    "body",
    [
        "[]",
        '{"rows": {}}',
        '{"sql_query": "SELECT 1"}',
        '{"answer": "none", "error": null}',
        '{"rows": [1]}',
        '{"rows": [{"values": [1]}]}',
        '{"rows": [{"values": [{"column": "a", "value": 1}]}, {"values": [{"column": "b", "value": 1}]}]}',
        "[" * 100_000,
        "9" * 5000,
    ],
)
def test_what_is_no_answer_is_said_to_be_none(body: str) -> None:
    with pytest.raises(MalformedAnswer):
        parse_rows(body.encode())


def test_a_cut_body_gives_its_whole_rows_wherever_it_was_cut() -> None:
    rows = [{"values": [{"column": "a", "value": n}, {"column": "b", "value": '"}]}, {'}]} for n in range(6)]
    body = json.dumps({"rows": rows}).replace("}, {", "},{").replace(": ", ":").encode()
    counts = [len(parse_cut_rows(body[:end]).rows) for end in range(len(body))]
    assert counts == sorted(counts)
    assert counts[-1] == 6


def test_text_that_is_no_utf8_is_kept_and_said(catalog: Catalog) -> None:
    catalog.fault, catalog.raw = "raw", b'{"rows": [{"values": [{"column": "a", "value": "C\xff"}]}]}'
    done = run(catalog, "SELECT 1")
    assert (rows_of(done), done.undecodable_text) == ((("C\udcff",),), True)


def judged(catalog: Catalog, predicted: str, gold: str) -> Verdict:
    return gather_evidence(predicted, gold, database=catalog.url(), limits=Limits(timeout_s=60.0)).verdict


def judged_by(verdict: Verdict) -> tuple[str, str | None, str | None]:
    """The outcome, and the kind and the blame of the failure."""
    failure = verdict.failure
    return (verdict.outcome, None, None) if failure is None else (verdict.outcome, failure.kind, failure.blame)


def test_pairs_are_judged_end_to_end_in_workers(catalog: Catalog) -> None:
    names = "SELECT name FROM bank.customer ORDER BY city CONTEXT('i18n' = 'us_est')"
    same = "SELECT c.name FROM bank.customer c ORDER BY c.city, c.name DESC"
    assert judged(catalog, same, names).outcome == "correct"
    top = "SELECT customer_id FROM bank.loan ORDER BY amount DESC LIMIT 1"
    ambiguous = judged(catalog, "SELECT 3", top)
    assert (ambiguous.outcome, "ambiguous_gold" in ambiguous.flags) == ("correct", True)
    assert judged(catalog, "SELECT 2", top).outcome == "incorrect"
    empty = judged(catalog, EMPTY, "SELECT id FROM bank.loan WHERE id > 99")
    assert (empty.outcome, empty.flags) == ("correct", {"vacuous"})
    assert judged_by(judged(catalog, "There is no such table.", top))[:2] == ("incorrect", "no_query")


EMPTY = "SELECT id FROM bank.loan WHERE id < 0"


@pytest.mark.filterwarnings("ignore:.*answers SELECT 1 with an error")
def test_a_failure_inside_a_response_counts_as_that_of_its_query(catalog: Catalog) -> None:
    """The server answers 200 to what fails, here with an error in place of what it would say with 500."""
    body = {"rows": [], "executionErrors": [{"message": "View 'x' not found\n\tat com.denodo"}], "masked": False}
    catalog.fault, catalog.raw = "raw", json.dumps(body).encode()
    catalog.spared = ("SELECT 1", EMPTY)
    failed = judged(catalog, "SELECT 2", EMPTY)
    assert judged_by(failed) == ("incorrect", "error", "system")
    assert failed.failure.message == "View 'x' not found"
    assert judged_by(judged(catalog, EMPTY, "SELECT 2")) == ("unscored", "error", "gold")
    for fault in ("raw", "quoting"):  # as a server that is away, and one that quotes each query besides
        catalog.fault, catalog.spared = fault, ()
        assert judged_by(judged(catalog, "SELECT 2", "SELECT 3")) == ("unscored", "unreadable_database", "engine")
    catalog.fault, catalog.spared = "503", ("SELECT 1",)  # gone in the middle
    assert judged_by(judged(catalog, "SELECT 2", "SELECT 1"))[::2] == ("unscored", "setup")


@pytest.mark.parametrize("masked", [("SELECT '****'",), ("SELECT 'Ana'",), ("SELECT '****'", "SELECT 'Ana'")])
def test_masked_values_on_either_side_leave_a_case_unscored(catalog: Catalog, masked: tuple[str, ...]) -> None:
    catalog.masked = masked
    verdict = judged(catalog, "SELECT '****'", "SELECT 'Ana'")
    assert judged_by(verdict) == ("unscored", "masked", "setup")
    assert is_final(verdict.failure)


def skip_without(packages: tuple[str, ...]) -> None:
    for one in packages:
        if find_spec(one.split(".")[0].split("=")[0]) is None:
            pytest.skip(f"{one.split('=')[1]} is not installed (pip install 'assay[denodo]')")


@pytest.mark.parametrize(
    ("engine", "options"), [(DenodoFlightSqlEngine, "?use_encryption=false"), (DenodoPsycopg2Engine, "")]
)
def test_the_dialects_tell_what_is_missing_down_or_silent(
    engine: type[DenodoFlightSqlEngine], options: str, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = f"{engine.name}://ada:hidden@127.0.0.1:{{}}/bank{options}"
    with monkeypatch.context() as patch:
        patch.setattr(engine, "packages", ("surely_not_installed=denodo-sqlalchemy",))
        with pytest.raises(MissingDependency, match=r"pip install .*'denodo-sqlalchemy>="):
            engine.check(DatabaseUrl.parse(form.format(1)))
    skip_without(engine.packages)
    with pytest.raises(DatabaseError, match=f"127.0.0.1:{free_port}") as caught:
        engine.check(DatabaseUrl.parse(form.format(free_port)))
    assert "hidden" not in str(caught.value)
    monkeypatch.setattr("assay.engines.sqlalchemy.base.CHECK_TIMEOUT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DatabaseError):
        engine.check(DatabaseUrl.parse(form.format(silent.getsockname()[1])))


def test_queries_run_over_the_postgresql_wire() -> None:
    """Against any PostgreSQL, whose wire Denodo speaks: ASSAY_DENODO_PSYCOPG2_URL=denodo+psycopg2://..."""
    address = os.environ.get("ASSAY_DENODO_PSYCOPG2_URL")
    if not address:
        pytest.skip("ASSAY_DENODO_PSYCOPG2_URL names no server that speaks the PostgreSQL wire")
    skip_without(DenodoPsycopg2Engine.packages)
    url = DatabaseUrl.parse(address)
    DenodoPsycopg2Engine.check(url)
    engine = DenodoPsycopg2Engine.open(url, Limits(timeout_s=1, max_rows=2))
    typed = engine.execute("SELECT 1 AS a, 'x%' AS b, CAST(1.50 AS numeric(9, 2)) AS c, DATE '2020-01-01' AS d")
    assert rows_of(typed) == ((1, "x%", Decimal("1.50"), date(2020, 1, 1)),)
    empty = engine.execute("SELECT 1 AS a WHERE 1 = 0")
    assert (empty.status, empty.columns) == ("empty", ("a",))
    assert kind_of(engine.execute("SELECT nope")) == "error"
    cut = engine.execute("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")
    assert (cut.status, cut.row_count) == ("truncated", 2)
    assert kind_of(engine.execute("DROP TABLE t")) == "writes"
    engine.close()
    engine.close()


def test_queries_run_over_flight_sql(settled: Callable[..., Any]) -> None:
    skip_without(DenodoFlightSqlEngine.packages)
    from denodo_flight import FlightServer

    server = FlightServer()
    address = f"ada:p%40ss@127.0.0.1:{server.port}/bank?use_encryption=false"
    url = DatabaseUrl.parse(f"denodo+flightsql://{address}")
    DenodoFlightSqlEngine.check(url)
    with pytest.raises(DatabaseError, match="bad credentials") as caught:
        DenodoFlightSqlEngine.check(DatabaseUrl.parse(f"denodo+flightsql://{address.replace('p%40ss', 'hidden')}"))
    assert "hidden" not in str(caught.value)
    engine = DenodoFlightSqlEngine.open(url, Limits(timeout_s=60, max_rows=2))
    typed = engine.execute("SELECT 1 AS a, 'x%' AS b, CAST(1.50 AS numeric(9, 2)) AS c, DATE '2020-01-01' AS d")
    assert (typed.columns, rows_of(typed)) == (("a", "b", "c", "d"), ((1, "x%", Decimal("1.50"), date(2020, 1, 1)),))
    empty = engine.execute("SELECT 1 AS a WHERE 1 = 0")
    assert (empty.status, empty.columns) == ("empty", ("a",))
    assert engine.execute("SELECT range FROM range(9)").status == "truncated"
    assert "nope" in message_of(engine.execute("SELECT nope"))
    assert kind_of(engine.execute("DROP TABLE t")) == "writes"
    hasty = DenodoFlightSqlEngine.open(url, Limits(timeout_s=1, max_rows=2))
    assert hasty.execute("SELECT 'slow'").status == "timeout"
    assert settled(hasty, "SELECT 2").status == "rows"
    hasty.close()
    server.release.set()
    server.shutdown()
    assert kind_of(engine.execute("SELECT 3")) == "unreadable_database"
    engine.close()
