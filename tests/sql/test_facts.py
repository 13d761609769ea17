"""The facts of a query are what stands in it, at the place where it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model import ColumnSchema, DatabaseSchema, TableSchema
from assay.sql.facts import QueryFacts, SchemaNames, read_facts


def _table(name: str, **columns: str) -> TableSchema:
    made = tuple(ColumnSchema(name=column, type=kind) for column, kind in columns.items())
    return TableSchema(name=name, ddl="", columns=made, primary_key=("id",))


NAMES = SchemaNames(
    DatabaseSchema(
        dialect="sqlite",
        tables=(
            _table("Singer", id="INTEGER", Name="VARCHAR(20)", age="INT", pay="REAL"),
            _table("Concert", id="INTEGER", singer_id="INTEGER", year="YEAR", sold="INTEGER"),
        ),
    )
)


def _read(query: str, dialect: str = "sqlite") -> QueryFacts:
    found = read_facts(query, dialect, NAMES)
    assert found is not None
    return found


def test_columns_are_those_of_the_schema_whatever_the_alias() -> None:
    facts = _read("SELECT S.NAME, sold FROM singer AS s JOIN concert c ON c.singer_id = S.ID WHERE year > 2000")
    (top,) = facts.levels
    assert [one.term.column.name for one in top.outputs if one.term.column] == ["Singer.Name", "Concert.sold"]
    assert [(one.left.name, one.right.name) for one in top.joins] == [("Concert.singer_id", "Singer.id")]
    assert [one.left.type for one in facts.conditions] == ["integer", "date"]
    assert not top.unlinked


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ('SELECT name FROM singer WHERE name = "Ann"', "Ann"),
        ("SELECT name FROM singer WHERE name = 'Ann'", "Ann"),
        ("SELECT name FROM singer WHERE 'Ann' = name", "Ann"),
    ],
)
def test_double_quotes_around_no_column_are_a_text_in_sqlite(query: str, value: str) -> None:
    (condition,) = _read(query).conditions
    assert condition.left.column is not None
    assert condition.left.column.name == "Singer.Name"
    assert [(one.kind, one.value) for one in condition.right] == [("literal", value)]


def test_double_quotes_around_a_column_are_the_column() -> None:
    (condition,) = _read('SELECT 1 FROM singer WHERE "age" = "pay"').conditions
    assert condition.right[0].column is not None
    assert condition.right[0].column.name == "Singer.pay"


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("age / id", "integer"),
        ("pay / id", "real"),
        ("SUM(age) / COUNT(*)", "integer"),
        ("CAST(age AS REAL) / 2", "real"),
        ("1.0 * age", "real"),
        ("(SELECT COUNT(*) FROM concert) / 2", "integer"),
        ("CASE WHEN age > 1 THEN 1 ELSE 0 END", "integer"),
        ("CASE WHEN age > 1 THEN 1 ELSE 0.5 END", None),
        ("name || 'x'", None),
        ("AVG(age)", "real"),
    ],
)
def test_types_come_from_the_schema(expression: str, kind: str | None) -> None:
    assert _read(f"SELECT {expression} FROM singer").levels[0].outputs[0].term.type == kind


def test_conditions_say_whether_they_must_hold() -> None:
    facts = _read("SELECT 1 FROM singer WHERE age = 1 AND (age = 2 OR age = 3) AND NOT age = 4")
    told = {one.right[0].value: (one.certain, bool(one.disjunction), one.negated) for one in facts.conditions}
    assert told == {
        "1": (True, False, False),
        "2": (False, True, False),
        "3": (False, True, False),
        "4": (True, False, True),
    }


_WORDS = [
    "SELECT",
    "name",
    "age",
    "FROM",
    "singer",
    "concert",
    "c",
    ",",
    "(",
    ")",
    "WHERE",
    "=",
    "'x'",
    '"x"',
    "1",
    "AND",
    "OR",
    "NOT",
    "IN",
    "JOIN",
    "ON",
    "GROUP+BY",
    "ORDER+BY",
    "LIMIT",
    "COUNT(*)",
    "UNION",
    "AS",
    "*",
    "c.year",
    "MAX(age)",
    "DISTINCT",
    "EXISTS",
    "WITH",
    "CASE+WHEN",
    "THEN",
    "END",
    "/",
    "NULL",
    "IS",
]


@given(st.lists(st.sampled_from([word.replace("+", " ") for word in _WORDS]), max_size=25))
def test_no_text_raises_and_places_lie_in_it(words: list[str]) -> None:
    query = "SELECT " + " ".join(words)
    facts = read_facts(query, "sqlite", NAMES)
    if facts is None:
        return
    for term in (*facts.literals, *(one.left for one in facts.conditions)):
        if term.place is not None:
            assert 0 <= term.place.start < term.place.end <= len(query)
    for term in facts.literals:
        if term.place is not None and term.value and not term.text.startswith("-"):
            assert term.value in query[term.place.start : term.place.end]
    assert facts == read_facts(query, "sqlite", NAMES), "the same text gives the same facts"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT " + "/".join("2" for _ in range(2000)),
        "SELECT name FROM singer WHERE " + "=".join("age" for _ in range(2000)),
        "SELECT " + ", ".join(f"age + {number}" for number in range(1000)) + " FROM singer",
        "WITH "
        + ", ".join(f"c{place} AS (SELECT name FROM {f'c{place - 1}' if place else 'singer'})" for place in range(1000))
        + " SELECT name FROM c999",
    ],
    ids=["divisions", "comparisons", "outputs", "ctes"],
)
def test_what_repeats_in_itself_is_read_up_to_a_bound(query: str) -> None:
    facts = read_facts(query, "sqlite", NAMES)
    assert facts is not None
    assert len(facts.divisions) <= 100
    assert all(len(term.columns) <= 300 for one in facts.conditions for term in (one.left, *one.right))
