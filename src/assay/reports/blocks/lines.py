"""Tables as rows of pieces of text, each with its role.

Plain lines, the terminal and Markdown differ only in how they set a role.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from assay.reports.blocks.values import (
    CaseLink,
    Cell,
    Column,
    DiffFigure,
    Figure,
    Mark,
    Medium,
    Name,
    Names,
    Number,
    Query,
    Remark,
    Table,
    named_ids,
)
from assay.reports.text.plain import one_line, unscored

Role: TypeAlias = Literal[
    "name", "mark", "words", "number", "bar", "value", "signed", "aside", "ids", "remark", "quoted", "query"
]
_QUERY_LENGTH = 120
ADJUSTED = "adjusted"
_DIFFERENCES = ("from", "to", "points", "", "", "p", "adjusted p", "gained", "lost", "cases")
_DIFFERENCES_IN_COMMENT = ("from", "to", "points", "interval", "p", "adjusted p", "gained / lost", "cases")
_WORDS = {"better": "better", "worse": "worse", "unclear": "may be chance", "unknown": ""}


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
        if differences and medium in ("narrow", "wide"):
            for title, rank, pieces in _differences(differences, decisive=decisive):
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
    if any(isinstance(cell, DiffFigure) for cell in cells):
        # A Markdown reader also sees the sign; plain lines have a word for it.
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
    cell: Name | Names | Mark | Number | Remark | Query | tuple[CaseLink, ...] | str, column: Column, medium: Medium
) -> Piece:
    match cell:
        case Name():
            blame = f"{cell.blame}: " if cell.blame else ""
            return Piece(text=cell.whole, role="name", strong=cell.strong, blame=blame)
        case Mark():
            return Piece(text=cell.text, role="mark", good=cell.good)
        case Names():
            return Piece(text=cell.text(medium), role="ids")
        case Number():
            return Piece(text=cell.text, role="number", strong=column.strong)
        case Remark():
            text = cell.short if medium in ("narrow", "wide") else cell.short.replace("\n", "; ")
            return Piece(text=text, role="quoted" if cell.example else "remark")
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


def _differences(figures: Sequence[DiffFigure], *, decisive: bool) -> Iterable[tuple[str, int, tuple[Piece, ...]]]:
    """The terminal's columns for differences: titles, ranks and cells. The difference itself always stays."""

    def of(role: Role, texts: Iterable[str]) -> tuple[Piece, ...]:
        return tuple(Piece(text=text, role=role, figure=one) for text, one in zip(texts, figures, strict=True))

    values = [one.decisive_p_value if decisive else one.p_value for one in figures]
    adjusted = [one.adjusted_p_value for one in figures]
    yield "points", 0, of("signed", (f"{one.sign} {one.difference}" for one in figures))
    yield "", 0, of("bar", [""] * len(figures))
    yield "", 2, of("aside", (one.interval for one in figures))
    yield "from → to", 5, of("words", (f"{one.baseline} → {one.candidate}" for one in figures))
    if any(values):
        yield ADJUSTED if decisive and values == adjusted else "p", 4, of("words", values)
    if any(adjusted) and not decisive:
        yield ADJUSTED, 6, of("aside", adjusted)
    yield "+/-", 7, of("words", (f"{one.diff.gained:,}/{one.diff.lost:,}" for one in figures))
    yield "cases", 8, of("aside", (one.tally for one in figures))


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
    yield from (Piece(text=text, role="aside") for text in (one.interval, one.p_value, one.adjusted_p_value))
    yield Piece(text=f"{one.diff.gained:,} / {one.diff.lost:,}", role="words")
    yield Piece(text=one.tally, role="words")
