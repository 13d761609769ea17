"""The engine of a question whose database was not given: it executes nothing, and says what to give."""

from __future__ import annotations

from assay.engines import outcomes
from assay.model import DatabaseUrl, Execution, Limits

_NAMES = {"sqlite": "SQLite", "snowflake": "Snowflake", "bigquery": "BigQuery"}


def shown_engine(engine: str) -> str:
    """The engine's name as its makers write it."""
    return _NAMES.get(engine, engine)


class MissingEngine:
    """Stands for a database in a run whose questions are for several engines, such as Spider 2.0's.

    ``missing:///snowflake`` is where the questions for Snowflake run if no URL of Snowflake is given. Every query fails
    there, which is the set-up's fault. A question whose gold and whose answer are results needs no database: it is
    scored all the same.
    """

    name = "missing"
    dialect = "duckdb"
    has_boolean_type = True

    def __init__(self, engine: str) -> None:
        self._engine = engine

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> MissingEngine:  # noqa: ARG003 - the port's
        """There is nothing to open."""
        return cls(url.path)

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """That there is no database is told by the questions that need one."""

    @classmethod
    def version(cls) -> str:
        """There is none."""
        return ""

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:  # noqa: ARG003 - the port's
        """There is no content."""
        return ""

    def execute(self, query: str) -> Execution:
        """Fail, with what to give."""
        message = (
            f"the question is for {shown_engine(self._engine)}, and no such database is given: "
            f"give --db {self._engine}=URL"
        )
        return outcomes.failed(query, "error", "no_database", message, blame="setup", code=self._engine)

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """None."""
        return ()

    def close(self) -> None:
        """There is nothing to close."""
