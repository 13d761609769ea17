"""What the reading of a query says of the constructs that warehouses have and other engines do not."""

from __future__ import annotations

import pytest

from assay.linting.apply import lint_gold
from assay.model import Case, Proof
from assay.model.lint import LintOptions
from assay.sql import is_nondeterministic, read_shape, tie_probes
from assay.sql.query import Query, read_query
from assay.sql.schema import names_of
from assay.sql.schema.ddl import read_ddl
from assay.sql.shape import parse_query
from assay.sql.unknown_names import UnknownNames, unknown_names
from assay.witness.proof.proving import prove

WAREHOUSES = ("snowflake", "bigquery", "spark", "databricks", "clickhouse")
ALL = " ".join(WAREHOUSES)
EXCEPT = "SELECT a FROM t EXCEPT DISTINCT SELECT c FROM u"


SCHEMA = read_ddl(
    "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT, b INT, m TEXT, v VARIANT, s STRUCT, items ARRAY, ts TIMESTAMP);"
    "CREATE TABLE u (id BIGINT PRIMARY KEY, t_id INTEGER REFERENCES t (id), c INTEGER)",
    "sqlite",
).schema


def reading(query: str, dialect: str) -> Query:
    read = read_query(query, dialect, names_of(SCHEMA))
    assert isinstance(read, Query), read
    return read


def proved(one: str, other: str, dialect: str, *, ordered: bool = False) -> bool:
    return isinstance(prove(one, other, SCHEMA, dialect=dialect, ordered=ordered), Proof)


def rules(query: str, dialect: str) -> set[str]:
    case = Case(id="1", question="", golds=(query,))
    return {one.rule for one in lint_gold(case, LintOptions(), dialect=dialect, names=names_of(SCHEMA)).findings}


@pytest.mark.parametrize(
    ("query", "dialects"),
    [
        ("SELECT f.value:name::string, f.index, f.key FROM t, LATERAL FLATTEN(input => t.v:items) AS f", "snowflake"),
        ("SELECT value FROM t, TABLE(FLATTEN(t.v))", "snowflake"),
        ("SELECT p.jan FROM t PIVOT(SUM(a) FOR m IN ('jan', 'feb')) AS p (id, b, jan, feb)", "snowflake"),
        ("SELECT \"'jan'\", b FROM t PIVOT(SUM(a) FOR m IN (ANY))", "snowflake"),
        ("SELECT jan FROM (SELECT a, m FROM t) PIVOT(SUM(a) FOR m IN ('jan' AS jan))", "bigquery spark databricks"),
        ("SELECT k, val FROM t UNPIVOT(val FOR k IN (a, b))", "snowflake bigquery spark databricks"),
        ("SELECT LEVEL, a FROM t START WITH a = 1 CONNECT BY PRIOR a = b", "snowflake"),
        ("SELECT f FROM t MATCH_RECOGNIZE(ORDER BY b MEASURES b AS f PATTERN (x) DEFINE x AS TRUE)", "snowflake"),
        ("SELECT METADATA$ACTION, a FROM t CHANGES(INFORMATION => DEFAULT) AT(OFFSET => -60)", "snowflake"),
        ("SELECT z FROM (SELECT * RENAME (a AS z) FROM t)", "snowflake"),
        ("SELECT z FROM (SELECT * REPLACE (a + 1 AS a), a AS z FROM t)", "snowflake bigquery"),
        ("SELECT a FROM (SELECT * ILIKE '%a%' FROM t)", "snowflake"),
        ("SELECT v:a.b[0]::int AS x, x + 1 AS y FROM t WHERE x > 1 QUALIFY y > 2", "snowflake databricks"),
        ("SELECT i.price, o FROM t, UNNEST(t.items) AS i WITH OFFSET AS o", "bigquery"),
        ("SELECT i.price FROM t AS x CROSS JOIN x.items AS i", "bigquery"),
        ("SELECT s.f, s.f.g, t.s.f FROM t", "bigquery spark databricks clickhouse"),
        ("SELECT TO_JSON_STRING(t), TO_JSON_STRING(x) FROM t, u AS x", "bigquery"),
        ("SELECT _PARTITIONTIME, _TABLE_SUFFIX, a FROM t", "bigquery"),
        ("SELECT item, p FROM t LATERAL VIEW posexplode(items) e AS p, item", "spark databricks"),
        ("SELECT e.item FROM t LATERAL VIEW OUTER explode(items) e AS item", "spark databricks"),
        ("SELECT x.item FROM t, LATERAL explode(t.items) AS x(item)", "spark databricks"),
        ("SELECT a AS x, x + 1 AS y FROM t GROUP BY x HAVING x > 1", "spark databricks snowflake clickhouse"),
        ("SELECT window.start, COUNT(*) FROM t GROUP BY window(ts, '1 hour')", "spark"),
        ("SELECT _metadata, a FROM t", "spark databricks"),
        ("SELECT x, a FROM t ARRAY JOIN items AS x", "clickhouse"),
        ("SELECT x, n FROM t LEFT ARRAY JOIN items AS x, arrayEnumerate(items) AS n", "clickhouse"),
        ("WITH 5 AS five SELECT five, a FROM t WHERE a > five", "clickhouse"),
        ("WITH (SELECT max(a) FROM t) AS top SELECT a FROM t WHERE a = top", "clickhouse"),
        ("SELECT a FROM t SETTINGS max_threads = 1", "clickhouse"),
        ("SELECT a + 1 AS x FROM t PREWHERE x > 1 WHERE x < 3", "clickhouse"),
        ("SELECT a FROM t SAMPLE 0.1 OFFSET 0.5", "clickhouse"),
        ("SELECT a, COUNT(*) FROM t GROUP BY ALL", ALL),
        ("SELECT a FROM t ORDER BY ALL", "snowflake spark databricks"),
    ],
)
def test_names_that_exist_are_not_unknown(query: str, dialects: str) -> None:
    for dialect in dialects.split():
        assert unknown_names(query, dialect, SCHEMA) == UnknownNames(), dialect


