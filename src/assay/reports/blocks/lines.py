"""Tables as columns of pieces of text, each with its role.

Plain lines, the terminal and Markdown differ only in how they set a role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from assay.reports.blocks.values import (
    HOLM,
    SIGNS_MEANING,
    Cell,
    Column,
    Description,
    DiffFigure,
    Figure,
    IdList,
    Name,
    Number,
    Query,
    Status,
    Table,
    named_ids,
)
from assay.reports.text.plain import one_line, unscored

LineFormat: TypeAlias = Literal["plain", "terminal", "comment"]
Role: TypeAlias = Literal[
    "name", "mark", "words", "number", "bar", "value", "signed", "aside", "ids", "remark", "quoted", "query"
]
_QUERY_LENGTH = 120
FULL_RANK = 20
"""The rank of a column of the full form: on a terminal it is the first to be left out."""


class Piece(Struct, frozen=True, kw_only=True):
    """A text in one column of a line."""

    text: str
    role: Role
    strong: bool = False
    leads: bool = False
    """Whether it is in the leading row, or a difference that is more than chance."""
    cell: Cell = None
    """What it is made of: the figure of a bar, the name with whose failure it is, the state of a mark."""


class TextColumn(Struct, frozen=True, kw_only=True):
    """One column of text."""

    title: str
    pieces: tuple[Piece, ...]
    rank: int = 0
    least: int = 0
    """As `Column.rank` and `Column.least`."""
    ranged: bool = False
    """For bars: whether the scale is the range of the column's intervals, and not 0 to 1."""

    @property
    def role(self) -> Role:
        """The role of its pieces."""
        return self.pieces[0].role

    @property
    def is_right(self) -> bool:
        """Whether it is aligned to the right."""
        return any(one.role in ("number", "value", "signed") for one in self.pieces)


def text_columns(table: Table, form: LineFormat, *, decisive: bool = False) -> tuple[list[TextColumn], list[str]]:
    """The columns of text that a table becomes, without those that say nothing, and the lines below the table.

    ``decisive``: a terminal shows only the p-values that decide the signs.
    """
    summary = form == "plain" or any(column.detail == "summary" for column in table.columns)
    summary = summary or any(isinstance(cell, DiffFigure) for row in table.rows[:1] for cell in row.cells)
    unwanted = "summary" if form == "comment" else "full" if summary else ""
    kept = table.only(lambda column, _: column.detail != unwanted)
    shown, hidden = kept.shown(kept.most if form == "comment" else kept.most_in_lines)
    made: list[TextColumn] = []
    signs = ""
    for place, column in enumerate(kept.columns):
        cells = [row.cells[place] for row in shown]
        differences = [cell for cell in cells if isinstance(cell, DiffFigure)]
        figures = any(isinstance(cell, Figure) for cell in cells)
        if differences:
            made += _differences(differences, form, decisive=decisive)
            if column.parts == "all" and form != "plain":
                shares = all(one.share for one in differences)
                numbers = "percentage points" if shares else "percentage points, but for metrics that are numbers"
                signs = f"{SIGNS_MEANING}. Differences and their intervals are in {numbers}."
                if len(differences) > 1 and any(one.adjusted_p_value for one in differences):
                    others = ", of all but the headline" if decisive else ""
                    signs += f" p{others}: after Holm's correction." if others else f" {HOLM}: after Holm's correction."
        elif figures:
            made += _figures(column, cells, form, leading=[row.strong for row in shown])
        else:
            rank = FULL_RANK if column.detail == "full" else column.rank
            pieces = tuple(_piece(cell, column, form) for cell in cells)
            made.append(TextColumn(title=column.title, pieces=pieces, rank=rank, least=column.least))
    full = [one for one in made if not shown or any(piece.text or piece.role == "bar" for piece in one.pieces)]
    foot = (f"and {len(hidden):,} {table.more}" if hidden else "", table.foot, signs)
    return full, list(filter(None, foot))


def _piece(cell: Cell, column: Column, form: LineFormat) -> Piece:
    match cell:
        case None | Figure() | DiffFigure():  # figures have columns of their own
            return Piece(text="", role="words")
        case Name():
            return Piece(text=cell.whole, role="name", strong=cell.strong, cell=cell)
        case Status():
            return Piece(text=cell.text, role="mark", cell=cell)
        case IdList():
            return Piece(text=cell.text(30 if form == "comment" else 10), role="ids")
        case Number():
            return Piece(text=cell.text, role="number", strong=column.strong)
        case Description():
            text = cell.short if form == "terminal" else cell.short.replace("\n", "; ")
            return Piece(text=text, role="quoted" if cell.example else "remark")
        case Query():
            cut = cell.text[:_QUERY_LENGTH] if form == "comment" else one_line(cell.text, limit=_QUERY_LENGTH)
            return Piece(text=cell.text if form == "terminal" else cut, role="query")
        case str():
            return Piece(text=cell, role="number" if column.right else "words", strong=column.strong)
    return Piece(text=named_ids(cell, limit=10 if form == "plain" else 5), role="ids")


