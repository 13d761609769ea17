"""Verdicts that need nothing executed, the failures of answers, and which verdicts are final."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from assay.model import (
    Case,
    Decision,
    Execution,
    Failure,
    FailureKind,
    Given,
    Prediction,
    Verdict,
)
from assay.model.failure import Side, blamed, has_no_answer, is_final, ruling
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
"""Words that a statement can begin with. Used only if the engine could not run a text, or is not asked to, to see if
it is prose."""


def failure_of_answer(prediction: Prediction, execution: Execution | None) -> tuple[Failure, str]:
    """Why an answer gave no rows that could be compared, and the words for it."""
    if execution is None and (failure := _refraining(prediction.given)) is not None:
        return failure, "the question has an answer"
    if execution is None or prediction.given == "nothing":
        return prediction.failure or _UNANSWERED, "no query to score"
    failure = execution.failure or _CUT_SHORT
    if execution.result is not None and is_no_query(execution.query):
        failure = _prose(execution.query)
    elif prediction.extraction is not None and prediction.extraction.failure is not None:
        failure = prediction.extraction.failure
    elif failure.kind == "error" and not _BEGINS_LIKE_SQL.match(execution.query):
        failure = _prose(execution.query)
    return failure, "the prediction fails"


def undisputed(case: Case, prediction: Prediction) -> Verdict:
    """The verdict if the right thing to do is not to answer: nothing needs to be executed for it."""
    given = prediction.given
    failure = prediction.failure
    if given == "answer" and (text := _words_alone(prediction)) is not None:
        given, failure = "nothing", _prose(text)
    if given == "nothing" and failure is not None and (rule := ruling(failure, "predicted")).outcome == "unscored":
        failure = blamed(failure, "predicted")
        return Verdict(outcome=rule.outcome, reason=failure.message, failure=failure)
    if given == case.expects:
        return Verdict(outcome="correct", reason=_AS_IT_SHOULD[given], decision=refrained(given))
    wanted = "it has no answer" if case.expects == "decline" else "it must be clarified first"
    if given == "answer":
        failure = _refusal("answered_anyway", f"the system answers the question, and {wanted}")
    elif given == "nothing":
        failure = failure or _UNANSWERED
        reason = f"{wanted}, and the system does not say so: {failure.message}"
        return Verdict(outcome="incorrect", reason=reason, failure=failure)
    else:
        did = "declines" if given == "decline" else "asks back"
        failure = _refusal("declined" if given == "decline" else "asked_back", f"the system {did}, and {wanted}")
    return Verdict(outcome="incorrect", reason=failure.message, failure=failure, decision=refrained(given))


def _refraining(given: Given) -> Failure | None:
    """The failure of a system that does not answer a question which has an answer; None if it does not say so."""
    if given == "decline":
        return _refusal("declined", "the system declines it")
    if given == "clarify":
        return _refusal("asked_back", "the system asks back in place of answering it")
    return None


def refrained(given: Given) -> Decision | None:
    """How a system refrains from answering; None if it does not say so."""
    return given if given in ("decline", "clarify") else None


def _refusal(kind: FailureKind, message: str) -> Failure:
    return Failure(stage="ask", kind=kind, blame="system", message=message)


_AS_IT_SHOULD: Mapping[Given, str] = {
    "decline": "the question has no answer, and the system declines it",
    "clarify": "the question has several readings, and the system asks back",
}


def _words_alone(prediction: Prediction) -> str | None:
    """The prediction's text if no engine would find a query in it, without asking one."""
    text = None if prediction.result is not None else prediction.query
    return text if text is not None and (is_no_query(text) or not _BEGINS_LIKE_SQL.match(text)) else None


def is_no_query(text: str | None) -> bool:
    """Whether a text asks about the engine (PRAGMA, EXPLAIN): engines run it, but its rows answer no question."""
    return text is not None and _NO_QUERY.match(text) is not None


def blame(execution: Execution, side: Side) -> Execution:
    """The execution of one side, with the blame set if it failed."""
    failure = execution.failure
    return execution if failure is None else replace(execution, failure=blamed(failure, side))


_CUT_SHORT = Failure(
    stage="execute",
    kind="truncated",
    blame="system",
    message="a cap cut the prediction's result before it could be compared, and the gold query's is within the caps",
)
NO_GOLD = Failure(stage="load", kind="no_gold", blame="gold", message="the case has no gold query")
_UNANSWERED = Failure(stage="ask", kind="unanswered", blame="system", message="the system gave no answer to this case")


def _prose(text: str) -> Failure:
    opening = " ".join(text.split())[:60]
    message = f"it is not a query: it begins with {opening!r}"
    return Failure(stage="read", kind="no_query", blame="system", message=message)


def is_final_answer(case: CaseSummary) -> bool:
    """Whether a case was scored by its answer and its gold query alone, and is remembered. If not, it is scored again.

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