@pytest.mark.parametrize("dialect", WAREHOUSES)
def test_names_that_do_not_exist_are_unknown(dialect: str) -> None:
    for output in ("nope", "t.nope", "nope.f", "a FROM t WHERE nope > 1 --"):
        assert unknown_names(f"SELECT {output} FROM t", dialect, SCHEMA).columns, output


@pytest.mark.parametrize(
    ("query", "dialects", "stored"),
    [
        ("SELECT a + 1 AS b FROM t WHERE b > 1", "clickhouse", False),
        ("SELECT a + 1 AS b FROM t WHERE b > 1", "snowflake bigquery spark databricks", True),
        ("SELECT a + 1 AS b FROM t GROUP BY b", "clickhouse", False),
        ("SELECT a + 1 AS b FROM t GROUP BY b", "snowflake bigquery spark databricks", True),
        ("SELECT a + 1 AS b FROM t ORDER BY b", ALL, False),
        ("WITH 5 AS b SELECT a FROM t WHERE b > 1", "clickhouse", False),
    ],
)
def test_an_alias_or_a_column(query: str, dialects: str, stored: bool) -> None:
    for dialect in dialects.split():
        read = reading(query, dialect)
        (column,) = [one for one in read.columns if one.name == "b"]
        found = read.stored(column)
        assert (found is not None and found.column == "b") == stored, dialect
    within_itself = reading("SELECT a + 1 AS a FROM t", "clickhouse")
    assert [str(within_itself.stored(column)) for column in within_itself.columns] == ["t.a"]


@pytest.mark.parametrize("star", ["COLUMNS('^a')", "* APPLY(sum)", "COLUMNS('a') APPLY(max)"])
def test_columns_that_only_the_database_knows_make_no_claim(star: str) -> None:
    query = f"SELECT {star} FROM t"
    assert not isinstance(read_query(query, "clickhouse", names_of(SCHEMA)), Query)
    assert not proved(query, "SELECT a FROM t", "clickhouse")
    assert rules(query, "clickhouse") <= {"unreadable-query"}
    assert parse_query("SELECT a FROM t UNION SELECT c FROM u", "clickhouse") is None  # which wants ALL or DISTINCT


