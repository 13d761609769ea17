"""The cause follows from what the repair changes, whatever else differs from the gold query."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from assay.diagnosis import CAUSES
from assay.engines.sqlite.engine import SqliteEngine
from assay.model import DatabaseSchema, DatabaseUrl, Diagnosis, Evidence, Limits
from assay.reports.text.explanation import explanation_of
from many_cases import each
from running import scored_pairs, sqlite_url

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from harmless_differences import rewritings, written_differently
from planted_errors import Planted, mutations, planted

TABLES = """
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, state TEXT, people INTEGER, area REAL);
CREATE TABLE shop(id INTEGER PRIMARY KEY, city_id INTEGER REFERENCES city(id), kind TEXT, opened TEXT, staff INTEGER);
CREATE TABLE sale(id INTEGER PRIMARY KEY, shop_id INTEGER REFERENCES shop(id), item TEXT, price INTEGER, year INTEGER);
INSERT INTO city VALUES (1,'Aarau','AG',21,12.5),(2,'Basel','BS',178,23.9),(3,'Chur','GR',37,54.1),
  (4,'Davos','GR',11,284.0),(5,'Egg','ZH',9,14.4),(6,'Zug','ZG',31,21.6),(7,'Wil','SG',24,20.8);
INSERT INTO shop VALUES (1,1,'books','2012-04-01',4),(2,1,'bikes','2015-05-20',9),(3,2,'books','2015-05-20',12),
  (4,3,'bread','2018-01-09',3),(5,4,'bikes','2012-04-01',2),(6,4,'bread','2020-10-30',6),(7,5,'books','2016-07-07',8),
  (8,6,'bread','2011-03-03',5);
INSERT INTO sale VALUES (1,1,'atlas',40,2019),(2,1,'novel',12,2020),(3,3,'novel',15,2019),(4,6,'rye',6,2021),
  (5,6,'bun',2,2019),(6,2,'bell',18,2020),(7,7,'atlas',38,2021);
"""
GOLDS = [
    "SELECT name, people FROM city WHERE state = 'GR' AND people > 10 ORDER BY people DESC LIMIT 1",
    "SELECT name FROM city WHERE state <> 'GR' ORDER BY area",
    "SELECT T1.name, COUNT(*) FROM city AS T1 JOIN shop AS T2 ON T1.id = T2.city_id GROUP BY T1.id HAVING COUNT(*) > 1",
    "SELECT AVG(T2.staff), MAX(T2.opened) FROM city AS T1 JOIN shop AS T2 ON T1.id = T2.city_id WHERE T1.people > 20",
    "SELECT DISTINCT T1.state FROM city AS T1 JOIN shop AS T2 ON T1.id = T2.city_id WHERE T2.kind = 'books'",
    "SELECT name FROM city WHERE id NOT IN (SELECT city_id FROM shop WHERE kind = 'books')",
    "SELECT state FROM city WHERE people > 20 INTERSECT SELECT state FROM city WHERE area < 40",
    "SELECT COUNT(DISTINCT shop_id) FROM sale WHERE item = 'novel' OR item = 'rye'",
    "SELECT item FROM sale WHERE price > (SELECT AVG(price) FROM sale)",
    "SELECT kind FROM shop WHERE opened = '2015-05-20'",
    "SELECT kind, opened, staff FROM shop WHERE staff BETWEEN 3 AND 8 ORDER BY staff",
    "SELECT T1.name, COUNT(T2.id) AS n FROM city AS T1 LEFT JOIN shop AS T2 ON T1.id = T2.city_id GROUP BY T1.id",
]
BY_RESULTS = {"math_functions": "rounding", "string_functions": "result_type", "conversion_functions": "result_type"}
"""What a planted error is called if only the values of the results differ."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sqlite_url(tmp_path_factory.mktemp("repaired") / "cities.sqlite", TABLES)


@pytest.fixture(scope="module")
def schema(database: str) -> DatabaseSchema:
    engine = SqliteEngine.open(DatabaseUrl.parse(database), Limits())
    schema = engine.schema()
    engine.close()
    return schema


def diagnosed(database: str, gold: str, predicted: str) -> Evidence:
    (item,) = scored_pairs(database, (gold, predicted))
    assert item.diagnosis is not None, item.verdict
    return item


class Mix(Struct, frozen=True):
    """A gold query with one planted error and one harmless difference."""

    gold: str
    error: Planted
    harmless: str
    query: str


def mixed(database: str, schema: DatabaseSchema) -> Iterator[Mix]:
    """Every planted error that is named correctly alone, with every difference that does not change the gold result."""
    rewritten = [(gold, *one) for gold in GOLDS for one in written_differently(gold, schema)]
    outcomes = scored_pairs(database, *((gold, query) for gold, _, query in rewritten))
    harmless = {
        (gold, name) for (gold, name, _), item in zip(rewritten, outcomes, strict=True) if item.outcome == "correct"
    }
    errors = [(gold, error) for gold in GOLDS for error in planted(gold, schema, seed=5)]
    alone = scored_pairs(database, *((gold, error.query) for gold, error in errors))
    for (gold, error), item in zip(errors, alone, strict=True):
        if item.diagnosis is not None and is_named(error, item.diagnosis):
            for name, query in written_differently(error.query, schema):
                if (gold, name) in harmless:
                    yield Mix(gold, error, name, query)


def is_named(error: Planted, diagnosis: Diagnosis) -> bool:
    return diagnosis.causes[0].kind in (error.cause, BY_RESULTS.get(error.cause))


