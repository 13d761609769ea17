"""Databases that tell gold from what is not gold: each is executed by SQLite alone, from its script."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing

import pytest
from small_shop import CASES, LUCKY, built, suite_of

from assay import registry
from assay.api.suites import suite_script
from assay.model import ComparisonOptions, Limits, Prediction
from assay.runs.workers.suite_checking import SuiteChecker
from assay.runs.workers.suite_worker import SuiteMade, SuiteWorker
from assay.sql.mutants import mutants_of
from assay.sql.schema.ddl import read_ddl

SCHEMA = read_ddl("CREATE TABLE t (a INT, b INT, c TEXT); CREATE TABLE u (a INT, d TEXT)", "sqlite").schema
QUERIES = [
    "SELECT t.c, count(*) FROM t JOIN u ON t.a = u.a WHERE t.b > 3 GROUP BY t.c HAVING count(*) > 1 ORDER BY 2 LIMIT 3",
    "SELECT avg(b) FROM t WHERE c LIKE '%y%' OR b BETWEEN 1 AND 5",
    "SELECT c FROM t UNION SELECT d FROM u WHERE a NOT IN (SELECT max(a) FROM t)",
    "WITH w AS (SELECT DISTINCT a FROM t) SELECT count(DISTINCT a), sum(a) FROM w",
    "WITH w AS (SELECT t.a, c FROM t) SELECT w.a FROM w WHERE w.c LIKE 'x%'",
    "SELECT v.a, max(v.b) FROM (SELECT a, b FROM t WHERE b > 1) v GROUP BY v.a",
    "SELECT a FROM (SELECT a, c FROM t UNION SELECT a, d FROM u) ORDER BY c",
    "SELECT a FROM t UNION SELECT a FROM u ORDER BY a",
]


@pytest.mark.parametrize("query", QUERIES)
def test_neighbours_are_other_queries_of_the_same_database(query: str) -> None:
    """Each is one text of its own, runs on the schema, and comes again; each kind of clause has some."""
    found = mutants_of(query, SCHEMA, "sqlite")
    texts = [one.query for one in found]
    assert len(set(texts)) == len(texts) > 4
    assert found == mutants_of(query, SCHEMA, "sqlite")
    assert len({one.kind for one in found}) >= 2
    with closing(sqlite3.connect(":memory:")) as connection:
        for table in SCHEMA.tables:
            connection.execute(table.ddl)
        for text in texts:
            connection.execute(text)
    assert len(mutants_of(query, SCHEMA, "sqlite", most=4)) == 4


def _rows(script: str, query: str) -> Counter[tuple[object, ...]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(script)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return Counter(connection.execute(query).fetchall())
    finally:
        connection.close()


def _outcome(worker: SuiteWorker, shop: str, place: int) -> SuiteMade:
    case = CASES[place]
    return built(worker, shop, case, *([LUCKY[case.id]] if case.id in LUCKY else []))


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_refuted_is_told_from_gold(worker: SuiteWorker, shop: str, place: int) -> None:
    """As a plain SQLite sees it: on some database gold and the lucky answer differ, and keys hold on all."""
    case = CASES[place]
    made = _outcome(worker, shop, place)
    suite = suite_of(made)
    assert (made.case.answers, made.case.answers_told) == (1, 1), made.case.why
    assert made.case.neighbours_told > made.case.neighbours // 2
    assert 1 <= len(made.case.databases) <= 3
    parted = []
    for one in made.case.databases:
        script = suite_script(suite, case.id, one.name)
        parted.append(_rows(script, case.golds[0]) != _rows(script, LUCKY[case.id]))
    assert any(parted)
    checker = SuiteChecker(suite, registry.engine_references(), Limits())
    try:
        found = checker.check(case, Prediction(case_id=case.id, query=LUCKY[case.id]), ComparisonOptions())
        assert [one.name for one, differs in zip(made.case.databases, parted, strict=True) if differs] == list(
            found.parted_by
        )
        assert found.witness
        right = f"SELECT * FROM ({case.golds[0]}) AS whole"
        assert checker.check(case, Prediction(case_id=case.id, query=right), ComparisonOptions()).parted_by == ()
        fails = checker.check(case, Prediction(case_id=case.id, query="SELECT nothing"), ComparisonOptions())
        assert fails.agreed == 0
    finally:
        checker.close()
    assert _outcome(worker, shop, place) == made


@pytest.mark.parametrize("place", [2, 3])
def test_what_differs_on_no_data_like_the_real_is_not_told(worker: SuiteWorker, shop: str, place: int) -> None:
    """Two oldest singers, or a concert without a venue: the data has none, so that neither parts an answer."""
    made = _outcome(worker, shop, place)
    assert made.case.databases, made.case.why
    suite, case = suite_of(made), CASES[place]
    checker = SuiteChecker(suite, registry.engine_references(), Limits())
    found = checker.check(case, Prediction(case_id=case.id, query=LUCKY[case.id]), ComparisonOptions())
    checker.close()
    steady = found.parted_by == ()
    assert steady == (made.case.answers_told == 0)
    if place == 3:
        assert steady


def test_gold_that_depends_on_chance_has_no_database(worker: SuiteWorker, shop: str) -> None:
    """And the reason is kept."""
    made = _outcome(worker, shop, 4)
    assert made.case.databases == ()
    assert "chance" in made.case.why