DIFFERENT = [
    ("SELECT a FROM t@v3", "SELECT a FROM t", "databricks"),
    ("SELECT a FROM t@v3", "SELECT a FROM t@v4", "databricks"),
    ("SELECT a FROM t VERSION AS OF 3", "SELECT a FROM t", "databricks spark"),
    ("SELECT a FROM t AT(OFFSET => -60)", "SELECT a FROM t", "snowflake"),
    ("SELECT a FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01'", "SELECT a FROM t", "bigquery"),
    ("SELECT a FROM t TABLESAMPLE SYSTEM (10 PERCENT)", "SELECT a FROM t", "bigquery snowflake"),
    ("SELECT a FROM t SAMPLE 0.1", "SELECT a FROM t", "clickhouse"),
    ("SELECT a FROM t FINAL", "SELECT a FROM t", "clickhouse"),
    ("SELECT a FROM p.d.t", "SELECT a FROM q.d.t", "bigquery snowflake databricks"),
    ("SELECT a FROM p.public.t", "SELECT a FROM q.public.t", "bigquery snowflake databricks"),
    ("SELECT a FROM public.t", "SELECT a FROM t", "snowflake bigquery databricks"),
    ("SELECT a FROM t, LATERAL FLATTEN(input => v)", "SELECT a FROM t", "snowflake"),
    ("SELECT a FROM t, UNNEST(items)", "SELECT a FROM t", "bigquery"),
    ("SELECT a FROM t LATERAL VIEW explode(items) e AS x", "SELECT a FROM t", "spark databricks"),
    ("SELECT a FROM t ARRAY JOIN items", "SELECT a FROM t", "clickhouse"),
    ("SELECT * EXCEPT (a) FROM t", "SELECT * FROM t", "bigquery databricks clickhouse"),
    ("SELECT * EXCLUDE (a) FROM t", "SELECT * FROM t", "snowflake"),
    ("SELECT * RENAME (a AS b) FROM t", "SELECT * FROM t", "snowflake"),
    ("SELECT * REPLACE (a + 1 AS a) FROM t", "SELECT * FROM t", "snowflake bigquery clickhouse"),
    ("SELECT * ILIKE 'a%' FROM t", "SELECT * FROM t", "snowflake"),
    ("SELECT * FROM t PIVOT(SUM(a) FOR m IN ('x'))", "SELECT * FROM t", "snowflake bigquery databricks"),
    ("SELECT * FROM t PIVOT(SUM(a) FOR m IN (ANY))", "SELECT * FROM t", "snowflake"),
    ("SELECT a FROM t QUALIFY RANK() OVER (ORDER BY a) = 1", "SELECT a FROM t", "snowflake bigquery databricks"),
    (EXCEPT, EXCEPT.replace("EXCEPT", "INTERSECT"), "bigquery"),
    ("SELECT a FROM t EXCEPT ALL SELECT c FROM u", "SELECT a FROM t EXCEPT SELECT c FROM u", "spark databricks"),
    ("SELECT a, MAX(m) FROM t GROUP BY ALL", "SELECT a, MAX(m) FROM t GROUP BY a, b", "snowflake bigquery databricks"),
    ("SELECT v:a FROM t", "SELECT v:b FROM t", "snowflake databricks"),
    ("SELECT v:a FROM t", "SELECT v FROM t", "snowflake databricks"),
    ("SELECT a / b FROM t", "SELECT a DIV b FROM t", "spark databricks"),
    ("SELECT a FROM t ORDER BY b LIMIT 2 BY a", "SELECT a FROM t ORDER BY b LIMIT 2", "clickhouse"),
    ("SELECT a FROM t LEFT SEMI JOIN u ON a = c", "SELECT a FROM t LEFT JOIN u ON a = c", "spark clickhouse"),
    ("SELECT AS STRUCT a FROM t", "SELECT a FROM t", "bigquery"),
    # Declared keys are promises there: rows may repeat, and rows may have no partner.
    ("SELECT DISTINCT id FROM t", "SELECT id FROM t", ALL),
    ("SELECT c FROM u JOIN t ON t_id = t.id", "SELECT c FROM u WHERE t_id IS NOT NULL", "snowflake bigquery spark"),
    ("SELECT a FROM t WHERE id IS NOT NULL", "SELECT a FROM t", ALL),
    # ClickHouse fills LEFT JOINs with zeros, gives 0 for the MAX of no rows, and lets aliases win.
    ("SELECT a FROM t LEFT JOIN u ON t.id = u.t_id WHERE u.c IS NULL", "SELECT a FROM t WHERE FALSE", "clickhouse"),
    ("SELECT COALESCE(MAX(a), 1) FROM t WHERE FALSE", "SELECT 1", "clickhouse"),
    ("SELECT a + 1 AS b FROM t WHERE b > 1", "SELECT a + 1 FROM t WHERE b > 1", "clickhouse"),
]