def _figures(column: Column, cells: Sequence[Cell], form: LineFormat, *, leading: Sequence[bool]) -> list[TextColumn]:
    """The columns for figures: bar, value, interval, tally and what is unscored."""
    comment = form == "comment"
    named = comment and column.parts != "bounds"

    def made(title: str, role: Role, text: Callable[[Figure], str], *, rank: int = column.rank) -> TextColumn:
        pieces = tuple(
            Piece(text=text(cell), role=role, strong=role == "value", leads=leads, cell=cell)
            if isinstance(cell, Figure)
            else Piece(text="", role="words")
            for cell, leads in zip(cells, leading, strict=True)
        )
        return TextColumn(title=title, pieces=pieces, rank=rank, least=column.least, ranged=column.bar == "range")

    parts = [made("", "bar", lambda _: "")] if column.bar and form != "plain" else []
    parts.append(made(column.title, "value", lambda one: one.text))
    parts.append(made("interval" if named else "", "aside", lambda one: one.interval))
    if column.parts != "bounds":
        parts.append(made(column.counted, "words", lambda one: one.tally))
    if column.parts == "all":
        left = made(
            "unscored" if comment else "",
            "aside",
            lambda one: f"{one.rate.unscored:,}" if comment else unscored(one.rate),
            rank=column.rank if column.bar else 1,  # without a bar it is dropped before the columns that follow
        )
        parts.append(left)
    return parts


def _differences(figures: Sequence[DiffFigure], form: LineFormat, *, decisive: bool) -> Iterable[TextColumn]:
    """The columns for differences. On a terminal the difference itself always stays."""

    def column(title: str, role: Role, text: Callable[[DiffFigure], str], rank: int = 0) -> TextColumn:
        pieces = (
            Piece(text=text(one), role=role, cell=one, leads=one.direction in ("better", "worse")) for one in figures
        )
        return TextColumn(title=title, pieces=tuple(pieces), rank=rank)

    if form == "terminal":
        values = [one.decisive_p_value if decisive else one.p_value for one in figures]
        adjusted = [one.adjusted_p_value for one in figures]
        yield column("points", "signed", lambda one: f"{one.sign} {one.difference}")
        yield column("", "bar", lambda _: "")
        yield column("", "aside", lambda one: one.interval, 2)
        yield column("from → to", "words", lambda one: f"{one.baseline} → {one.candidate}", 5)
        title = HOLM if decisive and values == adjusted else "p"
        yield column(title, "words", lambda one: one.decisive_p_value if decisive else one.p_value, 4)
        yield column(HOLM, "aside", lambda one: "" if decisive else one.adjusted_p_value, 6)
        yield column("+/-", "words", lambda one: f"{one.diff.gained:,}/{one.diff.lost:,}", 7)
        yield column("cases", "aside", lambda one: one.tally, 8)
        return
    comment = form == "comment"
    role: Role = "words" if comment else "number"
    yield column("from", role, lambda one: one.baseline)
    yield column("to", role, lambda one: one.candidate)
    if comment:
        yield column("points", "value", lambda one: f"{one.sign} {one.difference}")
    else:
        yield column("points", role, lambda one: one.difference)
    aside: Role = "aside" if comment else "words"
    yield column("interval" if comment else "", aside, lambda one: one.interval)
    if not comment:  # a Markdown reader also sees the sign
        yield column("", "words", _in_words)
    yield column("p", aside, lambda one: one.p_value)
    yield column(HOLM, aside, lambda one: one.adjusted_p_value)
    if comment:
        yield column("gained / lost", "words", lambda one: f"{one.diff.gained:,} / {one.diff.lost:,}")
    else:
        yield column("gained", "number", lambda one: f"{one.diff.gained:,}")
        yield column("lost", "number", lambda one: f"{one.diff.lost:,}")
    yield column("cases", "words", lambda one: one.tally)


def _in_words(one: DiffFigure) -> str:
    """The direction of a difference, for lines without signs."""
    firm = one.beyond or one.direction not in ("better", "worse")
    said = {"better": "better", "worse": "worse", "unclear": "may be chance", "unknown": ""}[one.direction]
    return said if firm else f"{said} on these cases"
