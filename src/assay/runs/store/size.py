"""How much of one answer is kept: enough for any plausible query, but not everything that could be sent."""

from __future__ import annotations

from msgspec.structs import replace

from assay.model import Failure, Prediction, TurnAnswer

MOST_CHARACTERS = 64_000_000
"""The limit for each text of an answer. A longer query is the system's failure; other texts are cut, and say so."""
_SHOWN = 1000


def within_size(prediction: Prediction) -> Prediction:
    """The answer as it is kept and judged, nearly always unchanged."""
    query, raw, explanation = prediction.query, prediction.raw, prediction.explanation
    longest = max(len(query or ""), len(raw or ""), len(explanation or ""))
    if longest > MOST_CHARACTERS:
        too_long = query is not None and len(query) > MOST_CHARACTERS
        prediction = replace(
            prediction,
            query=None if too_long else query,
            raw=_cut(query) if too_long else _cut(raw),
            explanation=_cut(explanation),
            failure=_too_long("query", query) if too_long else prediction.failure,
        )
    if prediction.turns and any(map(_is_long, prediction.turns)):
        prediction = replace(prediction, turns=tuple(map(_turn_within_size, prediction.turns)))
    return prediction


def _is_long(turn: TurnAnswer) -> bool:
    return any(len(text) > MOST_CHARACTERS for text in (turn.raw, turn.text) if text is not None)


def _turn_within_size(turn: TurnAnswer) -> TurnAnswer:
    unread = turn.raw is not None and turn.selection is None and len(turn.raw) > MOST_CHARACTERS
    failure = _too_long("answer", turn.raw) if unread else turn.failure
    return replace(turn, raw=_cut(turn.raw), text=_cut(turn.text), failure=failure)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:_SHOWN]}… [cut: {len(text):,} characters]"


def _too_long(what: str, text: str | None) -> Failure:
    length = len(text or "")
    message = f"the {what} has {length:,} characters, more than the {MOST_CHARACTERS:,} that are read"
    return Failure(stage="read", kind="unreadable_answer", blame="system", message=message)
