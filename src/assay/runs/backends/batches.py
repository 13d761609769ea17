"""The tasks that a cluster's nodes are given at once, by what tasks on each database cost so far."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from assay.ports import Task

MOST_TASKS = 250
"""The largest size at which a batch that may be split goes to a node."""
_UNKNOWN_S = 0.05
"""What a task is taken to cost before any was measured."""
_WEIGHT = 0.1


class Batch(Struct, kw_only=True, eq=False):
    """Tasks on one database that are not done yet."""

    tasks: dict[int, Task]
    shared: bool = False
    """Whether several workers and nodes may do it."""
    times_lost: int = 0
    name: str = ""
    """The database of all of them, found when the batch is made; empty if they need none."""

    def __post_init__(self) -> None:
        database = next(iter(self.tasks.values())).database
        self.name = "" if database is None else database.text

    def halves(self) -> Iterator[Batch]:
        """Smaller batches, so that a task which ends its nodes is found."""
        tasks = list(self.tasks.items())
        middle = (len(tasks) + 1) // 2
        for part in (tasks[:middle], tasks[middle:]):
            if part:
                yield Batch(tasks=dict(part), shared=self.shared, times_lost=self.times_lost)

    def head(self, count: int) -> Batch | None:
        """The first tasks, at most ``count`` and at least one, taken off; None if the batch is to stay whole."""
        count = min(max(1, count), MOST_TASKS)
        if not self.shared or len(self.tasks) <= count:
            return None
        taken = list(islice(self.tasks.items(), count))
        for task_id, _ in taken:
            del self.tasks[task_id]
        return Batch(tasks=dict(taken), shared=True, times_lost=self.times_lost)


class Costs(Struct, kw_only=True):
    """What a task takes on each database; one without any counts like the others."""

    _by_name: dict[str, float] = {}
    _usual: float | None = None

    def note(self, name: str, took_s: float, *, tasks: int = 1) -> None:
        """Note how long each of some tasks on that database took."""
        self._by_name[name] = _nearer(self._by_name.get(name), took_s, tasks)
        self._usual = _nearer(self._usual, took_s, tasks)

    def of(self, name: str) -> float:
        """Seconds of one task."""
        usual = _UNKNOWN_S if self._usual is None else self._usual
        return self._by_name.get(name, usual)


def _nearer(mean_s: float | None, took_s: float, times: int) -> float:
    """A running mean with ``times`` more measurements."""
    return took_s if mean_s is None else took_s + (1 - _WEIGHT) ** times * (mean_s - took_s)
