"""Every parameter of every engine's URL: given once, known by name, and with a value that fits."""

from __future__ import annotations

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
from assay.errors import DatabaseError
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


def test_spark_connects_functions_are_allowed_behind_a_semicolon() -> None:
    from assay.engines.warehouse.held import allowed_names

    assert allowed_names(DatabaseUrl.parse("sc://h/;token=x;allow=F,g;allow=h?")) == {"f", "g", "h?"}
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
    PostgresEngine.open(DatabaseUrl.parse("postgresql://u:a?b=c@h/d"), LIMITS).close()
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
