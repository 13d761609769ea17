"""Verdicts and scores."""

from __future__ import annotations

from math import isfinite
from typing import Literal

from msgspec import Struct

from assay.errors import UsageError
from assay.model.cases.decision import Decision
from assay.model.failure import Failure
from assay.model.verdicts.comparison import NearMiss

Outcome = Literal["correct", "incorrect", "unscored"]

Flag = Literal[
    "vacuous",
    "ambiguous_gold",
    "nondeterministic",
    "truncated",
    "timeout",
    "strict_order",
    "order_by_chance",
    "tie_by_chance",
    "storage_order",
    "noisy_timing",
    "lenient",
    "extracted",
    "interval_length",
    "several_statements",
]
"""``strict_order``: the gold query could not be parsed, or its ties could not be seen, so its row order counts as it
came. ``order_by_chance``: the rows are in the order that the gold query asks for, but nothing in the prediction asks
for it. ``tie_by_chance``: the prediction's own LIMIT cuts through rows that tie, and other rows of the tie would be
wrong. ``storage_order``: the prediction reads any row of several, and on this data another row gives another result.
``noisy_timing``: the measured times vary so much that another measurement may earn another reward. ``lenient``: right
only by the leniency that the case or the run declares. ``extracted``: the prediction's text is not a statement; the
one in it was evaluated. ``interval_length``: the results match only because a month counts as 30 days and a day as
24 hours. ``several_statements``: the text has several in fences or tags, and the last was evaluated."""

Strength = Literal[
    "matched_on_one_database",
    "same_text",
    "proved",
    "bounded",
    "survived",
    "tie",
    "unknown",
    "conditional",
    "refuted",
    "settled",
    "none",
]
"""How sure a verdict is. For a match, ``matched_on_one_database`` says that no other database was tried, the others
what trying found: `Evidence.refutation` has the sentence, the numbers and the witness. ``same_text``: the gold query's
own text. ``proved``: the same on every database; ``bounded``: on every one of a few rows a table; ``survived``: on all
that were tried; ``tie``: but for a choice that a query leaves to the engine; ``unknown``: nothing could be tried, or
to no end; ``conditional``: not if the data breaks a regularity of the real data; ``refuted``: not on data like the
real. An incorrect verdict is ``settled``: one difference on the run's own database is enough. ``none``: nothing was
compared. So ``refuted`` is said of matches alone."""

MATCH_STRENGTHS: tuple[Strength, ...] = (
    "same_text",
    "proved",
    "bounded",
    "survived",
    "tie",
    "unknown",
    "matched_on_one_database",
    "conditional",
    "refuted",
)
"""The strengths of a match, the surest first."""


class Ambiguity(Struct, frozen=True, kw_only=True, gc=False):
    """How ambiguous the gold query is, because it takes only some of the rows that tie, or any row of
    several."""

    taken_rows: int
    tied_rows: int
    choices: int | None
    """How many different answers are possible; None: more than a billion, or not counted."""
    all_tie: bool = False
    """Every row that the gold query could return ties: a match says almost nothing."""
    inside: bool = False
    """The gold query cuts the tie in a subquery, a CTE or a window."""
    any_row: bool = False
    """The gold query reads any row of several: of a subquery that stands for one value, or of a group with a bare
    column."""
    complete: bool = True
    """False: not every right answer is known, and a valid one may be called incorrect."""

    @property
    def text(self) -> str:
        """In words, for example ``the gold query takes one of 12 tied rows, any choice is right``."""
        if self.any_row:
            return f"the gold query reads one of several rows, as they happen to be stored, {self._choices_text}"
        some = "one" if self.taken_rows == 1 else "some"
        rows = f"{some} of {self.tied_rows:,} tied rows" if self.tied_rows else "some of the tied rows"
        which = ", which are all it has" if self.all_tie else ""
        place = " in a subquery" if self.inside else ""
        return f"the gold query takes {rows}{place}{which}, {self._choices_text}"

    @property
    def _choices_text(self) -> str:
        if not self.complete:
            return "and not every right answer is known: a valid one may fail"
        if self.choices is None:
            return "more than a billion choices are right"
        return "any choice is right" if self.choices == self.tied_rows else f"{self.choices:,} choices are right"


class Verdict(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Whether one answer is right, why, and how sure that is."""

    outcome: Outcome
    reason: str
    flags: frozenset[Flag] = frozenset()
    strength: Strength = "none"
    gold_index: int | None = None
    """Zero-based index of the gold query that the answer was scored by: the one it matched, else the closest."""
    ambiguity: Ambiguity | None = None
    """How ambiguous the gold query is; set with the flag ``ambiguous_gold``."""
    failure: Failure | None = None
    """Why the case is unscored, or why the answer could not be compared."""
    decision: Decision | None = None
    """``decline`` or ``clarify`` if the system did that in place of answering."""

    def _more(self) -> list[str]:
        """Further lines of a subclass for a notebook."""
        return []

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from assay.model.notebook import block

        told = [f"flags: {', '.join(sorted(self.flags)).replace('_', ' ')}"] if self.flags else []
        told += [self.ambiguity.text] if self.ambiguity is not None else []
        if self.outcome == "correct" and self.strength != "none":
            told.append(f"how sure: {self.strength.replace('_', ' ')}")
        told += self._more()
        moods = {"correct": "good", "incorrect": "bad"}
        return block(f"{self.outcome}: {self.reason}", told, mood=moods.get(self.outcome, "open"))


class PairVerdict(Verdict, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The verdict on a pair of queries, with its near misses."""

    near_misses: tuple[NearMiss, ...] = ()
    """How a wrong prediction comes close to the gold result (`assay docs near-misses`)."""

    def _more(self) -> list[str]:
        return [f"near miss: {miss.kind.replace('_', ' ')}: {miss.detail}" for miss in self.near_misses]


class Score(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One metric's value for one case.

    ``value`` is None if there is no score, and ``failure`` says why: an absent value must not enter a mean.
    Raises UsageError for a value that is not a finite number.
    """

    metric: str
    value: float | None
    detail: str | None = None
    failure: Failure | None = None

    def __post_init__(self) -> None:
        if self.value is not None and not isfinite(self.value):
            raise UsageError(f"the value of {self.metric!r} is {self.value}: give None and a Failure if there is none")
