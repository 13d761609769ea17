"""Executors for scoring that note what keeps a query from running."""

from __future__ import annotations

import time
from collections.abc import Hashable

from assay.model import DatabaseUrl, Execution, Failure
from assay.model.failure import blamed, is_final
from assay.ports import CachingExecutor, QueryExecutor
from assay.scoring.time_limit import TimeLimit


class RecordingExecutor:
    """An executor that notes the first query, after `look_out`, that something kept from running.

    If a probe of gold's ties fails, less is known; if it fails because a server went away, a verdict from the rest
    would be wrong. Executing has a limit of its own: meanwhile the clock that limits scoring stands still.
    """

    def __init__(self, executor: CachingExecutor, keeper: TimeLimit) -> None:
        self._executor = executor
        self._keeper = keeper
        self.trouble: Failure | None = None
        """The first failure since `look_out` that kept a query from running."""

    def look_out(self) -> None:
        """Forget what was noted."""
        self.trouble = None

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """As the executor's."""
        if self._keeper.holds:
            with self._keeper.paused():
                execution = self._executor.execute(url, query)
        else:
            execution = self._executor.execute(url, query)
        if execution.failure is not None:
            failure = blamed(execution.failure, "gold")
            if self.trouble is None and not is_final(failure):
                self.trouble = failure
        return execution

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """As the executor's."""
        with self._keeper.paused():
            return self._executor.siblings(url)

    def recall(self, *key: Hashable) -> object | None:
        """The value kept under this key; None where there is none."""
        with self._keeper.paused():
            return self._executor.cache.get(key)

    def keep(self, value: object, *key: Hashable) -> None:
        """Keep something beside the results of queries, as long as there is room."""
        with self._keeper.paused():
            self._executor.cache.put(key, value)

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """As the executor's."""
        return self._executor.has_boolean_type(url)

    def dialect(self, url: DatabaseUrl) -> str:
        """As the executor's."""
        return self._executor.dialect(url)


class BudgetedExecutor:
    """An executor for probes of another query's ties: all of them together may take a few times as long as that query.

    Once the time is spent it executes nothing more. Unseen ties count as unknown, as where a probe fails.
    """

    def __init__(self, executor: QueryExecutor, took_s: float | None) -> None:
        self._executor = executor
        self._left_s = max(_LEAST_S, _TIMES * (took_s or 0.0))

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """As the executor's, as long as there is time."""
        if self._left_s <= 0:
            failure = Failure(stage="execute", kind="timeout", blame="assay", message="no more time to look for ties")
            return Execution(query=query, status="timeout", failure=failure)
        began = time.monotonic()
        try:
            return self._executor.execute(url, query)
        finally:
            self._left_s -= time.monotonic() - began

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """As the executor's."""
        return self._executor.siblings(url)

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """As the executor's."""
        return self._executor.has_boolean_type(url)

    def dialect(self, url: DatabaseUrl) -> str:
        """As the executor's."""
        return self._executor.dialect(url)


_LEAST_S = 3.0
_TIMES = 4
"""The time limit for all probes of one query: `_LEAST_S`, or this many times the query's own time."""
