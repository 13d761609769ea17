"""Queries as arguments: the text itself, a file's content, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

from assay.errors import UsageError

_LONGEST = 16 * 2**20
"""Bytes of a query."""


def read_queries(**given: str) -> list[str]:
    """Each query: its text, the content of the file named after an @, or standard input for ``-``.

    The names of the arguments are those that a message uses. Raises UsageError for an unreadable file, for standard
    input given twice, and for the name of an existing file without its @.
    """
    if list(given.values()).count("-") > 1:
        raise UsageError(
            f"{' and '.join(name for name, one in given.items() if one == '-')} are both -: "
            "standard input contains one query"
        )
    return [_read(name, one) for name, one in given.items()]


def _read(name: str, given: str) -> str:
    if given == "-":
        try:
            return _bounded(sys.stdin.buffer, f"{name}: standard input").decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError(f"{name}: standard input is not UTF-8 ({error})") from None
    if not given.startswith("@"):
        if len(given.split()) == 1 and _is_file(given):
            raise UsageError(f"{name} is {given}, which is a file: write @{given} for the query in it")
        return given
    try:
        with Path(given[1:]).open("rb") as file:
            return _bounded(file, f"{name} is {given}: the file").decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{name} is {given}: the query cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from None


def _bounded(stream: BinaryIO, what: str) -> bytes:
    """The content of a stream, which may be an endless device. Raises UsageError if it is too long for a query."""
    content = stream.read(_LONGEST + 1)
    if len(content) > _LONGEST:
        raise UsageError(f"{what} has more than {_LONGEST // 2**20} MiB, too much for a query")
    return content


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that no path can have
        return False
