"""The outermost level is read by parsing, never by searching."""

from __future__ import annotations

from assay.sql import is_nondeterministic, read_shape, same_text
from assay.sql.statement import statement_kind
from many_cases import each


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
