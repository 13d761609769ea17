"""What a system that may decline is worth, and how conversations fare: the numbers of a run."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.model.cases.decision import Decision, Given
from assay.model.runs.metric import Rate

USUAL_PENALTIES = (0.0, 10.0)
"""The default; the number of questions, EHRSQL's N, is always added."""


class DecisionCount(Struct, frozen=True, kw_only=True):
    """How many scored answers did one thing if this was right to do."""

    expects: Decision
    given: Given
    right: bool
    count: int
    """Answers."""
    case_ids: tuple[str, ...] = ()


class PenaltyScore(Struct, frozen=True, kw_only=True):
    """The reliability score at one penalty: the mean of 1 for what is right, 0 for what is held back, -penalty else."""

    penalty: float
    rate: Rate
    of_n: bool = False
    """Whether the penalty is the number of scored questions (EHRSQL's N)."""

    @property
    def name(self) -> str:
        """``RS(10)``, ``RS(N)``."""
        return "RS(N)" if self.of_n else f"RS({self.penalty:g})"


class RiskPoint(Struct, frozen=True, kw_only=True):
    """What the system would be if it declined whatever it is less sure of than ``threshold``."""

    threshold: float
    answered: int
    wrong: int
    coverage: float
    """The share of all scored answers."""
    risk: float
    """The share of wrong ones among those given."""
    scores: tuple[float, ...] = ()
    """The reliability score at each penalty of the run, in its order."""


class CalibrationBin(Struct, frozen=True, kw_only=True):
    """Answers whose confidence lies in [``low``, ``high``); the last bin includes 1."""

    low: float
    high: float
    n: int
    right: int
    mean_confidence: float | None
    """None if the bin is empty."""


class ConfidenceTotals(Struct, frozen=True, kw_only=True):
    """Whether the confidence that a system states sorts its answers, and is calibrated, over the scored answers."""

    n: int
    """Answers given that state one."""
    without: int
    """Answers given that state none: each threshold holds them back, and no other of these numbers has them."""
    curve: tuple[RiskPoint, ...]
    """By falling threshold; of many thresholds about a hundred, evenly spread over the answers, the last one too."""
    area: float
    """AURC, the mean risk over all coverages: 0 is best."""
    least_area: float
    """What it would be if every right answer were surer than every wrong one."""
    ece: float
    """The expected calibration error over ``bins``."""
    brier: float
    bins: tuple[CalibrationBin, ...]


class ReliabilityTotals(Struct, frozen=True, kw_only=True):
    """How a system does that may answer, decline or ask back. Rates are over cases with scored answers."""

    answerable: int
    """Cases."""
    unanswerable: int
    ambiguous: int
    """Cases whose question must be clarified first."""
    decisions: tuple[DecisionCount, ...]
    coverage: Rate
    """The share of questions that were answered with a query, whether they have an answer or not."""
    accuracy: Rate
    """The share of right answers among those given (selective accuracy)."""
    declined_rightly: Rate
    """The share of questions without an answer among those declined (precision of declining)."""
    found_unanswerable: Rate
    """The share of those declined among the questions without an answer (recall of declining)."""
    scores: tuple[PenaltyScore, ...]
    confidence: ConfidenceTotals | None = None
    """None if no scored answer states a confidence."""

    def leading(self, asked: Sequence[float]) -> PenaltyScore:
        """The score that stands for all: at the first penalty that was asked for, else at 10."""
        wanted = asked[0] if asked else USUAL_PENALTIES[-1]
        return next((one for one in self.scores if one.penalty == wanted and not one.of_n), self.scores[-1])


class ConversationTotals(Struct, frozen=True, kw_only=True):
    """How whole conversations fare."""

    conversations: int
    turns: int
    whole: Rate
    """The share of conversations in which every turn is right (interaction match)."""
    by_turn: tuple[tuple[int, Rate], ...]
    """The share of right answers at each place in a conversation."""
    first_wrong: tuple[tuple[int, int], ...]
    """At which turn conversations first go wrong: the turn, and how many."""
    failed: tuple[str, ...] = ()
    """The conversations with a wrong turn, in the run's order."""
