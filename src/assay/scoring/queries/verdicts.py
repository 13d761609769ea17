"""Decide the verdict on one case from the findings about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.model import (
    Ambiguity,
    Case,
    Comparison,
    Decision,
    Execution,
    Failure,
    FailureKind,
    Flag,
    Given,
    Outcome,
    Prediction,
    Strength,
    Verdict,
)
from assay.model.failure import Side, befalls, blamed, has_no_answer, is_final, ruling
from assay.model.verdicts.summary import CaseSummary

# Atomic, so that a text of many comments is matched in linear time, without backtracking.
_BLANK = r"(?>\s|\(|--[^\n]*\n|/\*.*?\*/)*+"
_NO_QUERY = re.compile(rf"{_BLANK}(pragma|explain)\b", re.IGNORECASE | re.DOTALL)
_BEGINS_LIKE_SQL = re.compile(
    rf"{_BLANK}(select|with|values|table|from|pivot|unpivot|show|describe|desc|explain|pragma|call|exec"
    r"|insert|update|delete|replace|merge|upsert|create|alter|drop|truncate|grant|revoke|attach|detach|vacuum|analyze"
    r"|begin|commit|rollback|savepoint|release|set|reset|use|copy|load|install|import|export|do|declare|prepare"
    r"|execute|lock|reindex|refresh|comment|checkpoint)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Words that a statement can begin with. Used only where the engine could not run a text, to see if it is prose."""


class Finding(Struct, frozen=True, kw_only=True):
    """The findings about one case, and the verdict that follows from them."""

    prediction: Prediction
    golds: Sequence[Execution]
    predicted: Execution | None
    comparison: Comparison | None
    index: int | None = None
    flags: frozenset[Flag] = frozenset()
    ambiguity: Ambiguity | None = None
    trouble: Failure | None = None
    """The failure that kept a probe of gold's ties from running."""

    def verdict(self) -> Verdict:
        """The verdict, by the first rule that applies."""
        comparison = self.comparison
        if comparison is not None and comparison.equal:
            return self._of("correct", comparison.reason, strength="matched_on_one_database")
        # The answer might match a gold query that was kept from running.
        kept = next((gold.failure for gold in self.golds if befalls(gold.failure)), None)
        if not any(gold.succeeded for gold in self.golds):
            return self._of_no_gold(kept)
        if comparison is None:
            return self._of_failed()
        if kept is not None:
            return self._of("unscored", f"a gold query could not be executed: {kept.message}", failure=kept)
        if self.trouble is not None:
            trouble = blamed(self.trouble, "gold")
            return self._of("unscored", f"gold's order could not be seen: {trouble.message}", failure=trouble)
        if not comparison.decided:
            failure = Failure(stage="compare", kind="unscorable", blame="assay", message=comparison.reason)
            return self._of("unscored", comparison.reason, failure=failure)
        return self._of("incorrect", comparison.reason, strength="none" if comparison.provoked else "settled")

    def _of_no_gold(self, kept: Failure | None) -> Verdict:
        if kept is not None:
            return self._of("unscored", f"gold could not be executed: {kept.message}", failure=kept)
        failure = next((gold.failure for gold in self.golds if gold.failure), None)
        if failure is None:
            failure = no_gold()
            return self._of("unscored", failure.message, failure=failure)
        return self._of("unscored", f"gold gives no answer: {failure.message}", failure=failure)

    def _of_failed(self) -> Verdict:
        """The verdict on an answer without rows, or whose rows could not be compared."""
        predicted = self.predicted
        given = self.prediction.given
        if predicted is None and (kind := refraining(given)) is not None:
            failure, words = kind, "the question has an answer"
        elif predicted is None or given == "nothing":
            failure, words = self.prediction.failure or unanswered(), "no query to judge"
        elif predicted.result is not None and is_no_query(predicted.query):
            failure, words = _prose(predicted.query), "the prediction fails"
        else:
            failure, words = predicted.failure or _cut_short(), "the prediction fails"
            extraction = self.prediction.extraction
            if extraction is not None and extraction.failure is not None:
                failure = extraction.failure
            elif failure.kind == "error" and not _BEGINS_LIKE_SQL.match(predicted.query):
                failure = _prose(predicted.query)
        failure = blamed(failure, "predicted")
        rule = ruling(failure, "predicted")
        reason = f"{words}: {failure.message}" if rule.outcome == "incorrect" else failure.message
        return self._of(rule.outcome, reason, failure=failure)

    def _of(
        self, outcome: Outcome, reason: str, *, failure: Failure | None = None, strength: Strength = "none"
    ) -> Verdict:
        if self.ambiguity is not None and self.comparison is not None:
            reason = f"{reason}; {self.ambiguity.text}"
        return Verdict(
            outcome=outcome,
            reason=reason,
            flags=self.flags,
            strength=strength,
            gold_index=self.index,
            ambiguity=self.ambiguity,
            failure=failure,
            decision=_refrained(self.prediction.given),
        )


