"""Tables as rows of pieces of text, each with its role.

Plain lines, the terminal and Markdown differ only in how they set a role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from assay.reports.blocks.values import (
    CaseLink,
    Cell,
    Column,
    Description,
    DiffFigure,
    Figure,
    IdList,
    Medium,
    Name,
    Number,
    Query,
    Status,
    Table,
    named_ids,
)
from assay.reports.text.plain import one_line, unscored

Role: TypeAlias = Literal[
    "name", "mark", "words", "number", "bar", "value", "signed", "aside", "ids", "remark", "quoted", "query"
]
_QUERY_LENGTH = 120
ADJUSTED = "adjusted"
_TextColumn: TypeAlias = "tuple[str, int, tuple[Piece, ...]]"


class Piece(Struct, frozen=True, kw_only=True):
    """A text in one column of a line; for a ``bar`` the figure that it draws."""

    text: str
    role: Role
    strong: bool = False
    blame: str = ""
    """The start of the text that says whose failure it is."""
    good: bool | None = None
    """For a mark: whether it is good; None: neither good nor bad."""
    leads: bool = False
    """Whether it is in the leading row."""
    figure: Figure | DiffFigure | None = None
    scale: bool = False
    """For a bar: whether its scale is the range of the column's intervals, and not 0 to 1."""


