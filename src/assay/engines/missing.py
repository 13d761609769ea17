"""The engine of a question whose database was not given: each query fails with what to give."""

from __future__ import annotations

from assay.engines import outcomes
from assay.model import DatabaseUrl, Execution, Limits

_NAMES = {"sqlite": "SQLite", "snowflake": "Snowflake", "bigquery": "BigQuery"}


def shown_engine(engine: str) -> str:
    """The engine's name as its vendor writes it."""
    return _NAMES.get(engine, engine)


class MissingEngine:
    """Stands for a missing database in a run without any, or whose questions are for several engines (Spider 2.0).

    ``missing:///snowflake`` is the database of the questions for Snowflake if no URL of Snowflake is given. Every query
    fails there, with attribution to the setup. A question whose gold query and answer are both given as results needs
    no database: it is scored as usual.
    """

    name = "missing"
    dialect = "duckdb"
    has_boolean_type = True

    def __init__(self, engine: str) -> None:
        self._engine = engine

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> MissingEngine:  # noqa: ARG003 - the port's
        """There is nothing to open."""
        return cls(url.text.partition("///")[2])

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Does nothing: only questions that need the database fail."""

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
            f"the question needs {shown_engine(self._engine)}, but no such database is given: give --db "
            f"{self._engine}=URL"
            if self._engine
            else "the query cannot be executed, because no database is given: give --db URL"
        )
        return outcomes.failed(query, "error", "no_database", message, blame="setup", code=self._engine)

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """None."""
        return ()

    def close(self) -> None:
        """There is nothing to close."""
