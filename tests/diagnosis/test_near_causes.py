"""The verdict's reason, its near miss and the primary cause never contradict each other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from assay.diagnosis import CAUSES
from assay.model import Evidence
from running import scored_pairs, sqlite_url

TABLES = """
CREATE TABLE pay(id INTEGER PRIMARY KEY, kind TEXT, cents INTEGER, euro REAL, name TEXT, fee REAL);
INSERT INTO pay VALUES (1,'a',150,1.5,'Ann',0.128),(2,'a',275,2.75,'Bob',0.256),(3,'b',333,3.33,'Cy',0.391),
  (4,'b',100,1.0,'Di',0.512),(5,'c',501,5.01,'Ed',0.777),(6,'c',501,5.01,'Ed',0.777);
CREATE TABLE stock(shop TEXT, pieces INTEGER);
INSERT INTO stock VALUES ('north', 5), ('south', 500);
"""
VALUES = [
    "SUM(CASE WHEN kind = 'a' THEN 1.0 ELSE 0 END) / COUNT(*)",
    "AVG(euro)",
    "SUM(cents) / 7.0",
    "MAX(fee)",
    "COUNT(*)",
]
CHANGES = {
    "scale": ["100 * ({0})", "({0}) / 100.0", "({0}) * 1000.0"],
    "sign": ["-({0})", "0 - ({0})"],
    "rounding": ["ROUND({0}, 1)", "ROUND({0}, 2)", "CAST({0} AS INT)", "CAST({0} AS INTEGER) * 1.0"],
    "result_type": ["CAST({0} AS TEXT)"],
}
TEXTS = {"letter_case": ["UPPER({0})", "LOWER({0})", "' ' || {0}"], "result_type": []}
AROUND = [
    ("SELECT {0} FROM pay", "SELECT {0} FROM pay"),
    ("SELECT {0} FROM pay WHERE cents < 400", "SELECT {0} FROM pay WHERE NOT cents >= 400"),
    ("SELECT kind, {0} FROM pay GROUP BY kind", "SELECT kind, {0} FROM pay WHERE id > 0 GROUP BY kind"),
    ("WITH t AS (SELECT {0} AS v FROM pay) SELECT v FROM t", "WITH t AS (SELECT {0} AS v FROM pay) SELECT v FROM t"),
    ("SELECT {0} FROM pay", "SELECT {0} FROM (SELECT * FROM pay WHERE id < 1000) AS p"),
]
ALLOWED = {
    "scaled": {"scale"},
    "sign": {"sign"},
    "rounding_only": {"rounding"},
    "type_only": {"result_type", "conversion_functions"},
    "case_or_whitespace_only": {"letter_case", "string_functions"},
    "superset_columns": {"attribute_redundancy"},
    "subset_columns": {"attribute_missing"},
}
"""By near miss: what the primary cause may be, unless an executed repair shows that it is another one."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sqlite_url(tmp_path_factory.mktemp("near") / "pay.sqlite", TABLES)


def contradictions(found: list[Evidence]) -> list[str]:
    """Primary causes that say something else than the near miss beside them."""
    told = []
    for item in found:
        near = item.comparison.near_misses if item.comparison is not None else ()
        if item.outcome != "incorrect" or not near or item.diagnosis is None or not item.diagnosis.causes:
            continue
        first, allowed = item.diagnosis.causes[0], ALLOWED.get(near[0].kind)
        repair = item.diagnosis.repair
        if first.symptom == "integer_division":  # which explains what is lost
            continue
        elsewhere = repair is not None and {step.clause for step in repair.steps} != {"SELECT"}
        if allowed is not None and first.kind not in allowed and not (elsewhere and first.proved):
            told.append(f"{item.verdict.reason} / {near[0].kind} / {first.kind}: {first.message}")
    return told


def _changed() -> Iterator[tuple[str, str, str]]:
    for (gold, predicted), (kind, changes) in itertools.product(AROUND, CHANGES.items()):
        for value, change in itertools.product(VALUES, changes):
            yield kind, gold.format(value), predicted.format(change.format(value))
    for gold, predicted in AROUND[:2]:
        for change in TEXTS["letter_case"]:
            yield "letter_case", gold.format("name"), predicted.format(change.format("name"))


def test_a_change_of_values_alone_is_the_cause_that_is_named(database: str) -> None:
    made = list(_changed())
    found = scored_pairs(database, *((gold, predicted) for _, gold, predicted in made))
    assert contradictions(found) == []
    named = [
        (item.diagnosis.causes[0].kind, kind)
        for (kind, _, _), item in zip(made, found, strict=True)
        if item.outcome == "incorrect" and item.comparison is not None and item.comparison.near_misses
        if item.diagnosis is not None
    ]
    assert len(named) > 100
    assert sum(one == kind for one, kind in named) > 0.8 * len(named)


@pytest.mark.parametrize("rounded", ["CAST({0} AS INT)", "ROUND({0})", "CAST(ROUND({0}) AS REAL)"])
def test_the_advice_for_a_rounded_value_is_about_rounding(database: str, rounded: str) -> None:
    (item,) = scored_pairs(database, ("SELECT SUM(euro) FROM pay", f"SELECT {rounded.format('SUM(euro)')} FROM pay"))
    assert item.comparison.near_misses[0].kind == "rounding_only"
    (cause,) = item.diagnosis.causes
    assert (cause.kind, "round" in CAUSES[cause.kind].advice.lower()) == ("rounding", True)


def test_the_advice_is_of_the_near_miss(database: str) -> None:
    share = "SUM(CASE WHEN kind = 'a' THEN {0} ELSE 0 END) / COUNT(*)"
    (item,) = scored_pairs(
        database, (f"SELECT {share.format('1.0')} FROM pay", f"SELECT {share.format('100.0')} FROM pay")
    )
    assert item.cause == "Scale or unit"
    (cause,) = item.diagnosis.causes
    assert "the gold result is the prediction ÷100" in item.verdict.reason
    assert cause.message.startswith("the gold result is the prediction ÷100: the prediction has SUM")
    assert cause.proved
    assert "unit" in CAUSES[cause.kind].advice


def test_a_repair_elsewhere_shows_that_a_near_miss_is_chance(database: str) -> None:
    (item,) = scored_pairs(
        database,
        ("SELECT pieces FROM stock WHERE shop = 'north'", "SELECT pieces FROM stock WHERE shop = 'south'"),
    )
    assert "the gold result is the prediction ÷100" in item.verdict.reason
    first = item.diagnosis.causes[0]
    assert (first.kind, first.proved) == ("value_mismatch", True)
    assert first.message.endswith("; by chance, the gold result is the prediction ÷100")


def test_columns_that_are_right_are_not_called_missing(database: str) -> None:
    golds = ["SELECT kind FROM pay", "SELECT kind, name FROM pay", "SELECT kind, COUNT(*) FROM pay GROUP BY kind"]
    more = [
        "SELECT id, kind FROM pay",
        "SELECT p.kind, COUNT(*) FROM pay AS p JOIN pay AS q ON p.id = q.id GROUP BY p.id",
        "SELECT kind, COUNT(*), MAX(fee) FROM pay GROUP BY kind",
        "SELECT kind FROM pay WHERE id > 0",
        "SELECT name FROM pay",
    ]
    pairs = [pair for pair in itertools.product([*golds, *more], repeat=2) if pair[0] != pair[1]]
    assert contradictions(scored_pairs(database, *pairs)) == []
