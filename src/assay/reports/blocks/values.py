"""The parts of a report as values. A format knows the kinds of blocks and cells, but no section by name.

A section is written once and appears in the terminal, in Markdown, on the page and in the workbook. Its blocks are
tables, charts with the table that says the same, names with values, and text. A part that stands only in the summary or
only in the full form of a report says so as `Detail`; a format draws one of the two forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from assay.model import ChangeKind, MetricDiff, Rate, TimeSpread
from assay.reports.text.plain import interval, number, percent

Detail: TypeAlias = Literal["both", "summary", "full"]
"""In which form of a report a part stands. Lines for a terminal or a log are the summary; Markdown, a page and a
workbook have room for all and are full."""

Tab: TypeAlias = Literal["overview", "metrics", "causes", "run"]
"""The parts of a page, each under a tab of its own; the cases are one, too."""

Link: TypeAlias = tuple[tuple[str, str], ...]
"""What the page's table of cases shows on a click: ``(("flag", "vacuous"),)``; empty: no link."""


class Figure(Struct, frozen=True, kw_only=True):
    """A rate and its texts: ``71.2 %``, ``[68.4, 73.9]``, ``736 of 1,034``."""

    rate: Rate
    text: str
    interval: str
    tally: str
    share: bool = True
    """Whether it reads as a percentage: only then can a bar from 0 to 1 show it."""


def figure(rate: Rate, *, share: bool = True, counted: bool = True) -> Figure:
    """The figure of a rate. ``counted``: it says how many cases of how many; else it is a mean over that number."""
    tally = f"{number(rate.numerator)} of {rate.n:,}" if counted else f"mean of {rate.n:,}"
    return Figure(
        rate=rate,
        text=percent(rate.value, share=share),
        interval=interval(rate, share=share),
        tally=tally if rate.n else "no scored case",
        share=share,
    )


class CaseLink(Struct, frozen=True, kw_only=True, gc=False):
    """A case by its id; ``anchor`` is unique within the report: the id, with an addition if ids look the same."""

    id: str
    anchor: str
    answer: str = ""
    """Which of several answers to its question: ``answer 2 of 3``; '' for the case itself, linked to its first."""


def named_ids(cases: Sequence[CaseLink], *, limit: int = 5) -> str:
    """The first few ids, and how many more there are: ``7, 12, +107``."""
    return first_names([case.id if len(case.id) <= 24 else case.id[:23] + "…" for case in cases], limit)


Direction = Literal["better", "worse", "unclear", "unknown"]
"""``unclear``: chance alone could make the difference; ``unknown``: there is nothing to compare."""

SIGNS: dict[tuple[Direction, bool], str] = {
    ("better", True): "▲",
    ("better", False): "△",
    ("worse", True): "▼",
    ("worse", False): "▽",
}
"""The sign by direction and by whether the interval excludes 0; `NO_SIGN` for all others, which may be chance."""
NO_SIGN = "·"
HOLM = "p (Holm)"
"""The title of p-values after Holm's correction for several tests."""
SIGNS_MEANING = "▲ better, ▼ worse; △ ▽ on these cases, while the interval holds 0; · may be chance"

ShownKind = ChangeKind | Literal["otherwise"]
"""``otherwise``: still wrong, in another way."""


class DiffFigure(Struct, frozen=True, kw_only=True):
    """One metric's difference over some cases, with its texts."""

    diff: MetricDiff
    share: bool
    """Whether its values read as percentages; else ``difference`` is not in points."""
    baseline: str
    """``71.2 %``."""
    candidate: str
    difference: str
    """In points: ``+2.3``."""
    interval: str
    """``[+0.8, +3.9]``, or nothing."""
    p_value: str
    """``0.003``, or nothing."""
    adjusted_p_value: str
    decisive_p_value: str
    """The p-value that decides ``direction``: its own for the headline metric, else the adjusted one."""
    tally: str
    """Cases: ``1,034, 3 unscored``."""
    direction: Direction
    beyond: bool
    """Whether the interval excludes 0. An interval that allows for cases of a database being alike may include 0
    although the test, which is over these cases only, rules out chance."""

    @property
    def sign(self) -> str:
        """One of the signs that `SIGNS_MEANING` explains."""
        return SIGNS.get((self.direction, self.beyond), NO_SIGN)


