"""Find the marked regions of a text: code fences, tags, brackets and boxes, with what they enclose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from assay.sql.extraction.statements import Parser, masked, opening_of

SQL_LANGUAGES = (
    "postgresql",
    "snowflake",
    "bigquery",
    "postgres",
    "sqlite3",
    "mariadb",
    "sqlite",
    "duckdb",
    "oracle",
    "plsql",
    "pgsql",
    "mysql",
    "tsql",
    "vql",
    "sql",
)
LANGUAGE = "|".join(SQL_LANGUAGES)
_ANSWER = r"(?:final|generated|predicted|output)?[_-]?(?:code|query|answer|solution|response|output|result|statement)"
TAG_NAME = re.compile(rf"pre|final|{_ANSWER}|(?:final|generated|predicted|output)?[_-]?(?:{LANGUAGE})[_-]?\w*", re.I)
"""The names of tags that enclose an answer. They count unclosed, and closed without having been opened."""
_OPENING = re.compile(
    rf"(?P<mark>`{{3,}}+|~{{3,}}+)(?:[ \t]*(?P<language>[\w+-]*)[ \t]*\r?\n|(?P<beside>{LANGUAGE})\b)?"
    r"|<(?P<tag>[a-z][\w:.-]*+)(?:[\s=][^<>\n]{0,200})?>|</(?P<end_tag>[a-z][\w:.-]*+)\s*>"
    r"|\[(?P<end>/)?(?P<bracket>[a-z]\w*)\]"
    r"|(?P<data><!\[CDATA\[)|\\(?P<box>boxed|fbox|mbox|text\w*|math\w+)\s*\{",
    re.IGNORECASE,
)
_MOST_CLOSINGS = 50
"""Limit for the closing marks at which one region may end."""


class Region(Struct, frozen=True, kw_only=True):
    """A region of a text from ``start`` up to ``end``, whose content is between ``body_start`` and ``body_end``."""

    kind: str
    """``fence``, ``tag`` (in angle or square brackets, and CDATA) or ``box`` (LaTeX)."""
    name: str
    """The language of a fence, the name of a tag, or the command of a box, in small letters."""
    start: int
    body_start: int
    body_end: int
    end: int
    closed: bool
    """False if the region extends to the end of the text because nothing closes it."""

    def body(self, text: str) -> str:
        """The content of the region."""
        return text[self.body_start : self.body_end]


def regions(text: str) -> Iterator[Region]:
    """The outermost regions of a text, in order.

    A region ends at the first closing mark that is not within a literal of the SQL that it encloses. A tag that is
    never closed extends to the end of the text, and one that was never opened begins after the region before it, if
    it has one of the names in `TAG_NAME`; other tags without a partner are not regions.
    """
    position = previous_end = 0
    unclosed: set[str] = set()
    while (opening := _OPENING.search(text, position)) is not None:
        region = _region(text, opening, previous_end, unclosed)
        position = opening.end() if region is None else max(region.end, opening.end())
        if region is not None:
            previous_end = position
            yield region


def _region(text: str, opening: re.Match[str], previous_end: int, unclosed: set[str]) -> Region | None:
    """The region that begins or ends at a mark; None if that mark has no partner and no known name."""
    if opening["mark"]:
        kind, name = "fence", opening["language"] or opening["beside"] or ""
        closing = re.escape(opening["mark"])
    elif opening["data"]:
        kind, name, closing = "tag", "cdata", r"\]\]>"
    elif opening["box"]:
        kind, name, closing = "box", opening["box"], r"\}"
    else:
        kind, name = "tag", opening["tag"] or opening["end_tag"] or opening["bracket"]
        is_known = TAG_NAME.fullmatch(name) is not None
        if opening["end_tag"] or opening["end"]:
            if not is_known:
                return None
            start, end = opening.span()
            return Region(
                kind=kind,
                name=name.lower(),
                start=previous_end,
                body_start=previous_end,
                body_end=start,
                end=end,
                closed=True,
            )
        closing = rf"\[/{re.escape(name)}\]" if opening["bracket"] else rf"</{re.escape(name)}\s*>"
        may_stay_open = is_known and (opening[0] == f"<{name}>" or name.lower() in SQL_LANGUAGES)
        if not may_stay_open:
            if closing in unclosed or not re.search(closing, text[opening.end() :], re.IGNORECASE):
                unclosed.add(closing)
                return None
            if opening["bracket"] and not is_known:
                return None
    start, body_start = opening.span()
    close = _closing_mark(text, body_start, re.compile(closing, re.IGNORECASE), is_box=kind == "box")
    body_end, end = (len(text), len(text)) if close is None else close
    return Region(
        kind=kind,
        name=name.lower(),
        start=start,
        body_start=body_start,
        body_end=body_end,
        end=end,
        closed=close is not None,
    )


def _closing_mark(text: str, start: int, closing: re.Pattern[str], *, is_box: bool) -> tuple[int, int] | None:
    """The span of the closing mark: the first, unless SQL before it has a literal that does not end there."""
    closes = [close.span() for close in islice(closing.finditer(text, start), _MOST_CLOSINGS)]
    parser = Parser()
    for number, (end, _) in enumerate(closes):
        body = text[start:end]
        is_sql = opening_of(body) == "query"
        plain = masked(body) if is_sql or is_box else ""
        if is_box and plain.count("{") > plain.count("}"):
            continue
        is_whole = not (is_sql and _OPEN_LITERAL.search(plain))
        if is_whole and (number == 0 or is_box or parser.reads(body)):
            return closes[number]
    return closes[0] if closes and not parser.reads(text[start:]) else None


_OPEN_LITERAL = re.compile(r"['\"]|/\*")
"""What is left in a masked text if a literal or a comment in it does not end."""


def begins_with_region(text: str) -> bool:
    """Whether a text begins with a mark that opens a region."""
    region = next(regions(text), None)
    return region is not None and region.start == 0


def without_regions(text: str) -> str:
    """The words of a text, with blanks in place of its fences and of tags that enclose SQL: offsets stay the same."""
    parts: list[str] = []
    position = 0
    for region in regions(text):
        if region.kind == "fence" or opening_of(region.body(text)) is not None:
            parts += text[position : region.start], blanked(text[region.start : region.end])
            position = region.end
    return "".join((*parts, text[position:]))


def blanked(text: str) -> str:
    """As many blanks and line ends as a text has characters."""
    return "".join("\n" if character == "\n" else " " for character in text)
