"""VQL is read as far as judging needs it, and what is not one query is told apart."""

from __future__ import annotations

import re
import subprocess
import sys

import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from assay.sql import is_nondeterministic, read_shape, tie_probes
from assay.sql.statement import statement_kind
from assay.sql.vql_statement import read_vql
from many_cases import each

QUERIES = [
    ('SELECT "c"."id" AS "i" FROM "bank"."customer" "c"', False, False, ("customer",)),
    ("SELECT a FROM t ORDER BY a CONTEXT('i18n' = 'us_est', \"cache\" = 'off') TRACE;", True, False, ("t",)),
    ("SELECT a FROM t LIMIT 3 CONTEXT('cache' = 'off')", False, True, ("t",)),
    ("SELECT a FROM t OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY", False, True, ("t",)),
    ("SELECT a FROM t TRACE", False, False, ("t",)),
    ("SELECT a FROM t MINUS SELECT a FROM s ORDER BY 1", True, False, ("s", "t")),
    ("SELECT CAST('int', a) FROM t WHERE CAST('decimal', b) > 1 ORDER BY 1", True, False, ("t",)),
    ("SELECT CAST(a AS localdate), CAST(a AS INT4) FROM t ORDER BY 1", True, False, ("t",)),
    ("SELECT * FROM a x HASH INNER JOIN db.c y ON x.i = y.i ORDER BY 1", True, False, ("a", "c")),
    ("SELECT * FROM a NESTED PARALLEL 4 ORDERED LEFT OUTER JOIN c ON a.i = c.i LIMIT 1", False, True, ("a", "c")),
    ("SELECT * FROM a x MERGE REVERSEORDER JOIN c ON x.i = c.i ORDER BY 1", True, False, ("a", "c")),
    ('SELECT (reg).f, "arr"[0]."g", GETYEAR(d), ADDDAY(d, 3) FROM t ORDER BY TRUNC(d, \'Q\')', True, False, ("t",)),
    ("SELECT TIMESTAMP WITH TIME ZONE '2024-01-01 00:00:00', INTERVAL '1' DAY FROM t LIMIT 2", False, True, ("t",)),
    ("SELECT context, trace FROM t ORDER BY context", True, False, ("t",)),
    ("SELECT hash, nested FROM ordered ORDER BY hash", True, False, ("ordered",)),
    ("SELECT * FROM GET_VIEWS() v LIMIT 1", False, True, ()),
    ("WITH s AS (SELECT a FROM t ORDER BY a LIMIT 2) SELECT a FROM s", False, False, ("t",)),
]

WORDS = ["SELECT", "FROM", "WITH", "(", ")", "[", "]", "{", "}", ",", ".", ";", "'", '"', "a", "'x'", "1", "=", "--"]
WORDS += ["CONTEXT", "TRACE", "FLATTEN", "HASH", "JOIN", "NESTED", "PARALLEL", "MERGE", "CAST", "AS", "INTO", "DROP"]
WORDS += ["ORDER", "BY", "LIMIT", "MINUS", "/*", "*/", "ü", "\ud800"]


def tables_of(query: str) -> set[str]:
    tree = sqlglot.parse_one(query, read="denodo")
    defined = {cte.alias for cte in tree.find_all(exp.CTE)}
    return {table.name for table in tree.find_all(exp.Table) if table.name} - defined


@each(("query", "ordered", "limited", "tables"), QUERIES)
def test_vql_is_read(query: str, ordered: bool, limited: bool, tables: tuple[str, ...]) -> None:
    shape = read_shape(query, "denodo")
    assert (shape.parsed, shape.ordered, shape.limited) == (True, ordered, limited)
    assert statement_kind(query, "denodo") == "query"
    assert tables_of(query) == set(tables)
    assert read_vql(query).does == "query"


@each("query", [query for query, *_ in QUERIES])
def test_a_text_that_ends_anywhere_is_read(query: str) -> None:
    ends = [found.end() for found in re.finditer(r"\w+|'[^']*'|\S", query)]
    for end in ends:
        text = query[:end]
        assert read_vql(text).does in ("query", "write", "refused", "prose"), text
        read_shape(text, "denodo")
        assert statement_kind(text, "denodo") in ("query", "unreadable", "command"), text
        list(tie_probes(text, "denodo"))


