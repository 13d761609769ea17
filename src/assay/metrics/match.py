"""The headline: is the answer right, by the verdict's own comparison?"""

from __future__ import annotations

from typing import ClassVar

from assay.metrics.base import QueryMetric, befallen, gold_failure, plain_score, unscorable, unscored
from assay.model import Case, Comparison, Failure, Prediction, Score
from assay.ports import Executions


class Match(QueryMetric):
    """Execution accuracy by the sound comparison of `assay docs verdict`: 1 correct, 0 incorrect.

    None if the gold query fails, if the query could not run for reasons outside it, or if the comparison is undecided.
    """

    name: ClassVar[str] = "match"
    heading: ClassVar[str] = "Accuracy"
    meaning: ClassVar[str] = "the same answer: rows as a bag, columns in any order, row order if the gold query orders"
    default_place: ClassVar[int] = 1
    judges_decisions: ClassVar[bool] = True

    def score(
        self,
        case: Case,  # noqa: ARG002 - the port's
        prediction: Prediction,
        executions: Executions,
        comparison: Comparison | None,
    ) -> Score:
        """1 if the results are equal."""
        if not any([gold.succeeded for gold in executions.golds]):  # noqa: C419 - every case passes here: a generator takes longer
            return unscored(self.name, gold_failure(executions.golds))
        if comparison is None:
            failure = befallen(prediction, executions.predicted)
            return unscored(self.name, failure) if failure else plain_score(self.name, 0.0)
        if not comparison.decided:
            return unscored(self.name, undecided(comparison))
        return plain_score(self.name, 1.0 if comparison.equal else 0.0)


class NonEmptyMatch(Match):
    """`match` without vacuous matches: None if both results are empty, or computed over no rows."""

    name: ClassVar[str] = "non_empty_match"
    meaning: ClassVar[str] = "match, over cases where an answer has rows"
    default_place: ClassVar[int] = 2

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """As `match`, but None if the match is vacuous."""
        if comparison is not None and comparison.equal and comparison.vacuous:
            message = f"equal, but weak evidence: {comparison.reason}"
            return unscored(self.name, unscorable("gold", message))
        return super().score(case, prediction, executions, comparison)


def undecided(comparison: Comparison) -> Failure:
    """The failure of a comparison that is undecided."""
    return Failure(stage="compare", kind="unscorable", blame="assay", message=comparison.reason)
