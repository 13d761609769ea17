"""Judge many cases one after the other in a worker process that is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec.structs import replace

from assay.api.arguments import check_options
from assay.api.backends import local_pool
from assay.api.single import read_outcome
from assay.api.workers import worker_settings
from assay.engines.pool.pool import WorkerPool
from assay.model import Case, ComparisonOptions, DatabaseUrl, Evidence, Limits, Prediction
from assay.ports import Executions, Task, TaskDone, TaskLost
from assay.runs.plan import Work


class CaseChecker:
    """Judges one case at a time, for callers that get them one at a time, such as a test runner.

    A worker process for each pair of options and limits starts with its first case and stays
    until ``close``. It executes each query on each database once, as a run does: later changes in a
    database are not seen. For one thread only.
    """

    def __init__(self) -> None:
        self._pools: dict[tuple[int, ComparisonOptions, Limits, bool], WorkerPool] = {}

    def score(
        self,
        case: Case,
        prediction: Prediction,
        url: DatabaseUrl,
        *,
        gold_url: DatabaseUrl | None = None,
        options: ComparisonOptions | None = None,
        limits: Limits | None = None,
        head_rows: int = 0,
    ) -> tuple[Evidence, Executions]:
        """The evidence, and the executions with the first ``head_rows`` rows of each result.

        ``gold_url``: the database of gold's queries, where that is another one.

        Raises AssayError where scoring itself fails. Failures of the queries are never raised.
        """
        pool = self._pool(options or ComparisonOptions(), limits or Limits(), gold_apart=gold_url is not None)
        task = Work(case=case, prediction=prediction, url=url, gold_url=gold_url, head_rows=head_rows)
        outcomes: Iterator[TaskDone | TaskLost] = pool.run([[Task(id=0, payload=task)]])
        (outcome,) = outcomes
        return read_outcome(outcome)

    def close(self) -> None:
        """End the workers. Closing twice is harmless."""
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()

    def _pool(self, options: ComparisonOptions, limits: Limits, *, gold_apart: bool) -> WorkerPool:
        # A forked child must not talk to the workers of its parent.
        key = (os.getpid(), options, limits, gold_apart)
        pool = self._pools.get(key)
        if pool is None or pool.closed:  # an interrupted pool is closed
            check_options(
                options.columns,
                relative_tolerance=options.relative_tolerance,
                absolute_tolerance=options.absolute_tolerance,
            )
            worker = replace(worker_settings(options, limits, ()), gold_apart=gold_apart)
            pool = self._pools[key] = local_pool(worker, 1)
        return pool
