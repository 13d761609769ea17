"""Turn the outcome of asking one question into a Prediction."""

from __future__ import annotations

import json
import re

from msgspec.structs import replace

from assay.errors import AssayError
from assay.model import Blame, Case, Failure, FailureKind, GivenResult, Prediction, TokenUsage
from assay.model.cases.decision import holds_nothing
from assay.model.failure import has_no_answer
from assay.model.results.given import InvalidRows, answered_rows
from assay.model.verdicts.summary import answer_time_s
from assay.sql.extraction import (
    ONLY_THINKING,
    SEVERAL_QUERIES,
    are_queries,
    clean_query,
    completion_of,
    extraction_of,
    read_text,
)

_MOST_CHARACTERS = 300
_MOST_SPOKEN, _MOST_SPOKEN_ROWS = 20_000, 100
"""Maximum characters and rows of a result in an earlier answer."""
NO_TIME = "no answer in time"
"""The code of a failure by timeout."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x80-\x9f]+")


class QuestionFailed(AssayError):
    """One question could not be answered. Not raised outside this package: it becomes a Prediction with a Failure."""

    def __init__(self, message: str, *, reached: bool = True, code: str | None = None, rejected: bool = False) -> None:
        self.reached = reached
        """False if the system itself did not answer, for a reason unrelated to the question."""
        self.code = code
        """As `Failure.code`."""
        self.rejected = rejected
        """Whether asking again would give the same."""
        super().__init__(message)


class UnknownForm(QuestionFailed):
    """A response in which no answer was found. Not raised outside this package.

    If the server has not answered any question yet, the cause is its address or the paths in the settings.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message, code=code, rejected=True)


def ask_failure(message: str, *, reached: bool = True, code: str | None = None, rejected: bool = False) -> Failure:
    """Why a question has no answer: the system failed at it, could not be reached, or rejected the request."""
    blame: Blame = "system" if reached else "network"
    kind: FailureKind = "rejected" if rejected and reached else "ask_failed"
    return Failure(stage="ask", kind=kind, blame=blame, message=first_line(message), code=code)


def failed(
    case: Case, message: str, *, reached: bool = True, code: str | None = None, rejected: bool = False
) -> Prediction:
    """The system was asked, but the request failed."""
    failure = ask_failure(message, reached=reached, code=code, rejected=rejected)
    return Prediction(case_id=case.id, failure=failure)


def timed(prediction: Prediction, wall_time_s: float) -> Prediction:
    """The answer with the measured time, if it states none; a failed request has no time."""
    if has_no_answer(prediction.failure) or answer_time_s(prediction) is not None:
        return prediction
    return replace(prediction, timings_s=(*prediction.timings_s, ("wall_time", wall_time_s)))


def without_query(message: str, *, words: str) -> Failure:
    """The failure of an answer without a query. If ``words`` say anything, it is a question back or a refusal."""
    kind: FailureKind = "unanswered" if holds_nothing(words) else "clarification"
    return Failure(stage="ask", kind=kind, blame="system", message=message)


def answered(
    case: Case,
    text: str | None,
    *,
    said: str = "",
    in_answer: bool = True,
    query_source: str | None = None,
    timings_s: tuple[tuple[str, float], ...] = (),
    tokens: TokenUsage | None = None,
    explanation: str | None = None,
    context_tables: tuple[str, ...] | None = None,
) -> Prediction:
    """The system answered ``text``: a query, perhaps in a code fence, in JSON or among words; or nothing.

    ``said`` is its text instead of a query, quoted if there is no query. ``in_answer`` False: that text is not part
    of its answer, but came on standard error, for example. ``query_source`` is as `Prediction.query_source`.
    """
    reading = read_text(text or "")
    query, extraction = reading.query, extraction_of(reading)
    if query is None and text is not None and not reading.only_thinking:
        # Prose is evaluated as it is: the verdict quotes it. The content of a fence that is not SQL counts if alone.
        as_it_came = extraction is not None or (reading.words and "```" in text)
        query = text if as_it_came else clean_query(text)
    failure = None
    if reading.only_thinking:
        failure = without_query(ONLY_THINKING, words="")
    elif query is None:
        instead = first_line(next((words for words in (said, text or "") if not holds_nothing(words)), ""))
        message = f'the system returned no query: "{instead}"' if instead else "the system returned no query"
        words = said if in_answer else ""
        failure = without_query(message, words=text or "" if holds_nothing(words) else words)
    return Prediction(
        case_id=case.id,
        query=query,
        raw=text if text and text != query else (said or None) if query is None and in_answer else None,
        query_source=query_source,
        timings_s=timings_s,
        tokens=tokens,
        explanation=explanation,
        context_tables=context_tables,
        failure=failure,
        extraction=extraction,
    )


def answered_with_value(
    case: Case,
    value: object,
    *,
    timings_s: tuple[tuple[str, float], ...] = (),
    tokens: TokenUsage | None = None,
) -> Prediction | None:
    """The system answered with chat messages, or with rows instead of a query; None for other values.

    Rows of different lengths, too many of them, or a list of queries are an unreadable answer.
    """
    if (text := completion_of(value)) is not None:
        return answered(case, text, timings_s=timings_s, tokens=tokens)
    try:
        if are_queries(value):
            raise InvalidRows(SEVERAL_QUERIES)
        result = answered_rows(value)
    except InvalidRows as error:
        message = f"the result from the system {error}"
        failure = Failure(stage="read", kind="unreadable_answer", blame="system", message=message)
        return Prediction(case_id=case.id, timings_s=timings_s, tokens=tokens, failure=failure)
    if result is None:
        return None
    return Prediction(case_id=case.id, result=result, timings_s=timings_s, tokens=tokens)


def spoken(prediction: Prediction) -> str | None:
    """The answer as a turn of a conversation: unchanged, its rows as JSON, or ``null`` if it declines.

    None if there was no answer.
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
    """The first line that is not blank, without control characters, truncated if it is too long to read."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    line = _CONTROL.sub(" ", line).strip()
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"
