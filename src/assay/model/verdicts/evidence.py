"""Everything known about one case."""

from __future__ import annotations

from msgspec import Struct

from assay.model.cases.case import Case, Prediction
from assay.model.cases.selection import TurnScore
from assay.model.results.result import Cost, Execution
from assay.model.verdicts.comparison import Comparison
from assay.model.verdicts.diagnosis import Diagnosis
from assay.model.verdicts.review import Reviewed
from assay.model.verdicts.verdict import Outcome, Score, Verdict
from assay.model.witness import Refutation


class PairTiming(Struct, frozen=True, kw_only=True, gc=False):
    """Wall times of gold and prediction, executed one after the other. Seconds, above 0."""

    gold_s: float
    predicted_s: float


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Everything known about one case: what a run stores and a report shows.

    The executions carry no rows; the comparison carries a sample of them.
    """

    case: Case
    prediction: Prediction
    verdict: Verdict
    scores: tuple[Score, ...] = ()
    comparison: Comparison | None = None
    gold_executions: tuple[Execution, ...] = ()
    predicted_execution: Execution | None = None
    candidates: tuple[Execution, ...] = ()
    """The executions of an answer's queries after the first, if it contains several."""
    pair_timings: tuple[PairTiming, ...] = ()
    """What an efficiency metric measured, in the order of measuring, without warm-ups."""
    cause: str | None = None
    """The named cause of a wrong answer, if a diagnosis gave one."""
    turns: tuple[TurnScore, ...] = ()
    """For SDMX: the outcome of each question of the conversation."""
    diagnosis: Diagnosis | None = None
    """Why the answer is wrong, and its repair; ``cause`` is the name of the first of its causes."""
    refutation: Refutation | None = None
    """Result of the counterexample search for a right answer; None if it was not run."""
    cost: Cost | None = None
    """What all queries cost that were executed for the case; None if no service tells."""
    result_hash: str | None = None
    """A hash of the result of an incorrect answer (`assay.comparison.result_hash`); None if it has no result."""
    reviewed: Reviewed | None = None
    """The verdict by what people decided. None: no decision concerns this answer."""

    @property
    def outcome(self) -> Outcome:
        """Short for ``verdict.outcome``."""
        return self.verdict.outcome

    @property
    def gold_execution(self) -> Execution | None:
        """The execution of the gold query that the answer was scored by; the first one's if it was scored by none."""
        index = self.verdict.gold_index or 0
        return self.gold_executions[index] if index < len(self.gold_executions) else None

    def score(self, metric: str) -> Score | None:
        """The score of that metric, or None if the run did not ask for it."""
        return next((score for score in self.scores if score.metric == metric), None)
