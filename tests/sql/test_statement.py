"""What a text would do, read before a server gets it, and its outermost level, read by parsing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.mysql.guard import read_mysql
from assay.sql import is_nondeterministic, read_shape, read_statement, same_text
from assay.sql.statement import statement_kind
from many_cases import each

DIALECTS = ("", "sqlite", "postgres", "oracle", "tsql", "snowflake", "bigquery", "trino")


@each("dialect", DIALECTS)
@each(
    ("query", "does"),
    [
        ("SELECT 1", "query"),
        ("select a from t where b = 'DELETE; DROP' ;", "query"),
        ("WITH x AS (SELECT 1 AS a) SELECT a FROM x", "query"),
        ("(SELECT 1) UNION ALL (SELECT 2)", "query"),
        ("SELECT t.a FROM t JOIN u ON t.a = u.a GROUP BY t.a HAVING COUNT(*) > 1 ORDER BY 1", "query"),
        ("DELETE FROM t", "write"),
        ("/* x */ UPDATE t SET a = 1", "write"),
        ("WITH x AS (SELECT 1 AS a) INSERT INTO t SELECT a FROM x", "write"),
        ("SELECT * INTO u FROM t", "write"),
        ("SELECT 1; SELECT 2", "several"),
        ("SELECT 1;; -- it's; so", "query"),
        ("; -- first\n;SELECT 1; ; /* ; */ ;", "query"),
        ("SELECT 1;; -- x\nSELECT 2", "several"),
        ("COMMIT", "refused"),
        ("EXEC sp_who", "refused"),
        ("CALL evil()", "refused"),
        ("SET a = 1", "refused"),
        ("SELECT pg_sleep(9)", "reaches"),
        ("SELECT * FROM openrowset('x', 'y', 'z')", "reaches"),
        ("", "none"),
        (" ;; ", "none"),
        ("I cannot answer that.", "prose"),
        ("SELECT 'open", "error"),
        ("SELECT 1 " + "x" * 1_000_000, "error"),
    ],
)
def test_a_text_is_read_as_what_it_would_do(query: str, does: str, dialect: str) -> None:
    assert read_statement(query, dialect).does == does


@each(
    "query",
    [
        "SELECT 1 DROP TABLE t",
        "SELECT a FROM t DELETE FROM t",
        "SELECT a FROM t EXEC sp_configure 'x'",
        "SELECT a FROM t x EXECUTE sp_who",
        "SELECT a FROM t SHUTDOWN",
        "SELECT a FROM t WHERE a = 1 TRUNCATE TABLE t",
        "SELECT a FROM t\nGRANT ALL TO x",
        "WITH x AS (SELECT 1 AS a) SELECT a FROM x KILL 5",
        "SELECT 1 COMMIT",
    ],
)
def test_transact_sql_needs_no_semicolon_to_hide_a_second_statement(query: str) -> None:
    assert read_statement(query, "tsql").does in ("write", "refused", "several")


@given(st.text(max_size=200))
def test_no_text_makes_the_readers_raise(text: str) -> None:
    for dialect in ("postgres", "tsql"):
        read_statement(text, dialect)
    for backslash_escapes in (True, False):
        read_mysql(text, backslash_escapes=backslash_escapes, ansi_quotes=not backslash_escapes)


@each(
    ("query", "does"),
    [
        ("SELECT 1 -- ; DELETE FROM t", "query"),
        ("SELECT 1 --; DELETE FROM t", "reaches"),
        ("SELECT 1 # ; DELETE FROM t", "query"),
        ("SELECT '#' ; DELETE FROM t", "several"),
        ("SELECT `a``;` FROM t", "query"),
        ("SELECT 'it''s; ok'", "query"),
        ("SELECT '\\'; DELETE FROM t; -- '", "query"),
        ('SELECT "\\"; DELETE FROM t; -- "', "query"),
        ("SELECT 1 /*! , SLEEP(9) */", "reaches"),
        ("SELECT '/*! not one */'", "query"),
        ("SELECT 1 /* /*! */", "reaches"),
        ("SELECT a.update, `delete` FROM a", "query"),
        ("SELECT REPLACE(a, 'x', 'y') FROM t", "query"),
        ("WITH x AS (SELECT 1) REPLACE t SELECT * FROM x", "write"),
        ("SELECT `sleep` (9)", "reaches"),
        ("SELECT sleep/* */(9)", "reaches"),
        ("SELECT sleep FROM t", "reaches"),
        ("SELECT t.sleep, `sleep`, `into` FROM t", "query"),
        ("SELECT 1e1INTO OUTFILE 'x'", "reaches"),
        ("SELECT 1.e1SLEEP(9)", "reaches"),
        ("SELECT \\NINTO OUTFILE 'x'", "reaches"),
        ("SELECT 1\u00a0, 2", "reaches"),
        ("SELECT {fn SLEEP(9)}", "reaches"),
        ("SELECT _gbk'x'", "reaches"),
        ("SELECT _utf8mb4'x' COLLATE utf8mb4_bin, N'x', x'41', b'1', DATE '2020-01-01'", "query"),
        ("SELECT 1e1, 1.5e-3, .5, 5., 0x41, 0b1, 5 - -3, a->>'$.b' FROM t -- that was all", "query"),
        ("SELECT gr\u00f6\u00dfe, `2nd`, t.`a b` FROM t AS stra\u00dfe", "query"),
        ("SELECT /*+ NO_INDEX(t i) */ 1", "query"),
        ("SELECT /*+ SET_VAR(sql_mode = '') */ 1", "reaches"),
        ("SELECT * FROM mysql.user", "reaches"),
        ("WITH x AS (SELECT 1) UPDATE (t) SET a = 1", "write"),
        ("SELECT 'a\u00a0b', 1 -- a\u00a0b", "query"),
        *(
            (f"SHOW {what}", "query")
            for what in ("TABLES", "FULL TABLES", "CREATE TABLE t", "TABLE STATUS", "KEYS IN t")
        ),
        *(
            (f"SHOW {what}", "refused")
            for what in ("CREATE USER u", "FULL PROCESSLIST", "GRANTS", "STATUS", "", "FULL")
        ),
        ("SHOW PROCESSLIST TABLES", "refused"),
        ("SHOW TABLES DELETE FROM t", "write"),
        ("DESC t", "query"),
        ("I am sorry \u2013 no", "prose"),
        ("SELECT a FROM t FORCE INDEX FOR JOIN (i)", "query"),
        ("SELECT a FROM t LIMIT 1 INTO @x", "write"),
    ],
)
def test_mysqls_own_rules_for_quotes_and_comments_are_followed(query: str, does: str) -> None:
    assert read_mysql(query).does == does


def test_a_function_from_a_library_and_a_name_in_ansi_quotes_are_seen() -> None:
    assert read_mysql("SELECT evil_of_ours('x')").does == "query"
    assert read_mysql("SELECT Evil_of_ours ('x')", loaded={"evil_of_ours"}).does == "reaches"
    assert read_mysql("SELECT \"load_file\"('x')", ansi_quotes=True).does == "reaches"


def test_where_a_backslash_escapes_nothing_the_text_ends_earlier() -> None:
    assert read_mysql("SELECT '\\'; DELETE FROM t; -- '", backslash_escapes=False).does == "several"
    assert read_mysql('SELECT "\\"; DELETE FROM t; -- "', ansi_quotes=True).does == "several"


@pytest.mark.parametrize("part", ["1+", "(", "'a\\''", "/* */ ", "`a`.", "a ", "''", '"', "\\'"])
def test_long_texts_are_read_in_time(part: str) -> None:
    query = ("SELECT " + part * 1_000_000)[:1_000_000]
    started = time.process_time()
    read_mysql(query)
    assert time.process_time() - started < 20


@each(
    ("query", "ordered", "limited"),
    [
        ("SELECT a FROM t", False, False),
        ("SELECT a FROM t ORDER BY a", True, False),
        ("SELECT a FROM t ORDER BY a LIMIT 3", True, True),
        ("SELECT a FROM t LIMIT 3", False, True),
        ("SELECT a FROM t WHERE b IN (SELECT b FROM s ORDER BY b LIMIT 3)", False, False),
        ("SELECT * FROM (SELECT a FROM t ORDER BY a LIMIT 3)", False, False),
        ("SELECT 'order by x limit 1' FROM t", False, False),
        ('SELECT a AS "order by" FROM t -- order by a', False, False),
        ("WITH s AS (SELECT a FROM t ORDER BY a) SELECT a FROM s", False, False),
        ("WITH s AS (SELECT a FROM t) SELECT a FROM s ORDER BY a", True, False),
        ("SELECT a FROM t UNION SELECT a FROM s ORDER BY a", True, False),
        ("(SELECT a FROM t ORDER BY a)", True, False),
        ("SELECT a, ROW_NUMBER() OVER (ORDER BY a) FROM t", False, False),
        ("SELECT GROUP_CONCAT(a ORDER BY a) FROM t", False, False),
        ("SELECT a FROM t\nORDER\n  BY a", True, False),
        ("SELECT a FROM t ORDER BY a;", True, False),
    ],
)
def test_order_and_cut_are_those_of_the_outermost_query(query: str, ordered: bool, limited: bool) -> None:
    shape = read_shape(query, "sqlite")
    assert (shape.parsed, shape.ordered, shape.limited) == (True, ordered, limited)


def test_what_cannot_be_parsed_says_so_and_which_words_it_holds() -> None:
    shape = read_shape("SELECT FROM WHERE ORDER BY", "sqlite")
    assert (shape.parsed, shape.ordered, shape.limited) == (False, True, False)


@each(
    "query,is_seen",
    [
        ("SELECT random()", True),
        ("SELECT a FROM t ORDER BY RANDOM() LIMIT 1", True),
        ("SELECT date('now')", True),
        ("SELECT strftime('%Y', 'now') - born FROM t", True),
        ("SELECT datetime()", True),
        ("SELECT CURRENT_TIMESTAMP", True),
        ("SELECT a FROM t WHERE d > current_date", True),
        ("SELECT hex(randomblob(4))", True),
        ("SELECT date FROM t", False),
        ("SELECT date('2024-01-01')", False),
        ("SELECT 'random()' FROM t", False),
        ("SELECT now FROM t WHERE title = 'now and then'", False),
        ("SELECT strftime('%Y', day) FROM t", False),
        ("SELECT current_dates.a FROM current_dates", False),
    ],
)
def test_luck_and_clock_are_seen(query: str, is_seen: bool) -> None:
    assert is_nondeterministic(query, "sqlite") == is_seen
    assert is_nondeterministic("SELECT now()", "postgres")
    assert is_nondeterministic("SELECT now()", "duckdb")


@each(
    ("query", "kind"),
    [
        ("SELECT 1", "query"),
        ("SELECT 1;", "query"),
        ("VALUES (1)", "query"),
        ("SELECT 1; SELECT 2", "several"),
        ("-- nothing", "none"),
        ("", "none"),
        ("DELETE FROM t", "write"),
        ("WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone", "write"),
        ("SELECT * INTO copy FROM t", "write"),
        ("CREATE TABLE c AS SELECT 1", "write"),
        ("DROP TABLE t", "write"),
        ("SET x = 1", "command"),
        ("SELECT (", "unreadable"),
    ],
)
def test_a_text_is_one_read_only_query_or_it_is_said_what_it_is(query: str, kind: str) -> None:
    assert statement_kind(query, "postgres") == kind


@each(
    ("first", "second", "same"),
    [
        ("SELECT count(*) FROM t", "select  COUNT( * )\nfrom T ;", True),
        ("SELECT a.b FROM t WHERE c>=1.5", "select A.B from t where c >= 1.5", True),
        ("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = 'X'", False),
        ('SELECT "a" FROM t', 'SELECT "A" FROM t', False),
        ("SELECT a FROM t WHERE b > = 1", "SELECT a FROM t WHERE b >= 1", False),
        ("SELECT a - -1 FROM t", "SELECT a --1 FROM t", False),
        ("SELECT X'AB'", "SELECT X 'AB'", False),
        ("SELECT 1 .5", "SELECT 1.5", False),
        ("SELECT 'it''s'", "SELECT 'it' 's'", False),
        ("SELECT a b FROM t", "SELECT ab FROM t", False),
    ],
)
def test_the_same_words_make_the_same_text(first: str, second: str, same: bool) -> None:
    assert same_text(first, second, "sqlite") is same
    assert same_text(second, first, "sqlite") is same


def test_a_name_of_the_clock_is_read_as_a_parser_reads_it() -> None:
    for name in ("current_date", "current_time", "current_timestamp", "CURRENT_DATE"):
        assert is_nondeterministic(f"SELECT {name}.a, count(*) FROM t", "sqlite")
        assert is_nondeterministic(f"SELECT a FROM t WHERE a > {name}", "sqlite")
