"""Where sqlglot reads a text otherwise than engines do: templates, pipe operators, types."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from assay.sql import read_statement
from assay.sql.reader import CLICKHOUSE_TYPES, reader
from assay.sql.shape import is_nested_too_deeply, parse_query, parse_with_signs, read_shape
from assay.sql.statement import statement_kind
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


@pytest.mark.parametrize("dialect", ["bigquery", "spark", "databricks"])
@pytest.mark.parametrize("pipes", ["LIMIT 3 |> WHERE a", "ORDER BY a", "SET a = b + 1", "SELECT DISTINCT a"])
def test_a_query_with_pipe_operators_is_left_unread(dialect: str, pipes: str) -> None:
    assert parse_query(f"FROM t |> {pipes}", dialect) is None
    assert parse_query(f"SELECT a FROM (SELECT b FROM t |> {pipes}) AS s", dialect) is None
    assert parse_query("SELECT '|>' FROM t", dialect) is not None


@each("name", sorted(CLICKHOUSE_TYPES))
def test_types_keep_their_names(name: str) -> None:
    parsed = parse_query(f"SELECT CAST(a AS {name}), b::Array(Nullable({name})), {name} FROM t", "clickhouse")
    assert parsed.tree.sql("clickhouse").count(name) == 3


@pytest.mark.parametrize(
    "query", ["SELECT lttb(3)(a, b) FROM t", "SELECT approx_top_k(a) FROM t", "SELECT a::my_type FROM t"]
)
def test_what_sqlglot_would_misread_is_left_unread(query: str) -> None:
    assert parse_query(query, "clickhouse") is None


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("SELECT +a, - + b, (+1), a + +b FROM t ORDER BY +1", 5),
        ("SELECT a + 1, 'x' + b, (a) + (b), f(a) + 1e+3 FROM t", 0),
        ("SELECT CASE WHEN +a THEN +1 ELSE 2 END + 3 FROM t", 2),
    ],
)
def test_a_redundant_sign_is_kept_if_asked(query: str, kept: int) -> None:
    parsed = parse_with_signs(query, "sqlite")
    assert parsed is not None
    assert len(list(parsed.tree.find_all(exp.Introducer))) == kept
    assert not list(parsed.tree.find_all(exp.BitwiseNot))
    assert parse_query(query, "sqlite").tree.find(exp.Introducer) is None


def test_a_query_with_other_signs_of_the_kind_is_not_mistaken() -> None:
    assert parse_with_signs("SELECT ~a, +b FROM t", "sqlite") is None


@pytest.mark.parametrize("dialect", [*DIALECTS, "denodo"])
def test_parsers_and_generators_are_sqlglots_own(dialect: str) -> None:
    """Its compiled classes cannot be extended."""
    speaks = reader(dialect)
    for made in (speaks.parser(), speaks.generator()):
        assert type(made).__module__.partition(".")[0] == "sqlglot"


def test_an_unknown_dialect_is_said() -> None:
    with pytest.raises(ValueError, match="Unknown dialect"):
        reader("no such dialect")


_DEEP = {
    "SELECT a FROM ": ("(SELECT a FROM ", "t", ") AS s"),
    "SELECT ": ("(", "1", ")"),
    "SELECT  ": ("f(", "1", ")"),
    "SELECT   ": ("CASE WHEN a THEN ", "1", " END"),
    "SELECT    ": ("- ", "1", ""),
    "SELECT CAST(a AS ": ("ARRAY<", "INT", ">"),
    "SELECT a FROM t ": ("JOIN t ", "", "ON TRUE "),
    "": ("FROM ", "t", ""),
    "SELECT a FROM t WHERE a IN ": ("(SELECT a FROM t WHERE a IN ", "(1)", ")"),
}


@pytest.mark.parametrize("begins", sorted(_DEEP))
def test_both_builds_of_sqlglot_read_the_same_depth(begins: str) -> None:
    """The compiled one has no limit of its own for some forms: it would end the process."""
    before, inside, after = _DEEP[begins]
    texts = {levels: begins + before * levels + inside + after * levels for levels in (25, 33, 50_000)}
    assert [parse_query(text, "sqlite") for text in list(texts.values())[1:]] == [None, None]
    assert not is_nested_too_deeply(texts[25], "sqlite")
    assert all(is_nested_too_deeply(texts[levels], "sqlite") for levels in (33, 50_000))
    assert statement_kind(texts[50_000], "sqlite") == "unreadable"
    many = f"SELECT {', '.join(['CASE WHEN (a) THEN -1 WHEN a < 1 THEN 2 END'] * 100)} FROM t"
    assert parse_query(many, "sqlite") is not None


@each(
    ("dialect", "pattern"),
    [("duckdb", "SELECT a FROM DESCRIBE "), ("clickhouse", "FROM DESCRIBE "), ("sqlite", "EXPLAIN SELECT a FROM ")],
)
def test_no_repeated_words_end_the_process(dialect: str, pattern: str) -> None:
    assert statement_kind(pattern * 20_000, dialect) in ("unreadable", "command")
    assert parse_query(pattern * 20_000, dialect) is None


def test_a_long_query_is_not_a_deep_one() -> None:
    rows = ", ".join(["(-1, NULL, 'a')"] * 3_000)
    branches = " ".join(["WHEN a < 1 AND b > 2 THEN -1"] * 1_500)
    condition = " OR ".join(["a = 1"] * 1_000)
    for query in (f"SELECT * FROM (VALUES {rows})", f"SELECT CASE {branches} END FROM t WHERE {condition}"):
        assert not is_nested_too_deeply(query, "sqlite")
