"""Every parameter of every engine's URL: given once, known by name, and with a value that fits."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assay.engines.bigquery import login as bigquery
from assay.engines.clickhouse import url as clickhouse
from assay.engines.denodo.url import read_endpoint
from assay.engines.duckdb import DuckdbEngine
from assay.engines.mysql import engine as mysql
from assay.engines.postgres import PostgresEngine
from assay.engines.snowflake import url as snowflake
from assay.engines.spark import url as spark
from assay.engines.sqlite import SqliteEngine
from assay.engines.url_parts import file, flag, one_of, port, text, whole
from assay.errors import DatabaseError, MissingDependency
from assay.model import DatabaseUrl, Limits

LIMITS = Limits()
SERVERS: dict[str, tuple[str, Any, Any]] = {
    "bigquery": ("bigquery://p/d", bigquery.Address.parse, bigquery._PARAMETERS),
    "clickhouse": (
        "clickhouse://h/d",
        lambda url: clickhouse.read_address(url, form="clickhouse://HOST"),
        clickhouse._PARAMETERS,
    ),
    "databricks": ("databricks://token:x@h/", spark.databricks_address, spark._DATABRICKS_PARAMETERS),
    "mysql": ("mysql://u:x@h/d", lambda url: mysql.MysqlEngine.open(url, LIMITS), mysql._PARAMETERS),
    "snowflake": ("snowflake://ann:x@acme/D/S", snowflake.connection_arguments, snowflake._PARAMETERS),
    "spark": ("spark://h/", spark.spark_address, spark._SPARK_PARAMETERS),
}
"""Per engine a URL, what reads it, and the parameters that it declares."""
EVERY = [(engine, name) for engine, (_, _, known) in SERVERS.items() for name in known]
CHECKED = [each for each in EVERY if each[0] != "mysql" or SERVERS["mysql"][2][each[1]] is not text]
"""SQLAlchemy leaves empty values out, and any other value is a text."""
WRONG = {flag: "maybe", whole: "1e3", port: "0", file: "/no/such/file", text: ""}
"""Per kind of parameter a value that does not fit."""


def _refusal(text: str, read: Any) -> str:
    with pytest.raises(DatabaseError) as error:
        read(DatabaseUrl.parse(text))
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("engine", "name"), EVERY)
def test_a_parameter_is_given_once(engine: str, name: str) -> None:
    address, read, _ = SERVERS[engine]
    for values in ("1", "true"), ("true", "true"), ("x", "x"):
        message = _refusal(f"{address}?{name}={values[0]}&{name}={values[1]}", read)
        assert f"the parameter {name} is given 2 times: write it once" in message


@pytest.mark.parametrize(("engine", "name"), CHECKED)
def test_a_value_that_does_not_fit_is_told_with_what_to_write(engine: str, name: str) -> None:
    address, read, known = SERVERS[engine]
    value = WRONG.get(known[name], "no-such-word")
    message = _refusal(f"{address}?{name}={value}", read)
    assert f"the parameter {name} " in message
    assert f"write {name}= and " in message


@pytest.mark.parametrize(("engine", "name"), EVERY)
def test_a_misspelt_name_is_told_with_the_right_one(engine: str, name: str) -> None:
    address, read, known = SERVERS[engine]
    message = _refusal(f"{address}?{name}x=1", read)
    assert f"unknown parameter '{name}x'" in message
    assert "did you mean" in message
    message = _refusal(f"{address}?zzz=1", read)
    assert all(each in message for each in known)


_NAMED = """
private_key privatekey private_key_passphrase private_key_content private_key_base64 private_key_pem pwd passwd pass
passphrase secret client_secret oauth_client_secret api_key apikey apiKey key id_token refresh_token session_token pat
jwt auth auth_token bearer credentials credentials_base64 credentials_info credentials_json service_account_info
user_token access_key aws_secret_access_key sas cookie signature sslpassword sslkey ssl_key ssl_key_password proxy
proxy_password authorization headers http_headers session_configuration otp mfa totp oauth_token client_key p8 tokens
password PASSWORD Token access%5Ftoken odbc_connect Role WAREHOUSE
"""
_SECRET_NAMES = _NAMED.split()
_ADDRESSES = {
    **{engine: address for engine, (address, _, _) in SERVERS.items()},
    "sc": "sc://h/c/s",
    "postgresql": "postgresql://h/d",
    "mariadb": "mariadb://u:x@h/d",
    "denodo": "denodo+http://h/x",
    "another engine": "mssql+pyodbc://u:x@h/d",
}


@pytest.mark.parametrize("engine", sorted(_ADDRESSES))
def test_no_value_of_an_unknown_parameter_is_shown(engine: str) -> None:
    address = _ADDRESSES[engine]
    signs = ("?{}", "?schema=S&{}", ";{}", "?a=1;{}", "?{}&location=EU", "?{}#more", ";use_ssl=true;{}")
    for name in _SECRET_NAMES:
        for sign in signs:
            url = DatabaseUrl.parse(address + sign.format(f"{name}=hunter2"))
            assert "hunter2" not in f"{url} {url!r}"
            if engine in SERVERS:
                message = ""
                try:
                    SERVERS[engine][1](url)
                except DatabaseError as error:
                    message = str(error)
                assert "hunter2" not in message


@pytest.mark.parametrize("engine", sorted(SERVERS))
def test_each_parameter_is_shown_or_a_secret(engine: str) -> None:
    address, _, known = SERVERS[engine]
    shown = {name for name in known if f"{name}=x1y2" in str(DatabaseUrl(text=f"{address}?{name}=x1y2"))}
    secret = {"access_token", "token", "passcode", "private_key_file_pwd", "ssl_key", "ssl_key_password"}
    assert set(known) - shown == {*known, *shown} & {*secret, "server_public_key"}


@pytest.mark.parametrize("name", ["token", "passcode", "private_key_file_pwd"])
def test_a_secret_is_not_shown(name: str) -> None:
    _, read, _ = SERVERS["snowflake"]
    for more in (f"{name}=sesame-1&{name}=sesame-2", f"{name}=sesame-1&wharehouse=W", f"{name}=sesame-1&port=x"):
        assert "sesame" not in _refusal(f"snowflake://ann:sesame@acme/D/S?{more}", read)


@pytest.mark.parametrize(
    ("engine", "text", "words"),
    [
        ("snowflake", "snowflake://ann:x@acme:443/D", "an account has no port"),
        (
            "snowflake",
            "snowflake://ann:x@acme.SnowflakeComputing.com/D",
            "write the account without .snowflakecomputing",
        ),
        ("snowflake", "snowflake://ann:x#y@acme/D", "write %23 for #"),
        ("snowflake", "snowflake://ann:x@acme/D?authenticator=oath", r"did you mean 'oauth'"),
        ("clickhouse", "clickhouse://[::1/d", "the host cannot be read"),
        ("clickhouse", "clickhouse://h/d;secure=true", "there is a ; in it: write ? before the first parameter"),
        ("clickhouse", "clickhouse://h;secure=true/d", "there is a ; in it: write ? before the first parameter"),
        ("spark", "spark://local[2]", "local[2] is a Spark within one process"),
        ("spark", "sc://u:sesame@local[*]/a/b", "local[*] is a Spark within one process"),
        ("clickhouse", "clickhouse://h:0x/d", "the port is not a number"),
        ("clickhouse", "clickhouses://h/d?secure=false", "clickhouses:// is encrypted"),
        ("spark", "sc://h/;token=x;token=y", "the parameter token is given 2 times"),
        ("spark", "sc://h/;use_ssl=maybe", "use_ssl is 'maybe': write use_ssl= and true or false"),
        ("spark", "spark://x@h/?token=y", "the token is given twice"),
        ("spark", "spark://h/c/s?schema=t", "the schema is given twice"),
        ("databricks", "databricks://token:x@h/c/s?http_path=/p&catalog=d", "the catalog is given twice"),
    ],
)
def test_what_does_not_fit_in_the_rest_of_a_url_is_told(engine: str, text: str, words: str) -> None:
    assert words in _refusal(text, SERVERS[engine][1])


@pytest.mark.parametrize("engine", sorted(_ADDRESSES))
@pytest.mark.parametrize(
    "host", ["[", "]", "[]", "[::1", "::1]", "h[2]", "local[2]", "[h]", "[::1]x", "a]b[c", "[v1.x"]
)
def test_a_bracket_never_crashes(engine: str, host: str) -> None:
    from assay.engines.warehouse.held import allowed_names
    from assay.registry import engine_class

    scheme, _, rest = _ADDRESSES[engine].partition("://")
    before, at, _ = rest.partition("/")[0].rpartition("@")
    for place in (f"{before}{at}{host}/d", f"{before}{at}{host}:1/d?allow=f", f"{before}{at}h/{host}?a={host}", host):
        url = DatabaseUrl.parse(f"{scheme}://{place}")
        with suppress(DatabaseError):
            allowed_names(url)
        with suppress(DatabaseError, MissingDependency):
            engine_class(url).open(url, LIMITS).close()


def test_spark_connects_functions_are_allowed_behind_a_semicolon() -> None:
    from assay.engines.warehouse.held import allowed_names

    assert allowed_names(DatabaseUrl.parse("sc://h/;token=x;allow=F,g;allow=h$")) == {"f", "g", "h$"}
    assert allowed_names(DatabaseUrl.parse("clickhouse://u:a;b@h/d?allow=F")) == {"f"}


def test_postgres_and_denodo_have_no_parameter_twice() -> None:
    pytest.importorskip("psycopg")
    twice = "the parameter {} is given 2 times: write it once"
    url = "postgresql://h/d?sslmode=require&sslmode=disable"
    assert twice.format("sslmode") in _refusal(url, lambda url: PostgresEngine.open(url, LIMITS))
    assert twice.format("sslmode") in _refusal(url, PostgresEngine.check)
    misspelt = _refusal("postgresql://u:sesame@h/d?sslmod=require", PostgresEngine.check)
    assert "unknown parameter 'sslmod' (did you mean 'sslmode'?)" in misspelt
    assert "sesame" not in misspelt
    assert twice.format("verify") in _refusal("denodo+http://h/x?verify=1&verify=0", read_endpoint)
    headers = "denodo+http://h/x?header=a:1&header=b:2"
    assert len(read_endpoint(DatabaseUrl.parse(headers)).headers) == 2


@pytest.mark.parametrize(("engine", "scheme"), [(SqliteEngine, "sqlite"), (DuckdbEngine, "duckdb")])
def test_a_database_file_has_no_parameters(engine: Any, scheme: str, tmp_path: Path) -> None:
    for address in (f"{scheme}:///{tmp_path}/a.db", f"{scheme}:///:memory:", f"{scheme}://"):
        for read in (engine.check, lambda url: engine.open(url, LIMITS)):
            message = _refusal(f"{address}?mode=rw", read)
            assert f"has no parameters, and is always read-only: write {address}, or %3F" in message


def test_a_parameter_of_one_word_says_the_word() -> None:
    with pytest.raises(ValueError, match="one of https, http"):
        one_of("https", "http")("ftp")
