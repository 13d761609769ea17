"""Turn the outcome of asking one question into a Prediction."""

from __future__ import annotations

import json
import re

from msgspec.structs import replace

from assay.errors import AssayError
from assay.inline_rows import NotRows, answered_rows
from assay.model import Blame, Case, Failure, FailureKind, GivenResult, Prediction, TokenUsage
from assay.model.decision import holds_nothing
from assay.systems.query import clean_query

_MOST_CHARACTERS = 300
_MOST_SPOKEN, _MOST_SPOKEN_ROWS = 20_000, 100
"""Characters and rows of a result that go along as an earlier answer."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x80-\x9f]+")


class QuestionFailed(AssayError):
    """One question could not be answered. Not raised outside this package: it becomes a Prediction with a Failure."""

    def __init__(self, message: str, *, reached: bool = True) -> None:
        self.reached = reached
        """False where the system itself did not answer, for a reason unrelated to the question."""
        super().__init__(message)


def ask_failure(message: str, *, reached: bool = True) -> Failure:
    """Why a question has no answer: the system failed at it, or could not be reached."""
    blame: Blame = "system" if reached else "network"
    return Failure(stage="ask", kind="ask_failed", blame=blame, message=first_line(message))


def failed(case: Case, message: str, *, reached: bool = True) -> Prediction:
    """The system was asked and something broke."""
    return Prediction(case_id=case.id, failure=ask_failure(message, reached=reached))


def without_query(message: str, *, words: str) -> Failure:
    """The failure of an answer without a query. With ``words`` that say anything it is a question back or a refusal."""
    kind: FailureKind = "unanswered" if holds_nothing(words) else "clarification"
    return Failure(stage="ask", kind=kind, blame="system", message=message)


def answered(
    case: Case,
    text: str | None,
    *,
    said: str = "",
    in_answer: bool = True,
    timings_s: tuple[tuple[str, float], ...] = (),
    tokens: TokenUsage | None = None,
    explanation: str | None = None,
    tables_used: tuple[str, ...] = (),
) -> Prediction:
    """The system answered ``text``: a query, perhaps in a code fence, or nothing.

    ``said`` is its text in place of a query, quoted where there is no query. ``in_answer`` False: that text is not part
    of its answer, but came on standard error, for example.
    """
    query = clean_query(text)
    failure = None
    if query is None:
        instead = first_line(next((words for words in (said, text or "") if not holds_nothing(words)), ""))
        message = f'the system gave no query; it said: "{instead}"' if instead else "the system gave no query"
        words = said if in_answer else ""
        failure = without_query(message, words=text or "" if holds_nothing(words) else words)
    return Prediction(
        case_id=case.id,
        query=query,
        raw=text if text and text != query else (said or None) if query is None and in_answer else None,
        timings_s=timings_s,
        tokens=tokens,
        explanation=explanation,
        tables_used=tables_used,
        failure=failure,
    )


def without_fence(prediction: Prediction) -> Prediction:
    """The answer that a caller made itself: a query in a code fence is read as one without."""
    query = prediction.query
    if query is None or not query.lstrip().startswith("```") or (plain := clean_query(query)) is None:
        return prediction
    return replace(prediction, query=plain, raw=prediction.raw or query)


def answered_with_rows(
    case: Case,
    value: object,
    *,
    timings_s: tuple[tuple[str, float], ...] = (),
    tokens: TokenUsage | None = None,
) -> Prediction | None:
    """The system answered with rows in place of a query; None where the value is none.

    Rows of several shapes, or too many of them, are an answer that cannot be read.
    """
    try:
        result = answered_rows(value)
    except NotRows as error:
        message = f"the result that the system answered {error}"
        failure = Failure(stage="read", kind="unreadable_answer", blame="system", message=message)
        return Prediction(case_id=case.id, timings_s=timings_s, tokens=tokens, failure=failure)
    if result is None:
        return None
    return Prediction(case_id=case.id, result=result, timings_s=timings_s, tokens=tokens)


def spoken(prediction: Prediction) -> str | None:
    """The answer as a turn of a conversation has it: as it came, its rows as JSON, or ``null`` where it declines.

    None where nothing came.
    """
    if prediction.raw or prediction.query:
        return prediction.raw or prediction.query
    if prediction.result is not None:
        return _rows_as_json(prediction.result)
    return "null" if prediction.given == "decline" else None


def _rows_as_json(result: GivenResult) -> str:
    columns = f'"columns": {json.dumps(result.columns, ensure_ascii=False)}, ' if result.columns else ""
    if len(result.content) <= _MOST_SPOKEN and result.row_count <= _MOST_SPOKEN_ROWS:
        return f'{{{columns}"rows": {result.content}}}'
    shown, length = [], 0
    for row in json.loads(result.content)[:_MOST_SPOKEN_ROWS]:
        text = json.dumps(row, ensure_ascii=False)
        length += len(text)
        if length > _MOST_SPOKEN:
            break
        shown.append(text)
    return f'{{{columns}"rows": [{", ".join(shown)}], "rows_in_all": {result.row_count}}}'


def first_line(text: str) -> str:
    """The first line that is not blank, without control characters, cut where it is too long to read."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    line = _CONTROL.sub(" ", line).strip()
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"
