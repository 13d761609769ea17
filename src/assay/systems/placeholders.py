"""Put a case into a template: ``{question}``, ``{context}``, ``{database}``, ``{id}``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from assay.errors import InputError
from assay.model import Case

PLACEHOLDERS = ("question", "context", "database", "id")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_]+)\}")
_DOUBLED = {"{{": "{", "}}": "}"}


def check_placeholders(texts: Iterable[str], *, what: str) -> set[str]:
    """The placeholders in the texts. Raises InputError for an unknown one, with the closest name."""
    names = {found[1] for text in texts for found in _PLACEHOLDER.finditer(text) if found[1]}
    for name in sorted(names.difference(PLACEHOLDERS)):
        close = get_close_matches(name, PLACEHOLDERS, n=1)
        hint = f" (did you mean {{{close[0]}}}?)" if close else ""
        known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
        raise InputError(f"{what} holds {{{name}}}{hint}: there is {known}; for braces as such write {{{{{name}}}}}")
    return names


def filled(template: str, case: Case) -> str:
    """The template with the case put in. What the case does not have is empty; ``{{`` and ``}}`` give braces."""
    values = {
        "question": case.question,
        "context": case.context or "",
        "database": case.database or "",
        "id": case.id,
    }
    return _PLACEHOLDER.sub(lambda found: _DOUBLED.get(found[0]) or values[found[1]], template)
