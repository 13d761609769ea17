"""The parts of a report as values. A format knows the kinds of blocks and cells, but no section by name.

A section is written once and appears in the terminal, in Markdown, on the page and in the workbook. Where formats
must differ, the section says so as data: `Column.only`, `Table.most`, `Section.only`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from assay.model import ChangeKind, MetricDiff, Rate, TimeSpread
from assay.reports.text.plain import plural, seconds

Medium: TypeAlias = Literal["plain", "narrow", "wide", "comment", "page", "book"]
"""Plain lines, a terminal of less than 100 columns and a wider one, Markdown, an HTML page, a workbook."""

EVERYWHERE: Final[frozenset[Medium]] = frozenset(("plain", "narrow", "wide", "comment", "page", "book"))
LINES: Final[frozenset[Medium]] = frozenset(("plain", "narrow", "wide"))
TEXT: Final[frozenset[Medium]] = frozenset(("plain", "narrow", "wide", "comment"))
TEXT_AND_PAGE: Final[frozenset[Medium]] = frozenset((*TEXT, "page"))

Tab: TypeAlias = Literal["overview", "metrics", "causes", "run"]
"""The parts of a page, each under a tab of its own; the cases are one, too."""

_NAMES: Final[Mapping[Medium, int]] = {"page": 40, "comment": 30}

Link: TypeAlias = tuple[tuple[str, str], ...]
"""What the page's table of cases shows on a click, such as ``(("flag", "vacuous"),)``; empty: no link."""


class Figure(Struct, frozen=True, kw_only=True):
    """A rate and its texts: ``71.2 %``, ``[68.4, 73.9]``, ``736 of 1,034``."""

    rate: Rate
    text: str
    interval: str
    tally: str
    share: bool = True
    """Whether it reads as a percentage: only then can a bar from 0 to 1 show it."""


class CaseLink(Struct, frozen=True, kw_only=True):
    """A case by its id; ``anchor`` is unique within the report: the id, with an addition where ids look the same."""

    id: str
    anchor: str
    answer: str = ""
    """Which of several answers to its question: ``answer 2 of 3``; '' for the case itself, linked to its first."""


def named_ids(cases: Sequence[CaseLink], *, limit: int = 5) -> str:
    """The first few ids, and how many more there are: ``7, 12, +107``."""
    shown = ", ".join(case.id if len(case.id) <= 24 else case.id[:23] + "…" for case in cases[:limit])
    return f"{shown}, +{len(cases) - limit:,}" if len(cases) > limit else shown


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
    where the test, which is over these cases only, rules out chance."""

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
    """A number and its text; a workbook holds the number."""

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
        """The example where there is one, else the meaning."""
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

    def text(self, medium: Medium) -> str:
        """The names that the medium has room for, and how many more there are."""
        return first_names(self.names, _NAMES.get(medium, 10))


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
    """The title where there is room for more: in a workbook and, folded, on the page."""
    only: frozenset[Medium] = EVERYWHERE
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
    ids_in_lines: int = 5
    """For cases: how many are named in plain lines, which may be long."""


class Row(Struct, frozen=True, kw_only=True):
    """A line of a table, with a cell for each column."""

    cells: tuple[Cell, ...]
    strong: bool = False
    """Whether the row leads, or sums the others up."""
    style: Literal["percent", "number", ""] = ""
    """How a workbook writes the figures of this row; empty: as the column says."""
    weight: int = 0
    """Where not all rows fit, those with the greatest weight stay."""


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
    look: str = "plain"
    """A class of the page's style sheet for the table's spacing; figures, counts and grids have rules of their own."""
    title: str = ""
    """The title of one table among several in a section."""
    wraps: bool = False
    """Whether text that does not fit a terminal's line goes on in the next line instead of being cut."""
    headed: bool = True
    """Whether text formats and the page show the columns' titles."""
    foot: str = ""
    more: str = "more"
    """The words after the number of rows left out: ``with fewer cases``."""
    most: Mapping[Medium, int] = field(default_factory=dict)
    """How many rows a medium shows; all rows in a medium that is not named."""
    ranked: bool = False
    """Whether the page has the lowest figures first, where most can be gained."""
    bars: tuple[int, ...] = ()
    """The columns of numbers that a workbook also draws as bars."""
    bars_are: Literal["shares", "counts"] = "shares"
    only: frozenset[Medium] = EVERYWHERE

    def for_medium(self, medium: Medium) -> Table:
        """The table without the columns that are not for the medium."""
        kept = [place for place, column in enumerate(self.columns) if medium in column.only]
        if len(kept) == len(self.columns):
            return self
        return replace(
            self,
            bars=tuple(kept.index(place) for place in self.bars if place in kept),
            columns=tuple(self.columns[place] for place in kept),
            rows=tuple(replace(row, cells=tuple(row.cells[place] for place in kept)) for row in self.rows),
        )

    def shown(self, medium: Medium) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
        """The rows that the medium has room for, and the others, each in the table's order."""
        limit = self.most.get(medium, len(self.rows))
        places = sorted(range(len(self.rows)), key=lambda place: -self.rows[place].weight)
        kept = set(places[:limit])
        return (
            tuple(row for place, row in enumerate(self.rows) if place in kept),
            tuple(row for place, row in enumerate(self.rows) if place not in kept),
        )


