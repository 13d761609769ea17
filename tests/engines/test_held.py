"""Which texts warehouses are sent: reads whose every part is known to be harmless."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.warehouse.held import TableName, allowed_names, read
from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Execution
from assay.sql.harmless.known import HARMFUL, is_known
from assay.sql.shape import parse_query

sys.path.insert(0, str(Path(__file__).parent))
from held_statements import HARMLESS, REFUSED

DIALECTS = sorted(HARMLESS)


def reason(query: str, dialect: str, *allowed: str) -> str:
    """Why the query is refused; an empty text if it is not."""
    done = read(query, dialect, allowed=frozenset(allowed))
    if isinstance(done, Execution):
        return done.failure.message
    return ""


def tables(query: str, dialect: str) -> list[str]:
    done = read(query, dialect, allowed=frozenset())
    assert not isinstance(done, Execution), done.failure
    return [".".join(table.parts) for table in done]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_refused_statements(dialect: str) -> None:
    told = {query: reason(query, dialect) for query in REFUSED[dialect]}
    assert len(told) >= 60
    assert [query for query, why in told.items() if not why] == []
    assert {q: told[q] for q, part in REFUSED[dialect].items() if part not in told[q]} == {}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_harmless_statements(dialect: str) -> None:
    assert len(HARMLESS[dialect]) >= 60
    assert {query: why for query in HARMLESS[dialect] if (why := reason(query, dialect))} == {}


BAD = {
    "snowflake": ("SYSTEM$WAIT(5)", "AI_COMPLETE('m', 'p')", "SNOWFLAKE.CORTEX.COMPLETE('m', 'p')", "sch.upper(1)"),
    "bigquery": ("AI.GENERATE('p')", "d.f(1)", "`p.d.f`(1)", "KEYS.NEW_KEYSET('x')"),
    "spark": ("reflect('a', 'b')", "java_method('a', 'b')", "sch.upper(1)", "secret('a', 'b')"),
    "databricks": ("ai_query('a', 'b')", "http_request('a')", "cat.sch.upper(1)", "secret('a', 'b')"),
    "clickhouse": ("sleep(3)", "file('x')", "aiGenerate('x')", "hasColumnInTable('a', 'b')"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_harmful_function_is_refused_wherever_it_stands(dialect: str) -> None:
    from sqlglot import exp, parse_one

    chance = random.Random(34)
    tried = 0
    for query in HARMLESS[dialect]:
        parsed = parse_query(query, dialect)
        if parsed is None:
            continue
        places = range(sum(1 for _ in parsed.tree.find_all(exp.Column, exp.Literal)))
        for place in chance.sample(places, min(4, len(places))):
            tree = parsed.tree.copy()
            bad = chance.choice(BAD[dialect])
            list(tree.find_all(exp.Column, exp.Literal))[place].replace(
                parse_one(f"SELECT {bad}", read=dialect).expressions[0]
            )
            text = tree.sql(dialect)
            if bad.partition("(")[0].rpartition(".")[2].lower().strip("`") in text.lower():
                tried += 1
                assert reason(text, dialect), text
    assert tried > 100


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_random_texts_never_raise(dialect: str, data: st.DataObject) -> None:
    words = sorted({word for query in (*HARMLESS[dialect], *REFUSED[dialect]) for word in query.split(" ")})
    piece = st.one_of(st.sampled_from(words), st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
    read(" ".join(data.draw(st.lists(piece, max_size=25))), dialect, allowed=frozenset())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_deep_and_long_texts_never_raise(dialect: str) -> None:
    for text in ("(" * 5000 + "SELECT 1" + ")" * 5000, "SELECT " + "1+" * 5000 + "1", "SELECT 1" + " " * 1_000_001):
        read(text, dialect, allowed=frozenset())
    assert reason("SELECT '" + "x" * 1_000_001 + "'", dialect)


@pytest.mark.parametrize(
    ("query", "dialect", "allowed"),
    [
        ("SELECT my_udf(a) FROM t", "snowflake", "my_udf"),
        ("SELECT db.s.MY_UDF(a) FROM t", "snowflake", "db.s.my_udf"),
        ("SELECT SNOWFLAKE.CORTEX.COMPLETE('m', 'p')", "snowflake", "snowflake.cortex.complete"),
        ("SELECT AI_CLASSIFY(a, ['x']) FROM t", "snowflake", "ai_classify"),
        ("SELECT s.NEXTVAL", "snowflake", "nextval"),
        ("SELECT * FROM SEMANTIC_VIEW(sv METRICS m)", "snowflake", "semanticview"),
        ("SELECT * FROM ML.PREDICT(MODEL m, (SELECT 1))", "bigquery", "ml.predict"),
        ("SELECT AI.GENERATE('x')", "bigquery", "ai.generate"),
        ("SELECT `p.d.f`(1)", "bigquery", "p.d.f"),
        ("SELECT reflect('a', 'b')", "spark", "reflect"),
        ("SELECT secret('a', 'b')", "databricks", "secret"),
        ("SELECT * FROM url('x')", "clickhouse", "url"),
        ("SELECT a FROM t SETTINGS max_memory_usage = 1", "clickhouse", "max_memory_usage"),
        ("SELECT * APPLY(my_udf) FROM t", "clickhouse", "my_udf"),
    ],
)
def test_the_user_allows_by_name(query: str, dialect: str, allowed: str) -> None:
    assert f"?allow={allowed}" in reason(query, dialect).lower()
    assert reason(query, dialect, allowed) == ""


@pytest.mark.parametrize(
    ("query", "dialect"),
    [
        ("SELECT a INTO :x FROM t", "snowflake"),
        ("SELECT * FROM @stage", "snowflake"),
        ("SELECT * FROM IDENTIFIER('t')", "snowflake"),
        ("SELECT TRANSFORM(a) USING 'cmd' FROM t", "spark"),
        ("SELECT * FROM text.`/etc/passwd`", "spark"),
        ("SELECT 1; SELECT 2", "bigquery"),
        ("DELETE FROM t", "clickhouse"),
        ("SELECT a FROM t FORMAT JSON", "clickhouse"),
    ],
)
def test_what_nobody_can_allow(query: str, dialect: str) -> None:
    names = ("into", "querytransform", "table", "dynamicidentifier", "text", "delete", "format", "transform", "stage")
    assert "?allow" not in reason(query, dialect)
    assert reason(query, dialect, *names)


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("spark", "TABLE t"),
        ("spark", "table `a b`.t;"),
        ("databricks", "TABLE main.shop.t ORDER BY a LIMIT 3"),
        ("bigquery", "FROM t |> WINDOW SUM(a) OVER () AS s |> WHERE s = 1"),
        ("bigquery", "FROM t |> window RANK() OVER (ORDER BY a) AS r"),
        ("bigquery", "SELECT JSON_CONTAINS(a, b) FROM t WHERE c = '|> WINDOW'"),
        ("clickhouse", "SELECT a FROM t LIMIT 1 BY (b) LIMIT 3"),
        ("clickhouse", "SELECT a FROM t LIMIT 1 BY b LIMIT 3 OFFSET 2"),
        ("clickhouse", "SELECT a FROM t LIMIT 2, 1 BY b LIMIT 3, 4"),
    ],
)
def test_words_that_the_parser_does_not_know(dialect: str, query: str) -> None:
    assert reason(query, dialect) == ""


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("spark", "TABLE text.`/etc/passwd`"),
        ("spark", "TABLE t UNION ALL SELECT reflect('a', 'b')"),
        ("spark", "TABLE VALUES (reflect('a', 'b'))"),
        ("spark", "TABLE my_udtf(1)"),
        ("databricks", "TABLE system.access.audit"),
        ("bigquery", "FROM t |> WINDOW SUM(d.fn(a)) OVER ()"),
        ("bigquery", "FROM t |> WINDOW AI.GENERATE('x') OVER () AS s"),
        ("clickhouse", "SELECT a FROM t LIMIT sleep(1) BY b LIMIT 3"),
        ("clickhouse", "SELECT a FROM t LIMIT 1 BY sleep(1) LIMIT 3"),
        ("clickhouse", "SELECT a FROM t LIMIT 1 BY b LIMIT sleep(1)"),
        ("clickhouse", "SELECT approx_top_k(sleep(1))(a) FROM t"),
        ("clickhouse", "SELECT approx_top_k(3)(sleep(1)) FROM t"),
    ],
)
def test_what_such_words_read_is_held_to_the_same_rules(dialect: str, query: str) -> None:
    assert reason(query, dialect)


def test_advice_names_only_what_can_be_allowed() -> None:
    assert reason("SELECT a AS (b, c) FROM t", "clickhouse").endswith(
        "a list in parentheses stands behind an expression"
    )
    for dialect in DIALECTS:
        for query in REFUSED[dialect]:
            _, advises, rest = reason(query, dialect).partition("write ?allow=")
            if advises:
                name = rest.removesuffix(" in the database's URL")
                assert allowed_names(DatabaseUrl(text=f"x://h?allow={name}")) == {name.lower()}


def test_names_allowed_in_a_url() -> None:
    url = DatabaseUrl(text="bigquery://p/d?allow=My_Udf,%20ML.PREDICT&allow=f")
    assert allowed_names(url) == {"my_udf", "ml.predict", "f"}
    url = DatabaseUrl(text="bigquery://p/d?allow=region-us.INFORMATION_SCHEMA.JOBS,my-project.d.f,SYSTEM$X,größe,_f1")
    assert len(allowed_names(url)) == 5


@pytest.mark.parametrize("scheme", ["bigquery", "clickhouse", "clickhouses", "snowflake", "spark", "databricks"])
@pytest.mark.parametrize(
    "value",
    ["", " ", ",", "foo bar", ";x", "*", "SELECT", "system.*", "f()", "f,*", "a.", ".a", "a..b", "1", "'f'", "f;g"],
)
def test_what_is_not_a_name_cannot_be_allowed(scheme: str, value: str) -> None:
    if scheme in ("spark", "databricks") and ";" in value:
        value = value.replace(";", "%3B")
    url = DatabaseUrl(text=f"{scheme}://h/d?allow={value}")
    with pytest.raises(DatabaseError, match=r"the parameter allow is .*: write allow= and the names of functions"):
        allowed_names(url)


@pytest.mark.parametrize(
    ("query", "dialect", "expected"),
    [
        ("SELECT 1", "spark", []),
        ("WITH c AS (SELECT * FROM a) SELECT * FROM c, c AS d, db.c", "spark", ["a", "db.c"]),
        ("WITH c AS (SELECT * FROM c) SELECT * FROM c", "spark", ["c"]),
        ("SELECT * FROM t JOIN t AS u ON t.a = u.a WHERE a IN (SELECT a FROM v)", "spark", ["t", "v"]),
        ("SELECT * FROM `a b`.`c` LATERAL VIEW explode(x) e AS y", "spark", ["a b.c"]),
        ("SELECT * FROM range(3), VALUES (1) AS v", "spark", []),
        ("SELECT * FROM a.b.c.d", "databricks", ["a.b.c.d"]),
        ("SELECT * FROM `p.d.t` AS x, UNNEST(x.items), x.more AS m", "bigquery", ["p.d.t"]),
        ("SELECT * FROM my-project.d.t", "bigquery", ["my-project.d.t"]),
        ("SELECT * FROM d.INFORMATION_SCHEMA.TABLES", "bigquery", ["d.INFORMATION_SCHEMA.TABLES"]),
        ('SELECT * FROM "Db"."S"."T", LATERAL FLATTEN(input => v) f', "snowflake", ["Db.S.T"]),
        ("SELECT * FROM t ARRAY JOIN items AS x", "clickhouse", ["t"]),
        ("SELECT * FROM numbers(3) AS n JOIN db.t USING (a)", "clickhouse", ["db.t"]),
    ],
)
def test_tables_that_a_query_reads(query: str, dialect: str, expected: list[str]) -> None:
    assert sorted(tables(query, dialect)) == sorted(expected)


def test_parts_of_a_table_are_without_quotes() -> None:
    done = read("SELECT * FROM `c`.`d e`.`T`", "spark", allowed=frozenset())
    assert done == (TableName(parts=("c", "d e", "T")),)


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery", "clickhouse", "spark"])
@pytest.mark.parametrize("text", ["/* a /* b */ */ 1", "/*+ x /* y */ 1", "1 -- a\r, 2", "1 /* a */ \r, 2"])
def test_comments_that_services_end_elsewhere(dialect: str, text: str) -> None:
    assert reason(f"SELECT {text}", dialect)


def test_each_suspicious_function_of_sqlglot_is_decided() -> None:
    """A new version of sqlglot may know more functions that bill a model or read files."""
    from sqlglot import exp

    words = "AI MLF MLT Predict Forecast Embed Generate Read File Secret Url Http Model NextValue Execute Wait Sleep "
    words += "Remote External Write Feature"
    suspicious = {kind.__name__ for kind in exp.ALL_FUNCTIONS if any(word in kind.__name__ for word in words.split())}
    harmless = {"ExplodingGenerateSeries", "GenerateDateArray", "GenerateSeries", "GenerateTimestampArray"}
    harmless |= {"ParseUrl", "XMLTable"}
    assert suspicious == HARMFUL | harmless


@pytest.mark.parametrize(
    ("query", "dialect"),
    [
        ("SELECT collect_list(a, reflect('a', 'b')) FROM t", "spark"),
        ("SELECT DATE_TRUNC('month', d, reflect('a', 'b')) FROM t", "spark"),
        ("SELECT named_struct('x', 1, reflect('a', 'b'))", "spark"),
        ("SELECT collect_list(a, s.upper(b)) FROM t", "spark"),
        ("SELECT collect_list(a, `reflect`('a', 'b')) FROM t", "spark"),
        ("SELECT collect_list(a, reflect('a', 'b')), upper(reflect) FROM t", "spark"),
        ("SELECT collect_list(a, reflect('a', 'b')) FROM t AS reflect(a)", "spark"),
        ("SELECT collect_list(a, reflect('a', 'b')) AS reflect FROM t", "spark"),
        ("SELECT a FROM t GROUP BY GROUPING SETS ((TABLE a), (b))", "spark"),
    ],
)
def test_what_sqlglot_drops_is_seen(query: str, dialect: str) -> None:
    assert reason(query, dialect)


_WRITTEN = ("{}", "`{}`", '"{}"', "({})", "(({}))", "/* x */ {}", "if(1, {}, lower)", "[{}][1]", "({}, 1).1")
"""How a function may be named without a call."""


def test_a_function_given_by_its_name_alone_is_held_to_the_same_list() -> None:
    queries = [
        f"SELECT {function}({written.format(name)}, {rest}) FROM t"
        for function in ("arrayMap", "arrayExists", "arraySort", "mapApply", "ARRAYFILTER", "arraySum")
        for rest in ("a", "['/etc/passwd']", "a, 1")
        for name in ("file", "addressToLine", "sleepEachRow", "my_udf", "getSetting")
        for written in _WRITTEN
    ]
    nested = [
        "SELECT arrayMap(x -> arrayMap(file, [x]), a) FROM t",
        "WITH arrayMap(file, [a]) AS f SELECT f FROM t",
        "SELECT a FROM t ORDER BY arrayMap(file, [a])",
        "SELECT max(arrayMap(file, [a])) OVER () FROM t",
    ]
    assert [query for query in (*queries, *nested) if not reason(query, "clickhouse")] == []
    harmless = [
        "SELECT arrayMap(lower, names) FROM t",
        "SELECT arrayMap((file, url) -> file + url, a, b) FROM t",
        "SELECT arrayMax(url), arraySort(file) FROM t",
        "SELECT arrayPartialSort(2, a), arrayTopK(3, a) FROM t",
        "SELECT arrayFold((file, x) -> file + x, a, 0) FROM t",
    ]
    assert {query: why for query in harmless if (why := reason(query, "clickhouse"))} == {}
    assert not reason("SELECT arrayMap(my_udf, a) FROM t", "clickhouse", "my_udf")


_MEMBERSHIPS = [
    *(f"x {word} {{}}" for word in ("IN", "NOT IN", "GLOBAL IN", "GLOBAL NOT IN", "= ANY", "<> ALL")),
    *(
        f"{name}{rest}(x, {{}})"
        for name in ["in", "notIn", "nullIn", "notNullIn", "globalIn", "globalNotIn", "globalNullIn", "globalNotNullIn"]
        for rest in ("", "IgnoreSet")
    ),
    "arrayExists(x -> x IN {}, names)",
    "if(x IN {}, 1, 2)",
    "(x, y) IN {}",
]
_AS_OPERAND = ["{}", "({})", "(({}))", "({}, 'y')"]


def test_a_system_table_is_refused_where_an_expression_reads_it() -> None:
    written = ["system.users", "`system`.`users`", '"system"."users"', "System . users", "system.current_roles"]
    operands = [form.format(name) for form in _AS_OPERAND for name in written]
    conditions = [form.format(operand) for form in _MEMBERSHIPS for operand in operands]
    queries = [f"SELECT a FROM t WHERE {condition}" for condition in conditions]
    for name in written:
        queries += [
            f"WITH {name} AS c SELECT 'x' IN c",
            f"SELECT {name} AS c, x IN c FROM t",
            f"SELECT x IN {name} FROM t AS system",
            f"SELECT * FROM t ARRAY JOIN [1 IN {name}] AS z",
            f"SELECT a FROM t ORDER BY x IN {name} SETTINGS max_threads = 1",
        ]
    assert [query for query in queries if not reason(query, "clickhouse")] == []
    assert not reason("SELECT x IN system.users FROM t", "clickhouse", "system.users")


@pytest.mark.parametrize("operand", ["arr", "t.arr", "(a, b)", "(t.a, t.b)", "c", "u", "db.u", "[1, 2]", "system.one"])
def test_an_operand_of_in_is_sent(operand: str) -> None:
    for condition in (f"x IN {operand}", f"x GLOBAL NOT IN {operand}", f"nullIn(x, {operand})"):
        assert not reason(f"WITH c AS (SELECT 1 AS one) SELECT a FROM t WHERE {condition}", "clickhouse")
    assert not reason("SELECT system.name FROM planets AS system", "clickhouse")


def test_functions_that_are_given_an_object_by_its_name_in_a_text() -> None:
    for name in ("dictGet", "dictGetOrDefault", "dictGetUInt8", "dictHas", "dictIsIn", "joinGet", "joinGetOrNull"):
        query = f"SELECT {name}('db.d', 'a', 1) FROM t"
        assert f"?allow={name}" in reason(query, "clickhouse")
        assert not reason(query, "clickhouse", name.lower())
    assert reason("SELECT * FROM dictionary('d')", "clickhouse")


@pytest.mark.parametrize(
    ("dialect", "table"),
    [
        ("snowflake", "snowflake.account_usage.users"),
        ("bigquery", "d.INFORMATION_SCHEMA.JOBS"),
        ("spark", "text.`/etc/passwd`"),
        ("databricks", "system.access.audit"),
    ],
)
def test_a_table_in_an_expression_of_other_dialects(dialect: str, table: str) -> None:
    forms = ["a IN (TABLE {})", "EXISTS(TABLE {})", "a = (TABLE {})", "a IN (SELECT * FROM {})"]
    queries = [f"SELECT a FROM t WHERE {form.format(table)}" for form in forms]
    queries += [f"SELECT * FROM f({word})" for word in (f"TABLE {table}", f"TABLE({table})")]
    queries += [f"WITH c AS (TABLE {table}) SELECT * FROM c", f"SELECT 1 UNION ALL TABLE {table}", f"TABLE {table}"]
    assert [query for query in queries if not reason(query, dialect)] == []


@pytest.mark.parametrize(
    ("dialect", "refused", "sent"),
    [
        (
            "clickhouse",
            "system.processes system.server_settings system.users `system`.disks",
            "system.numbers system.tables t",
        ),
        (
            "snowflake",
            "SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY",
            "SNOWFLAKE_SAMPLE_DATA.TPCH_SF1.ORDERS d.information_schema.tables",
        ),
        (
            "bigquery",
            "`region-us`.INFORMATION_SCHEMA.JOBS_BY_PROJECT d.INFORMATION_SCHEMA.SESSIONS",
            "d.INFORMATION_SCHEMA.TABLES",
        ),
        ("databricks", "system.access.audit system.query.history", "system.information_schema.tables main.shop.sales"),
    ],
)
def test_the_tables_of_the_service_itself_are_not_read(dialect: str, refused: str, sent: str) -> None:
    told = {name: reason(f"SELECT * FROM {name}", dialect) for name in refused.split()}
    assert [name for name, why in told.items() if "the service or other users" not in why] == []
    assert {name: why for name in sent.split() if (why := reason(f"SELECT * FROM {name}", dialect))} == {}
    name = refused.split(maxsplit=1)[0].replace("`", "")
    assert not reason(f"SELECT * FROM {refused.split(maxsplit=1)[0]}", dialect, name.lower())


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("clickhouse", "SELECT ‘ = ' ’ , file($$/etc/hostname$$), ‘ ' ’"),
        ("clickhouse", "SELECT “ = ' ” , sleep(3), “ ' ”"),
        ("clickhouse", "SELECT 1 AS ü"),
        ("bigquery", "SELECT * FROM GAP_FILL(TABLE `region-us`.INFORMATION_SCHEMA.JOBS, ts_column => 'a')"),
        ("bigquery", "SELECT * FROM VECTOR_SEARCH(TABLE `region-us`.INFORMATION_SCHEMA.JOBS, 'e', (SELECT 1))"),
        ("bigquery", "SELECT * FROM `p`.`region-us`.INFORMATION_SCHEMA.RESERVATIONS"),
        ("snowflake", "SELECT * FROM ACCOUNT_USAGE.LOGIN_HISTORY"),
        ("snowflake", "SELECT * FROM INFORMATION_SCHEMA.OBJECT_PRIVILEGES"),
    ],
)
def test_what_the_parser_and_the_service_read_differently_is_refused(dialect: str, query: str) -> None:
    assert reason(query, dialect)


def test_signs_that_are_not_ascii_stay_in_quotes() -> None:
    query = "SELECT 'O’Neil', `naïve`, \"ключ\" FROM t -- ‘ünicode’\n"
    assert not reason(query, "clickhouse")
    assert tables("SELECT * FROM GAP_FILL(TABLE d.t, ts_column => 'a', bucket_width => 1)", "bigquery") == ["d.t"]


_TEMPLATES = ("{# 1 #}", "{#", "{{ x }}", "{% if x %}", "{%- x -%}", "{{- x }}", "{#\n#}")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_template_is_not_read_as_a_comment(dialect: str) -> None:
    """No service has such signs. They are harmless in quotes and comments."""
    told = {
        text: reason(text.replace("?", sign), dialect) for sign in _TEMPLATES for text in ("SELECT 1 ?", "? SELECT 1")
    }
    told |= {f"{sign} in the middle": reason(f"SELECT a{sign} FROM t", dialect) for sign in _TEMPLATES}
    assert {text: why for text, why in told.items() if "begins a template" not in why} == {}
    assert "{# at line 1, column 10 begins a template" in reason("SELECT 1 {# x #}", dialect)
    quoted = [f"SELECT '{sign}' AS `x{{# #}}` -- {sign}" for sign in _TEMPLATES if "\n" not in sign]
    quoted = [text.replace("`", '"') if dialect == "snowflake" else text for text in quoted]
    assert {text: why for text in quoted if (why := reason(text, dialect))} == {}


_SECRET = {
    "spark": ("text.`/etc/passwd`", "text./etc/passwd"),
    "databricks": ("text.`/etc/passwd`", "text./etc/passwd"),
    "bigquery": ("`p.region-us.INFORMATION_SCHEMA.JOBS`", "JOBS"),
}
_OPERATORS = """
WHERE a IN ?|WHERE a > 1|SELECT a, ? AS b|SELECT a|SELECT DISTINCT a|EXTEND ? AS b|EXTEND 1 AS b|SET a = ?|DROP b
ORDER BY ?|ORDER BY a|LIMIT 3|AGGREGATE MAX(?) AS a|AGGREGATE COUNT(*) AS a GROUP BY a|AS u|JOIN ? AS j ON TRUE
UNION ALL ?|UNION ALL (SELECT 1)|TABLESAMPLE SYSTEM (10 PERCENT)|DISTINCT|PIVOT (SUM(a) FOR b IN ('x'))|SELECT 1 FROM ?
"""


@pytest.mark.parametrize("dialect", sorted(_SECRET))
@given(data=st.data())
def test_no_pipe_operator_hides_a_table(dialect: str, data: st.DataObject) -> None:
    """sqlglot replaces some of what stands before an operator, and with it what a subquery reads."""
    written, name = _SECRET[dialect]
    operators = _OPERATORS.strip().replace("\n", "|").split("|")
    begins = st.sampled_from(["FROM t", "SELECT a FROM t", "SELECT ? AS a FROM t", "FROM t WHERE a = 1", "FROM ?"])
    text = " |> ".join([data.draw(begins), *data.draw(st.lists(st.sampled_from(operators), min_size=1, max_size=6))])
    places = text.count("?")
    if not places:
        return
    hidden = data.draw(st.integers(0, places - 1))
    for place in range(places):
        source = written if place == hidden else "v"
        text = text.replace("?", f"(SELECT MAX(value) FROM {source})", 1)
    assert reason(text, dialect), text
    assert name not in reason(text.replace(written, "other"), dialect)


@pytest.mark.parametrize("dialect", sorted(_SECRET))
def test_a_table_that_the_parser_drops_is_seen(dialect: str) -> None:
    written, _ = _SECRET[dialect]
    subquery = f"(SELECT MAX(value) FROM {written})"
    for query in (
        f"SELECT NULLIF(a, b, {subquery}) FROM t",
        f"SELECT ROUND(a, 1, {subquery}, {subquery}) FROM t",
        f"SELECT ABS(a, {subquery}) FROM t",
        f"SELECT LOG(a, b, {subquery}) FROM t",
        f"SELECT COLLECT_LIST(a, {subquery}) FROM t",
        f"SELECT DATE_TRUNC('month', d, 'UTC', {subquery}) FROM t",
        f"FROM u |> ORDER BY {subquery} |> ORDER BY a",
        f"SELECT {subquery} AS a FROM t |> SELECT 1",
    ):
        assert reason(query, dialect), query


_HIDES = """
(SELECT a FROM ?)|(SELECT a FROM u AS x (a, b), ?)|(SELECT a FROM u, (v JOIN (w CROSS JOIN ?) ON TRUE))
(SELECT a FROM u WHERE EXTRACT(DAY FROM d) = 1 AND b IN (SELECT 1 FROM ?))|(WITH c AS (SELECT * FROM ?) FROM c)
(SELECT TRIM(' ' FROM a), a IS DISTINCT FROM b FROM u, ?)|(SELECT a FROM VALUES (1), (2) v (a), ?)|EXISTS (FROM ?)
(SELECT a FROM u AS limit JOIN v ON TRUE, ?)|(SELECT a FROM f(b, c), u TABLESAMPLE (1 ROWS), ?)|(SELECT a FROM date, ?)
(SELECT a FROM u format, ?)|(SELECT a FROM u UNION ALL SELECT a FROM v, ?)|(SELECT a FROM index.?)|GAP_FILL(TABLE ?)
"""


@pytest.mark.parametrize("dialect", sorted(_SECRET))
@pytest.mark.parametrize("form", _HIDES.strip().replace("\n", "|").split("|"))
def test_a_table_is_seen_wherever_from_may_name_it(form: str, dialect: str) -> None:
    written, _ = _SECRET[dialect]
    assert reason(f"SELECT ARRAY_AGG(a, {form.replace('?', written)}) FROM t", dialect)
    assert reason(f"SELECT ARRAY_AGG(a, {form.replace('?', 'v')}) FROM t", dialect)


@pytest.mark.parametrize(
    ("dialects", "query"),
    [
        (
            "spark",
            "SELECT EXTRACT(YEAR FROM DATE '2020-01-01'), TRIM(' ' FROM a), SUBSTRING(a FROM 2) FROM t",
        ),
        ("snowflake spark", "SELECT a IS DISTINCT FROM NULL, a IS NOT DISTINCT FROM b FROM t, u AS x, v"),
        ("snowflake spark", "SELECT a FROM (VALUES (1, 'a'), (NULL, TRUE), (-1, CAST('b' AS STRING))) AS v(a, b)"),
        ("spark", "SELECT a FROM VALUES (1), (NULL) AS v(a), t CROSS JOIN u"),
        (
            "clickhouse",
            "SELECT table, a FROM t ORDER BY table WITH FILL FROM -5 TO 5, a SETTINGS extremes = 1, final = 1",
        ),
        ("clickhouse", "SELECT a FROM t FINAL ARRAY JOIN b AS c, d AS e PREWHERE a > 1 LIMIT 1 BY a, c"),
        ("bigquery", "SELECT model, table.a FROM t AS table, UNNEST(table.b) AS model WINDOW w AS (ORDER BY a)"),
        ("spark databricks", "SELECT a FROM t LATERAL VIEW explode(b) x AS y, z WHERE y IN (1, 2) CLUSTER BY y, z"),
    ],
)
def test_a_word_after_from_or_a_comma_may_be_no_table(dialects: str, query: str) -> None:
    for dialect in dialects.split():
        assert reason(query, dialect) == ""


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("snowflake", "SELECT ARRAY_AGG(a, (SELECT $1 FROM @stage)) FROM t"),
        ("snowflake", "SELECT ARRAY_AGG(a, (SELECT * FROM DIRECTORY(@stage))) FROM t"),
        ("snowflake", "SELECT ARRAY_AGG(a, (SELECT * FROM SEMANTIC_VIEW(v METRICS m))) FROM t"),
        ("snowflake", "SELECT ARRAY_AGG(a, (SELECT * FROM 's3://x')) FROM t"),
        ("snowflake", "SELECT ARRAY_AGG(a, (SELECT * FROM TABLE('SNOWFLAKE.ACCOUNT_USAGE.USERS'))) FROM t"),
        ("snowflake", "SELECT ARRAY_AGG(a, s.NEXTVAL) FROM t"),
        ("spark", "SELECT COLLECT_LIST(a, (SELECT TRANSFORM(a) USING 'x' FROM VALUES (1) v(a))) FROM t"),
        (
            "databricks",
            "SELECT COLLECT_LIST(a, (SELECT TRANSFORM(a) USING 'x' AS (b INT) FROM VALUES (1) v(a))) FROM t",
        ),
    ],
)
def test_what_is_no_table_and_dropped_is_seen_too(dialect: str, query: str) -> None:
    assert "be read as one query" not in reason(query, dialect)
    assert reason(query, dialect)


def test_each_function_of_clickhouse_is_decided() -> None:
    """A new version has functions that nobody has looked at. They are refused."""
    chdb = pytest.importorskip("chdb")
    lines = str(chdb.query("SELECT name, is_aggregate FROM system.functions ORDER BY name", "TabSeparated")).split("\n")
    functions = dict(line.split("\t") for line in lines if line)
    unknown = {name for name in functions if not is_known(name, name, "clickhouse")}
    reaching = {
        *("file", "sleep", "sleepEachRow", "hostName", "getSetting", "addressToLine", "catboostEvaluate", "logTrace"),
        *("hasColumnInTable", "generateSerialID", "aiGenerate", "showCertificate", "getMacro", "getServerPort"),
    } & set(functions)
    assert reaching <= unknown
    assert len(unknown) < 200
    harmless = [name for name in functions if name not in unknown and not name.startswith("_")]
    for name in [name for name, aggregate in functions.items() if aggregate == "1" and name not in unknown]:
        if name.lower() not in _RANKING:
            assert all(
                is_known(name + end, name + end, "clickhouse") for end in ("If", "ArrayIf", "ForEach", "Merge")
            ), name
    assert len(harmless) > 1_500
    assert not any(is_known(name + "If", name + "If", "clickhouse") for name in ("lower", "file", "sleep", "my_udf"))


_RANKING = frozenset({"cume_dist", "dense_rank", "lag", "lead", "ntile", "percent_rank", "rank", "row_number"})


def test_each_type_of_clickhouse_is_read() -> None:
    chdb = pytest.importorskip("chdb")
    names = str(chdb.query("SELECT name FROM system.data_type_families WHERE alias_to = ''", "TabSeparated")).split()
    with_arguments = {
        "Array": "(Int8)", "Nullable": "(Int8)", "LowCardinality": "(String)", "Nested": "(a Int8)",
        "Map": "(String, Int8)", "Tuple": "(a Int8)", "FixedString": "(3)", "Decimal": "(9, 2)", "QBit": "(Float32, 8)",
        "Enum": "('a' = 1)", "Enum8": "('a' = 1)", "Enum16": "('a' = 1)", "Variant": "(Int8, String)",
        "AggregateFunction": "(sum, Int8)", "SimpleAggregateFunction": "(sum, Int64)", "DateTime64": "(3, 'UTC')",
        "DateTime32": "('UTC')", "Time64": "(3)",
    }  # fmt: skip
    told = {}
    for name in set(names) - {"Object"}:
        kind = name + with_arguments.get(name, "")
        for text in (f"CAST(a AS {kind})", f"a::{kind}", f"CAST(a AS Array({kind}))"):
            told[text] = reason(f"SELECT {text} FROM t", "clickhouse")
    assert {text: why for text, why in told.items() if why} == {}
