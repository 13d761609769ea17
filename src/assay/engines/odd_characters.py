"""Characters that look like those of SQL and are others, as texts from web pages and word processors have them."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_QUOTED: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_CATEGORIES: Final = frozenset({"Zs", "Cf", "Pd", "Pi", "Pf"})
"""Spaces, invisible characters, dashes and quotation marks."""
_OTHERS: Final = frozenset("\u2212\u201a\u201e\u2032\u2033\u00b4")
"""The minus sign, low quotation marks, primes and the acute accent."""


def odd_character(query: str) -> str | None:
    """``a no-break space (U+00A0) at character 7``: the first outside of literals, names in quotes and comments."""
    for outside in re.finditer(r"[^\x00-\x7f]", _QUOTED.sub(lambda quoted: " " * len(quoted[0]), query)):
        character = outside[0]
        is_full_width = "\uff01" <= character <= "\uff5e"
        if is_full_width or character in _OTHERS or unicodedata.category(character) in _CATEGORIES:
            name = unicodedata.name(character, "character without a name").lower()
            article = "an" if name[0] in "aeiou" else "a"
            return f"{article} {name} (U+{ord(character):04X}) at character {outside.start() + 1}"
    return None