@each("name", ["flatten", "FLATTEN", "hash", "nested", "merge", "context", "trace", "parallel"])
@each("ending", ["", ";", " ORDER BY 1", " WHERE a = 1", ", s", " LIMIT 3"])
def test_a_view_may_have_the_name_of_a_hint(name: str, ending: str) -> None:
    tables = {name.lower(), "s"} if "s" in ending.split() else {name.lower()}
    for query in (f"SELECT a FROM {name}{ending}", f"SELECT a FROM u JOIN {name}{ending}"):
        assert read_vql(query).does == "query"
        assert statement_kind(query, "denodo") == "query", query
        assert {table.lower() for table in tables_of(query)} - {"u"} == tables, query


@each("name", ["trace", "TRACE"])
@each("before", ["ORDER BY", "GROUP BY", "WHERE", "WHERE a AND", "WHERE NOT", "GROUP BY a HAVING"])
def test_a_column_may_have_the_name_of_a_clause(name: str, before: str) -> None:
    query = f"SELECT a FROM t {before} {name}"
    assert statement_kind(query, "denodo") == "query"
    assert read_shape(query, "denodo").ordered == (before == "ORDER BY")


def test_a_name_in_the_context_clause_is_no_part_of_the_query() -> None:
    query = "SELECT a FROM t CONTEXT('var x' = 'order by 1 limit 2')"
    assert not read_shape(query, "denodo").ordered
    assert not list(sqlglot.parse_one(query, read="denodo").find_all(exp.Literal))


@each(
    "query", ["SELECT * FROM FLATTEN db.v AS x (x.items)", "SELECT a FROM t HASH JOIN FLATTEN w AS v ON t.a = v.b, u"]
)
def test_a_flattened_view_is_read_and_never_written(query: str) -> None:
    assert read_vql(query).does == "query"
    assert statement_kind(query, "denodo") == "query"
    assert not list(tie_probes(f"{query} ORDER BY 1 LIMIT 1", "denodo"))


def test_ties_are_probed_without_hints_and_the_context_clause() -> None:
    for query, probe in (
        (
            "SELECT a FROM t ORDER BY b DESC, a LIMIT 3 CONTEXT('i18n' = 'us')",
            "SELECT a, DENSE_RANK() OVER (ORDER BY b DESC, a) AS assay_rank FROM t ORDER BY b DESC, a",
        ),
        (
            "SELECT a FROM t ORDER BY b CONTEXT('i18n' = 'us') TRACE",
            "SELECT a, DENSE_RANK() OVER (ORDER BY b) AS assay_rank FROM t ORDER BY b",
        ),
    ):
        assert next(tie_probes(query, "denodo")).query == probe
    hinted = next(tie_probes("SELECT x.a FROM t x HASH JOIN s y ON x.i = y.i ORDER BY x.a LIMIT 3", "denodo"))
    assert "t AS x JOIN s AS y" in hinted.query


@each(
    "query",
    [
        "SELECT LEN(a), SUBSTR(a, 1, 2), CAST(b AS VARCHAR), TRUNC(d, 'MONTH') FROM t",
        "SELECT NOW(), CURRENT_TIMESTAMP, GETYEAR(d), ADDMONTH(d, 1), MOD(a, 2), POSITION('a' IN b) FROM t",
        "SELECT INSTR(a, 'b'), NVL(a, b), FORMATDATE('yyyy', d), STDEV(a), a || b FROM t",
    ],
)
def test_a_query_is_written_as_it_was_read(query: str) -> None:
    assert sqlglot.parse_one(query, read="denodo").sql("denodo") == query


