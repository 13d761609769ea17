"""Sharing tasks out: workers are simulated, their clock is counted, and every task is done once."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from assay.engines.pool.worker_queues import Source, WorkerQueue, fill
from many_cases import each

Task = tuple[int, float]
"""A number, and the seconds that it takes."""


class Simulated:
    """Workers that do their tasks one after the other and report each; the same calls as in the pool."""

    def __init__(self, workers: int, batches: Sequence[Sequence[float]]) -> None:
        numbers = iter(range(10**9))
        self.now = 0.0
        self.source = Source([[(next(numbers), cost) for cost in batch] for batch in batches])
        self.queues: list[WorkerQueue[Task]] = [WorkerQueue(lambda: self.now) for _ in range(workers)]
        self.pending: list[list[Task]] = [[] for _ in range(workers)]
        self.done: list[tuple[int, int]] = []
        """The worker and the number of each task, in the order in which they ended."""
        self.most_in_flight = 0
        self._events: list[tuple[float, int]] = []
        self._run()

    def _run(self) -> None:
        self._feed()
        while self._events:
            self.now, worker = heapq.heappop(self._events)
            number, took_s = self.pending[worker].pop(0)
            self.done.append((worker, number))
            self.queues[worker].measure(1, took_s)
            if self.pending[worker]:
                self._begin(worker)
            self._feed()

    def _feed(self) -> None:
        for worker, queue in enumerate(self.queues):
            pending = self.pending[worker]
            count = queue.size(len(pending))
            if count and not queue.waiting:
                fill(queue, self.source, [other for other in self.queues if other is not queue])
            tasks = queue.next_slice(count)
            if tasks and not pending:
                queue.begin()
                pending.extend(tasks)
                self._begin(worker)
            else:
                pending.extend(tasks)
            self.most_in_flight = max(self.most_in_flight, len(pending))

    def _begin(self, worker: int) -> None:
        heapq.heappush(self._events, (self.now + self.pending[worker][0][1], worker))


COSTS = st.sampled_from([0.0002, 0.002, 0.03, 0.25, 3.0])
BATCHES = st.lists(
    st.lists(COSTS, max_size=40) | st.builds(lambda c, n: [c] * n, COSTS, st.integers(0, 200)), max_size=20
)


@given(batches=BATCHES, workers=st.integers(1, 5))
def test_every_task_is_done_once_and_few_are_in_flight(batches: list[list[float]], workers: int) -> None:
    simulated = Simulated(workers, batches)
    assert sorted(number for _, number in simulated.done) == list(range(sum(map(len, batches))))
    assert simulated.most_in_flight <= 288


@given(cost=COSTS, sizes=st.lists(st.integers(0, 300), max_size=12), workers=st.integers(1, 5))
def test_no_worker_is_idle_for_long_where_tasks_cost_the_same(cost: float, sizes: list[int], workers: int) -> None:
    simulated = Simulated(workers, [[cost] * size for size in sizes])
    ideal = -(-sum(sizes) // workers) * cost
    slice_s = max(0.11, min(0.51, 0.021 * simulated.now))
    assert simulated.now <= ideal + 4 * cost + slice_s, "at the end a worker may have a tenth of a second or 2 % to do"


@each(
    ("batches", "most"),
    [
        ([[0.05] * 20] * 16, 1.05),
        ([[0.05] * 320], 1.05),
        ([*[[0.0003] * 60] * 16, [0.25] * 60], 1.1),
        ([[0.25] * 60, *[[0.0003] * 60] * 16], 1.1),
        ([[0.0003] * 500 + [0.25] * 60 + [0.0003] * 500], 1.6),
    ],
    ids=["many_batches", "one_batch", "a_slow_database_last", "a_slow_database_first", "slow_ones_within"],
)
def test_both_workers_are_busy_to_the_end(batches: list[list[float]], most: float) -> None:
    simulated = Simulated(2, batches)
    assert simulated.now <= most * sum(map(sum, batches)) / 2


def test_a_batch_stays_with_its_worker_where_all_have_enough() -> None:
    simulated = Simulated(2, [[0.01] * 50] * 8)
    homes = [{worker for worker, number in simulated.done if number // 50 == batch} for batch in range(8)]
    assert sum(len(home) == 1 for home in homes) >= 6
