"""Commands as a reader types them: quoted for the shell of this system."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

_PLAIN = re.compile(r"[\w.:\\/=@+-]+")
"""Characters that neither cmd nor PowerShell interprets."""


def quoted(word: str, *, windows: bool = os.name == "nt") -> str:
    """A word, quoted if a shell needs it: with single quotes, on Windows with double ones, the only ones cmd knows."""
    if not windows:
        return shlex.quote(word)
    return word if _PLAIN.fullmatch(word) else f'"{word}"'


def command_line(words: Iterable[str], *, windows: bool = os.name == "nt") -> str:
    """The words as one line."""
    return " ".join(quoted(word, windows=windows) for word in words)