@pytest.mark.parametrize(("one", "other", "dialects"), DIFFERENT)
def test_different_queries_are_not_proved(one: str, other: str, dialects: str) -> None:
    for dialect in dialects.split():
        assert parse_query(one, dialect) is not None, dialect
        assert not proved(one, other, dialect), dialect
        assert not proved(other, one, dialect), dialect


@pytest.mark.parametrize(
    ("one", "other", "dialects"),
    [
        ("SELECT a FROM t WHERE a > 1 AND b > 2", "SELECT x.a FROM t x WHERE x.b > 2 AND 1 < x.a", ALL[:-11]),
        (EXCEPT, EXCEPT.replace("a FROM t", "x.a FROM t AS x"), "bigquery"),
        ("SELECT a FROM t  WHERE a > 1", "select a from t where a > 1;", ALL),
    ],
)
def test_equal_queries_are_proved(one: str, other: str, dialects: str) -> None:
    for dialect in dialects.split():
        assert proved(one, other, dialect), dialect


@pytest.mark.parametrize(
    ("query", "dialects", "nulls_first"),
    [
        ("SELECT a FROM t ORDER BY a", "snowflake clickhouse", False),
        ("SELECT a FROM t ORDER BY a", "bigquery spark databricks", True),
        ("SELECT a FROM t ORDER BY a DESC", "snowflake", True),
        ("SELECT a FROM t ORDER BY a DESC", "bigquery spark databricks clickhouse", False),
        ("SELECT a FROM t ORDER BY a DESC NULLS FIRST", ALL, True),
    ],
)
def test_where_nulls_stand(query: str, dialects: str, nulls_first: bool) -> None:
    for dialect in dialects.split():
        read = reading(query, dialect)
        assert bool(read.tree.args["order"].expressions[0].args["nulls_first"]) == nulls_first, dialect
        same = "NULLS FIRST" if nulls_first else "NULLS LAST"
        spelled = f"{query.removesuffix(' NULLS FIRST')} {same}"
        if dialect != "clickhouse":
            assert proved(query, spelled, dialect, ordered=True)
            assert not proved(
                query, spelled.replace(same, "NULLS LAST" if nulls_first else "NULLS FIRST"), dialect, ordered=True
            )


@pytest.mark.parametrize("dialect", WAREHOUSES)
def test_a_division_of_whole_numbers_keeps_its_fraction(dialect: str) -> None:
    assert "integer-division" not in rules("SELECT SUM(a) / COUNT(*) FROM t", dialect)
    read = reading("SELECT a / b AS q FROM t", dialect)
    assert read.type_of(read.selects[0].outputs[0]) != "integer"


@pytest.mark.parametrize(
    ("query", "dialects", "ordered", "limited", "most_rows"),
    [
        ("SELECT a FROM t ORDER BY ALL", "snowflake databricks spark", True, False, None),
        ("SELECT a FROM t QUALIFY RANK() OVER (ORDER BY a) = 1", "snowflake bigquery databricks", False, False, None),
        ("SELECT ARRAY_AGG(a ORDER BY b LIMIT 3) FROM t", "bigquery", False, False, None),
        ("SELECT STRING_AGG(m, ',' ORDER BY m) FROM t", "bigquery", False, False, None),
        ("SELECT LISTAGG(m) WITHIN GROUP (ORDER BY m) FROM t", "snowflake", False, False, None),
        ("SELECT TOP 3 a FROM t ORDER BY a", "snowflake", True, True, 3),
        ("SELECT a FROM t SORT BY a", "spark databricks", False, False, None),
        ("SELECT a FROM t ORDER BY b LIMIT 2 BY a", "clickhouse", True, False, None),
        ("SELECT a FROM t LIMIT 2 BY a", "clickhouse", False, False, None),
        ("SELECT a FROM t ORDER BY b LIMIT 2 WITH TIES", "clickhouse", True, True, None),
        ("SELECT a FROM t SAMPLE 0.1 OFFSET 0.5", "clickhouse", False, False, None),
    ],
)
def test_order_and_limit(query: str, dialects: str, ordered: bool, limited: bool, most_rows: int | None) -> None:
    for dialect in dialects.split():
        shape = read_shape(query, dialect)
        assert (shape.parsed, shape.ordered, shape.limited, shape.most_rows) == (True, ordered, limited, most_rows)


