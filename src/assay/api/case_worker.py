"""Judge many cases one after the other in a worker process that is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator

from assay.api.arguments import check_options
from assay.api.single import read_outcome
from assay.api.workers import make_pool
from assay.engines.pool.pool import WorkerPool
from assay.model import Case, ColumnRule, ComparisonOptions, DatabaseUrl, Evidence, Limits, Prediction
from assay.ports import Executions, Task, TaskDone, TaskLost
from assay.runs.worker_tasks import CaseTask


class CaseChecker:
    """Judges one case at a time, for callers that get them one at a time, such as a test runner.

    A worker process for each pair of column rule and limits starts with its first case and stays
    until ``close``. It executes each query on each database once, as a run does: later changes in a
    database are not seen. For one thread only.
    """

    def __init__(self) -> None:
        self._pools: dict[tuple[int, ColumnRule, Limits], WorkerPool] = {}

    def score(
        self,
        case: Case,
        prediction: Prediction,
        url: DatabaseUrl,
        *,
        columns: ColumnRule = "any",
        limits: Limits | None = None,
        head_rows: int = 0,
    ) -> tuple[Evidence, Executions]:
        """The evidence, and the executions with the first ``head_rows`` rows of each result.

        Raises AssayError where scoring itself fails. Failures of the queries are never raised.
        """
        pool = self._pool(columns, limits or Limits())
        task = CaseTask(case=case, prediction=prediction, url=url, head_rows=head_rows)
        outcomes: Iterator[TaskDone | TaskLost] = pool.run([[Task(id=0, payload=task)]])
        (outcome,) = outcomes
        return read_outcome(outcome)

    def close(self) -> None:
        """End the workers. Closing twice is harmless."""
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()

    def _pool(self, columns: ColumnRule, limits: Limits) -> WorkerPool:
        # A forked child must not talk to the workers of its parent.
        key = (os.getpid(), columns, limits)
        pool = self._pools.get(key)
        if pool is None or pool.closed:  # an interrupted pool is closed
            check_options(columns)
            pool = self._pools[key] = make_pool(ComparisonOptions(columns=columns), limits, (), 1)
        return pool