def first_names(names: Sequence[str], limit: int) -> str:
    """The first few names, and how many more there are: ``7, 12, +107``."""
    shown = ", ".join(names[:limit])
    return f"{shown}, +{len(names) - limit:,}" if len(names) > limit else shown


class Name(Struct, frozen=True, kw_only=True):
    """The name of a row: text that may come from outside."""

    text: str
    blame: str = ""
    """Whose failure it is: shown before the text."""
    strong: bool = False
    link: Link = ()

    @property
    def whole(self) -> str:
        """``gold: error``."""
        return f"{self.blame}: {self.text}" if self.blame else self.text


class Number(Struct, frozen=True, kw_only=True):
    """A number and its text; a workbook contains the number."""

    value: float | None
    text: str
    style: Literal["count", "percent", "number", "fine_seconds"] = "count"
    link: Link = ()


class Description(Struct, frozen=True, kw_only=True):
    """What a row's name means; ``example`` comes from outside and says more about these cases."""

    meaning: str
    example: str = ""

    @property
    def short(self) -> str:
        """The example if there is one, else the meaning."""
        return self.example or self.meaning


class Query(Struct, frozen=True, kw_only=True):
    """A query's text, on one line."""

    text: str


class Status(Struct, frozen=True, kw_only=True):
    """A state in a word: good, bad, or neither."""

    text: str
    good: bool | None = None

    @property
    def sign(self) -> str:
        """The sign that shows the state without colour."""
        return {True: "✓", False: "✗", None: "–"}[self.good]


class IdList(Struct, frozen=True, kw_only=True):
    """Names of cases that may be absent from the report: a long list, which wraps."""

    names: tuple[str, ...]

    def text(self, limit: int = 10) -> str:
        """The names that there is room for, and how many more there are."""
        return first_names(self.names, limit)


def count(number: int, *, link: Link = ()) -> Number:
    """A number of cases; 0 has no link."""
    return Number(value=number, text=f"{number:,}", link=link if number else ())


Cell: TypeAlias = (
    Name | IdList | Status | Number | Figure | DiffFigure | Description | Query | tuple[CaseLink, ...] | str | None
)
"""A str is our own text; None is blank."""


class Column(Struct, frozen=True, kw_only=True):
    """One column of a table; the kind of its cells decides how it is drawn."""

    title: str = ""
    long: str = ""
    """The title if there is room for more: in a workbook and, folded, on the page."""
    detail: Detail = "both"
    """A terminal has the columns of the full form, too, if all others fit next to them: but not with differences,
    whose bars take the room, nor if columns of the summary say the same."""
    bar: Literal["", "share", "range"] = ""
    """For figures: whether text formats draw a bar, as the page always does; ``range`` spans the column's intervals."""
    parts: Literal["all", "tally", "bounds"] = "all"
    """For figures: ``tally`` omits the unscored count, ``bounds`` also the tally; differences then show only bounds."""
    counted: str = "cases"
    """For figures: what the tally counts."""
    style: Literal["percent", "number"] = "percent"
    """For figures: how a workbook writes them."""
    right: bool = False
    """For texts: whether they are aligned to the right, as numbers are."""
    strong: bool = False
    minor: bool = False
    """Whether the column is the first to be dropped on a phone."""
    rank: int = 0
    """On a narrow terminal the columns of the highest rank are left out first, and named; 0: the column stays."""
    least: int = 0
    """The number of characters to cut the column to before it is left out; 0: it is not cut."""


