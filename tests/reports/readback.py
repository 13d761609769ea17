"""Reports read back: whatever the format, rows of the pieces of text that stand in them."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from html.parser import HTMLParser
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from python_calamine import CalamineWorkbook

from assay.model import Rate, Run
from assay.reports.blocks.run import RunReport
from assay.reports.console.run import plain_summary
from assay.reports.excel.run import XlsxReporter
from assay.reports.html.run import HtmlReporter
from assay.reports.junit import JunitReporter
from assay.reports.markdown.run import MarkdownReporter
from drawing import draw_summary

WIDTHS = (60, 80, 100, 140)
_NAME_WIDTH = 27
"""Of what a terminal shows of a name, at most; an ellipsis follows."""


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    """One report: its text without markup, and its rows."""

    text: str
    rows: tuple[tuple[str, ...], ...]
    name_length: int = 10_000
    narrow: bool = False
    """Whether what stands to the right may be cut."""
    group_rows: int = 10_000
    plain_unscored: bool = False
    """Whether a column says how many are unscored, as a number alone."""

    def holds(self, name: str, *pieces: str) -> bool:
        """Whether a row begins with the name and has all of the pieces, each as a whole."""
        kept = name[: self.name_length]
        found = [row for row in self.rows if _begins(row, kept, cut=kept != name)]
        wanted = [piece for piece in pieces if piece]
        return any(
            all(piece in row for piece in wanted[:1] if self.narrow)
            and (self.narrow or all(piece in row for piece in wanted))
            for row in found
        )


def _begins(row: tuple[str, ...], name: str, *, cut: bool) -> bool:
    # A blame and what it is blamed for may be two pieces, a number may stand before a name.
    starts = {row[0] if row else "", "".join(row[:2]), " ".join(row[:2])}
    return any(start.startswith(name) if cut else start == name for start in starts)


def console(run: Run) -> ReadBack:
    """The plain lines."""
    return of_lines(plain_summary(RunReport(run)), group_rows=8)


def terminal(width: int) -> Callable[[Run], ReadBack]:
    """What a terminal of that width shows."""
    return lambda run: of_lines(
        draw_summary(run, width=width), group_rows=8, name_length=_NAME_WIDTH if width > 80 else 9, narrow=width < 100
    )


def of_lines(text: str, **known: object) -> ReadBack:
    """Lines of columns, two blanks or more apart."""
    lines = [re.sub(r"^[│╭╰\s]+|[│╮╯\s]+$", "", line) for line in text.splitlines()]
    rows = tuple(tuple(re.split(r" {2,}", line)) for line in lines if line)
    return ReadBack(text=" ".join(" ".join(lines).split()), rows=rows, **known)  # type: ignore[arg-type]


def markdown(run: Run) -> ReadBack:
    """The Markdown report as a Markdown reader reads it."""
    return of_markdown(MarkdownReporter().render(run))


def of_markdown(content: bytes) -> ReadBack:
    """Any Markdown of ours."""
    rows: list[list[str]] = []
    text: list[str] = []
    inside = False
    for token in MarkdownIt("commonmark").enable("table").parse(content.decode()):
        if token.type in ("tr_open", "tr_close"):
            inside = token.type == "tr_open"
            if inside:
                rows.append([])
        elif token.type == "inline":
            said = re.sub("<[^>]*>", "", "".join(child.content for child in token.children or []))
            text.append(said)
            if inside:
                rows[-1].append(said)
    flat = tuple(tuple(row) for row in rows)
    return ReadBack(text=" ".join(" ".join(text).split()), rows=flat, group_rows=25, plain_unscored=True)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs or tag == "code", f"<{tag}> has attributes: {attrs}"
        self.seen.add(tag)


def assert_harmless(text: str) -> None:
    """Nothing from outside is a tag, a link or a mention, or moves a cell of a table."""
    parser, tags = MarkdownIt("commonmark").enable("table"), _Tags()
    tags.feed(parser.render(text))
    assert tags.seen <= {
        *("h2", "h3", "p", "strong", "blockquote", "table", "thead", "tbody", "tr", "th", "td"),
        *("ul", "li", "code", "pre", "details", "summary", "b"),
    }
    assert text.count("<details>") == len(re.findall(r"^</details>$", text, re.M))
    tables: list[list[int]] = []
    for token in parser.parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append(0)
        elif token.type in ("td_open", "th_open"):
            tables[-1][-1] += 1
        assert token.type != "html_block" or "@everyone" not in token.content
        in_code = False
        for child in token.children or []:
            if child.type == "html_inline":
                in_code = child.content == "<code>"
            elif child.type != "code_inline":
                assert in_code or not any(mark in child.content for mark in ("http://", "www.evil"))
                assert "@everyone" not in child.content
    assert all(len(set(rows)) == 1 for rows in tables)


def html(run: Run) -> ReadBack:
    """The page as it is before its script runs: all of its first screen."""
    return of_html(HtmlReporter().render(run))


def of_html(content: bytes) -> ReadBack:
    """Any page of ours."""
    page = _Page()
    page.feed(content.decode())
    return ReadBack(text=" ".join("".join(page.text).split()), rows=tuple(map(tuple, page.rows)))


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.text: list[str] = []
        self.silent = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent = tag in ("script", "style")
        if tag in ("tr", "li", "dt"):
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        self.silent = False

    def handle_data(self, data: str) -> None:
        if self.silent:
            return
        self.text.append(data)
        if self.rows and data.strip():
            self.rows[-1].append(" ".join(data.split()))


@dataclass(frozen=True, kw_only=True)
class Workbook:
    """The rows of every sheet, cells as they are."""

    sheets: Mapping[str, list[list[object]]]
    text: str = field(repr=False)

    def section(self, title: str, *, within: str) -> list[dict[str, object]]:
        """The table beneath a title, up to the first row without a name."""
        rows = self.sheets[within]
        start = next(place for place, row in enumerate(rows) if row[0] == title)
        head = [str(cell) for cell in rows[start + 1]]
        found = []
        for row in rows[start + 2 :]:
            if row[0] == "":
                break
            found.append(dict(zip(head, row, strict=True)))
        return found


def workbook(run: Run) -> Workbook:
    """The workbook, read by another library than wrote it."""
    with CalamineWorkbook.from_filelike(io.BytesIO(XlsxReporter().render(run))) as book:
        sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    said = "\n".join(str(cell) for rows in sheets.values() for row in rows for cell in row if isinstance(cell, str))
    return Workbook(sheets=sheets, text=said)


def properties(run: Run) -> dict[str, str]:
    """JUnit's properties."""
    root = ElementTree.fromstring(JunitReporter().render(run))
    return {one.attrib["name"]: one.attrib["value"] for one in root.iter("property")}


def reads(value: float | None) -> str:
    """A share as every report must show it, worked out anew."""
    if value is None:
        return "n/a"
    shown = (Decimal(f"{value:.13g}") * 100).quantize(Decimal("0.1"), ROUND_HALF_UP)
    if shown == 100 and value < 1:
        shown = Decimal("99.9")
    if shown == 0 and value > 0:
        shown = Decimal("0.1")
    return f"{shown} %"


def between(rate: Rate) -> str:
    """Its interval, likewise."""
    if rate.low is None or rate.high is None:
        return ""
    return f"[{reads(rate.low)[:-2]}, {reads(rate.high)[:-2]}]"
