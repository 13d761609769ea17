"""Messages on standard error: on a terminal within its width, elsewhere each on one line, for a log to search."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from shutil import get_terminal_size
from textwrap import wrap

from assay.reports.text.plain import columns_of, visible

_INDENT, _COMMAND_INDENT = "  ", "    "
_COMMAND = re.compile(r"(?:assay|python|pip|git|export|set|jq|sqlite3|uv)\b|--?\w")
"""The start of what a reader copies."""
_PIECE = re.compile(r"""'[^']*'|"[^"]*"|(?P<end>(?:[:;,.] | \(|[:;,.]$).*)|.""")
"""A quoted word, the end of a command where the sentence goes on, or another sign."""


def say(message: str) -> None:
    """Print ``assay: `` and a message as `tell` does."""
    tell(f"assay: {message}")


def tell(text: str, *, err: bool = True) -> None:
    """Print a text on standard error, made safe: text that it quotes may contain terminal control characters."""
    stream, text = sys.stderr if err else sys.stdout, visible(text)
    if stream.isatty():
        text = "\n".join(message_lines(text, get_terminal_size().columns))
    print(text, file=stream)


def message_lines(text: str, width: int) -> Iterator[str]:
    """A message over lines of ``width`` columns, the others indented; what is to be copied has a line of its own.

    In a message two blanks come before what is to be copied. It is never broken: a terminal folds it without a change.
    A message that fits is left as it is, and so is a line that begins with a blank.
    """
    for number, line in enumerate(text.split("\n")):
        if columns_of(line) <= width or line.startswith(" "):
            yield line
            continue
        for place, piece in enumerate(re.split(r"  +", line)):
            prose, is_first = piece, not place and not number
            if place and _COMMAND.match(piece):
                typed = next((piece[: one.start()] for one in _PIECE.finditer(piece) if one["end"]), piece)
                yield f"{_COMMAND_INDENT}{typed}"
                prose = piece[len(typed) :].lstrip(".:;, ")
            if prose:
                first = "" if is_first else _INDENT
                yield from wrap(
                    prose,
                    width,
                    initial_indent=first,
                    subsequent_indent=_INDENT,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
