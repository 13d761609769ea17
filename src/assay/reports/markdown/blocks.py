"""The blocks of Markdown reports, within which nothing from outside is Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_BACKTICKS = re.compile("`+")


def section(title: str) -> Iterable[str]:
    """A heading of the third level, blank lines around it."""
    return ("", f"### {title}", "")


def grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """A table; its cells are Markdown already."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
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
    """A code span within a table, where a bar ends the cell even in backticks, and escapes for it vary."""
    return f"<code>{html(text)}</code>" if "|" in text else code(text)


def explained(said: Iterable[str]) -> Iterable[str]:
    """What names stand for, a line each beneath their table; nothing where nothing is said."""
    lines = [f"- {plain(one)}" for one in said if one]
    return ["", *lines, ""] if lines else []


def fenced(language: str, text: str) -> Iterable[str]:
    """A code block that holds any text, and a blank line."""
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    return (f"{fence}{language}", text, fence, "")


def plain(text: str) -> str:
    """Our own sentences and numbers, which may quote a name: nothing in them is Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|~#@&])", lambda found: f"&#{ord(found.group())};", text)


def html(text: str) -> str:
    """Text within an HTML tag. An @ is kept from being a mention by a word joiner after it."""
    escaped = re.sub(r"([\\`*_\[\]<>|~#&\"':])", lambda found: f"&#{ord(found.group())};", text)
    return escaped.replace("@", "@\u2060")