class Matrix(Struct, frozen=True, kw_only=True):
    """A square table of names against the same names; the diagonal is None."""

    names: tuple[str, ...]
    cells: tuple[tuple[Number | None, ...], ...]
    caption: str
    most: int = 10_000
    """A comment leaves out a matrix with more names than this."""
    only: frozenset[Medium] = TEXT_AND_PAGE


class Bar(Struct, frozen=True, kw_only=True):
    """A count, how much of it is the part, and the cases of that part."""

    name: str
    meaning: str
    count: int
    part: int
    cases: tuple[CaseLink, ...]
    link: Link = ()


class Bars(Struct, frozen=True, kw_only=True):
    """Counts as horizontal bars, of which a part is set off: what the page shows in place of a table."""

    rows: tuple[Bar, ...]
    whole: str
    part: str
    """What the two are."""
    only: frozenset[Medium] = frozenset({"page"})

    @property
    def most(self) -> int:
        """The largest count, at least 1."""
        return max((1, *(row.count for row in self.rows)))


class Curve(Struct, frozen=True, kw_only=True):
    """Points of shares, joined by a line: the page's chart of what a table beside it says."""

    title: str
    across: str
    up: str
    """What the axes are."""
    points: tuple[tuple[float, float], ...]
    """From 0 to 1 each, by rising first number."""
    stepped: bool = False
    diagonal: bool = False
    """Whether a line shows where both numbers are equal."""
    only: frozenset[Medium] = frozenset({"page"})


class Times(Struct, frozen=True, kw_only=True):
    """The times of answers and queries: histograms on the page, a table elsewhere."""

    rows: tuple[TimeSpread, ...]
    only: frozenset[Medium] = EVERYWHERE

    @property
    def table(self) -> Table:
        """The times as rows."""

        def line(spread: TimeSpread) -> tuple[Cell, ...]:
            times = (spread.median_s, spread.p90_s, spread.max_s, spread.mean_s)
            taken = (Number(value=time_s, text=seconds(time_s), style="fine_seconds") for time_s in times)
            return spread.name, *taken, counted(spread), Number(value=spread.n, text=f"{spread.n:,}")

        book = Column(title="n", long="n", only=frozenset({"book"}))
        titles = columns("time", "median", "90 % within", "longest", "mean", Column(title="of", only=TEXT), book)
        return Table(title="What answers and queries took", columns=titles, rows=rows(map(line, self.rows)))


def counted(spread: TimeSpread) -> str:
    """``1,034 answers``, ``564 different gold queries``: a query that several cases share is run, and counted, once."""
    if not spread.name.endswith("y"):
        return plural(spread.n, spread.name)
    different = "different " if spread.n != 1 else ""
    return plural(spread.n, f"{different}{spread.name}", f"{different}{spread.name[:-1]}ies")


class Facts(Struct, frozen=True, kw_only=True):
    """Names and values."""

    rows: tuple[tuple[str, str], ...]
    title: str = ""
    said: str = ""
    """A sentence above them."""
    only: frozenset[Medium] = EVERYWHERE


class Paragraph(Struct, frozen=True, kw_only=True):
    """Sentences of ours, one a line, which may quote a name."""

    lines: tuple[str, ...]
    quiet: bool = True
    only: frozenset[Medium] = EVERYWHERE


class SideText(Struct, frozen=True, kw_only=True):
    """One run's answer to a case."""

    state: str
    """``right``, ``wrong``, ``unscored`` or, with repeats, ``2 of 3 right``."""
    reason: str
    """One line."""
    query: str | None
    """The query's text with its line breaks, cut where it is very long."""


class ChangeRow(Struct, frozen=True, kw_only=True):
    """A case that changed between right and wrong, or is wrong in another way."""

    id: str
    """``17``, or ``17 (was 16)`` where the baseline has another id for it."""
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
    only: frozenset[Medium] = TEXT


Block: TypeAlias = Table | Matrix | Bars | Curve | Times | Facts | Paragraph | Changes


class Section(Struct, frozen=True, kw_only=True):
    """One part of a report."""

    key: str
    """Unique within a report: the page's anchor, and the key by which a workbook's fixed sheet leaves a section out."""
    title: str
    aside: str = ""
    """A remark after the title, in a quieter style."""
    blocks: tuple[Block, ...]
    only: frozenset[Medium] = EVERYWHERE
    tab: Tab = "overview"
    """Under which of the page's tabs it stands."""
    place: Literal["top", "columns", "bottom"] = "columns"
    """Where there: over the whole width at the top or bottom, or as a card in one of two columns."""
    rank: int = 0
    """The order among the page's cards: the lowest rank first."""
    folded: frozenset[Medium] = frozenset()
    """Which of the page and Markdown show it folded, to be opened by a click."""

    def blocks_for(self, medium: Medium) -> tuple[Block, ...]:
        """The blocks that the medium draws."""
        return tuple(block for block in self.blocks if medium in block.only)

    @property
    def heading(self) -> str:
        """``Gates: 3 of 4 passed``, ``Fixed: 3 (wrong in the baseline)``."""
        if not self.aside:
            return self.title
        return f"{self.title} ({self.aside})" if ":" in self.title else f"{self.title}: {self.aside}"


def sections_for(sections: Iterable[Section], medium: Medium) -> list[Section]:
    """The sections of which the medium draws anything."""
    return [one for one in sections if medium in one.only and one.blocks_for(medium)]
