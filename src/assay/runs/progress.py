"""The progress of a run."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Progress(Struct, frozen=True, kw_only=True):
    """The state of one stage of a run.

    The stages are asking the system, linting the golds, judging the answers, timing the right ones;
    ``repeating`` means timing pairs again whose noise could change their score. Then ``witnesses`` are looked for.
    Last, a report is drawn.
    """

    stage: Literal["asking", "linting", "judging", "timing", "repeating", "witnesses", "drawing"] = "judging"
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
    """Where it was interrupted, how many cases that is."""
    judged: int | None = None
    """While a live system is asked, how many of its answers are judged already; None where judging comes later."""


def counted(repeats: int) -> Literal["cases", "answers"]:
    """What a run counts that asks each question ``repeats`` times."""
    return "cases" if repeats == 1 else "answers"
