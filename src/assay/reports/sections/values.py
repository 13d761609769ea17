"""The parts of a report as values. A format knows the kinds of blocks and cells, and no section by name.

A section that is written here once stands in the terminal, in Markdown, on the page and in the workbook. Where
formats rightly differ, a section says so as data: `Column.only`, `Table.most`, `Section.only`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from assay.reports.views.diff import ChangeTable, DiffFigure, first_names
from assay.reports.views.run import CaseLink, Fact, Figure
from assay.reports.views.times import TimeRow

Medium: TypeAlias = Literal["plain", "narrow", "wide", "comment", "page", "book"]
"""Plain lines, a terminal of less than 100 columns and a wider one, Markdown, an HTML page, a workbook."""

EVERYWHERE: Final[frozenset[Medium]] = frozenset(("plain", "narrow", "wide", "comment", "page", "book"))
LINES: Final[frozenset[Medium]] = frozenset(("plain", "narrow", "wide"))
TEXT: Final[frozenset[Medium]] = frozenset(("plain", "narrow", "wide", "comment"))
TEXT_AND_PAGE: Final[frozenset[Medium]] = frozenset((*TEXT, "page"))

_NAMES: Final[Mapping[Medium, int]] = {"page": 40, "comment": 30}

Link: TypeAlias = tuple[tuple[str, str], ...]
"""What the page's table of cases is to show, such as ``(("flag", "vacuous"),)``; empty: it leads nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What a row is about: text that may come from outside."""

    text: str
    blame: str = ""
    """Whose failure it is: stands before the text."""
    strong: bool = False
    link: Link = ()

    @property
    def whole(self) -> str:
        """``gold: error``."""
        return f"{self.blame}: {self.text}" if self.blame else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number, and how it reads; a workbook holds the value."""

    value: float | None
    text: str
    style: Literal["count", "percent", "number", "fine_seconds"] = "count"
    link: Link = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What a row's name means; ``example`` comes from outside, and says more of these very cases."""

    meaning: str
    example: str = ""

    @property
    def short(self) -> str:
        """The one of the two that says more."""
        return self.example or self.meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query's text, on one line."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A state in a word: good, bad, or neither."""

    text: str
    good: bool | None = None

    @property
    def sign(self) -> str:
        """What says it without colour."""
        return {True: "✓", False: "✗", None: "–"}[self.good]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of cases that need not be in the report: a long list, which wraps."""

    names: tuple[str, ...]

    def text(self, medium: Medium) -> str:
        """As many as the medium has room for, and how many more there are."""
        return first_names(self.names, _NAMES.get(medium, 10))


Cell: TypeAlias = (
    Name | Names | Mark | Number | Figure | DiffFigure | Remark | Query | tuple[CaseLink, ...] | str | None
)
"""A text is our own; None is blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table; what its cells are says how it is drawn."""

    title: str = ""
    long: str = ""
    """The title where there is room for more: in a workbook and, folded, on the page."""
    only: frozenset[Medium] = EVERYWHERE
    bar: Literal["", "share", "range"] = ""
    """Of figures: whether text draws a bar, too, as the page always does; a ``range`` spans the column's intervals."""
    parts: Literal["all", "tally", "bounds"] = "all"
    """Of figures: ``tally`` leaves out what is unscored, ``bounds`` the tally, too; of differences all but them."""
    counted: str = "cases"
    """Of figures: what the tally counts."""
    style: Literal["percent", "number"] = "percent"
    """Of figures: how a workbook writes them."""
    right: bool = False
    """Of texts: they stand to the right, as numbers do."""
    strong: bool = False
    minor: bool = False
    """The first to give way on a phone."""
    rank: int = 0
    """On a terminal without room the columns of the highest rank are left out first, and named; 0: it stays."""
    least: int = 0
    """Before that it is cut to so many characters; 0: it is not."""
    ids: int = 5
    """Of cases: how many are named."""
    ids_in_lines: int = 5
    """The same in plain lines, which may be long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of a table, with a cell for each column."""

    cells: tuple[Cell, ...]
    strong: bool = False
    """The row that leads, or that sums the others up."""
    style: Literal["percent", "number", ""] = ""
    """Of figures: how a workbook writes those of this row; empty: as the column says."""
    weight: int = 0
    """Where not all rows find room, those of most weight stay."""


