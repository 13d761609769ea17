"""What asking one question comes to, as a Prediction."""

from __future__ import annotations

import re

from assay.errors import AssayError
from assay.model import Case, Failure, Prediction, TokenUsage
from assay.systems.query import clean_query

_MOST_CHARACTERS = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x80-\x9f]+")


class QuestionFailed(AssayError):
    """One question could not be answered. Stays in this room: it leaves as a Prediction with a Failure."""


def failed(case: Case, message: str) -> Prediction:
    """The system was asked and something broke."""
    return Prediction(
        case_id=case.id, failure=Failure(stage="ask", kind="ask_failed", blame="system", message=first_line(message))
    )


def answered(
    case: Case,
    text: str | None,
    *,
    said: str = "",
    timings_s: tuple[tuple[str, float], ...] = (),
    tokens: TokenUsage | None = None,
    explanation: str | None = None,
    tables_used: tuple[str, ...] = (),
) -> Prediction:
    """The system answered ``text``: a query, perhaps in a code fence, or nothing.

    ``said`` is what it said in place of a query; it is quoted where there is none.
    """
    query = clean_query(text)
    failure = None
    if query is None:
        instead = first_line(said) or first_line(text or "")
        message = f'the system gave no query; it said: "{instead}"' if instead else "the system gave no query"
        failure = Failure(stage="ask", kind="unanswered", blame="system", message=message)
    return Prediction(
        case_id=case.id,
        query=query,
        raw=text if text and text != query else None,
        timings_s=timings_s,
        tokens=tokens,
        explanation=explanation,
        tables_used=tables_used,
        failure=failure,
    )


def first_line(text: str) -> str:
    """The first line that says something, without control characters, cut where it is too long to read."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    line = _CONTROL.sub(" ", line).strip()
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"
