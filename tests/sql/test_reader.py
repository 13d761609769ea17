"""Where sqlglot reads a text otherwise than engines do: templates, pipe operators, types."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sql import read_statement
from assay.sql.reader import CLICKHOUSE_TYPES, reader
from assay.sql.shape import parse_query, read_shape
from many_cases import each

DIALECTS = ("sqlite", "duckdb", "postgres", "mysql", "snowflake", "bigquery", "spark", "databricks", "clickhouse")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text", ["SELECT 1 {# x #}", "SELECT 1 {# x #} FROM t LIMIT 3", "{# x #} SELECT 1", "SELECT {#"]
)
def test_a_template_is_no_comment(dialect: str, text: str) -> None:
    assert parse_query(text, dialect) is None
    assert parse_query("SELECT '{# x #}' AS a -- {# x #}", dialect) is not None


def test_a_template_hides_nothing_from_the_reading_of_statements() -> None:
    assert read_statement("SELECT 1 {# ; #} ; DROP TABLE t", "sqlite").does == "several"
    assert read_statement("{# SELECT 1 #} DROP TABLE t", "sqlite").does != "query"
    assert not read_shape("SELECT a FROM t {# ORDER BY a LIMIT 3 #}", "sqlite").parsed


_PIECES = st.sampled_from(["SELECT 1", "{#", "#}", "{{", "%}", "'", ", 2", " ", "a", "-- ", "\n"])


@given(st.lists(_PIECES, max_size=8))
def test_what_is_read_has_no_sign_of_a_template_outside_of_quotes(pieces: list[str]) -> None:
    """SQLite knows no brace but in quotes and comments, so that a text with one elsewhere is an error there."""
    query = "SELECT 1 " + "".join(pieces)
    if parse_query(query, "sqlite") is None:
        return
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(query)
            said = ""
        except sqlite3.Error as error:
            said = str(error)
    assert 'unrecognized token: "{' not in said


def test_duckdb_has_no_templates_either() -> None:
    for text in ("SELECT 1 {# x #}", "SELECT {% x %} 1"):
        with pytest.raises(duckdb.ParserException):
            duckdb.sql(text)
        assert parse_query(text, "duckdb") is None
    assert parse_query("SELECT {'a': {'b': 1}} AS s", "duckdb") is not None


@each(
    ("pipes", "expected"),
    [
        ("LIMIT 3 |> WHERE a", "WITH __tmp1 AS (SELECT * FROM t LIMIT 3) SELECT * FROM __tmp1 WHERE a"),
        ("WHERE a |> LIMIT 3", "SELECT * FROM t WHERE a LIMIT 3"),
        ("ORDER BY a |> LIMIT 3", "SELECT * FROM t ORDER BY a LIMIT 3"),
        ("ORDER BY a |> ORDER BY b", "WITH __tmp1 AS (SELECT * FROM t ORDER BY a) SELECT * FROM __tmp1 ORDER BY b"),
        ("SELECT DISTINCT a", "WITH __tmp1 AS (SELECT DISTINCT a FROM t) SELECT * FROM __tmp1"),
        ("SET a = b + 1", "WITH __tmp1 AS (SELECT * FROM t) SELECT * REPLACE (b + 1 AS a) FROM __tmp1"),
        ("DROP a, b", "WITH __tmp1 AS (SELECT * FROM t) SELECT * EXCEPT (a, b) FROM __tmp1"),
        ("WHERE t.a |> JOIN u ON t.a = u.a", "SELECT * FROM t JOIN u ON t.a = u.a WHERE t.a"),
        ("LIMIT 3 |> LIMIT 2", "SELECT * FROM t LIMIT 2"),
        (
            "LIMIT 3 |> AGGREGATE COUNT(*) AS n",
            (
                "WITH __tmp1 AS (SELECT * FROM t LIMIT 3), __tmp2 AS (SELECT COUNT(*) AS n FROM __tmp1) "
                "SELECT * FROM __tmp2"
            ),
        ),
    ],
)
def test_pipe_operators_apply_in_their_order(pipes: str, expected: str) -> None:
    assert parse_query("FROM t |> SELECT 1 FROM u", "bigquery") is None
    assert parse_query(f"FROM t |> {pipes}", "bigquery").tree.sql("bigquery") == expected


@each("name", sorted(CLICKHOUSE_TYPES))
def test_types_keep_their_names(name: str) -> None:
    parsed = parse_query(f"SELECT CAST(a AS {name}), b::Tuple(x {name}), {name} FROM t", "clickhouse")
    assert parsed.tree.sql("clickhouse").count(name) == 3


def test_tables_that_the_parser_leaves_out_have_places() -> None:
    text = "SELECT collect_list(a, (SELECT b FROM u)) FROM t"
    assert parse_query(text, "spark").table_places == {text.index("u)"), text.rindex("t")}


def test_an_unknown_dialect_is_said() -> None:
    with pytest.raises(ValueError, match="Unknown dialect"):
        reader("no such dialect")


@pytest.mark.parametrize("name", ["parser.cpython-311-x86_64-linux-gnu.so", "parser.cp312-win_amd64.pyd"])
def test_a_compiled_parser_is_refused_by_its_package(name: str, tmp_path: Path) -> None:
    package = tmp_path / "sqlglot"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "parser.py").touch()
    command = [sys.executable, "-c", "import assay.sql"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    pure = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert pure.returncode == 0, pure.stderr
    (package / name).touch()
    compiled = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "InputError: the package sqlglotc is installed" in compiled.stderr
    assert "pip uninstall sqlglotc" in compiled.stderr
