"""What an outline says of a query is what the parser says; of anything out of the ordinary there is no outline."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from assay.sql import is_plain, tie_probes
from assay.sql.outline import Outline, read_outline
from assay.sql.probes.any_row import _found, _may_take_any_row, any_rows, plain_check
from assay.sql.probes.edits import read_for_probes
from assay.sql.probes.empty_input import empty_input_probe, traced_probe
from assay.sql.probes.ranked import TieProbe, _probes
from assay.sql.shape import _is_nondeterministic, _most_rows, cutting, deterministic_keys, outermost, parse_query
from many_cases import each

NAMES = st.sampled_from(["a", "b", "c", "t.a", "u.a", "T.B", "x", "n", "limits", "from_", "Group1", "top1", "date"])
ODD_NAMES = st.sampled_from(['"a"', "'a'", "`a`", "[a]", "t.*", "*", "1", "rowid", "NULL", "random()", "current_date"])
ALIASES = st.sampled_from(["", "", " AS x", " AS n", " n", " AS a", " x"])
FUNCTIONS = st.sampled_from(["COUNT", "count", "SUM", "Avg", "MIN", "MAX", "abs", "round", "group_concat", "total"])
COMPARISONS = st.sampled_from(["=", "<", ">=", "<>", "!=", "==", "LIKE", "IN", "IS", "+", "||"])


def words(*parts: str) -> str:
    return " ".join(part for part in parts if part)


CALLS = st.builds(
    lambda name, blank, distinct, argument: f"{name}{blank}({distinct}{argument})",
    FUNCTIONS,
    st.sampled_from(["", "", " "]),
    st.sampled_from(["", "", "DISTINCT "]),
    NAMES | st.sampled_from(["*", "a, b", "a + 1", "COUNT(a)", "(SELECT a FROM u)"]),
)
TERMS = st.one_of(NAMES, NAMES, CALLS, CALLS, ODD_NAMES)
VALUES = st.one_of(st.sampled_from(["1", "2.5", "'it'", "'a from b limit 1'", '"a"', "NULL"]), TERMS)


def queries(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """SELECTs with clauses of these kinds of parts, now and then with ``inner`` as a subquery."""
    group = inner.map(lambda text: f"({text})")
    conditions = st.lists(
        st.one_of(
            st.builds(words, TERMS, COMPARISONS, VALUES),
            st.builds(words, NAMES, st.sampled_from(["=", "IN", "NOT IN", ">", "BETWEEN"]), group),
            st.builds(words, st.sampled_from(["EXISTS", "NOT EXISTS", ""]), group),
            st.builds(lambda one: f"({one} OR b IN (1, 2))", NAMES.map(lambda name: f"{name} = 1")),
        ),
        min_size=1,
        max_size=2,
    ).map(" AND ".join)
    outputs = st.lists(
        st.builds(lambda term, alias: term + alias, st.one_of(TERMS, TERMS, group), ALIASES), min_size=1, max_size=3
    ).map(", ".join)
    joins = st.sampled_from(["JOIN", "LEFT JOIN", "left outer join", "INNER JOIN", "CROSS JOIN", ",", "NATURAL JOIN"])
    entries = st.one_of(st.just("t"), st.just("u AS t"), st.just("t u"), group, group.map(lambda text: f"{text} AS t"))
    sources = st.one_of(
        entries,
        st.builds(words, entries, joins, st.sampled_from(["u", "u AS w"]), st.sampled_from(["", "ON t.a = u.a"])),
    )
    keys = st.lists(st.one_of(TERMS, st.sampled_from(["n", "x", "1", "2"])), min_size=1, max_size=2)
    directions = st.sampled_from(["", "", " DESC", " asc", " COLLATE NOCASE", " NULLS LAST"])
    limits = st.sampled_from(["LIMIT 1", "limit 3", "LIMIT 3 OFFSET 1", "LIMIT 1, 2", "LIMIT 1 + 1", "OFFSET 2"])
    select = st.builds(
        words,
        st.just("SELECT"),
        st.sampled_from(["", "", "", "DISTINCT"]),
        outputs,
        sources.map(lambda text: f"FROM {text}"),
        st.one_of(st.just(""), conditions.map(lambda text: f"WHERE {text}")),
        st.one_of(st.just(""), keys.map(lambda found: f"GROUP BY {', '.join(found)}")),
        st.one_of(st.just(""), st.just(""), conditions.map(lambda text: f"HAVING {text}")),
    )
    tails = st.builds(
        words,
        st.one_of(
            st.just(""),
            st.builds(lambda found, how: f"ORDER BY {', '.join(key + how for key in found)}", keys, directions),
        ),
        st.one_of(st.just(""), limits),
    )
    operations = st.sampled_from(["UNION", "UNION ALL", "EXCEPT", "intersect"])
    return st.one_of(
        st.builds(words, select, tails),
        st.builds(words, select, tails),
        st.builds(words, select, operations, select, tails),
        st.builds(words, select, tails, operations, select),
    )


QUERIES = st.recursive(
    st.sampled_from(["SELECT a FROM u", "SELECT MAX(a) FROM u", "SELECT a FROM u ORDER BY b LIMIT 1", "SELECT 1"]),
    queries,
    max_leaves=4,
)


def same(first: str | None, second: str | None) -> bool:
    return first == second or (
        first is not None and second is not None and parse_one(first, read="sqlite") == parse_one(second, read="sqlite")
    )


def check_outline(query: str, outline: Outline) -> None:
    """Hold an outline to the parser's reading, unless the query is none that SQLite or the parser can read."""
    parsed = parse_query(query, "sqlite")
    if parsed is None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE TABLE t (a, b, c, x, n)")
            connection.execute("CREATE TABLE u (a, b, c, x, n)")
            try:
                connection.execute(query)
            except sqlite3.Error:
                return
        raise AssertionError(f"SQLite reads it, the parser does not: {query}")
    top, cuts = outermost(parsed.tree), cutting(parsed.tree)
    assert outline.ordered == bool(deterministic_keys(top))
    assert outline.most_rows == _most_rows(cuts)
    assert (outline.most_rows is not None) == bool(cuts)
    assert (outline.offset is not None) == any(part.args.get("offset") is not None for part in cuts)
    limits = [node for node in parsed.tree.find_all(exp.Query) if node.args.get("limit") or node.args.get("offset")]
    assert outline.has_inner_limit == any(node not in cuts for node in limits)
    assert not _is_nondeterministic(parsed.tree)
    read = read_for_probes(query, "sqlite")
    assert read is not None
    if outline.is_decided:
        assert not list(_found(read))
    if not _may_take_any_row(query):
        assert not list(_found(read))
    if outline.bare:
        (found,) = _found(read)
        assert (found.kind, found.node) == ("bare column", read.tree)
        ours__, theirs__ = plain_check(query, "sqlite") or "", found.check() or ""
        assert same(ours__.lower(), theirs__.lower()), query
    if outline.keys is not None:
        ours, theirs = next(tie_probes(query, "sqlite", 1)), next(_probes(read, 1))
        assert isinstance(ours, TieProbe)
        assert same(ours.query, theirs.query), query
        assert (ours.ranked, ours.offset, ours.shown, ours.ordered) == (True, theirs.offset, None, True)
    if outline.is_aggregate:
        ours_, theirs_ = empty_input_probe(query, "sqlite"), traced_probe(query, "sqlite")
        nothing = "COUNT(*) = 0"
        while theirs_ is not None and f"{nothing} AND {nothing}" in theirs_:  # once for each output
            theirs_ = theirs_.replace(f"{nothing} AND {nothing}", nothing)
        assert same(ours_, theirs_), query


