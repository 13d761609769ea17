"""Read what systems report in addition to their query: tokens and times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from assay.model import TokenUsage
from assay.model.cases.measures import read_count
from assay.model.cases.usage import read_measure

_MOST_SHOWN = 120
_INPUT = ("inputtokens", "prompttokens", "input", "prompt", "inputtokencount", "prompttokencount")
_OUTPUT = (
    *("outputtokens", "completiontokens", "output", "completion", "outputtokencount", "completiontokencount"),
    *("generatedtokens", "candidatestokencount"),
)
_TOTAL = ("totaltokens", "total", "totaltokencount", "tokens")


def token_usage(said: Any) -> TokenUsage | None:
    """Token counts by any of the usual names (``input_tokens``, ``promptTokens``, ``total`` …), or a total alone.

    None if nothing readable is given. A count that the system did not report stays None: none is computed here.
    """
    if isinstance(said, Mapping):
        counts = {
            str(name).replace("_", "").replace("-", "").lower(): read_count(value) for name, value in said.items()
        }
        found = TokenUsage(input=_first(counts, _INPUT), output=_first(counts, _OUTPUT), total=_first(counts, _TOTAL))
    else:
        found = TokenUsage(total=read_count(said))
    return None if found == TokenUsage() else found


def _first(counts: Mapping[str, int | None], names: Iterable[str]) -> int | None:
    return next((count for name in names if (count := counts.get(name)) is not None), None)


def timings(said: Mapping[str, Any], names: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """The times with those names, in seconds and in the order of the names; missing ones are omitted."""
    return tuple((name, value) for name in names if (value := read_measure(said.get(name))) is not None)


def text_of(said: Any) -> str | None:
    """A text, or None for anything else and for a blank one."""
    return said if isinstance(said, str) and said.strip() else None


def json_kind(value: Any) -> str:
    """What JSON calls a value: ``a list``, ``an object``, ``a number``."""
    if isinstance(value, bool) or value is None:
        return shown_json(value)
    if isinstance(value, (int, float)):
        return "a number"
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else "a text"


def shown_json(value: Any) -> str:
    """A value as JSON, truncated if it is too long to read."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def parameter_value(text: str) -> Any:
    """The value of a parameter's text: ``5``, ``false``, ``null``, ``["a"]`` and ``"5"`` are read as JSON."""
    try:
        return json.loads(text, parse_constant=lambda _: text)
    except (ValueError, RecursionError):
        return text