class Grid(Struct, frozen=True, kw_only=True):
    """A table as lines, without the columns that say nothing."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Piece, ...], ...]
    right: frozenset[int]
    """The columns aligned to the right."""
    ranks: tuple[int, ...]
    least: tuple[int, ...]
    """Per column its `Column.rank` and its `Column.least`."""
    foot: tuple[str, ...]
    """The lines below the table: how many rows are left out, and what the columns mean."""


def grid(table: Table, medium: Medium, *, decisive: bool = False) -> Grid:
    """The table for a medium. ``decisive``: a terminal shows only the p-values that decide the signs."""
    kept = table.for_medium(medium)
    shown, hidden = kept.shown(medium)
    heads: list[tuple[str, int, int]] = []
    columns: list[tuple[Piece, ...]] = []
    for place, column in enumerate(kept.columns):
        cells = [row.cells[place] for row in shown]
        differences = [cell for cell in cells if isinstance(cell, DiffFigure)]
        if differences:
            for title, rank, pieces in _differences(differences, medium, decisive=decisive):
                heads.append((title, rank, 0))
                columns.append(pieces)
            continue
        titles = _heads(column, cells, medium)
        lines = [_pieces(row.cells[place], column, medium, len(titles), leads=row.strong) for row in shown]
        heads += [(title, column.rank, column.least) for title in titles]
        if len(titles) > 1 and column.parts == "all" and not column.bar:
            heads[-1] = (titles[-1], 1, 0)  # the unscored count is dropped before the columns that follow
        columns += zip(*lines, strict=True) if lines else [()] * len(titles)
    full = [place for place, column in enumerate(columns) if not shown or any(one.text or one.figure for one in column)]
    return Grid(
        heads=tuple(heads[place][0] for place in full),
        ranks=tuple(heads[place][1] for place in full),
        least=tuple(heads[place][2] for place in full),
        rows=tuple(tuple(columns[place][row] for place in full) for row in range(len(shown))),
        right=frozenset(
            new
            for new, place in enumerate(full)
            if any(one.role in ("number", "value", "signed") for one in columns[place])
        ),
        foot=tuple(filter(None, (f"and {len(hidden):,} {table.more}" if hidden else "", table.foot))),
    )


def _heads(column: Column, cells: Sequence[Cell], medium: Medium) -> list[str]:
    """The titles of the columns of text that one column becomes."""
    if not any(isinstance(cell, Figure) for cell in cells):
        return [column.title]
    said = medium == "comment" and column.parts != "bounds"
    heads = [*([""] if _has_bar(column, medium) else []), column.title, "interval" if said else ""]
    heads += [column.counted] if column.parts != "bounds" else []
    return [*heads, "unscored" if said else ""] if column.parts == "all" else heads


def _has_bar(column: Column, medium: Medium) -> bool:
    return bool(column.bar) and medium != "plain"


def _pieces(cell: Cell, column: Column, medium: Medium, width: int, *, leads: bool) -> list[Piece]:
    if isinstance(cell, Figure):
        return list(_figure(cell, column, medium, leads=leads))
    if cell is None or isinstance(cell, DiffFigure):  # differences have columns of their own
        return [Piece(text="", role="words")] * width
    return [_piece(cell, column, medium)]


def _piece(
    cell: Name | IdList | Status | Number | Description | Query | tuple[CaseLink, ...] | str,
    column: Column,
    medium: Medium,
) -> Piece:
    match cell:
        case Name():
            blame = f"{cell.blame}: " if cell.blame else ""
            return Piece(text=cell.whole, role="name", strong=cell.strong, blame=blame)
        case Status():
            return Piece(text=cell.text, role="mark", good=cell.good)
        case IdList():
            return Piece(text=cell.text(medium), role="ids")
        case Number():
            return Piece(text=cell.text, role="number", strong=column.strong)
        case Description():
            text = cell.short if medium in ("narrow", "wide") else cell.short.replace("\n", "; ")
            return Piece(text=text, role="quoted" if cell.example else "remark")
        case Query():
            cut = cell.text[:_QUERY_LENGTH] if medium == "comment" else one_line(cell.text, limit=_QUERY_LENGTH)
            return Piece(text=cut if medium in ("comment", "plain") else cell.text, role="query")
        case str():
            return Piece(text=cell, role="number" if column.right else "words", strong=column.strong)
    text = named_ids(cell, limit=column.ids_in_lines) if medium == "plain" else named_ids(cell)
    return Piece(text=text, role="ids")


def _figure(figure: Figure, column: Column, medium: Medium, *, leads: bool) -> Iterable[Piece]:
    if _has_bar(column, medium):
        yield Piece(text="", role="bar", figure=figure, scale=column.bar == "range")
    yield Piece(text=figure.text, role="value", strong=True, leads=leads)
    yield Piece(text=figure.interval, role="aside")
    if column.parts != "bounds":
        yield Piece(text=figure.tally, role="words")
    if column.parts == "all":
        yield Piece(text=f"{figure.rate.unscored:,}" if medium == "comment" else unscored(figure.rate), role="aside")


def _differences(
    figures: Sequence[DiffFigure], medium: Medium, *, decisive: bool
) -> Iterable[tuple[str, int, tuple[Piece, ...]]]:
    """The columns for differences: titles, ranks and cells. On a terminal the difference itself always stays."""

    def column(title: str, role: Role, text: Callable[[DiffFigure], str], rank: int = 0) -> _TextColumn:
        return title, rank, tuple(Piece(text=text(one), role=role) for one in figures)

    def with_figures(title: str, role: Role, text: Callable[[DiffFigure], str]) -> _TextColumn:
        pieces = (
            Piece(text=text(one), role=role, figure=one, leads=one.direction in ("better", "worse")) for one in figures
        )
        return title, 0, tuple(pieces)

    if medium in ("narrow", "wide"):
        values = [one.decisive_p_value if decisive else one.p_value for one in figures]
        adjusted = [one.adjusted_p_value for one in figures]
        yield with_figures("points", "signed", lambda one: f"{one.sign} {one.difference}")
        yield with_figures("", "bar", lambda _: "")
        yield column("", "aside", lambda one: one.interval, 2)
        yield column("from → to", "words", lambda one: f"{one.baseline} → {one.candidate}", 5)
        title = ADJUSTED if decisive and values == adjusted else "p"
        yield column(title, "words", lambda one: one.decisive_p_value if decisive else one.p_value, 4)
        yield column(ADJUSTED, "aside", lambda one: "" if decisive else one.adjusted_p_value, 6)
        yield column("+/-", "words", lambda one: f"{one.diff.gained:,}/{one.diff.lost:,}", 7)
        yield column("cases", "aside", lambda one: one.tally, 8)
        return
    comment = medium == "comment"
    role: Role = "words" if comment else "number"
    yield column("from", role, lambda one: one.baseline)
    yield column("to", role, lambda one: one.candidate)
    if comment:
        yield with_figures("points", "value", lambda one: f"{one.sign} {one.difference}")
    else:
        yield column("points", role, lambda one: one.difference)
    aside: Role = "aside" if comment else "words"
    yield column("interval" if comment else "", aside, lambda one: one.interval)
    if not comment:  # a Markdown reader also sees the sign
        yield column("", "words", _in_words)
    yield column("p", aside, lambda one: one.p_value)
    yield column("adjusted p", aside, lambda one: one.adjusted_p_value)
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