class Row(Struct, frozen=True, kw_only=True):
    """A line of a table, with a cell for each column."""

    cells: tuple[Cell, ...]
    strong: bool = False
    """Whether the row leads, or sums the others up."""
    style: Literal["percent", "number", ""] = ""
    """How a workbook writes the figures of this row; empty: as the column says."""
    weight: int = 0
    """If not all rows fit, those with the greatest weight stay."""


def columns(*given: Column | str) -> tuple[Column, ...]:
    """Columns, some given as a title alone."""
    return tuple(Column(title=one) if isinstance(one, str) else one for one in given)


def rows(lines: Iterable[tuple[Cell, ...]]) -> tuple[Row, ...]:
    """Rows given as their cells alone."""
    return tuple(Row(cells=cells) for cells in lines)


class Table(Struct, frozen=True, kw_only=True):
    """Rows under columns."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    detail: Detail = "both"
    look: str = "plain"
    """A class of the page's style sheet for the table's spacing; figures, counts and grids have rules of their own, and
    a ``matrix`` has names against the same names: its columns may be numbered as its rows are."""
    title: str = ""
    """The title of one table among several in a section."""
    wraps: bool = False
    """Whether text that does not fit a terminal's line goes on in the next line instead of being cut."""
    headed: bool = True
    """Whether text formats and the page show the columns' titles."""
    foot: str = ""
    more: str = "more"
    """The words after the number of rows left out: ``with fewer cases``."""
    most_in_lines: int | None = None
    """How many rows the summary form shows; None: all."""
    most: int | None = None
    """How many rows Markdown shows, and a page whose table is not folded; a workbook has all."""
    ranked: bool = False
    """Whether the page has the lowest figures first, which can gain most."""
    bars: tuple[int, ...] = ()
    """The columns of numbers that a workbook also draws as bars."""
    bars_are: Literal["shares", "counts"] = "shares"

    def only(self, wanted: Callable[[Column, Sequence[Cell]], bool]) -> Table:
        """The table with the columns that are wanted, by the column and its cells."""
        kept = [
            place
            for place, column in enumerate(self.columns)
            if wanted(column, [row.cells[place] for row in self.rows])
        ]
        if len(kept) == len(self.columns):
            return self
        return replace(
            self,
            bars=tuple(kept.index(place) for place in self.bars if place in kept),
            columns=tuple(self.columns[place] for place in kept),
            rows=tuple(replace(row, cells=tuple(row.cells[place] for place in kept)) for row in self.rows),
        )

    def shown(self, limit: int | None) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
        """The rows to show if there is a limit, and the others, each in the table's order."""
        places = sorted(range(len(self.rows)), key=lambda place: -self.rows[place].weight)
        kept = set(places[:limit])
        return (
            tuple(row for place, row in enumerate(self.rows) if place in kept),
            tuple(row for place, row in enumerate(self.rows) if place not in kept),
        )


class Chart(Struct, frozen=True, kw_only=True):
    """What a page draws as a chart; every other format draws its table."""

    table: Table
    detail: Detail = "both"


class Bar(Struct, frozen=True, kw_only=True):
    """A count, how much of it is the part, and the cases of that part."""

    name: str
    meaning: str
    count: int
    part: int
    cases: tuple[CaseLink, ...]
    link: Link = ()


class Bars(Chart, frozen=True, kw_only=True):
    """Counts as horizontal bars with a part set off."""

    rows: tuple[Bar, ...]
    whole: str
    part: str
    """What the two are."""

    @property
    def most(self) -> int:
        """The largest count, at least 1."""
        return max((1, *(row.count for row in self.rows)))


class Curve(Chart, frozen=True, kw_only=True):
    """Points of shares, joined by a line; the page also draws the table."""

    title: str
    across: str
    up: str
    """What the axes are."""
    points: tuple[tuple[float, float], ...]
    """From 0 to 1 each, by rising first number."""
    stepped: bool = False
    diagonal: bool = False
    """Whether a line marks equal numbers."""


class Times(Chart, frozen=True, kw_only=True):
    """Histograms of the times of answers and queries."""

    spreads: tuple[TimeSpread, ...]


