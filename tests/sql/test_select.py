"""What a SELECT requires, joins, groups and orders by, and what messages call its columns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.sql.query import Query, read_query
from assay.sql.schema import SchemaNames
from assay.sql.schema.ddl import read_ddl
from assay.sql.select import Select
from many_cases import each

NAMES = SchemaNames(
    read_ddl(
        "CREATE TABLE Singer (id INTEGER PRIMARY KEY, Name VARCHAR(20), age INT, pay REAL);"
        "CREATE TABLE Concert (id INTEGER PRIMARY KEY, singer_id INTEGER, year YEAR, sold INTEGER)",
        "sqlite",
    ).schema
)


def _read(text: str, dialect: str = "sqlite") -> Query:
    query = read_query(text, dialect, NAMES)
    assert isinstance(query, Query)
    return query


def _top(text: str, dialect: str = "sqlite") -> Select:
    top = _read(text, dialect).top
    assert top is not None
    return top


def _pairs(select: Select) -> list[tuple[str, str]]:
    return [(select.query.name_of(pair.left), select.query.name_of(pair.right)) for pair in select.join_pairs]


def test_columns_are_those_of_the_schema_whatever_the_alias() -> None:
    top = _top("SELECT S.NAME, sold FROM singer AS s JOIN concert c ON c.singer_id = S.ID WHERE year > 2000")
    query = top.query
    assert [query.name_of(column) for output in top.outputs for column in query.columns_in(output)] == [
        "Singer.Name",
        "Concert.sold",
    ]
    assert _pairs(top) == [("Concert.singer_id", "Singer.id")]
    assert [query.type_of(one.left) for one in top.predicates] == ["integer", "date"]
    assert not top.unlinked_sources


@each(
    ("condition", "value"),
    [('name = "Ann"', "Ann"), ("name = 'Ann'", "Ann"), ("'Ann' = name", "Ann"), ("(name) = ('Ann')", "Ann")],
)
def test_double_quotes_around_no_column_are_a_text_in_sqlite(condition: str, value: str) -> None:
    query = _read(f"SELECT name FROM singer WHERE {condition}")
    (predicate,) = query.predicates
    column = query.column_of(predicate.left)
    assert column is not None
    assert query.name_of(column) == "Singer.Name"
    assert [query.value_of(side) for side in predicate.right] == [value]
    query = _read('SELECT 1 FROM singer WHERE "age" = "pay"')
    (predicate,) = query.predicates
    assert query.name_of(query.column_of(predicate.right[0])) == "Singer.pay"


@each(
    ("dialect", "expression", "kind"),
    [
        ("sqlite", "age / id", "integer"),
        ("sqlite", "pay / id", "real"),
        ("sqlite", "pay / unknown", "real"),
        ("sqlite", "SUM(age) / COUNT(*)", "integer"),
        ("sqlite", "CAST(age AS REAL) / 2", "real"),
        ("sqlite", "1.0 * age", "real"),
        ("sqlite", "(SELECT COUNT(*) FROM concert) / 2", "integer"),
        ("sqlite", "(SELECT COUNT(*) FROM concert)", "integer"),
        ("sqlite", "CASE WHEN age > 1 THEN 1 ELSE 0 END", "integer"),
        ("sqlite", "name || 'x'", "text"),
        ("sqlite", "AVG(age)", "real"),
        ("tsql", "AVG(age)", "integer"),
        ("postgres", "AVG(age)", "real"),
        ("mysql", "age / id", "real"),
        ("duckdb", "age / id", "real"),
        ("postgres", "EXTRACT(EPOCH FROM year) / 60", None),
    ],
)
def test_types_are_those_of_the_schema_and_the_dialect(dialect: str, expression: str, kind: str | None) -> None:
    top = _top(f"SELECT {expression} FROM singer", dialect)
    assert top.query.type_of(top.outputs[0]) == kind


def test_conditions_say_whether_they_must_hold() -> None:
    query = _read("SELECT 1 FROM singer WHERE age = 1 AND (age = 2 OR age = 3) AND NOT age = 4 AND NOT (age = 5)")
    told = {
        query.value_of(one.right[0]): (one.is_required, one.disjunction is not None, one.is_negated)
        for one in query.predicates
    }
    assert told == {
        "1": (True, False, False),
        "2": (False, True, False),
        "3": (False, True, False),
        "4": (True, False, True),
        "5": (True, False, True),
    }


def test_conditions_hold_together_where_only_and_joins_them() -> None:
    one, two, three, four = _top(
        "SELECT 1 FROM singer WHERE (age = 1 AND (id = 1)) OR (age = 2) OR NOT age = 3"
    ).predicates
    assert one.conjunction is two.conjunction
    assert len({id(predicate.conjunction) for predicate in (one, three, four)}) == 3
    assert [predicate.disjunction is None for predicate in (one, two, three, four)] == [True, True, False, True]


@each(
    ("entries", "unlinked"),
    [
        ("singer s, concert c", ["c"]),
        ("singer s, concert c WHERE s.id = c.singer_id", []),
        ("singer s JOIN concert c ON s.id = c.singer_id", []),
        ("singer s JOIN concert c USING (id)", []),
        ("singer s NATURAL JOIN concert c", []),
        ("singer s JOIN (concert c JOIN concert d ON c.id = d.id) ON c.singer_id = s.id", []),
        ("singer s JOIN (concert c JOIN concert d) ON c.singer_id = s.id", ["d"]),
        ("singer s, (SELECT MAX(age) AS most FROM singer) m", []),
        ("singer s, (SELECT age FROM singer) m", ["m"]),
        ("singer s, json_each(s.name) j JOIN concert c ON c.year = j.value", []),
        ("singer s, concert c WHERE s.id IN (SELECT c.singer_id FROM concert c)", ["c"]),
        ("singer s, concert c WHERE unknown = 1", []),
        ("singer s, concert c WHERE s.id = x.id", ["c"]),
    ],
)
def test_a_source_is_unlinked_if_no_condition_ties_it_to_the_first(entries: str, unlinked: list[str]) -> None:
    assert [source.alias for source in _top(f"SELECT 1 FROM {entries}").unlinked_sources] == unlinked


@each(
    ("entries", "pairs"),
    [
        ("singer JOIN concert USING (id)", [("Singer.id", "Concert.id")]),
        ("singer s JOIN concert c USING (id) JOIN concert d USING (id)", [("Singer.id", "Concert.id")] * 2),
        ("singer s, singer t WHERE s.id = t.id AND s.age = s.pay", [("Singer.id", "Singer.id")]),
        ("singer s, singer t WHERE s.id = t.id OR s.age = t.age", []),
        ("singer s JOIN (SELECT singer_id AS x FROM concert) c ON c.x = s.id", [("Concert.singer_id", "Singer.id")]),
    ],
)
def test_columns_of_two_sources_that_must_be_equal_are_a_pair(entries: str, pairs: list[tuple[str, str]]) -> None:
    assert _pairs(_top(f"SELECT 1 FROM {entries}")) == pairs


@each(
    ("dialect", "query", "meant"),
    [
        # ORDER BY an alias is the output, whatever column has that name; within an expression, dialects differ.
        ("sqlite", "SELECT id AS age FROM singer ORDER BY age", "id"),
        ("sqlite", "SELECT id AS age FROM singer ORDER BY singer.age", "singer.age"),
        ("postgres", "SELECT id AS age FROM singer ORDER BY age", "id"),
        ("mysql", "SELECT id AS age FROM singer ORDER BY age", "id"),
        ("duckdb", "SELECT id AS age FROM singer ORDER BY age DESC", "id"),
        ("sqlite", "SELECT name, id FROM singer ORDER BY 2", "id"),
        ("sqlite", "SELECT name, id FROM singer ORDER BY 3", "3"),
        ("sqlite", "SELECT id + 1 AS age FROM singer ORDER BY (age)", "id + 1"),
    ],
)
def test_a_key_of_order_by_means_what_the_dialect_says(dialect: str, query: str, meant: str) -> None:
    top = _top(query, dialect)
    assert top.meant(top.order[0]).sql(dialect) == meant


@each(
    ("dialect", "query", "meant"),
    [
        # GROUP BY takes a column before an alias.
        ("sqlite", "SELECT id AS age FROM singer GROUP BY age", "age"),
        ("postgres", "SELECT id AS age FROM singer GROUP BY age", "age"),
        ("mysql", "SELECT id AS age FROM singer GROUP BY age", "age"),
        ("sqlite", "SELECT id AS x FROM singer GROUP BY x", "id"),
        ("duckdb", "SELECT id AS x FROM singer GROUP BY 1", "id"),
        ("duckdb", "SELECT id, COUNT(*) FROM singer GROUP BY ALL", "id"),
    ],
)
def test_a_key_of_group_by_means_what_the_dialect_says(dialect: str, query: str, meant: str) -> None:
    assert [key.sql(dialect) for key in _top(query, dialect).group] == [meant]


@each(
    ("clause", "stored"),
    [
        ("WHERE x > 1", "Singer.id"),
        ("GROUP BY age HAVING x > 1", "Singer.id"),
        ("WHERE age > 1", "Singer.age"),
        ("GROUP BY age HAVING age > 1", "Singer.age"),
    ],
)
def test_an_alias_in_a_condition_is_the_output_unless_a_column_has_the_name(clause: str, stored: str) -> None:
    query = _read(f"SELECT id AS x, name AS age FROM singer {clause}")
    (predicate,) = query.predicates
    column = query.column_of(predicate.left)
    assert column is not None
    assert query.name_of(column) == stored


@each(
    ("query", "shown"),
    [
        ("SELECT S.NAME FROM singer AS s", "Singer.Name"),
        ("SELECT  name  FROM singer AS s", "name"),
        ("SELECT sum(s.age)  /count( * ) FROM singer s", "SUM(Singer.age) / COUNT(*)"),
        ("SELECT s.age - t.age FROM singer s JOIN singer t ON s.id = t.id", "s.age - t.age"),
        ("SELECT m.most FROM (SELECT MAX(age) AS most FROM singer) AS m", "m.most"),
        ("SELECT 'a  b'", "'a b'"),
    ],
)
def test_messages_name_tables_and_not_their_aliases(query: str, shown: str) -> None:
    top = _top(query)
    assert top.query.shown(top.outputs[0]) == shown


_WORDS = """
SELECT name age FROM singer concert c , ( ) WHERE = 'x' "x" 1 AND OR NOT IN JOIN ON GROUP+BY ORDER+BY LIMIT COUNT(*)
UNION AS * c.year MAX(age) DISTINCT EXISTS WITH CASE+WHEN THEN END / NULL IS USING+(id)
"""


@given(st.lists(st.sampled_from([word.replace("+", " ") for word in _WORDS.split()]), max_size=25))
def test_no_text_raises_and_places_lie_in_it(words: list[str]) -> None:
    text = "SELECT " + " ".join(words)
    query = read_query(text, "sqlite", NAMES)
    if not isinstance(query, Query):
        return
    for select in query.selects:
        assert len(select.outputs) == len(select.node.expressions)
        assert isinstance(select.is_single_row, bool)
        nodes = [*select.group, *select.order, *select.aggregates, *(pair.node for pair in select.join_pairs)]
        nodes += [source.node for source in select.unlinked_sources] + [one.node for one in select.predicates]
        for node in nodes:
            span = query.span(node)
            assert span is None or 0 <= span.start < span.end <= len(text)
            query.type_of(node)
            query.shown(node)


@each(
    "text",
    [
        "SELECT " + "/".join("2" for _ in range(1400)),
        "SELECT name FROM singer WHERE " + "=".join("age" for _ in range(1400)),
        "SELECT name FROM singer WHERE " + " OR ".join(f"age = {number}" for number in range(1400)),
        "SELECT " + ", ".join(f"age + {number}" for number in range(1000)) + " FROM singer",
        "WITH "
        + ", ".join(f"c{place} AS (SELECT name FROM {f'c{place - 1}' if place else 'singer'})" for place in range(1000))
        + " SELECT name FROM c999",
    ],
    ids=["divisions", "comparisons", "alternatives", "outputs", "ctes"],
)
def test_what_repeats_in_itself_is_read(text: str) -> None:
    query = _read(text)
    for select in query.selects:
        assert not select.unlinked_sources
        assert all(len(query.shown(output)) <= 120 for output in select.outputs)
    assert len(list(query.predicates)) in (0, 1399, 1400)


@each(
    ("outputs", "position", "meant"),
    [
        ("name, age", 2, "age"),
        ("name, age AS a, pay", 3, "pay"),
        ("*, age", 1, "1"),
        ("*, age", 2, "2"),
        ("pay, *, age", 1, "pay"),
        ("pay, *, age", 3, "3"),
        ("name, age", 3, "3"),
    ],
)
@each("clause", ["GROUP BY", "ORDER BY"])
def test_a_position_counts_what_a_star_stands_for(outputs: str, position: int, meant: str, clause: str) -> None:
    top = _top(f"SELECT {outputs} FROM singer {clause} {position}")
    (key,) = top.group if clause == "GROUP BY" else [top.meant(key) for key in top.order]
    assert key.name == meant
