"""Tables as rows of pieces of text, each with its role.

Plain lines, the terminal and Markdown differ only in how they set a role.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from assay.reports.sections.values import Cell, Column, Medium, Name, Names, Number, Query, Remark, Table
from assay.reports.text.plain import one_line, unscored
from assay.reports.views.diff import DiffFigure
from assay.reports.views.run import CaseLink, Figure, named_ids

Role: TypeAlias = Literal["name", "words", "number", "bar", "value", "aside", "ids", "remark", "quoted", "query"]
_QUERY_LENGTH = 120
_DIFFERENCES = ("from", "to", "points", "", "", "p", "adjusted p", "gained", "lost", "cases")
_DIFFERENCES_IN_COMMENT = ("from", "to", "points", "interval", "p", "adjusted p", "gained / lost", "cases")
_WORDS = {"better": "better", "worse": "worse", "unclear": "may be chance", "unknown": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A text in one column of a line; of a ``bar`` the figure that it draws."""

    text: str
    role: Role
    strong: bool = False
    blame: str = ""
    """With what the text begins, where that is whose failure it is."""
    leads: bool = False
    """Whether it stands in the row that leads."""
    figure: Figure | None = None
    scale: bool = False
    """Of a bar: whether it spans the column's intervals, and not 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table as lines; columns that say nothing are gone."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Piece, ...], ...]
    right: frozenset[int]
    """The columns that stand to the right."""
    foot: tuple[str, ...]
    """What stands beneath: how many rows are left out, and what the columns mean."""


def grid(table: Table, medium: Medium) -> Grid:
    """The table as the medium has it."""
    kept = table.for_medium(medium)
    shown, hidden = kept.shown(medium)
    heads: list[str] = []
    columns: list[tuple[Piece, ...]] = []
    for place, column in enumerate(kept.columns):
        cells = [row.cells[place] for row in shown]
        names = _heads(column, cells, medium)
        pieces = [_pieces(row.cells[place], column, medium, len(names), leads=row.strong) for row in shown]
        heads += names
        columns += zip(*pieces, strict=True) if pieces else [()] * len(names)
    full = [place for place, column in enumerate(columns) if not shown or any(one.text or one.figure for one in column)]
    return Grid(
        heads=tuple(heads[place] for place in full),
        rows=tuple(tuple(columns[place][row] for place in full) for row in range(len(shown))),
        right=frozenset(
            new for new, place in enumerate(full) if any(one.role in ("number", "value") for one in columns[place])
        ),
        foot=tuple(filter(None, (f"and {len(hidden):,} {table.more}" if hidden else "", table.foot))),
    )


def _heads(column: Column, cells: Sequence[Cell], medium: Medium) -> list[str]:
    """The titles of what the column comes to."""
    if any(isinstance(cell, DiffFigure) for cell in cells):
        # A Markdown reader, too, sees the sign; plain lines have a word for it.
        return list(_DIFFERENCES_IN_COMMENT if medium == "comment" else _DIFFERENCES)
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
    if isinstance(cell, DiffFigure):
        return list(_difference_in_comment(cell) if medium == "comment" else _difference(cell))
    if cell is None:
        return [Piece(text="", role="words")] * width
    return [_piece(cell, column, medium)]


def _piece(
    cell: Name | Names | Number | Remark | Query | tuple[CaseLink, ...] | str, column: Column, medium: Medium
) -> Piece:
    match cell:
        case Name():
            blame = f"{cell.blame}: " if cell.blame else ""
            return Piece(text=cell.whole, role="name", strong=cell.strong, blame=blame)
        case Names():
            return Piece(text=cell.text(medium), role="ids")
        case Number():
            return Piece(text=cell.text, role="number", strong=column.strong)
        case Remark():
            return Piece(text=cell.short, role="quoted" if cell.example else "remark")
        case Query():
            cut = cell.text[:_QUERY_LENGTH] if medium == "comment" else one_line(cell.text, limit=_QUERY_LENGTH)
            return Piece(text=cut if medium in ("comment", "plain") else cell.text, role="query")
        case str():
            return Piece(text=cell, role="number" if column.right else "words", strong=column.strong)
    limit = column.ids_in_lines if medium == "plain" else column.ids
    return Piece(text=named_ids(cell, limit=limit), role="ids")


def _figure(figure: Figure, column: Column, medium: Medium, *, leads: bool) -> Iterable[Piece]:
    if _has_bar(column, medium):
        yield Piece(text="", role="bar", figure=figure, scale=column.bar == "range")
    yield Piece(text=figure.text, role="value", strong=True, leads=leads)
    yield Piece(text=figure.interval, role="aside")
    if column.parts != "bounds":
        yield Piece(text=figure.tally, role="words")
    if column.parts == "all":
        yield Piece(text=f"{figure.rate.unscored:,}" if medium == "comment" else unscored(figure.rate), role="aside")


def _difference(one: DiffFigure) -> Iterable[Piece]:
    firm = one.beyond or one.direction not in ("better", "worse")
    word = _WORDS[one.direction] if firm else f"{_WORDS[one.direction]} on these cases"
    yield from (Piece(text=text, role="number") for text in (one.baseline, one.candidate, one.difference))
    yield from (Piece(text=text, role="words") for text in (one.interval, word, one.p_value, one.adjusted_p_value))
    yield from (Piece(text=f"{count:,}", role="number") for count in (one.diff.gained, one.diff.lost))
    yield Piece(text=one.tally, role="words")


def _difference_in_comment(one: DiffFigure) -> Iterable[Piece]:
    strong = one.direction in ("better", "worse")
    yield from (Piece(text=text, role="words") for text in (one.baseline, one.candidate))
    yield Piece(text=f"{one.sign} {one.difference}", role="value", leads=strong)
    yield from (Piece(text=text, role="words") for text in (one.interval, one.p_value, one.adjusted_p_value))
    yield Piece(text=f"{one.diff.gained:,} / {one.diff.lost:,}", role="words")
    yield Piece(text=one.tally, role="words")