@each(
    ("query", "expected"),
    [
        ("SELECT CAST('int', b) FROM t", "SELECT CAST(b AS INT) FROM t"),
        ("SELECT CAST('decimal(9, 2)', a + f(b, c)) FROM t", "SELECT CAST(a + f(b, c) AS DECIMAL(9, 2)) FROM t"),
        ("SELECT CAST('long', CAST('text', b)) FROM t", "SELECT CAST(CAST(b AS TEXT) AS BIGINT) FROM t"),
        (
            "SELECT a FROM t AS x NESTED PARALLEL 4 REVERSEORDER INNER JOIN s USING (a)",
            "SELECT a FROM t AS x INNER JOIN s USING (a)",
        ),
        ("SELECT x % 2 FROM t", "SELECT MOD(x, 2) FROM t"),
    ],
)
def test_a_query_is_written_in_a_form_that_means_the_same(query: str, expected: str) -> None:
    assert sqlglot.parse_one(query, read="denodo").sql("denodo").upper() == expected.upper()


def test_the_clock_is_seen() -> None:
    assert is_nondeterministic("SELECT a FROM t WHERE d > NOW() CONTEXT('cache' = 'off')", "denodo")
    assert is_nondeterministic("SELECT a FROM t WHERE d > CURRENT_DATE", "denodo")
    assert not is_nondeterministic("SELECT GETYEAR(d) FROM t", "denodo")


TEXTS = [
    ("", "none"),
    (" ;; ", "none"),
    ("-- a comment", "none"),
    ("SELECT 1", "query"),
    ("(SELECT 1) UNION (SELECT 2);", "query"),
    ("SELECT a FROM t WHERE b CONTAINS 'x'", "query"),
    ("SELECT 'open", "query"),
    ("SELECT \"update\", t.insert, truncate(a, 2) FROM t WHERE b CONTAINS 'drop view v'", "query"),
    ("SELECT 'a; DROP VIEW v", "several"),
    ("SELECT 1; SELECT 2", "several"),
    ("SELECT a FROM t WHERE b CONTAINS 'x'; DROP VIEW v", "several"),
    ("SELECT a FROM t CONTEXT('cache' = 'off'); DROP VIEW v", "several"),
    ("DROP VIEW v", "write"),
    ("create or replace view v AS SELECT 1", "write"),
    ("ALTER VIEW v CACHE OFF", "write"),
    ("SELECT * INTO m FROM t", "write"),
    ("WITH x AS (SELECT 1) DELETE FROM t", "write"),
    ("SELECT x CONTAINS 'a' INTO m FROM t", "write"),
    ("SELECT a FROM t CONTEXT('cache_preload' = 'true', 'cache_wait_for_load' = 'true')", "write"),
    ("SELECT a FROM t CONTEXT('i18n' = 'us', \"CACHE_INVALIDATE\" = 'all_rows')", "write"),
    ("SELECT * FROM admin.DROP_REMOTE_TABLE('a')", "write"),
    ("SELECT * FROM t, CLEAN_CACHE_DATABASE('a')", "write"),
    ("SELECT a FROM t CONTEXT(USERNAME = 'root', PASSWORD = 'x')", "refused"),
    ("CALL p()", "refused"),
    ("DESC VIEW v", "refused"),
    ("CONNECT USER a PASSWORD 'b'", "refused"),
    ("I cannot answer that", "prose"),
    ("Sorry; there is no such view", "prose"),
    ("(see above)", "prose"),
    ("Don't know", "prose"),
    ("Update", "prose"),
    ("42", "prose"),
]


@each(("text", "does"), TEXTS)
@each(("before", "after"), [("", ""), (";", ""), (" ; ;\n", ""), ("", "\n;"), ("", ";; ;"), ("; ", " ;")])
def test_a_text_is_one_query_or_it_is_said_what_it_would_do(text: str, does: str, before: str, after: str) -> None:
    """Empty statements around it change nothing."""
    assert read_vql(before + text + ("\n" if "--" in text else "") + after).does == does


@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_no_text_breaks_the_reader(words: list[str]) -> None:
    text = " ".join(words)
    reading = read_vql(text)
    assert reading.does in ("query", "write", "refused", "several", "none", "prose")
    read_shape(text, "denodo")
    next(tie_probes(text, "denodo"), None)
    if reading.does == "query":
        assert statement_kind(text, "denodo") in ("query", "unreadable")


def test_the_package_reads_other_dialects_without_loading_it() -> None:
    reads = "import sys, assay.sql as sql; sql.read_shape('SELECT 1 ORDER BY 1', 'sqlite')"
    script = f"{reads}; print('assay.sql.vql' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "False"
