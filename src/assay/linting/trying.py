"""Apply one rule to one case, on a small SQLite database in memory: for tests of rules."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from assay.linting.apply import lint_gold
from assay.linting.catalogue import Rule
from assay.linting.gold import CaseGolds, Found, Gold, GoldDatabase
from assay.model import Case, DatabaseUrl, Execution, Failure, Limits, Result
from assay.model.lint import LintOptions
from assay.sql.schema import SchemaNames
from assay.sql.schema.ddl import read_ddl

_URL = DatabaseUrl.parse("sqlite:///:memory:")


class _Executor:
    """Executes queries on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, url: DatabaseUrl, query: str) -> Execution:  # noqa: ARG002 - there is one database
        """Run one query."""
        try:
            cursor = self._connection.execute(query)
            rows = cursor.fetchall()
        except (sqlite3.Error, ValueError, RecursionError) as error:
            failure = Failure(stage="execute", kind="error", blame="gold", message=str(error))
            return Execution(query=query, status="error", failure=failure, wall_time_s=0.0)
        names = [column[0] for column in cursor.description or ()]
        result = Result.of(rows, columns=names)
        return Execution(query=query, status="rows" if rows else "empty", result=result, row_count=len(rows))

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:  # noqa: ARG002 - there is one database
        """None."""
        return ()

    def has_boolean_type(self, url: DatabaseUrl) -> bool:  # noqa: ARG002 - there is one database
        """SQLite has none."""
        return False

    def dialect(self, url: DatabaseUrl) -> str:  # noqa: ARG002 - there is one database
        """SQLite's."""
        return "sqlite"


@contextmanager
def trial(script: str) -> Iterator[GoldDatabase]:
    """A database made by an SQL script in SQLite's dialect."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        connection.execute("PRAGMA query_only = ON")
        names = SchemaNames(read_ddl(script, "sqlite").schema)
        yield GoldDatabase(_Executor(connection), _URL, names, Limits())


def found_by(rule: Rule, cases: Sequence[Case], database: GoldDatabase | None) -> list[tuple[Case, int, Found]]:
    """What a rule finds in cases: for each finding the case, and the index of its gold query. Raises as the rule does.

    Without a database, rules that need one find nothing.
    """
    names = None if database is None else database.names
    if rule.about.needs in ("database", "runs") and database is None:
        return []
    if rule.check is not None:
        golds = [(case, Gold(case, at, "sqlite", names, database)) for case in cases for at in range(len(case.golds))]
        return [(case, gold.index, found) for case, gold in golds for found in rule.check(gold)]
    assert rule.across is not None
    by_id = {case.id: case for case in cases}
    return [(by_id[case_id], gold, found) for case_id, gold, found in rule.across(_together(cases, database))]


def _together(cases: Sequence[Case], database: GoldDatabase | None) -> list[CaseGolds]:
    nothing = LintOptions(only=frozenset({"no rule"}))
    names = None if database is None else database.names
    return [lint_gold(case, nothing, dialect="sqlite", names=names, database=database).golds for case in cases]
