"""From what was found out about one case to its verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.model import Comparison, Execution, Failure, Flag, Outcome, Prediction, Strength, Verdict

# Atomic, so that a text of many comments is read once and not in all ways to divide it.
_BLANK = r"(?>\s|\(|--[^\n]*\n|/\*.*?\*/)*+"
_NO_QUERY = re.compile(rf"{_BLANK}(pragma|explain)\b", re.IGNORECASE | re.DOTALL)
_BEGINS_LIKE_SQL = re.compile(
    rf"{_BLANK}(select|with|values|table|from|pivot|unpivot|show|describe|desc|explain|pragma|call|exec"
    r"|insert|update|delete|replace|merge|upsert|create|alter|drop|truncate|grant|revoke|attach|detach|vacuum|analyze"
    r"|begin|commit|rollback|savepoint|release|set|reset|use|copy|load|install|import|export|do|declare|prepare"
    r"|execute|lock|reindex|refresh|comment|checkpoint)\b",
    re.IGNORECASE | re.DOTALL,
)
"""What a statement can begin with. Only asked where the engine could not run a text: is it prose?"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one case, and the verdict that it comes to."""

    prediction: Prediction
    golds: Sequence[Execution]
    predicted: Execution | None
    comparison: Comparison | None
    index: int | None
    flags: frozenset[Flag]

    def verdict(self) -> Verdict:
        """The verdict, by the first thing that decides it."""
        if not any(gold.succeeded for gold in self.golds):
            failure = next((gold.failure for gold in self.golds if gold.failure), None)
            if failure is None:
                failure = Failure(stage="load", kind="no_gold", blame="gold", message="the case has no gold query")
            return self._of("unscored", f"gold gives no answer: {failure.message}", failure=failure)
        if self.predicted is None:
            failure = self.prediction.failure or unanswered()
            return self._of("incorrect", f"no query to judge: {failure.message}", failure=failure)
        if self.comparison is None:
            return self._of_failed(self.predicted)
        if not self.comparison.decided:
            failure = Failure(stage="compare", kind="unscorable", blame="judge", message=self.comparison.reason)
            return self._of("unscored", self.comparison.reason, failure=failure)
        if self.comparison.equal:
            return self._of("correct", self.comparison.reason, strength="matched_on_one_database")
        return self._of("incorrect", self.comparison.reason, strength="refuted")

    def _of_failed(self, predicted: Execution) -> Verdict:
        failure = predicted.failure
        if predicted.result is not None and is_no_query(predicted.query):
            failure = _prose(predicted.query)
        elif predicted.status == "truncated" or failure is None:
            message = "a cap cut the prediction's result before it could be compared: raise the caps"
            failure = Failure(stage="execute", kind="truncated", blame="setup", message=message)
            return self._of("unscored", message, failure=failure)
        if failure.kind == "unreadable_database":
            return self._of("unscored", failure.message, failure=replace(failure, blame="setup"))
        if failure.kind == "error" and not _BEGINS_LIKE_SQL.match(predicted.query):
            failure = _prose(predicted.query)
        return self._of("incorrect", f"the prediction fails: {failure.message}", failure=failure)

    def _of(
        self, outcome: Outcome, reason: str, *, failure: Failure | None = None, strength: Strength = "none"
    ) -> Verdict:
        return Verdict(
            outcome=outcome,
            reason=reason,
            flags=self.flags,
            strength=strength,
            gold_index=self.index,
            failure=failure,
        )


def is_no_query(text: str | None) -> bool:
    """Whether a text asks about the engine (PRAGMA, EXPLAIN): engines run it, but its rows answer no question."""
    return text is not None and _NO_QUERY.match(text) is not None


def blame_gold(execution: Execution) -> Execution:
    failure = execution.failure
    if failure is None:
        return execution
    setup = failure.kind in ("unreadable_database", "truncated")
    return replace(execution, failure=replace(failure, blame="setup" if setup else "gold"))


def _prose(text: str) -> Failure:
    opening = " ".join(text.split())[:60]
    message = f"it is no query: it begins with {opening!r}"
    return Failure(stage="read", kind="no_query", blame="system", message=message)


def unanswered() -> Failure:
    """The failure of a case that no prediction answers."""
    return Failure(stage="ask", kind="unanswered", blame="system", message="the system gave no answer to this case")