class KeyValues(Struct, frozen=True, kw_only=True):
    """Names and values."""

    rows: tuple[tuple[str, str], ...]
    detail: Detail = "both"
    title: str = ""
    said: str = ""
    """A sentence above them."""


class Text(Struct, frozen=True, kw_only=True):
    """Sentences of ours, one per line, which may quote a name."""

    lines: tuple[str, ...]
    detail: Detail = "both"
    quiet: bool = True


class SideText(Struct, frozen=True, kw_only=True):
    """One run's answer to a case."""

    state: str
    """``right``, ``wrong``, ``unscored`` or, with repeats, ``2 of 3 right``."""
    reason: str
    """One line."""
    query: str | None
    """The query's text with its line breaks, cut if it is very long."""


class ChangeRow(Struct, frozen=True, kw_only=True):
    """A case that changed between right and wrong, or is wrong in another way."""

    id: str
    """``17``, or ``17 (was 16)`` if the baseline has another id for it."""
    question: str
    """One line."""
    where: str
    """Its database, difficulty and tags: ``concert_singer · hard``."""
    baseline: SideText
    candidate: SideText


class Changes(Struct, frozen=True, kw_only=True):
    """Cases of one kind that two runs answer differently, one by one: the first of them, and the ids of the others."""

    kind: ShownKind
    rows: tuple[ChangeRow, ...]
    more: tuple[str, ...]
    detail: Detail = "both"


Block: TypeAlias = Table | Chart | KeyValues | Text | Changes


class Section(Struct, frozen=True, kw_only=True):
    """One part of a report."""

    key: str
    """Unique within a report: the page's anchor, and the key by which a workbook's fixed sheet leaves a section out."""
    title: str
    aside: str = ""
    """A remark after the title, in a quieter style."""
    blocks: tuple[Block, ...]
    detail: Detail = "both"
    tab: Tab = "overview"
    """Under which of the page's tabs it stands."""
    place: Literal["top", "columns", "bottom"] = "columns"
    """The place there: over the whole width at the top or bottom, or as a card in one of two columns."""
    rank: int = 0
    """The order among the page's cards: the lowest rank first."""
    folded: bool = False
    """Whether Markdown shows it folded, to be opened by a click."""

    def blocks_in(self, detail: Detail) -> tuple[Block, ...]:
        """The blocks of that form of a report."""
        return tuple(block for block in self.blocks if block.detail in ("both", detail))

    @property
    def heading(self) -> str:
        """``Gates: 3 of 4 passed``, ``Fixed: 3 (wrong in the baseline)``."""
        if not self.aside:
            return self.title
        return f"{self.title} ({self.aside})" if ":" in self.title else f"{self.title}: {self.aside}"


def sections_in(sections: Iterable[Section], detail: Detail) -> list[Section]:
    """The sections that have anything in that form of a report."""
    return [one for one in sections if one.detail in ("both", detail) and one.blocks_in(detail)]


def is_blank(cell: Cell) -> bool:
    """Whether a reader sees nothing. A number without a text is for the workbook alone, which writes the value."""
    match cell:
        case IdList():
            return not cell.names
        case Description():
            return not cell.short
        case Name() | Number() | Query() | Status():
            return not (cell.whole if isinstance(cell, Name) else cell.text)
        case Figure() | DiffFigure():
            return False
    return not cell


def matrix(names: Sequence[str], cells: Iterable[Iterable[Number | None]], foot: str) -> Table:
    """A table of names against the same names; the diagonal is None."""
    return Table(
        columns=columns("", *(Column(title=name, long=name, right=True) for name in names)),
        rows=rows((Name(text=name), *line) for name, line in zip(names, cells, strict=True)),
        look="matrix",
        foot=foot,
    )


def reading(row: Row) -> tuple[str, ...]:
    """The texts of a row of names and numbers."""
    return tuple(cell.text if isinstance(cell, Name | Number) else "" for cell in row.cells)
