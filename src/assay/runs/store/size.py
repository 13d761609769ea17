"""How much of one answer is kept: enough for any plausible query, but not everything that could be sent."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from assay.model import Failure, Prediction, TurnAnswer

MOST_CHARACTERS = 64_000_000
"""The limit for each text of an answer. A longer query is the system's failure; other texts are cut, and say so."""
_SHOWN = 1000
_Answer = TypeVar("_Answer", Prediction, TurnAnswer)


def within_size(prediction: Prediction) -> Prediction:
    """The answer as it is kept and judged, nearly always unchanged."""
    query = prediction.query
    if _is_long(query):
        prediction = replace(prediction, query=None, raw=query, failure=_too_long("query", query))
    if prediction.turns:
        turns = (
            replace(turn, failure=_too_long("answer", turn.raw))
            if turn.selection is None and _is_long(turn.raw)
            else turn
            for turn in prediction.turns
        )
        prediction = replace(prediction, turns=tuple(_cut(turn, "raw", "text") for turn in turns))
    return _cut(prediction, "raw", "explanation")


def _is_long(text: str | None) -> bool:
    return text is not None and len(text) > MOST_CHARACTERS


def _cut(answer: _Answer, *names: str) -> _Answer:
    """The answer, with those of its texts cut that are too long."""
    long = {name: text for name in names if _is_long(text := getattr(answer, name))}
    texts = {name: f"{text[:_SHOWN]}… [cut: {len(text):,} characters]" for name, text in long.items()}
    return replace(answer, **texts) if texts else answer


def _too_long(what: str, text: str | None) -> Failure:
    length = len(text or "")
    message = f"the {what} has {length:,} characters, more than the {MOST_CHARACTERS:,} that are read"
    return Failure(stage="read", kind="unreadable_answer", blame="system", message=message)
