"""Numbers that a system reports about itself: tokens, seconds, dollars. What cannot be one of these is left out.

A system may report anything: ``1e30`` tokens, NaN, a negative time, a text. No answer is lost for such a number. It
counts as not reported, so that the sums of a run stay finite and fit into every file that contains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from assay.model.cases.case import Prediction
from assay.model.cases.selection import TurnAnswer
from assay.model.cases.usage import TokenUsage, read_measure


def read_count(value: Any) -> int | None:
    """A whole number from 0 to `MOST`, also if given as text; None for anything else."""
    number = read_measure(value)
    return int(number) if number is not None and number.is_integer() else None


def with_read_measures(prediction: Prediction) -> Prediction:
    """The answer of a system's own code, which may have put anything in the place of a number."""
    reported = (prediction.timings_s, prediction.tokens, prediction.cost_usd, prediction.confidence, prediction.turns)
    if reported == ((), None, None, None, ()):
        return prediction
    return replace(
        prediction,
        timings_s=_timings(prediction.timings_s),
        tokens=read_tokens(prediction.tokens),
        cost_usd=read_measure(prediction.cost_usd),
        confidence=read_measure(prediction.confidence),
        turns=tuple(map(_turn, prediction.turns)),
    )


def read_tokens(tokens: Any) -> TokenUsage | None:
    """The counts of a TokenUsage that are counts; None where none is."""
    names = ("input", "output", "total")
    found = TokenUsage(**{name: read_count(getattr(tokens, name, None)) for name in names})
    return None if found == TokenUsage() else found


def _timings(given: Any) -> tuple[tuple[str, float], ...]:
    pairs: Iterable[Any] = given.items() if isinstance(given, Mapping) else given if _is_list(given) else ()
    named = [(pair[0], read_measure(pair[1])) for pair in pairs if _is_list(pair) and len(pair) == 2]
    return tuple((name, seconds) for name, seconds in named if isinstance(name, str) and seconds is not None)


def _turn(turn: TurnAnswer) -> TurnAnswer:
    return replace(turn, latency_s=read_measure(turn.latency_s), tokens=read_tokens(turn.tokens))


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))
