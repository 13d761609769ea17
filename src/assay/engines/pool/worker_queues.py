"""Distribute a run's batches over workers: slices by measured cost, and a free worker helps the busiest.

Each worker has a queue: its current batch. It is sent as much of it as takes about `_SLICE_S`, or longer in a long run,
so that there is always something to do and never much in flight. When no batch is left, a free worker takes half of the
queue that would take the longest. So all workers stay busy to the end, however unevenly batches and costs are
distributed, and most of a batch is done by one worker, which runs a query that several tasks share only once.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

_SLICE_S, _LONGEST_SLICE_S = 0.1, 0.5
_SHARE = 0.02
"""The share of the queue's time so far that a slice may take: fewer messages wake the parent less often."""
_FIRST = 4
"""Tasks of a batch to send before any of it was measured. Then at most twice as many as before: some may be slow."""
_MOST = 192
_SLOW_S = 0.02
"""From this cost on, a task is sent when nothing is pending: sending a message takes much less."""
_WORTH_S = 0.005
"""The rest of a queue must take at least this long to be worth another worker's help."""
_WEIGHT = 0.3


class WorkerQueue(Generic[T]):
    """One worker's share of the tasks, and the cost of its tasks."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.waiting: deque[T] = deque()
        """Tasks that were not sent yet."""
        self.cost_s: float | None = None
        """About how long one task takes; None before any was measured."""
        self._clock = clock
        self._started = clock()
        self._since = 0.0
        self._sent = _FIRST

    def size(self, pending: int) -> int:
        """How many tasks to send now, while this many are not done."""
        if self.cost_s is None:
            return _FIRST if not pending else 0
        if self.cost_s >= _SLOW_S:
            count = max(1, int(_SLICE_S / self.cost_s)) if not pending else 0
        else:
            slice_s = min(_LONGEST_SLICE_S, max(_SLICE_S, _SHARE * (self._clock() - self._started)))
            wanted = min(_MOST, 2 * self._sent, int(slice_s / max(self.cost_s, 1e-6)))
            count = wanted if pending <= wanted // 2 else 0
        self._sent = count or self._sent
        return count

    def assign(self, batch: Iterable[T], cost_s: float | None = None) -> None:
        """Begin with another batch, whose tasks have this cost; None if unknown."""
        self.waiting.extend(batch)
        self.cost_s = cost_s
        self._sent = _FIRST

    def next_slice(self, count: int) -> deque[T]:
        """Take the next tasks off the queue, to send them."""
        return deque([self.waiting.popleft() for _ in range(min(count, len(self.waiting)))])

    def begin(self) -> None:
        """The worker was idle, and begins."""
        self._since = self._clock()

    def measure(self, done: int, took_s: float) -> float:
        """This many tasks are done, and took this long together: how long each took."""
        each = took_s / done
        self._since = self._clock()
        self.cost_s = each if self.cost_s is None else (1 - _WEIGHT) * self.cost_s + _WEIGHT * each
        return each

    @property
    def silent_s(self) -> float:
        """How long it is since the last outcome or `begin`: one slow task may hold up all that wait behind it."""
        return self._clock() - self._since

    @property
    def left_s(self) -> float:
        """About how long the waiting tasks will take."""
        return len(self.waiting) * (self.cost_s or _WORTH_S)


class Source(Generic[T]):
    """Where batches come from: there may be none now, and more later."""

    def __init__(self, batches: Iterable[Sequence[T] | None]) -> None:
        self.dry: bool = False
        """Whether the last response was that there is none now."""
        self._batches = iter(batches)

    def next(self) -> Sequence[T] | None:
        """The next non-empty batch; None if there is none, now or any more."""
        self.dry = False
        for batch in self._batches:
            if batch is None:
                self.dry = True
                return None
            if batch:
                return batch
        return None


def fill(queue: WorkerQueue[T], source: Source[T], others: Sequence[WorkerQueue[T]]) -> None:
    """Give an empty queue the next batch; if there is none, half of the longest other queue."""
    if (batch := source.next()) is not None:
        queue.assign(batch)
        return
    longest = max(others, key=lambda other: other.left_s, default=None)
    if longest is None or not longest.waiting or longest.left_s + longest.silent_s < _WORTH_S:
        return
    count = (len(longest.waiting) + 1) // 2
    queue.assign(reversed([longest.waiting.pop() for _ in range(count)]), longest.cost_s)
