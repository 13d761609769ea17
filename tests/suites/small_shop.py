"""A small database with cases, and answers to them that are right by luck."""

from __future__ import annotations

from assay.model import Case, DatabaseUrl
from assay.model.databases.suite import Suite
from assay.runs.workers.suite_worker import SuiteMade, SuiteTask, SuiteWorker

SCRIPT = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, age INT CHECK (age > 10));
CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id INTEGER REFERENCES singer (id), venue TEXT, seats INT);
INSERT INTO singer VALUES (1, 'Ana', 'Peru', 21), (2, 'Bo', 'Peru', 35), (3, 'Cy', 'Chad', 35), (4, 'Di', 'Oman', 52),
  (5, 'Ed', 'Chad', 40), (6, 'Flo', 'Peru', 61);
INSERT INTO concert VALUES (1, 1, 'Dome', 100), (2, 1, 'Arena', 250), (3, 2, 'Dome', 120), (4, 4, 'Barn', 80),
  (5, 5, 'Arena', 250), (6, 6, 'Barn', 90);
"""
CASES = (
    Case(id="a", question="older than 30?", golds=("SELECT name FROM singer WHERE age > 30",)),
    Case(
        id="b",
        question="who sang?",
        golds=("SELECT DISTINCT s.name FROM singer s JOIN concert c ON s.id = c.singer_id",),
    ),
    Case(id="c", question="the oldest?", golds=("SELECT name FROM singer ORDER BY age DESC LIMIT 1",)),
    Case(id="d", question="how many?", golds=("SELECT count(*) FROM concert",)),
    Case(id="e", question="any?", golds=("SELECT name FROM singer ORDER BY random() LIMIT 1",)),
)
LUCKY = {
    "a": "SELECT name FROM singer WHERE age >= 30",
    "b": "SELECT DISTINCT s.name FROM singer s JOIN concert c ON s.id = c.singer_id WHERE s.country <> 'Fiji'",
    "c": "SELECT name FROM singer WHERE age = (SELECT max(age) FROM singer)",
    "d": "SELECT count(venue) FROM concert",
}
"""Answers that agree with gold on the data; those of ``c`` and ``d`` differ only where the data is unlike it."""


def built(worker: SuiteWorker, url: str, case: Case, *answers: str) -> SuiteMade:
    """What comes of one case."""
    return worker(SuiteTask(case=case, url=DatabaseUrl.parse(url), answers=answers))


def suite_of(*made: SuiteMade) -> Suite:
    """A suite of these cases."""
    return Suite(
        name="held",
        digest="",
        engine="sqlite",
        layouts={one.layout.database: one.layout for one in made if one.layout is not None},
        cases={one.case.case_id: one.case for one in made},
        made_with="a test",
    )