@given(query=QUERIES)
def test_an_outline_says_what_the_parser_says(query: str) -> None:
    outline = read_outline(query)
    if outline is not None:
        check_outline(query, outline)


@each(
    "query",
    [
        "SELECT a, COUNT(*) FROM t GROUP BY a",
        "SELECT T1.a, count(*) AS n FROM t AS T1 JOIN u ON T1.a = u.a GROUP BY T1.a HAVING count(*) > 2 ORDER BY n",
        "SELECT a FROM t WHERE b > (SELECT AVG(b) FROM t)",
        "SELECT a FROM t WHERE b IN (SELECT b FROM u WHERE c = 'x') ORDER BY a LIMIT 3 OFFSET 1;",
        "SELECT a FROM t WHERE b = (SELECT b FROM u ORDER BY c LIMIT 1)",
        "SELECT MAX(a), MIN(a) FROM t WHERE b = 1",
        "SELECT a FROM t UNION SELECT a FROM u",
        "SELECT n FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) AS w ORDER BY n",
    ],
)
def test_common_queries_have_an_outline_in_which_all_is_decided(query: str) -> None:
    outline = read_outline(query)
    assert outline.is_decided
    check_outline(query, outline)


@each(
    "query",
    [
        "SELECT a, b, COUNT(*) FROM t GROUP BY a",
        "SELECT a, MAX(b) FROM t",
        "SELECT COUNT(*) FROM t HAVING a > 1",
        "SELECT a FROM t GROUP BY a ORDER BY b",
        "SELECT a FROM t WHERE b = (SELECT b FROM u)",
        "SELECT a FROM t WHERE b = (SELECT b FROM u GROUP BY b HAVING COUNT(*) > 1)",
        "SELECT DISTINCT a FROM t ORDER BY b",
        "SELECT u.a, COUNT(*) FROM t JOIN u ON t.a = u.a GROUP BY t.a",
        "SELECT a AS b, c FROM t GROUP BY b",
        "SELECT a FROM t UNION SELECT a FROM u GROUP BY b",
    ],
)
def test_a_row_of_several_is_never_taken_for_decided(query: str) -> None:
    outline = read_outline(query)
    assert outline is None or not outline.is_decided