def test_a_harmless_difference_does_not_change_the_cause(database: str, schema: DatabaseSchema) -> None:
    # One of each: the gold queries that a pair of mutation and difference applies to differ little from one another.
    mixes = list({(mix.error.mutation, mix.harmless): mix for mix in mixed(database, schema)}.values())
    assert {mix.harmless for mix in mixes} == set(rewritings())
    assert len({mix.error.mutation for mix in mixes}) >= len(mutations()) - 5
    items = scored_pairs(database, *((mix.gold, mix.query) for mix in mixes))
    repaired = [
        (mix, item.diagnosis)
        for mix, item in zip(mixes, items, strict=True)
        if item.diagnosis is not None and item.diagnosis.repair is not None
    ]
    assert len(repaired) > 250
    unnamed = [
        (mix, diagnosis.causes[0], diagnosis.repair)
        for mix, diagnosis in repaired
        if not is_named(mix.error, diagnosis)
    ]
    assert unnamed == []
    repairs = scored_pairs(
        database, *((mix.gold, diagnosis.repair.query) for mix, diagnosis in repaired if diagnosis.repair)
    )
    assert {item.outcome for item in repairs} == {"correct"}


JOINED = "FROM city JOIN shop ON city.id = shop.city_id GROUP BY city.id"
OUTER = "FROM city LEFT JOIN shop ON city.id = shop.city_id GROUP BY city.id"


@each(
    ("gold", "predicted", "kinds"),
    [
        (
            "name FROM city ORDER BY area",
            "name FROM city ORDER BY CAST(area AS REAL) DESC",
            "asc_desc conversion_functions",
        ),
        (
            "name, people FROM city ORDER BY people",
            "name, CAST(people AS INTEGER) AS n FROM city ORDER BY 2 DESC",
            "asc_desc",
        ),
        (
            "name, people FROM city ORDER BY people LIMIT 2",
            "name, CAST(people AS INTEGER) AS n FROM city ORDER BY n DESC LIMIT 2",
            "asc_desc",
        ),
        (
            "state, COUNT(*) FROM city GROUP BY state ORDER BY COUNT(*) DESC, state",
            "state, COUNT(*) FROM city GROUP BY state ORDER BY COUNT(name), state",
            "asc_desc",
        ),
        (f"name, COUNT(shop.id) {OUTER}", f"name, COUNT(*) {JOINED}", "join_type_mismatch"),
        (f"name, COUNT(shop.kind) {OUTER}", f"name, COUNT(*) {JOINED}", "join_type_mismatch"),
        (f"name, COUNT(shop.id) {OUTER}", f"name, COUNT(shop.id) {JOINED}", "join_type_mismatch"),
        (f"name, COUNT(*) {JOINED}", f"name, COUNT(shop.id) {OUTER}", "join_type_mismatch"),
        (
            "name FROM city WHERE people > 30",
            "name FROM city WHERE CAST(people AS INTEGER) > 40 AND name IS NOT NULL",
            "value_mismatch",
        ),
        ("MIN(people) FROM city", "MAX(CAST(people AS INTEGER)) FROM city", "aggregate_functions"),
        (
            "name FROM city WHERE state = 'GR' OR people > 100",
            "name FROM city WHERE (state = 'GR' AND people > 100) AND name IS NOT NULL",
            "logical_operator_mismatch",
        ),
        ("name FROM city WHERE people > 30", "name FROM city WHERE name IS NOT NULL", "explicit_condition_missing"),
        ("name FROM city ORDER BY people", "name FROM city ORDER BY CAST(people AS TEXT)", "conversion_functions"),
    ],
)
def test_the_cause_is_what_the_repair_changes(database: str, gold: str, predicted: str, kinds: str) -> None:
    item = diagnosed(database, f"SELECT {gold}", f"SELECT {predicted}")
    diagnosis = item.diagnosis
    assert diagnosis.repair is not None
    assert [cause.kind for cause in diagnosis.causes][: len(kinds.split())] == kinds.split(), diagnosis
    assert diagnosis.causes[0].proved
    title = CAUSES[diagnosis.causes[0].kind].title
    assert item.cause == diagnosis.title == title
    # What a person reads names the same cause, with its own advice, before any other.
    text = explanation_of(item)
    first, _, further = text.partition("\nalso: ")
    assert f"cause: {title} (" in first
    assert CAUSES[diagnosis.causes[0].kind].advice in first
    assert CAUSES["attribute_mismatch"].advice not in first
    assert all(CAUSES[cause.kind].title in further for cause in diagnosis.causes[1:])


def test_the_repair_shown_changes_nothing_that_is_correct(database: str) -> None:
    gold = "SELECT name FROM city WHERE state = 'GR' ORDER BY people"
    predicted = "SELECT name FROM city WHERE state = 'GR' ORDER BY CAST(people AS INTEGER) DESC"
    diagnosis = diagnosed(database, gold, predicted).diagnosis
    (step,) = diagnosis.repair.steps
    assert (step.clause, step.before, step.after) == (
        "ORDER BY",
        "ORDER BY CAST(people AS INTEGER) DESC",
        "ORDER BY CAST(people AS INTEGER)",
    )
    assert diagnosis.causes[0].message == (
        "the prediction orders by CAST(city.people AS INTEGER) DESC, the gold query by city.people"
    )
    assert [cause.proved for cause in diagnosis.causes] == [True, False]


def test_two_errors_in_one_clause_are_both_repaired(database: str) -> None:
    gold = "SELECT name FROM city WHERE state = 'GR' AND people > 20"
    predicted = "SELECT name FROM city WHERE state = 'ZG' AND CAST(people AS INTEGER) > 1"
    diagnosis = diagnosed(database, gold, predicted).diagnosis
    assert [step.after for step in diagnosis.repair.steps] == ["WHERE state = 'GR' AND CAST(people AS INTEGER) > 20"]
    assert diagnosis.causes[0].kind == "value_mismatch"
