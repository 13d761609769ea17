"""What judging needs of the worker's executor, watched for what keeps a query from running."""

from __future__ import annotations

from typing import Protocol

from assay.model import DatabaseUrl, Execution, Failure
from assay.model.blame import blamed, is_final


class QueryExecutor(Protocol):
    """What judging needs of the worker's executor."""

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """What the database makes of the query."""
        ...

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """The databases of the same schema beside this one."""
        ...

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """False where True is 1 and False is 0 in results from there."""
        ...

    def dialect(self, url: DatabaseUrl) -> str:
        """sqlglot's name of the SQL dialect spoken there."""
        ...


class WatchedExecutor:
    """An executor that notes the first query, after `look_out`, that something kept from running.

    A query that shows which of gold's rows tie, say, gives less where it fails; where it fails because a server
    went away, what follows from the rest would be a wrong verdict.
    """

    def __init__(self, executor: QueryExecutor) -> None:
        self._executor = executor
        self.trouble: Failure | None = None
        """What kept a query from running since `look_out`."""

    def look_out(self) -> None:
        """Forget what was noted."""
        self.trouble = None

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """As the executor's."""
        execution = self._executor.execute(url, query)
        if execution.failure is not None:
            failure = blamed(execution.failure, "gold")
            if self.trouble is None and not is_final(failure):
                self.trouble = failure
        return execution

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """As the executor's."""
        return self._executor.siblings(url)

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """As the executor's."""
        return self._executor.has_boolean_type(url)

    def dialect(self, url: DatabaseUrl) -> str:
        """As the executor's."""
        return self._executor.dialect(url)