@each(
    "query",
    [
        "WITH w AS (SELECT a FROM t) SELECT a FROM w",
        "SELECT a, ROW_NUMBER() OVER (ORDER BY b) FROM t",
        "SELECT group_concat(a) FROM t",
        "SELECT a FROM t ORDER BY random()",
        "SELECT a FROM t LIMIT 2, 3",
        "SELECT a FROM t LIMIT (SELECT 1)",
        "SELECT a FROM t WHERE b IS DISTINCT FROM (SELECT b FROM u)",
        "SELECT t.* FROM t",
        "SELECT a FROM t -- a comment",
        "SELECT 'it''s' FROM t",
        "SELECT [a] FROM t",
        "SELECT (SELECT a FROM u) FROM t",
        "SELECT CASE WHEN a THEN b END FROM t",
        "SELECT a FROM t; SELECT b FROM t",
        "SELECT a FROM t WHERE (a",
        "SELECT 1",
        "VALUES (1)",
        "",
    ],
)
def test_queries_out_of_the_ordinary_have_none(query: str) -> None:
    assert read_outline(query) is None


@each(
    "query",
    [
        "SELECT name, COUNT(*) FROM t GROUP BY id ORDER BY COUNT(*) DESC LIMIT 1;",
        "SELECT T1.Name FROM t AS T1 JOIN u ON a = T1.id WHERE x = 'group by b' GROUP BY T1.id HAVING COUNT(*) > 1",
        "SELECT a, name FROM t WHERE b IN (SELECT b FROM u GROUP BY b HAVING COUNT(*) > 2) GROUP BY a ORDER BY name",
    ],
)
def test_whether_groups_agree_in_a_column_is_asked_without_a_parser(query: str) -> None:
    outline, read = read_outline(query), read_for_probes(query, "sqlite")
    assert outline.bare
    assert read is not None
    check_outline(query, outline)


