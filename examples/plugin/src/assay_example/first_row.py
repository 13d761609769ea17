"""A metric: does the answer begin with gold's first row?"""

from __future__ import annotations

from collections.abc import Sequence

from assay import Case, Comparison, Failure, Prediction, Score
from assay.model import Blame
from assay.ports import Executions, QueryRequest


class FirstRow:
    """1 where the answer's first row is the first row of some gold: the one that an assistant reads out.

    None where gold fails or has no row, and where the answer fails by no fault of its own.
    """

    name = "first_row"
    label = "First row"
    meaning = "the answer begins with gold's first row, whatever follows"
    binary = True
    depends_on_queries_only = True

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        """Nothing has to be executed beside gold and the prediction."""
        return ()

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """Score one case."""
        golds = [gold.result.rows[0] for gold in executions.golds if gold.result is not None and gold.result.rows]
        if not golds:
            return self._without("no gold has a first row", blame="gold")
        predicted = executions.predicted
        failure = prediction.failure if predicted is None else predicted.failure
        if failure is not None and failure.blame != "system":
            return self._without(failure.message, blame=failure.blame)
        rows = predicted.result.rows if predicted is not None and predicted.result is not None else ()
        return Score(metric=self.name, value=float(bool(rows) and rows[0] in golds))

    def _without(self, why: str, *, blame: Blame) -> Score:
        return Score(
            metric=self.name,
            value=None,
            failure=Failure(stage="score", kind="unscorable", blame=blame, message=why),
        )
