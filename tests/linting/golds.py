"""One small database with everything that rules look for, and a way to apply a single rule to a gold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay import registry
from assay.engines.pool.executor import Executor
from assay.linting.apply import OtherAnswer, lint_across, lint_gold
from assay.linting.gold import CaseGolds, GoldDatabase
from assay.model import Case, DatabaseUrl, Limits
from assay.model.lint import LintFinding, LintOptions
from assay.sql.schema import SchemaNames
from running import sqlite_url

SCRIPT = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, country TEXT, age INTEGER, weight TEXT, debut TEXT,
                     salary REAL, died INTEGER, code TEXT COLLATE NOCASE, born TEXT, planet TEXT);
CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id INTEGER REFERENCES singer (id), year INTEGER, title TEXT,
                      sold INTEGER, seats INTEGER);
CREATE TABLE guest (concert_id INTEGER REFERENCES concert (id), singer_id INTEGER, fee INTEGER);
CREATE TABLE venue (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO singer VALUES
  (1, 'Ann', 'United States', 30, '9',   '31/01/2001', 1.5, NULL, 'aa', '1990-01-31', 'Earth'),
  (2, 'Bob', 'France ',       40, '10',  '01/02/1999', 2.5, NULL, 'bb', '1980-02-01', 'Earth'),
  (3, 'Cat', 'Japan',         40, '100', '15/12/2010', 3.5, NULL, 'cc', '1985-12-15', 'Earth'),
  (4, 'Dan', 'Japan',       NULL, '55',  '11/11/2011', 4.5, NULL, 'dd', '1985-11-11', 'Earth');
INSERT INTO concert VALUES (10, 1, 2014, 'Spring', 5, 10), (11, 1, 2014, 'Summer', 6, 10),
                           (12, 2, 2015, 'Autumn', 7, 10), (13, NULL, 2015, 'Winter', 7, 10);
INSERT INTO guest VALUES (10, 2, 100), (10, 3, 100), (11, 2, 100);
"""


@contextmanager
def database(folder: Path, *, limits: Limits | None = None) -> Iterator[GoldDatabase]:
    """The database, behind a real executor."""
    path = folder / "songs.sqlite"
    if not path.exists():
        sqlite_url(path, SCRIPT)
    url = DatabaseUrl.parse(f"sqlite:///{path}")
    given = limits or Limits(timeout_s=20)
    executor = Executor(engines=registry.engine_references(), limits=given)
    try:
        schema = executor.schema(url)
        assert schema is not None
        yield GoldDatabase(executor, url, SchemaNames(schema), given)
    finally:
        executor.close()


def found_by(
    rule: str,
    golds: str | Sequence[str],
    on: GoldDatabase | None,
    *,
    question: str = "",
    evidence: str | None = None,
    dialect: str = "sqlite",
    others: Sequence[OtherAnswer] = (),
) -> tuple[LintFinding, ...]:
    """What one rule finds in one case."""
    case = one_case(golds, question=question, evidence=evidence)
    done = lint_gold(
        case,
        LintOptions(only=frozenset({rule})),
        dialect=dialect,
        names=None if on is None else on.names,
        database=on,
        others=others,
    )
    return done.findings


def found_across(
    rule: str, cases: Sequence[Case], on: GoldDatabase | None, **others: Sequence[OtherAnswer]
) -> list[LintFinding]:
    """What one rule finds in several cases; ``others`` are other answers by case id."""
    options = LintOptions(only=frozenset({rule}))
    together: list[CaseGolds] = [
        lint_gold(
            case,
            options,
            dialect="sqlite",
            names=None if on is None else on.names,
            database=on,
            others=others.get(case.id, ()),
        ).golds
        for case in cases
    ]
    return list(lint_across(together, options, runs=True))


def one_case(golds: str | Sequence[str], *, question: str = "", evidence: str | None = None, name: str = "a") -> Case:
    """A case with these golds."""
    return Case(
        id=name,
        question=question,
        context=evidence,
        database="songs",
        golds=(golds,) if isinstance(golds, str) else tuple(golds),
    )
