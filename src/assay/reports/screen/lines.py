"""Lines of a summary that never exceed a width: texts cut or wrapped by the columns that they take on a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from assay.reports.text.plain import columns_of

ELLIPSIS = "…"


class Span(Struct, frozen=True):
    """A text in one style of rich; '' is plain."""

    text: str
    style: str = ""


Line: TypeAlias = tuple[Span, ...]


def line(*spans: Span | str) -> Line:
    """A line of spans, some given as plain text."""
    return tuple(Span(one) if isinstance(one, str) else one for one in spans)


def text_of(one: Line) -> str:
    """The line without styles."""
    return "".join(span.text for span in one)


def cut(text: str, width: int) -> str:
    """The text, or as much of it as fits with an ellipsis at its end."""
    if columns_of(text) <= width:
        return text
    return _head(text, max(0, width - 1)).rstrip() + ELLIPSIS if width > 0 else ""


def cut_words(text: str, width: int) -> Line:
    """The text on one line; if it does not fit, as many of its words as do, and an ellipsis."""
    if columns_of(text) <= width:
        return (Span(text),)
    head = _head(text, max(0, width - 2))
    words = head.rsplit(" ", 1)[0] if " " in head.strip() else head
    return (Span(cut(f"{words.rstrip(' ,:;')} {ELLIPSIS}" if words.strip() else text, width)),)


def cut_middle(text: str, width: int) -> str:
    """The text, or its start and its end with an ellipsis between: a path keeps its name."""
    if columns_of(text) <= width or width < 8:
        return cut(text, width)
    front = _head(text, (width - 1) // 3)
    back = _head(text[::-1], width - 1 - columns_of(front))[::-1]
    return front + ELLIPSIS + back


def _head(text: str, width: int) -> str:
    """As many characters as fit ``width`` columns."""
    used = 0
    for place, letter in enumerate(text):
        used += columns_of(letter)
        if used > width:
            return text[:place]
    return text


def padded(text: str, width: int, *, right: bool = False) -> str:
    """The text with blanks up to a width."""
    blanks = " " * (width - columns_of(text))
    return blanks + text if right else text + blanks


def cut_line(one: Line, width: int) -> Line:
    """The line, or as much of it as fits."""
    if columns_of(text_of(one)) <= width:
        return one
    kept: list[Span] = []
    left = width
    for span in one:
        if columns_of(span.text) > left:
            return (*kept, Span(cut(span.text, left) or ELLIPSIS[:left], span.style))
        kept.append(span)
        left -= columns_of(span.text)
        if left <= 0:
            break
    return tuple(kept)


_WORD = re.compile(r"\S+(?: %(?!\w)\S*)?")
"""A word; a number keeps its unit."""


def wrapped(
    text: str, width: int, *, first: str = "", rest: str = "", most: int | None = None, style: str = ""
) -> tuple[Line, ...]:
    """The text over several lines, ``first`` before the first and ``rest`` before the others; cut after
    ``most``, at a word."""
    lines: list[str] = []
    current, is_empty = first, True
    for word in _pieces(_WORD.findall(text), max(1, width - columns_of(rest or first))):
        joined = f"{current}{'' if is_empty else ' '}{word}"
        if not is_empty and columns_of(joined) > width:
            lines.append(current)
            joined = rest + word
        current, is_empty = joined, False
    lines.append(current)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], _ended(lines[most - 1], width)]
    return tuple((Span(one, style),) for one in lines)


def _ended(text: str, width: int) -> str:
    """The text without the words that leave no room for an ellipsis; its first word is cut."""
    words = list(_WORD.finditer(text))
    while len(words) > 1 and columns_of(text) + 2 > width:
        text = text[: words.pop().start()].rstrip()
    ended = cut(f"{text} {ELLIPSIS}", width)
    return ended if ended.endswith(ELLIPSIS) else cut(ended, width - 1) + ELLIPSIS


def _pieces(words: Iterable[str], width: int) -> Iterator[str]:
    """The words; one that is wider than a line in several pieces."""
    for word in words:
        while columns_of(word) > width:
            piece = _head(word, width) or word[0]
            yield piece
            word = word[len(piece) :]  # noqa: PLW2901
        if word:
            yield word


_PLAIN_PIECE = re.compile(r"[\w.:/=@%+,-]+")


def command(words: Sequence[str], width: int, *, indent: str = "  ") -> tuple[Line, ...]:
    """A command over as many lines as it takes; a shell joins them again.

    A backslash ends a line that goes on. A word that is longer than a line is split in its middle, and goes on at the
    start of the next line. On Windows, whose shells do not join lines, only whole commands are shown.
    """
    whole = indent + " ".join(words)
    if columns_of(whole) <= width:
        return ((Span(whole, "cyan"),),)
    if os.name == "nt":
        return ()
    lines: list[str] = []
    current = ""
    for word in words:
        joined = f"{current} {word}" if current else indent + word
        if columns_of(joined) + 2 <= width:
            current = joined
            continue
        if current:
            lines.append(f"{current} \\")
        current = f"{indent}  {word}"
        while columns_of(current) + 2 > width:
            if (split := _split(current, width)) is None:
                return ()
            lines.append(split[0])
            current = split[1]
    return tuple((Span(one, "cyan"),) for one in (*lines, current))


def _split(text: str, width: int) -> tuple[str, str] | None:
    """A line of a word, plain or in single quotes, and the rest of the word; None for a word that is hard to split."""
    word = text.strip()
    quoted = len(word) > 2 and word[0] == word[-1] == "'" and "'" not in word[1:-1]
    if not quoted and not _PLAIN_PIECE.fullmatch(word):
        return None
    head = _head(text, width - 2)
    if len(head.strip()) < 2:
        return None
    rest = text[len(head) :]
    return (f"{head}'\\", f"'{rest}") if quoted else (f"{head}\\", rest)