@each(
    "query",
    [
        "SELECT name, MAX(a) FROM t GROUP BY id",
        "SELECT name AS n, COUNT(*) FROM t GROUP BY id",
        "SELECT name FROM t GROUP BY id HAVING COUNT(*) = (SELECT COUNT(*) FROM u)",
        "SELECT name, 'from x' FROM t GROUP BY id",
        "SELECT name FROM t GROUP BY id HAVING size = 3",
        "SELECT name FROM t GROUP BY id UNION SELECT a FROM u",
    ],
)
def test_other_columns_that_groups_do_not_decide_are_left_to_the_parser(query: str) -> None:
    assert plain_check(query, "sqlite") is None
    assert any_rows(query, "sqlite")


ROWS = [("a", 1, None), ("it's", 0, 2.5), ('say "x"', -3, 0.0), ("select (1); --", 7, None)]
LITERALS = st.sampled_from(["1", "-3", "2.5", "0", "'a'", "'it''s'", "'select (1); --'", "'order by limit'", "NULL"])
QUOTED = st.sampled_from(['"name"', '"No. of"', '"x"'])
CONDITIONS = st.builds(lambda n, o, v: f"{n} {o} {v}", QUOTED, st.sampled_from(["=", ">", "<=", "<>", "!="]), LITERALS)
WHERES = st.lists(CONDITIONS, max_size=3).map(lambda found: f" WHERE {' AND '.join(found)}" if found else "")
ITEMS = QUOTED | st.builds(
    lambda f, n: f"{f}({n})", st.sampled_from(["MIN", "max", "SUM", "AVG", "count", "COUNT"]), QUOTED
)
PLAIN_QUERIES = st.builds(
    lambda item, blank, where: f'SELECT {item}{blank}FROM{blank}"t 1"{where}',
    ITEMS,
    st.sampled_from([" ", "\n", "  "]),
    WHERES,
)


def rows_of(query: str | None) -> list[tuple[object, ...]] | None:
    if query is None:
        return None
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute('CREATE TABLE "t 1" ("name" TEXT, "No. of" INT, "x" REAL)')
        connection.executemany('INSERT INTO "t 1" VALUES (?, ?, ?)', ROWS)
        return connection.execute(query).fetchall()


@given(query=PLAIN_QUERIES)
def test_the_probe_of_a_plain_query_is_the_parsers(query: str) -> None:
    assert is_plain(query)
    probe, traced = empty_input_probe(query, "sqlite"), traced_probe(query, "sqlite")
    assert rows_of(probe) == rows_of(traced)


@each(
    "query",
    [
        'SELECT "a" FROM "t" WHERE "b" IN (1, 2)',
        'SELECT "a" FROM "t" WHERE "b" = 1 ORDER BY "a"',
        'SELECT "a" FROM "t" WHERE "b" = 1 limit 1',
        'SELECT COUNT("a") FROM "t" WHERE "b" = 1 GROUP BY "c"',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1 HAVING MAX("a") > 1',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1 UNION SELECT 1',
        'SELECT MAX("a") FROM "t" WHERE "b" = (SELECT 1)',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1; SELECT 1',
        'SELECT MAX("a") FROM "t" -- a comment',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1 /* a comment */',
        'SELECT MAX("a") FROM "t", "u"',
        'SELECT MAX("a"), MIN("a") FROM "t"',
        'SELECT COUNT(DISTINCT "a") FROM "t"',
        'SELECT COUNT(*) FROM "t"',
        'SELECT MAX("a") FROM "t" WHERE "b" = \'open',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1 WINDOW w AS "c"',
        'SELECT DISTINCT "a" FROM "t"',
        'SELECT "a" FROM "t" JOIN "u"',
        'SELECT "a" FROM "t" LIMIT 1',
        "SELECT a FROM t",
        "VALUES 1",
        "",
    ],
)
def test_what_needs_a_closer_look_is_not_plain(query: str) -> None:
    assert not is_plain(query)
