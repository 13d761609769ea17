"""The progress of a run."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct


class Progress(Struct, frozen=True, kw_only=True):
    """The state of one stage of a run.

    The stages are asking the system, linting the gold queries, scoring the answers, timing the right ones;
    ``repeating`` means timing pairs again whose noise could change their score. Then ``witnesses`` are looked for,
    and answers scored by gold queries that people corrected. Last, a report is drawn.
    """

    stage: Literal["asking", "linting", "scoring", "timing", "repeating", "witnesses", "reviewing", "writing"] = (
        "scoring"
    )
    total: int
    finished: int
    resumed: int = 0
    """How many of the finished ones an earlier, interrupted run had finished."""
    noun: Literal["cases", "answers", "pairs"] = "cases"
    """What is counted: answers, where each question is asked several times; pairs of queries, where these are timed."""
    most_left_s: float | None = None
    """How long the stage may still go on; None: as long as it takes."""
    left_s: float | None = None
    """How long it will go on, by what was measured so far; None: that is not known."""
    ending: bool = False
    """It was interrupted: only what is in flight is finished."""
    in_flight: int = 0
    """Number of finished cases if it was interrupted."""
    judged: int | None = None
    """While a live system is asked, how many of its answers are scored already; None if scoring comes later."""


def counted(repeats: int) -> Literal["cases", "answers"]:
    """What a run counts that asks each question ``repeats`` times."""
    return "cases" if repeats == 1 else "answers"


_EVERY_S = 0.2
_SEEN_S = 2.0
"""After how long it is seen how many cases are scored at once."""
_LEAST_DONE = 8
"""Number of finished cases before which nothing is said."""


class TimeLeft:
    """An estimate from the mean cost of the cases on each database; a database without any counts like the others.

    Databases differ by orders of magnitude, and cases on one of them are scored together: the pace of all cases so far
    would be the pace of the databases that came first. How many cases are scored at once is seen, too: workers wait for
    their tasks, for a busy machine, or for a cluster's nodes.
    """

    def __init__(self, databases: Iterable[str], workers: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._waiting = Counter(databases)
        self._done: Counter[str] = Counter()
        self._took_s: defaultdict[str, float] = defaultdict(float)
        self._workers = workers
        self._clock = clock
        self._first_at: float | None = None
        self._since_s = 0.0
        """What the cases took that were done after the first."""
        self._said: float | None = None
        self._said_at = -_EVERY_S

    def done(self, database: str, took_s: float) -> None:
        """A case on that database is done, and took its worker so long."""
        if self._first_at is None:
            self._first_at = self._clock()
        else:
            self._since_s += took_s
        self._waiting[database] -= 1
        self._done[database] += 1
        self._took_s[database] += took_s

    def drop(self, database: str) -> None:
        """A case on that database need not be scored."""
        self._waiting[database] -= 1

    def seconds(self) -> float | None:
        """How long the waiting cases will take, shared by all workers; None before enough is known.

        Worked out now and then: there may be thousands of databases, and this is asked after every case.
        """
        now = self._clock()
        if self._said is None or now - self._said_at >= _EVERY_S:
            self._said, self._said_at = self._worked_out(now), now
        return self._said

    def _at_once(self, now: float) -> float:
        """How many cases are scored at once: at most one by each worker, and not fewer than an eighth of that."""
        elapsed_s = 0.0 if self._first_at is None else now - self._first_at
        if elapsed_s < _SEEN_S or not self._since_s:
            return self._workers
        return min(self._workers, max(self._workers / 8, self._since_s / elapsed_s))

    def _worked_out(self, now: float) -> float | None:
        done = self._done.total()
        if done < _LEAST_DONE:
            return None
        usual = sum(self._took_s.values()) / done
        total = sum(
            count * (self._took_s[name] / self._done[name] if self._done[name] else usual)
            for name, count in self._waiting.items()
        )
        return total / min(self._at_once(now), max(1, self._waiting.total()))
