"""Limits on the work and the time of a comparison.

Every loop that can grow faster than its input spends from a budget.
"""

from __future__ import annotations

from time import monotonic

DEFAULT_WORK = 30_000_000
"""Limit for the cells that one search reads: some seconds."""
_LOOK_AT_CLOCK = 50_000
"""Units of work between two checks of the clock: about ten milliseconds."""


class BudgetSpent(Exception):
    """A comparison exceeded its budget of work or its time limit."""

    def __init__(self, message: str = "the columns are too symmetric", *, out_of_time: bool = False) -> None:
        super().__init__(message)
        self.out_of_time = out_of_time


class Budget:
    """The remaining work of one search, counted in cells read, with an optional deadline."""

    __slots__ = ("_until_clock", "deadline", "work")

    def __init__(self, *, work: int = DEFAULT_WORK, deadline: float | None = None) -> None:
        """``deadline`` is a moment of `time.monotonic`."""
        self.work = work
        self.deadline: float | None = deadline
        self._until_clock = _LOOK_AT_CLOCK

    def part(self, work: int = DEFAULT_WORK) -> Budget:
        """A separate budget for one step, with the same deadline."""
        return Budget(work=work, deadline=self.deadline)

    def spend(self, work: int) -> None:
        """Deduct ``work`` from the budget. Raises BudgetSpent if it is exhausted, or the deadline has passed."""
        self.work -= work
        if self.work < 0:
            raise BudgetSpent
        self._until_clock -= work
        if self._until_clock < 0:
            self.check_clock()

    def check_clock(self) -> None:
        """Raise BudgetSpent if the deadline has passed."""
        self._until_clock = _LOOK_AT_CLOCK
        if self.deadline is not None and monotonic() > self.deadline:
            raise BudgetSpent("the comparison ran out of time", out_of_time=True)
