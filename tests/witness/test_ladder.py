"""How much a witness means: what of the real data it keeps, and the sentence that says what it breaks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from looking import look, made_by_sqlite

import assay
from many_cases import each

DDL = """CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, country TEXT, age INT);
CREATE TABLE song (id INTEGER PRIMARY KEY, singer_id INT REFERENCES singer(id), title TEXT)"""
ROWS = """
INSERT INTO singer VALUES (1, 'Ann', 'France', 20), (2, 'Bob', 'France', 31), (3, 'Cid', 'Spain', 42),
  (4, 'Dan', 'Spain', 53), (5, 'Eve', 'Spain', 20), (6, 'Fay', 'France', 31), (7, 'Gus', 'Spain', 42);
INSERT INTO song VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, 'd'), (5, 5, 'e'), (6, 6, 'f'), (7, 7, 'g'),
  (8, 1, 'h'), (9, 2, 'i')"""

AT_THE_TOP = {
    "a filter is missing": ("SELECT name FROM singer WHERE age > 20", "SELECT name FROM singer"),
    "strict and not": ("SELECT name FROM singer WHERE age > 31", "SELECT name FROM singer WHERE age >= 31"),
    "duplicates": ("SELECT country FROM singer", "SELECT DISTINCT country FROM singer"),
    "a join multiplies": (
        "SELECT country FROM singer WHERE id IN (SELECT singer_id FROM song)",
        "SELECT country FROM singer JOIN song ON singer.id = singer_id",
    ),
    "another column": ("SELECT max(age) FROM singer", "SELECT min(age) FROM singer"),
    "another group": (
        "SELECT country, count(*) FROM singer GROUP BY country",
        "SELECT age, count(*) FROM singer GROUP BY age",
    ),
}

CONDITIONAL = {
    "unique": (
        "SELECT count(*) FROM singer",
        "SELECT count(DISTINCT name) FROM singer WHERE name IS NOT NULL OR 1 = 1",
        ("unique", "never_null"),
    ),
    "grouped by a name": (
        "SELECT name, count(*) FROM singer JOIN song ON singer.id = singer_id GROUP BY singer.id",
        "SELECT name, count(*) FROM singer JOIN song ON singer.id = singer_id GROUP BY name",
        ("unique", "never_null"),
    ),
    "never null": ("SELECT count(*) FROM singer", "SELECT count(age) FROM singer", ("never_null",)),
    "a parent without a child": (
        "SELECT name FROM singer",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM song)",
        ("inclusion",),
    ),
    "beyond the range": (
        "SELECT name FROM singer WHERE age < 60",
        "SELECT name FROM singer WHERE age < 70",
        ("range",),
    ),
    "letter case": (
        "SELECT name FROM singer WHERE country = 'France'",
        "SELECT name FROM singer WHERE country LIKE 'france'",
        ("range",),
    ),
    "nothing found": (
        "SELECT max(age) FROM singer WHERE country = 'France'",
        "SELECT age FROM singer WHERE country = 'France' ORDER BY age DESC LIMIT 1",
        ("selects", "not_empty"),
    ),
}


@each("name", AT_THE_TOP)
def test_what_differs_on_plausible_data_is_refuted(name: str) -> None:
    one, two = AT_THE_TOP[name]
    outcome = look(one, two, DDL, rows=ROWS)
    assert (outcome.kind, outcome.level, outcome.broken) == ("refuted", "observed", ()), outcome
    first, second = made_by_sqlite(outcome, (one, two))
    assert sorted(map(repr, first)) != sorted(map(repr, second))


@each("name", CONDITIONAL)
def test_what_needs_implausible_data_is_conditional(name: str) -> None:
    one, two, kinds = CONDITIONAL[name]
    outcome = look(one, two, DDL, rows=ROWS)
    assert outcome.kind == "conditional", outcome
    assert len(outcome.broken) == 1, outcome
    assert outcome.broken[0].kind in kinds
    assert outcome.broken[0].broken in outcome.reason
    assert outcome.level != "observed"


ALTERNATIVES = {
    "a shared name, or a NULL": (
        "SELECT name, count(*) FROM singer JOIN song ON singer.id = singer_id GROUP BY singer.id",
        "SELECT name, count(*) FROM singer JOIN song ON singer.id = singer_id WHERE age IS NOT NULL GROUP BY name",
        {"unique", "never_null"},
    ),
    "two columns": (
        "SELECT name FROM singer",
        "SELECT name FROM singer WHERE age IS NOT NULL AND country IS NOT NULL",
        {"never_null"},
    ),
    "a range, or a child": (
        "SELECT name FROM singer WHERE age < 60",
        "SELECT name FROM singer WHERE age < 70 AND id IN (SELECT singer_id FROM song)",
        {"range", "inclusion"},
    ),
}


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_each_of_several_conditions_is_named(name: str) -> None:
    one, two, kinds = ALTERNATIVES[name]
    outcome = look(one, two, DDL, rows=ROWS)
    assert outcome.kind == "conditional", outcome
    sets = [outcome.broken, *outcome.alternatives]
    assert len(sets) > 1, outcome.reason
    assert all(len(some) == 1 for some in sets), sets
    assert {some[0].kind for some in sets} >= kinds
    told = [some[0].broken for some in sets]
    assert len(set(told)) == len(told)
    assert ", or if ".join(told[:3]) in outcome.reason


@pytest.mark.parametrize("name", ["never null", "a parent without a child"])
def test_a_single_condition_has_no_alternative(name: str) -> None:
    one, two, _ = CONDITIONAL[name]
    outcome = look(one, two, DDL, rows=ROWS)
    assert outcome.alternatives == (), outcome.alternatives
    assert ", or if " not in outcome.reason


def test_without_real_data_nothing_is_assumed() -> None:
    one, two, _ = CONDITIONAL["never null"]
    outcome = look(one, two, DDL)
    assert (outcome.kind, outcome.level) == ("refuted", None)


def test_few_rows_say_little_about_uniqueness() -> None:
    ddl = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL)"
    few = "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')"
    more = f"{few}, (5, 'e'), (6, 'f')"
    pair = ("SELECT name FROM t", "SELECT DISTINCT name FROM t")
    assert look(*pair, ddl, rows=few).kind == "refuted"
    assert look(*pair, ddl, rows=more).kind == "conditional"


def test_a_foreign_key_that_the_data_violates_is_not_assumed() -> None:
    pair = ("SELECT title FROM song", "SELECT title FROM song JOIN singer ON singer_id = singer.id")
    sound = "SELECT title FROM song WHERE singer_id IS NOT NULL"
    assert look(sound, pair[1], DDL, rows=ROWS).why == "no_difference"
    stray = f"{ROWS}; INSERT INTO song VALUES (10, 99, 'stray')"
    assert look(sound, pair[1], DDL, rows=stray).kind == "refuted"


def test_witnesses_are_small() -> None:
    outcome = look(*AT_THE_TOP["duplicates"], DDL)
    assert [(table.name, len(table.rows)) for table in outcome.witness.tables] == [('"singer"', 2)]
    outcome = look(*AT_THE_TOP["a join multiplies"], DDL)
    assert {table.name: len(table.rows) for table in outcome.witness.tables} == {'"singer"': 1, '"song"': 2}
    assert all(cell is not None for table in outcome.witness.tables for row in table.rows for cell in row)


@pytest.mark.parametrize("rows", [None, ROWS])
def test_one_seed_gives_one_outcome(rows: str | None) -> None:
    pair = AT_THE_TOP["a join multiplies"]
    told = [look(*pair, DDL, rows=rows, seed=seed) for seed in (3, 3, 4)]
    assert (told[0].witness, told[0].reason, told[0].trials) == (told[1].witness, told[1].reason, told[1].trials)
    assert told[2].kind == "refuted"


@each(
    ("one", "two", "tag"),
    [
        ("SELECT country FROM singer", "SELECT DISTINCT country FROM singer", "multiplicity_only"),
        ("SELECT id FROM singer ORDER BY age", "SELECT id FROM singer", "order_only"),
        ("SELECT id, age FROM singer", "SELECT id FROM singer", "column_count"),
        ("SELECT count(*) FROM singer", "SELECT count(age) FROM singer", "needs_null"),
        ("SELECT id FROM singer", "SELECT CAST(id AS TEXT) FROM singer", "typing"),
        ("SELECT max(age) FROM singer", "SELECT age FROM singer ORDER BY age DESC LIMIT 1", "needs_empty_result"),
        ("SELECT id FROM singer WHERE age > 3", "SELECT id FROM singer WHERE age > 4", None),
    ],
)
def test_tags(one: str, two: str, tag: str | None) -> None:
    outcome = look(one, two, DDL)
    assert outcome.kind == "refuted"
    assert tag in outcome.tags or (tag is None and "needs_empty_result" not in outcome.tags), outcome


TRIGGERS = {
    "a refusal": ("BEFORE INSERT ON singer WHEN NEW.age > 20 BEGIN SELECT RAISE(ABORT, 'too old'); END", "conditional"),
    "a silent refusal": ("BEFORE INSERT ON singer WHEN NEW.age > 20 BEGIN SELECT RAISE(IGNORE); END", "conditional"),
    "a change": ("AFTER INSERT ON singer BEGIN UPDATE singer SET age = 7 WHERE id = NEW.id; END", "conditional"),
    "a table that is gone": ("AFTER INSERT ON singer BEGIN INSERT INTO log VALUES (1); END", "conditional"),
    "another table's": ("BEFORE INSERT ON song BEGIN SELECT RAISE(ABORT, 'no songs'); END", "refuted"),
    "what lets them in": (
        "BEFORE INSERT ON singer WHEN NEW.age < 0 BEGIN SELECT RAISE(ABORT, 'unborn'); END",
        "refuted",
    ),
    "an update": ("BEFORE UPDATE ON singer BEGIN SELECT RAISE(ABORT, 'kept'); END", "refuted"),
}


@each("name", TRIGGERS)
def test_rows_that_triggers_do_not_let_in_are_an_assumption(name: str, make_sqlite: Callable[..., Path]) -> None:
    trigger, kind = TRIGGERS[name]
    path = make_sqlite(f"{DDL};{ROWS};CREATE TRIGGER t {trigger}", f"{name}.sqlite")
    outcome = assay.refute(*AT_THE_TOP["a filter is missing"], database=f"sqlite:///{path}", seconds=0.2)
    assert outcome.kind == kind, outcome.reason
    assert [one.kind for one in outcome.broken] == (["trigger"] if kind == "conditional" else [])
    assert ("triggers" in outcome.reason) == (kind == "conditional")


@each(
    ("first", "second", "rows", "kind", "broken"),
    [
        ("SELECT name FROM a", "SELECT DISTINCT name FROM a", "", "conditional", {("empty", "a")}),
        ("SELECT name FROM a", "SELECT DISTINCT name FROM a", "INSERT INTO a VALUES (1, 'x')", "refuted", set()),
        (
            "SELECT a.name FROM a JOIN b ON b.a = a.id",
            "SELECT name FROM a WHERE id IN (SELECT a FROM b)",
            "INSERT INTO a VALUES (1, 'x')",
            "conditional",
            {("empty", "b")},
        ),
        (
            "SELECT name FROM a WHERE id > 1",
            "SELECT name FROM a WHERE id > 2 OR id IN (SELECT a FROM b)",
            "INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, 'z')",
            "refuted",
            set(),
        ),
    ],
)
def test_rows_in_empty_tables_are_assumed(
    first: str, second: str, rows: str, kind: str, broken: set[tuple[str, str]]
) -> None:
    ddl = "CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY, a INT)"
    outcome = look(first, second, ddl, rows=rows, trials=300)
    assert outcome.kind == kind, outcome
    assert {(one.kind, one.table) for one in outcome.broken} == broken
    assert kind == "refuted" or f"if {min(broken)[1]} has rows" in outcome.reason
    assert look(first, second, ddl, trials=300).kind == "refuted", "a schema alone observes nothing"
