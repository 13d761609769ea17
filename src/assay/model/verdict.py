"""Verdicts and scores."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from assay.errors import UsageError
from assay.model.failure import Failure

Outcome = Literal["correct", "incorrect", "unscored"]

Flag = Literal[
    "vacuous",
    "ambiguous_gold",
    "nondeterministic",
    "truncated",
    "timeout",
    "strict_order",
    "noisy_timing",
]
"""``strict_order``: gold could not be parsed, or its ties not be seen, so its row order was taken as it came.
``noisy_timing``: the measured times vary so much that another measurement may earn another reward."""

Strength = Literal["matched_on_one_database", "survived", "proved", "refuted", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether one answer is right, why, and how sure that is."""

    outcome: Outcome
    reason: str
    flags: frozenset[Flag] = frozenset()
    strength: Strength = "none"
    gold_index: int | None = None
    """Zero-based index of the gold query that the answer was judged by: the one it matched, else the closest."""
    failure: Failure | None = None
    """Why the case is unscored, or why the answer could not be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One metric's value for one case.

    ``value`` None means that there is none, and ``failure`` says why: what is absent must not average.
    Raises UsageError for a value that is no finite number.
    """

    metric: str
    value: float | None
    detail: str | None = None
    failure: Failure | None = None

    def __post_init__(self) -> None:
        if self.value is not None and not isfinite(self.value):
            raise UsageError(
                f"the value of {self.metric!r} is {self.value}: give None and a Failure where there is none"
            )
