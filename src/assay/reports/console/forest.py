"""Differences with their intervals around zero, drawn for a terminal: all of a table on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assay.reports.sections.values import Medium, Name, Table
from assay.reports.views.diff import DiffFigure, Direction

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_NAME_WIDTH = 28
_LEAST_BAR, _GOOD_BAR, _WIDEST_BAR = 11, 21, 41
_ADJUSTED = "adjusted"
_FIRM = 4
"""Columns kept above this give way for a bar at all; the others already for one that is easy to read."""
COLOURS: Final[dict[Direction, str]] = {"better": "green", "worse": "red", "unclear": "yellow", "unknown": "default"}


def forest(table: Table, medium: Medium, width: int) -> list[RenderableType]:
    """A table whose rows are a name and a difference."""
    from rich.text import Text

    rows = [
        (cell, figure)
        for row in table.shown(medium)[0]
        for cell, figure in zip(row.cells, row.cells[1:], strict=False)
        if isinstance(cell, Name) and isinstance(figure, DiffFigure)
    ]
    names = [Text(cell.text, style="bold" if cell.strong else "") for cell, _ in rows]
    return _forest(table.columns[0].title, names, [figure for _, figure in rows], width)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One column of a table of differences; ``keep``: the lower, the sooner it gives way on a narrow terminal."""

    head: str
    cells: Sequence[Text]
    keep: int

    @property
    def width(self) -> int:
        return max(len(self.head), *(cell.cell_len for cell in self.cells))


def _forest(head: str, names: Sequence[Text], figures: Sequence[DiffFigure], width: int) -> list[RenderableType]:
    """Differences with their intervals around zero, all on one scale."""
    from rich.table import Table
    from rich.text import Text

    named = min(_NAME_WIDTH, max(len(head), *(name.cell_len for name in names)))
    columns = _fitting(_columns(figures), width - named - 2)
    if not any(column.head == _ADJUSTED for column in columns):
        # One column of p-values then, and it must not say other than the signs do.
        columns = _fitting(_columns(figures, decisive=True), width - named - 2)
    room = _room(columns, width - named - 2)
    scale = max([0.01, *(abs(end) for one in figures for end in _ends(one))])
    cells = min(_WIDEST_BAR, room) // 2 * 2 - 1
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=named)
    bars = [_interval_bar(one, cells, scale) for one in figures] if cells >= _LEAST_BAR - 2 else None
    places = [(columns[0], "right"), *((column, "left") for column in columns[1:])]
    heads = [Text(head, style="dim"), Text(columns[0].head, style="dim")]
    grid.add_column(no_wrap=True, justify="right")
    if bars:
        grid.add_column(no_wrap=True)
        heads.append(_axis(cells, scale))
    for column, _ in places[1:]:
        grid.add_column(no_wrap=True, justify="right" if column.head == "cases" else "left")
        heads.append(Text(column.head, style="dim"))
    grid.add_row(*heads)
    for place, name in enumerate(names):
        row = [name, columns[0].cells[place], *([bars[place]] if bars else [])]
        grid.add_row(*row, *(column.cells[place] for column in columns[1:]))
    return [grid]


def _room(columns: Sequence[_Column], width: int) -> int:
    """What the columns leave for a bar."""
    return width - sum(column.width + 2 for column in columns)


def _fitting(columns: list[_Column], width: int) -> list[_Column]:
    """Without those that leave too little for a bar; the first one stays."""
    while columns[1:]:
        least = min(columns, key=lambda column: column.keep)
        if _room(columns, width) >= (_LEAST_BAR if least.keep > _FIRM else _GOOD_BAR):
            break
        columns.remove(least)
    return columns


def _columns(figures: Sequence[DiffFigure], *, decisive: bool = False) -> list[_Column]:
    """What stands beside a name: the difference first, then the rest as far as it fits.

    ``decisive``: of the p-values only those that the signs go by.
    """
    from rich.text import Text

    def dim(texts: Sequence[str]) -> list[Text]:
        return [Text(text, style="dim") for text in texts]

    def signed(one: DiffFigure) -> Text:
        return Text(f"{one.sign} {one.difference}", style=f"bold {COLOURS[one.direction]}")

    p_values = [one.decisive_p_value if decisive else one.p_value for one in figures]
    p_head = _ADJUSTED if decisive and p_values == [one.adjusted_p_value for one in figures] else "p"
    columns = [
        _Column(head="points", cells=[signed(one) for one in figures], keep=9),
        _Column(head="", cells=dim([one.interval for one in figures]), keep=8),
        _Column(head="from → to", cells=[Text(f"{one.baseline} → {one.candidate}") for one in figures], keep=5),
        _Column(head=p_head, cells=[Text(one) for one in p_values], keep=6),
        _Column(head=_ADJUSTED, cells=dim(["" if decisive else one.adjusted_p_value for one in figures]), keep=4),
        _Column(head="+/-", cells=[Text(f"{one.diff.gained:,}/{one.diff.lost:,}") for one in figures], keep=3),
        _Column(head="cases", cells=dim([one.tally for one in figures]), keep=2),
    ]
    return [column for column in columns if any(cell.plain for cell in column.cells)]


def _ends(one: DiffFigure) -> list[float]:
    """What a bar of it shows; nothing where it is no share, for which the axis is none."""
    return [end for end in (one.diff.low, one.diff.high, one.diff.difference) if end is not None and one.share]


def _interval_bar(one: DiffFigure, cells: int, scale: float) -> Text:
    """The interval as a thick line on an axis whose middle is zero, the difference as a dot on it."""
    from rich.text import Text

    def place(value: float) -> int:
        return round((value / scale + 1) / 2 * (cells - 1))

    signs = [("─", "bright_black")] * cells
    colour = COLOURS[one.direction]
    ends = [place(end) for end in _ends(one)]
    for cell in range(min(ends), max(ends) + 1) if ends else ():
        signs[cell] = ("━", colour)
    zero = cells // 2
    signs[zero] = ("┿", colour) if ends and min(ends) <= zero <= max(ends) else ("┼", "bright_black")
    if ends and one.diff.difference is not None:
        signs[place(one.diff.difference)] = ("●", f"bold {colour}")
    return Text.assemble(*signs)


def _axis(cells: int, scale: float) -> Text:
    from rich.text import Text

    end = f"{scale * 100:.1f}"
    low, high = f"-{end}", f"+{end}"
    half = cells // 2
    if half < len(high) + 1:
        return Text("0".center(cells), style="dim")
    return Text(low.ljust(half) + "0" + high.rjust(cells - half - 1), style="dim")