@pytest.mark.parametrize(
    ("query", "dialects", "expected"),
    [
        ("SELECT a FROM t TABLESAMPLE SYSTEM (10 PERCENT)", "bigquery", True),
        ("SELECT a FROM t SAMPLE (10)", "snowflake", True),
        ("SELECT a FROM t SAMPLE 0.1", "clickhouse", False),
        ("SELECT UNIFORM(1, 10, 3) FROM t", "snowflake", True),
        ("SELECT GENERATE_UUID()", "bigquery", True),
        ("SELECT UUID_STRING()", "snowflake", True),
        ("SELECT shuffle(items) FROM t", "spark databricks", True),
        ("SELECT monotonically_increasing_id() FROM t", "spark", True),
        ("SELECT randn() FROM t", "spark", True),
        ("SELECT a FROM t WHERE ts > CURRENT_TIMESTAMP()", "snowflake bigquery spark databricks", True),
        ("SELECT generateUUIDv4(), rand64(), now64(), yesterday() FROM t", "clickhouse", True),
        ("SELECT yesterday()", "clickhouse", True),
        ("SELECT NORMALIZE(m) FROM t", "bigquery", False),
    ],
)
def test_chance_and_clock(query: str, dialects: str, expected: bool) -> None:
    for dialect in dialects.split():
        assert is_nondeterministic(query, dialect) == expected, dialect


@pytest.mark.parametrize(
    ("query", "dialects"),
    [
        ("SELECT DISTINCT id FROM t, LATERAL FLATTEN(input => v)", "snowflake"),
        ("SELECT DISTINCT id, a FROM t", ALL),
        ("SELECT DISTINCT id FROM t LATERAL VIEW explode(items) e AS x", "spark databricks"),
        ("SELECT DISTINCT id, explode(items) FROM t", "spark databricks"),
        ("SELECT DISTINCT id, arrayJoin(items) FROM t", "clickhouse"),
        ("SELECT u.c FROM u LEFT SEMI JOIN t ON u.t_id = t.id", "spark databricks"),
        ("SELECT u.c FROM u LEFT JOIN t ON u.t_id = t.id", "snowflake bigquery"),
        ("SELECT t.id, i.price FROM t, UNNEST(t.items) AS i", "bigquery"),
        ("SELECT t.id FROM t, LATERAL FLATTEN(input => t.v) AS f", "snowflake"),
        ("SELECT explode(array(1, 2)) AS x ORDER BY x LIMIT 1", "spark databricks"),
        ("SELECT a FROM t ORDER BY ALL LIMIT 3", "snowflake spark databricks"),
        ("SELECT a, COUNT(*) FROM t GROUP BY ALL", ALL),
        ("SELECT id FROM t WHERE v:a / 2 = 1.5", "snowflake"),
    ],
)
def test_no_finding(query: str, dialects: str) -> None:
    for dialect in dialects.split():
        assert rules(query, dialect) <= {"value-not-asked"}, dialect


def test_functions_that_make_several_rows_of_one() -> None:
    assert not reading("SELECT explode(array(1, 2))", "spark").selects[0].is_single_row
    assert not reading("SELECT arrayJoin([1, 2])", "clickhouse").selects[0].is_single_row
    assert not reading("SELECT a FROM t LIMIT 1 BY a", "clickhouse").selects[0].is_single_row
    assert reading("SELECT MAX(a) FROM t", "spark").selects[0].is_single_row


def test_ties_of_limit_by_are_seen_with_the_limit() -> None:
    for probe in tie_probes("SELECT a FROM t ORDER BY b LIMIT 2 BY a", "clickhouse"):
        assert "LIMIT 2 BY a" in probe.query


def test_stars_without_some_columns() -> None:
    for words, dialect in (("EXCEPT (a)", "bigquery"), ("EXCLUDE (a)", "snowflake"), ("REPLACE (b AS a)", "bigquery")):
        read = reading(f"SELECT * {words} FROM t", dialect)
        assert {one.column for one in read.behind_stars(read.selects[0])} == {"id", "b", "m", "v", "s", "items", "ts"}
