"""Commands as a reader types them: quoted for the shell of this system."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

_PLAIN = re.compile(r"[\w.:\\/=@+-]+")
"""What neither cmd nor PowerShell reads as anything else."""


def quoted(word: str, *, windows: bool = os.name == "nt") -> str:
    """A word, with quotes where a shell needs them: single ones, on Windows double ones, which cmd knows alone."""
    if not windows:
        return shlex.quote(word)
    return word if _PLAIN.fullmatch(word) else f'"{word}"'


def command_line(words: Iterable[str], *, windows: bool = os.name == "nt") -> str:
    """The words as one line."""
    return " ".join(quoted(word, windows=windows) for word in words)
