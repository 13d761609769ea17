"""The blocks of Markdown reports: in them no text from outside acts as Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LENGTH = 60_000
"""Characters: GitHub refuses comments of more than 65,536, and step summaries of more than 1 MiB."""
_BACKTICKS = re.compile("`+")
_NOTES = 10
_NOTE_LENGTH = 600


def section(title: str) -> Iterable[str]:
    """A heading of the third level, blank lines around it."""
    return ("", f"### {title}", "")


def grid(header: Iterable[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """A table; its cells are Markdown already."""
    titles = tuple(header)
    yield "| " + " | ".join(titles) + " |"
    yield "|" + "---|" * len(titles)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def code(text: str) -> str:
    """A code span that holds any one-line text."""
    text = " ".join(text.split())
    if not text:
        return "` `"
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def cell_code(text: str) -> str:
    """A code span within a table, where ``|`` ends the cell even in backticks and its escapes vary."""
    return f"<code>{html(text)}</code>" if "|" in text else code(text)


def fenced(language: str, text: str) -> Iterable[str]:
    """A code block that holds any text, and a blank line."""
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    return (f"{fence}{language}", text, fence, "")


def plain(text: str) -> str:
    """Our own sentences and numbers, which may quote a name: nothing in them is Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|~#@&])", lambda found: f"&#{ord(found.group())};", text)


def sentence(text: str) -> str:
    """A sentence of ours that may quote a name: no Markdown, no HTML, no link and no mention in it."""
    cut = text if len(text) <= _NOTE_LENGTH else text[: _NOTE_LENGTH - 1] + "…"
    apart = cut.replace("@", "@\u2060").replace("://", ":\u2060//").replace("www.", "www\u2060.")
    return plain(apart)


def noted(notes: Sequence[str]) -> Iterable[str]:
    """Notes as a quotation."""
    for note in notes[:_NOTES]:
        yield f"> {sentence(note)}"
        yield ">"
    if len(notes) > _NOTES:
        yield f"> and {len(notes) - _NOTES:,} more notes"
    if notes:
        yield ""


def within(parts: Sequence[str], room: int) -> list[str]:
    """Those of the parts, in order, that fit."""
    kept = []
    for part in parts:
        if len(part) + 1 <= room:
            kept.append(part)
            room -= len(part) + 1
    return kept


def html(text: str) -> str:
    """Text within an HTML tag. An @ is kept from being a mention by a word joiner after it."""
    escaped = re.sub(r"([\\`*_\[\]<>|~#&\"':])", lambda found: f"&#{ord(found.group())};", text)
    return escaped.replace("@", "@\u2060")