def columns(*given: Column | str) -> tuple[Column, ...]:
    """Columns of which nothing but the title need be said are titles."""
    return tuple(Column(title=one) if isinstance(one, str) else one for one in given)


def rows(lines: Iterable[tuple[Cell, ...]]) -> tuple[Row, ...]:
    """Lines of which nothing need be said but their cells."""
    return tuple(Row(cells=cells) for cells in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under columns."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    look: str = "plain"
    """A class of the page's style sheet: how closely it is set; figures, counts and grids have rules of their own."""
    title: str = ""
    """Of one table among several of a section."""
    wraps: bool = False
    """Whether nothing may be cut: what does not fit a line of a terminal goes on in the next."""
    headed: bool = True
    """Whether the columns need their titles where lines of text or the page show them."""
    foot: str = ""
    more: str = "more"
    """What follows the number of rows left out: ``with fewer cases``."""
    most: Mapping[Medium, int] = field(default_factory=dict)
    """How many rows a medium shows; all where nothing is said."""
    ranked: bool = False
    """Whether the page has the lowest figures first: there is most to win."""
    bars: tuple[int, ...] = ()
    """Of numbers: the columns that a workbook draws as bars, too."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Names against themselves; the diagonal is None."""

    names: tuple[str, ...]
    cells: tuple[tuple[Number | None, ...], ...]
    caption: str
    most: int = 10_000
    """A comment shows none of more names."""
    only: frozenset[Medium] = TEXT_AND_PAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What answers and queries took: a histogram each on the page, a table elsewhere."""

    rows: tuple[TimeRow, ...]
    only: frozenset[Medium] = EVERYWHERE

    @property
    def table(self) -> Table:
        """The times as rows."""

        def line(row: TimeRow) -> tuple[Cell, ...]:
            spread = row.spread
            texts = (row.median, row.p90, row.max, row.mean)
            values = (spread.median_s, spread.p90_s, spread.max_s, spread.mean_s)
            pairs = zip(values, texts, strict=True)
            taken = (Number(value=value, text=text, style="fine_seconds") for value, text in pairs)
            return spread.name, *taken, row.counted, Number(value=spread.n, text=f"{spread.n:,}")

        book = Column(title="n", long="n", only=frozenset({"book"}))
        titles = columns("time", "median", "90 % within", "longest", "mean", Column(title="of", only=TEXT), book)
        return Table(title="What answers and queries took", columns=titles, rows=rows(map(line, self.rows)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Names and values."""

    rows: tuple[Fact, ...]
    title: str = ""
    said: str = ""
    """A sentence above them."""
    only: frozenset[Medium] = EVERYWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Sentences of ours, one a line, which may quote a name."""

    lines: tuple[str, ...]
    quiet: bool = True
    only: frozenset[Medium] = EVERYWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Cases that two runs answer differently, one by one."""

    table: ChangeTable
    only: frozenset[Medium] = TEXT


Block: TypeAlias = Table | Matrix | Times | Facts | Paragraph | Changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a report."""

    key: str
    """Unique within a report: the page's anchor, and by what a fixed sheet of a workbook leaves a section out."""
    title: str
    aside: str = ""
    """What stands behind the title, less loudly."""
    blocks: tuple[Block, ...]
    only: frozenset[Medium] = EVERYWHERE
    place: Literal["top", "columns", "bottom"] = "columns"
    """Where the page has it: over its whole width above or below, or as a card in one of two columns."""
    rank: int = 0
    """The page's order among the cards: the lower first."""
    folded: frozenset[Medium] = frozenset()
    """Of the page and Markdown: which open it on a click only."""

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
    """Those that the medium draws anything of."""
    return [one for one in sections if medium in one.only and one.blocks_for(medium)]
