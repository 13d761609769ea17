"""Snowflake's engine: the real connector over HTTP to a fake of the service, which fails as it is told."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Execution, Limits
from assay.testing.snowflake import SnowflakeAnswer, SnowflakeColumn, SnowflakeError, SnowflakeFake, SnowflakeTrouble

pytest.importorskip("snowflake.connector", reason="the connector is not installed: pip install 'assay[snowflake]'")

from assay.engines.snowflake.engine import CONTENT, SnowflakeEngine, _check_files
from assay.engines.snowflake.url import connection_arguments

Column = SnowflakeColumn
_TWO_HOURS_EAST = timezone(timedelta(hours=2))


def run(fake: SnowflakeFake, query: str = "SELECT 1", **limits: Any) -> Execution:
    with fake, closing(SnowflakeEngine.open(DatabaseUrl.parse(fake.url), Limits(**limits))) as engine:
        return engine.execute(query)


VALUES = (
    ("FIXED", 0, "12345678901234567890123456789012345678", 12345678901234567890123456789012345678),
    ("FIXED", 2, "123456789012345.67", Decimal("123456789012345.67")),
    ("FIXED", 2, "-0.10", Decimal("-0.10")),
    ("REAL", 0, "0.1", 0.1),
    ("REAL", 0, "inf", float("inf")),
    ("TEXT", 0, "naïve\n", "naïve\n"),
    ("BOOLEAN", 0, "1", True),
    ("BOOLEAN", 0, "0", False),
    ("DATE", 0, "19000", date(2022, 1, 8)),
    ("DATE", 0, "-1", date(1969, 12, 31)),
    ("TIME", 9, "3661.123456789", time(1, 1, 1, 123456)),
    ("TIMESTAMP_NTZ", 9, "1700000000.123456789", datetime(2023, 11, 14, 22, 13, 20, 123456)),  # noqa: DTZ001 - it has no zone
    ("TIMESTAMP_LTZ", 9, "1700000000.500000000", datetime(2023, 11, 14, 22, 13, 20, 500000, tzinfo=UTC)),
    ("TIMESTAMP_TZ", 9, "1700000000.000000000 1560", datetime(2023, 11, 15, 0, 13, 20, tzinfo=_TWO_HOURS_EAST)),
    ("BINARY", 0, "00FF", b"\x00\xff"),
    ("VARIANT", 0, '{"a": 2.50, "b": [1, null]}', {"a": Decimal("2.50"), "b": [1, None]}),
    ("VARIANT", 0, "12345678901234567890.123456789", Decimal("12345678901234567890.123456789")),
    ("OBJECT", 0, '{"k": "undefined"}', {"k": "undefined"}),
    ("ARRAY", 0, '[1, undefined, "an undefined \\"undefined\\""]', [1, None, 'an undefined "undefined"']),
    ("VARIANT", 0, "not JSON", "not JSON"),
    ("GEOGRAPHY", 0, "POINT(1 2)", "POINT(1 2)"),
)


def test_each_value_on_the_wire_is_the_cell_that_its_type_says() -> None:
    columns = tuple(Column(f"C{place}", kind, 38, scale) for place, (kind, scale, _, _) in enumerate(VALUES))
    answer = SnowflakeAnswer(columns=columns, rows=(tuple(text for _, _, text, _ in VALUES), (None,) * len(VALUES)))
    found = run(SnowflakeFake({"SELECT * FROM t": answer}), "SELECT * FROM t")
    assert found.result is not None, found.failure
    cells, nulls = found.result.rows
    wrong = [
        (kind, text, cell)
        for (kind, _, text, wanted), cell in zip(VALUES, cells, strict=True)
        if (cell, type(cell)) != (wanted, type(wanted))
        or getattr(cell, "tzinfo", None) != getattr(wanted, "tzinfo", None)
    ]
    assert not wrong
    assert set(nulls) == {None}


def test_numbers_in_arrow_batches_keep_every_digit() -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'assay[arrow]'")
    about = {"logicalType": "FIXED", "precision": "38", "scale": "2", "charLength": "0", "byteLength": "0"}
    schema = pa.schema([pa.field("N", pa.int64(), metadata=about)])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.table([pa.array([12345678901234567], pa.int64())], schema=schema))
    answer = SnowflakeAnswer(columns=(Column("N", "FIXED", 38, 2),), arrow=sink.getvalue().to_pybytes())
    found = run(SnowflakeFake({"SELECT n FROM t": answer}), "SELECT n FROM t")
    assert found.result is not None, found.failure
    assert found.result.rows == ((Decimal("123456789012345.67"),),)


def test_names_keep_their_case_and_may_repeat_and_no_rows_keep_them() -> None:
    columns = (Column("A", "FIXED"), Column("A", "FIXED"), Column("b c", "TEXT"))
    found = run(SnowflakeFake({"SELECT 0": SnowflakeAnswer(columns=columns)}), "SELECT 0")
    assert (found.status, found.columns) == ("empty", ("A", "A", "b c"))


def test_a_session_is_set_up_for_one_read_at_a_time() -> None:
    fake = SnowflakeFake()
    assert run(fake, timeout_s=7.2).status == "rows"
    wanted = {"STATEMENT_TIMEOUT_IN_SECONDS": 8, "QUERY_TAG": "assay", "TIMEZONE": "UTC", "MULTI_STATEMENT_COUNT": 1}
    wanted |= {"ABORT_DETACHED_QUERY": True, "CLIENT_VALIDATE_DEFAULT_PARAMETERS": True}
    assert {name: fake.session_parameters.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("query", ["DROP TABLE t", "SELECT 1; SELECT 2", "PUT file:///etc/passwd @~", "USE ROLE A"])
def test_what_is_not_a_read_is_not_sent(query: str) -> None:
    fake = SnowflakeFake()
    assert run(fake, query).status == "refused"
    assert not fake.calls


def test_a_query_past_its_time_is_cancelled() -> None:
    fake = SnowflakeFake(endless=["SELECT 5"], has_limit=False)
    found = run(fake, "SELECT 5", timeout_s=0.5)
    assert found.status == "timeout"
    assert fake.canceled == ["SELECT 5"] * len(fake.canceled)
    assert fake.canceled


def test_rows_are_cut_at_the_limit_and_later_chunks_are_fetched() -> None:
    answer = SnowflakeAnswer(columns=(Column("N", "FIXED"),), rows=(("1",), ("2",)), later_rows=(("3",), ("4",)))
    whole = run(SnowflakeFake({"SELECT n FROM t": answer}), "SELECT n FROM t")
    assert whole.result.rows == ((1,), (2,), (3,), (4,))
    cut = run(SnowflakeFake({"SELECT n FROM t": answer}), "SELECT n FROM t", max_rows=3)
    assert (cut.status, cut.row_count) == ("truncated", 3)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ({"error": SnowflakeError(code, state, said)}, words)
        for code, state, said, words in (
            ("390100", "08001", "Incorrect username or password was specified.", "the user or the password"),
            ("390144", "08001", "JWT token is invalid.", "the key does not fit"),
            ("390189", "08001", "Role 'R' specified in the connect string does not exist.", "the role does"),
            ("390201", "08004", "The requested warehouse does not exist or not authorized.", "warehouse does"),
            ("390318", "08001", "OAuth access token expired.", "the token has expired"),
            ("390913", "08001", "Your account is suspended.", "the account is suspended"),
        )
    ]
    + [({"status": status}, "no account responds at this address") for status in (403, 404)],
)
def test_a_refused_login_says_what_to_do_before_the_first_question(trouble: dict[str, Any], words: str) -> None:
    with (
        SnowflakeFake(troubles=[SnowflakeTrouble(on="login", times=None, **trouble)]) as fake,
        pytest.raises(DatabaseError, match=words) as caught,
    ):
        SnowflakeEngine.check(DatabaseUrl.parse(fake.url))
    assert "pass word" not in str(caught.value)
    assert "pass%20word" not in str(caught.value)


def test_an_address_at_which_nothing_answers_is_named_as_such() -> None:
    url = DatabaseUrl.parse("snowflake://ann:x@acme/SALES?host=127.0.0.1&port=1&protocol=http")
    with pytest.raises(DatabaseError, match=r"no service responds at this address \(Snowflake 250001\)"):
        SnowflakeEngine.check(url)


@pytest.mark.parametrize(
    "trouble",
    [
        SnowflakeTrouble(error=SnowflakeError("390112", "08001", "Your session has expired. Please login again.")),
        SnowflakeTrouble(error=SnowflakeError("390111", "08001", "Session no longer exists. New login required.")),
        SnowflakeTrouble(status=503),
        SnowflakeTrouble(status=429),
        SnowflakeTrouble(status=0),
    ],
)
def test_passing_trouble_costs_no_query_its_answer(trouble: SnowflakeTrouble) -> None:
    found = run(SnowflakeFake(troubles=[trouble]))
    assert found.result is not None, found.failure
    assert found.result.rows == ((1,),)


@pytest.mark.parametrize(
    ("code", "state", "said", "kind", "words"),
    [
        ("000606", "57P03", "No active warehouse selected.", "unreadable_database", "add warehouse="),
        ("000090", "22000", "Warehouse 'W' cannot be resumed.", "unreadable_database", "quota"),
        ("001003", "42000", "SQL compilation error:\nsyntax error line 1", "error", "syntax error line 1"),
        ("003001", "42501", "SQL access control error:\nInsufficient privileges", "error", "privilege"),
        ("100035", "22007", "Timestamp 'x' is not recognized", "error", "Timestamp 'x'"),
        ("000630", "57014", "Statement reached its statement or warehouse timeout of 1 second(s).", "timeout", ""),
    ],
)
def test_a_failed_query_is_explained(code: str, state: str, said: str, kind: str, words: str) -> None:
    found = run(SnowflakeFake({"SELECT 7": SnowflakeError(code, state, said)}), "SELECT 7")
    assert found.failure.kind == kind
    assert words in found.failure.message
    assert "\n" not in found.failure.message


GRANT_COLUMNS = tuple(Column(name, "TEXT") for name in ("created_on", "privilege", "granted_on", "name"))
ROLE = SnowflakeAnswer(columns=(Column("CURRENT_ROLE()", "TEXT"),), rows=(("READER",),))


@pytest.mark.parametrize(
    ("privileges", "warned"),
    [(("SELECT", "USAGE"), False), (("SELECT", "INSERT"), True), (("OWNERSHIP",), True), ((), False), (None, True)],
)
def test_a_role_that_may_do_more_than_read_is_told(privileges: tuple[str, ...] | None, warned: bool) -> None:
    rows = tuple(("0", privilege, "TABLE", "SALES.PUBLIC.T") for privilege in privileges or ())
    grants = SnowflakeAnswer(columns=GRANT_COLUMNS, rows=rows)
    answers = {"SELECT CURRENT_ROLE()": ROLE, 'SHOW GRANTS TO ROLE "READER"': grants}
    with SnowflakeFake({} if privileges is None else answers) as fake:
        found = SnowflakeEngine.warnings(DatabaseUrl.parse(fake.url))
    assert bool(found) == warned
    assert all("use a role that may only read" in sentence for sentence in found)
    assert privileges is not None or "the role's privileges cannot be read" in found[0]


def test_the_content_is_told_by_the_rows_and_bytes_of_all_tables() -> None:
    columns = tuple(Column(name, "TEXT") for name in ("TABLE_SCHEMA", "TABLE_NAME", "ROW_COUNT", "BYTES", "CREATED"))

    table = ("PUBLIC", "T", "5", "1024", "0")
    answer = SnowflakeAnswer(columns=columns, rows=(table,))
    changed = replace(answer, rows=((*table[:2], "6", "1024", "0"),))
    found = []
    with SnowflakeFake({CONTENT: answer}) as fake:
        url = DatabaseUrl.parse(fake.url)
        found += [SnowflakeEngine.fingerprint(url), SnowflakeEngine.fingerprint(url)]
        fake.answers[CONTENT] = changed
        found.append(SnowflakeEngine.fingerprint(url))
        fake.answers[CONTENT] = SnowflakeError("000606", "57P03", "No active warehouse selected.")
        with pytest.raises(DatabaseError, match="add warehouse="):
            SnowflakeEngine.fingerprint(url)
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("snowflake://acme/SALES", "has no user"),
        ("snowflake://ann:x@/SALES", "has no account"),
        ("snowflake://ann:x@acme/SALES/PUBLIC/T", "a database and a schema were expected"),
        ("snowflake://ann:x@acme/SALES?warehose=W", "did you mean 'warehouse'"),
        ("snowflake://ann:x@acme/SALES?port=x", "port is 'x'"),
    ],
)
def test_a_wrong_url_says_what_to_write(url: str, words: str) -> None:
    with pytest.raises(DatabaseError, match=words):
        connection_arguments(DatabaseUrl.parse(url))


def test_a_connection_that_is_not_in_connections_toml_is_told_with_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from snowflake.connector.config_manager import CONFIG_MANAGER

    url = DatabaseUrl.parse("snowflake:///D/S?connection_name=prot")
    monkeypatch.setattr(CONFIG_MANAGER, "conf_file_cache", None)
    monkeypatch.setenv("SNOWFLAKE_CONNECTIONS", '[prod]\naccount = "acme"\n[test]\naccount = "acme"')
    with pytest.raises(DatabaseError, match=r"no connection 'prot' .did you mean 'prod'..: it has prod, test; write"):
        SnowflakeEngine.check(url)
    monkeypatch.setenv("SNOWFLAKE_CONNECTIONS", "")
    with pytest.raises(DatabaseError, match=r"connections\.toml has no connection 'prot': it is expected in"):
        SnowflakeEngine.check(url)


def test_a_key_file_that_is_not_a_key_is_told_before_the_login(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

    key, path = generate_private_key(SECP256R1()), tmp_path / "key.p8"

    def written(protection: serialization.KeySerializationEncryption) -> bytes:
        return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection)

    plain = written(serialization.NoEncryption())
    encrypted = written(serialization.BestAvailableEncryption(b"sesame"))
    for content, more, words in (
        (b"", "", "write the path of a PEM file of PKCS #8"),
        (b"no key", "", "write the path of a PEM file of PKCS #8"),
        (encrypted, "", r"it is encrypted: add private_key_file_pwd="),
        (encrypted, "&private_key_file_pwd=wrong-one", "and its password, if it has one, as private_key_file_pwd"),
        (plain, "&private_key_file_pwd=sesame", "it is not encrypted: omit private_key_file_pwd"),
    ):
        path.write_bytes(content)
        url = DatabaseUrl.parse(f"snowflake://ann@acme/D?private_key_file={path}{more}")
        with pytest.raises(DatabaseError, match=words) as error:
            SnowflakeEngine.check(url)
        assert "wrong-one" not in str(error.value)
    _check_files({"private_key_file": str(path)})
    path.write_bytes(encrypted)
    _check_files({"private_key_file": str(path), "private_key_file_pwd": "sesame"})


def test_a_url_gives_the_connectors_arguments() -> None:
    url = "snowflake://ann:p%40ss@acme-eu/My%20Base/Public?warehouse=W&role=R&allow=F,G&port=443"
    login = {"user": "ann", "password": "p@ss", "account": "acme-eu", "database": "My Base", "schema": "Public"}
    assert connection_arguments(DatabaseUrl.parse(url)) == {**login, "warehouse": "W", "role": "R", "port": 443}
    named = {"connection_name": "dev", "database": "D", "schema": "S"}
    assert connection_arguments(DatabaseUrl.parse("snowflake:///D/S?connection_name=dev")) == named


def test_a_readers_grants_name_what_the_url_names() -> None:
    grants = SnowflakeEngine.reader_grants(DatabaseUrl.parse("snowflake://ann:x@acme/Sales/my%20schema?warehouse=W"))
    assert 'GRANT SELECT ON ALL TABLES IN SCHEMA Sales."my schema" TO ROLE assay_reader' in grants


@pytest.mark.parametrize(
    ("login", "words"),
    [
        ("ann@acme/D/S?authenticator=externalbrowser", "opens a browser, which worker processes cannot"),
        ("ann@acme/D/S?authenticator=oauth_authorization_code", "use a key (private_key_file=PATH)"),
        ("acme/D/S?authenticator=ExternalBrowser", "opens a browser"),
        ("ann:x@acme/D/S?authenticator=snowflake_jwt", "needs a key: add private_key_file="),
        ("ann@acme/D/S?authenticator=oauth", "needs a token: add token="),
        ("ann@acme/D/S?authenticator=PROGRAMMATIC_ACCESS_TOKEN", "needs a token: add token="),
        ("ann:@acme/D/S", "no password in it: write snowflake://USER:PASSWORD@"),
        ("ann@acme/D/S", "no password in it: write snowflake://USER:PASSWORD@"),
        ("ann@acme/D/S?authenticator=username_password_mfa&passcode=1", "no password in it"),
        ("ann@acme/D/S?authenticator=https://acme.okta.com", "no password in it"),
    ],
)
def test_a_login_that_lacks_something_is_noticed_before_the_network(login: str, words: str) -> None:
    with pytest.raises(DatabaseError) as error:
        SnowflakeEngine.open(DatabaseUrl.parse(f"snowflake://{login}"), Limits())
    message = str(error.value)
    assert words in message
    assert message.count("snowflake://" + login.partition("@")[2]) <= 1
    assert "\n" not in message


@pytest.mark.parametrize(
    "login",
    [
        "ann:x@acme/D/S",
        "ann:x@acme/D/S?authenticator=programmatic_access_token",
        "ann@acme/D/S?authenticator=oauth&token=t",
        "ann@acme/D/S?token=t",
        "acme/D/S?authenticator=workload_identity&workload_identity_provider=AWS",
        "acme/D/S?authenticator=oauth_client_credentials",
        "ann@acme/D/S?connection_name=there",
    ],
)
def test_a_login_that_may_do_is_left_to_the_service(login: str) -> None:
    connection_arguments(DatabaseUrl.parse(f"snowflake://{login}"))