def undisputed(case: Case, prediction: Prediction) -> Verdict:
    """The verdict where the right thing to do is not to answer: nothing needs to be executed for it."""
    given = prediction.given
    failure = prediction.failure
    if given == "nothing" and failure is not None and (rule := ruling(failure, "predicted")).outcome == "unscored":
        failure = blamed(failure, "predicted")
        return Verdict(outcome=rule.outcome, reason=failure.message, failure=failure)
    if given == case.expects:
        return Verdict(outcome="correct", reason=_AS_IT_SHOULD[given], decision=_refrained(given))
    wanted = "it has no answer" if case.expects == "decline" else "it must be clarified first"
    if given == "answer":
        failure = _refusal("answered_anyway", f"the system answers the question, and {wanted}")
    elif given == "nothing":
        failure = failure or unanswered()
        reason = f"{wanted}, and the system does not say so: {failure.message}"
        return Verdict(outcome="incorrect", reason=reason, failure=failure)
    else:
        did = "declines" if given == "decline" else "asks back"
        failure = _refusal("declined" if given == "decline" else "asked_back", f"the system {did}, and {wanted}")
    return Verdict(outcome="incorrect", reason=failure.message, failure=failure, decision=_refrained(given))


def refraining(given: Given) -> Failure | None:
    """The failure of a system that does not answer a question which has an answer; None where it does not say so."""
    if given == "decline":
        return _refusal("declined", "the system declines it")
    if given == "clarify":
        return _refusal("asked_back", "the system asks back in place of answering it")
    return None


def _refrained(given: Given) -> Decision | None:
    return given if given in ("decline", "clarify") else None


def _refusal(kind: FailureKind, message: str) -> Failure:
    return Failure(stage="ask", kind=kind, blame="system", message=message)


_AS_IT_SHOULD: Mapping[Given, str] = {
    "decline": "the question has no answer, and the system declines it",
    "clarify": "the question has several readings, and the system asks back",
}


def is_no_query(text: str | None) -> bool:
    """Whether a text asks about the engine (PRAGMA, EXPLAIN): engines run it, but its rows answer no question."""
    return text is not None and _NO_QUERY.match(text) is not None


def blame(execution: Execution, side: Side) -> Execution:
    """The execution of one side, with the blame set where it failed."""
    failure = execution.failure
    return execution if failure is None else replace(execution, failure=blamed(failure, side))


def _cut_short() -> Failure:
    message = "a cap cut the prediction's result before it could be compared, and gold's is within the caps"
    return Failure(stage="execute", kind="truncated", blame="system", message=message)


def no_gold() -> Failure:
    """The failure of a case without any gold query."""
    return Failure(stage="load", kind="no_gold", blame="gold", message="the case has no gold query")


def _prose(text: str) -> Failure:
    opening = " ".join(text.split())[:60]
    message = f"it is no query: it begins with {opening!r}"
    return Failure(stage="read", kind="no_query", blame="system", message=message)


def unanswered() -> Failure:
    """The failure of a case without a prediction."""
    return Failure(stage="ask", kind="unanswered", blame="system", message="the system gave no answer to this case")


def is_final_answer(case: CaseSummary) -> bool:
    """Whether a case was judged by its answer and its gold alone, and is remembered. If not, it is judged anew.

    Failures to ask the system do not count here: they are in the answers' own journal, and the question is asked again.
    """
    failures = [score.failure for score in case.scores if score.failure is not None]
    if case.failure is not None:
        failures.append(case.failure)
    return all(is_final(failure) or failure.stage == "ask" for failure in failures) if failures else True


def needs_retry(case: CaseSummary) -> bool:
    """Whether a case deserves a second attempt before the run ends, on a fresh connection.

    Every verdict that is not final deserves one. So does a gold query that ran out of time, since a server may have
    stalled, an answer whose query broke its connection or its process, since something else may have broken it, and
    an answer whose rows could not be compared, since the machine may have been suspended.
    """
    failure = case.failure
    broke = failure is not None and failure.stage == "execute" and failure.kind == "crashed"
    gold_timed_out = failure is not None and failure.kind == "timeout" and failure.blame == "gold"
    return broke or gold_timed_out or case.provoked or not is_final_answer(case)


def unfinished(cases: Sequence[CaseSummary]) -> Counter[Failure]:
    """How often each failure occurred, if no case of a run could be asked or scored; empty if some could."""
    failures = [case.failure for case in cases if not is_final(case.failure)]
    scored = any(
        case.outcome != "unscored" and is_final(case.failure) and not has_no_answer(case.failure) for case in cases
    )
    return Counter() if scored else Counter(failure for failure in failures if failure is not None)


def undone(cases: Sequence[CaseSummary]) -> list[CaseSummary]:
    """The cases that a passing failure left unscored: the same command does them again, and the run is not finished."""
    return [case for case in cases if case.outcome == "unscored" and not is_final(case.failure)]


def may_have_stalled(case: CaseSummary) -> bool:
    """Whether an answer ran out of time: its own fault, unless the run saw a server stall."""
    failure = case.failure
    return failure is not None and failure.kind == "timeout" and failure.blame == "system"
