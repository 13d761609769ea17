"""Put a case into a template: ``{question}``, ``{context}``, ``{database}``, ``{id}``, ``{history}`` and so on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from assay.errors import InputError
from assay.model import Case

PLACEHOLDERS = ("question", "context", "database", "id", "history", "conversation", "turn")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_]+)\}")
_DOUBLED = {"{{": "{", "}}": "}"}


def check_placeholders(texts: Iterable[str], *, what: str, known: Sequence[str] = PLACEHOLDERS) -> set[str]:
    """The placeholders in the texts. Raises InputError for an unknown one, with the closest name."""
    names = {found[1] for text in texts for found in _PLACEHOLDER.finditer(text) if found[1]}
    for name in sorted(names.difference(known)):
        close = get_close_matches(name, known, n=1)
        hint = f" (did you mean {{{close[0]}}}?)" if close else ""
        listed = ", ".join(f"{{{one}}}" for one in known)
        raise InputError(
            f"{what} has the unknown placeholder {{{name}}}{hint}: use {listed}; write literal braces as {{{{{name}}}}}"
        )
    return names


def filled(template: str, case: Case) -> str:
    """The template filled with the case's values. Missing values are empty; ``{{`` and ``}}`` give braces."""
    values = {
        "question": case.question,
        "context": case.context or "",
        "database": case.database or "",
        "id": case.id,
        "history": history_text(case),
        "conversation": case.conversation or "",
        "turn": "" if case.turn is None else str(case.turn),
    }
    return fill(template, values)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template filled with the values; placeholders within the values stay unchanged."""
    return _PLACEHOLDER.sub(lambda found: _DOUBLED.get(found[0]) or values[found[1]], template)


def history_text(case: Case) -> str:
    """The conversation before a case as lines: ``Question: …`` and ``Answer: …``; empty if there is none."""
    lines = []
    for one in case.history:
        lines.append(f"Question: {one.question}")
        if one.answer:
            lines.append(f"Answer: {one.answer}")
    return "\n".join(lines)


def history_messages(case: Case) -> list[dict[str, str]]:
    """The conversation before a case as the messages of a chat: ``role`` and ``content``."""
    messages = []
    for one in case.history:
        messages.append({"role": "user", "content": one.question})
        if one.answer:
            messages.append({"role": "assistant", "content": one.answer})
    return messages
