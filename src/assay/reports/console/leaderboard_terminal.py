"""A leaderboard as a terminal shows it, drawn with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.reports.console.diff_terminal import MARGIN, framed, title
from assay.reports.views.leaderboard import LeaderboardView, StandingRow
from assay.reports.views.leaderboard_build import SAME

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_LEAST_BAR, _WIDEST_BAR = 10, 40
_LABEL_WIDTH = 28


def drawn_leaderboard(view: LeaderboardView, width: int) -> list[RenderableType]:
    """The parts of the leaderboard, top to bottom, for a terminal of ``width`` columns."""
    from rich.padding import Padding
    from rich.text import Text

    inner = max(20, width - 2 * MARGIN)
    foot = f"{view.metric}, {view.confidence} interval"
    lead = [Text(view.lead, style="bold"), Text(view.cases)]
    parts: list[RenderableType] = [Text(), framed(lead, view.notes, head=view.title, foot=foot, width=inner)]
    if view.standings:
        parts += [title("Ranking"), _ranking(view, inner)]
    if view.pairs:
        parts += [title("By how many points the run of a line lies above or below that of a column"), _matrix(view)]
        parts.append(Text(f"{SAME} cannot be told apart", style="dim"))
    parts += [Text(), *(Text(said, style="dim") for said in view.legend)] if view.legend else []
    parts.append(Text())
    return [Padding(part, (0, MARGIN)) for part in parts]


def _ranking(view: LeaderboardView, width: int) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    rows = view.standings
    named = min(_LABEL_WIDTH, max(len(row.label) for row in rows))
    others = [
        max(len(head), *(len(cell) for cell in cells)) + 2
        for head, cells in (
            ("possible", [row.possible for row in rows]),
            ("place", [row.place for row in rows]),
            ("letters", [row.letters for row in rows]),
            ("", [row.figure.text for row in rows]),
            ("", [row.figure.interval for row in rows]),
            ("", [row.figure.tally for row in rows]),
        )
    ]
    cells = min(_WIDEST_BAR, width - named - 2 - sum(others) - 2)
    low, high = _range(view)
    grid = Table.grid(padding=(0, 2, 0, 0))
    heads = [("place", "right"), ("possible", "right"), ("letters", "left"), ("run", "left")]
    heads += [("", "left")] if cells >= _LEAST_BAR else []
    for _, side in (*heads, ("", "right"), ("", "left"), ("", "left")):
        grid.add_column(no_wrap=True, overflow="ellipsis", justify="right" if side == "right" else "left")
    grid.columns[3].max_width = named
    axis = f"{low * 100:.3g}".ljust(cells - 4) + f"{high * 100:.3g}".rjust(4) if cells >= _LEAST_BAR else ""
    drawn = [Text(head, style="dim") for head, _ in heads[:4]]
    grid.add_row(*drawn, *([Text(axis, style="dim")] if axis else []), Text(), Text(), Text())
    for row in rows:
        bar = [_bar(row, cells, low, high)] if cells >= _LEAST_BAR else []
        value = Text(row.figure.text, style="bold")
        beside = Text(row.figure.interval, style="dim"), Text(row.figure.tally)
        grid.add_row(
            Text(row.place, style="bold"),
            Text(row.possible),
            Text(row.letters, style="cyan"),
            Text(row.label, style="bold"),
            *bar,
            value,
            *beside,
        )
    return grid


def _range(view: LeaderboardView) -> tuple[float, float]:
    """What the bars span: all intervals, out to whole tenths."""
    ends = [
        end
        for row in view.standings
        for end in (row.figure.rate.low, row.figure.rate.value, row.figure.rate.high)
        if end is not None
    ]
    if not ends:
        return 0.0, 1.0
    low, high = int(min(ends) * 10 // 1) / 10, -int(-max(ends) * 10 // 1) / 10
    return low, max(high, low + 0.1)


def _bar(row: StandingRow, cells: int, low: float, high: float) -> Text:
    """The interval as a thick line, the value as a dot on it."""
    from rich.text import Text

    def place(value: float) -> int:
        return round(min(1.0, max(0.0, (value - low) / (high - low))) * (cells - 1))

    signs = [("─", "bright_black")] * cells
    rate = row.figure.rate
    if rate.value is not None:
        for cell in range(place(rate.value if rate.low is None else rate.low), place(rate.high or rate.value) + 1):
            signs[cell] = ("━", "cyan")
        signs[place(rate.value)] = ("●", "bold cyan")
    return Text.assemble(*signs)


def _matrix(view: LeaderboardView) -> RenderableType:
    """Columns are numbered by line, so that many runs fit."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=_LABEL_WIDTH + 4)
    for _ in view.standings:
        grid.add_column(no_wrap=True, justify="right")
    grid.add_row(Text(), *(Text(str(place + 1), style="dim") for place in range(len(view.standings))))
    for place, row in enumerate(view.standings):
        shown = (Text("·", style="dim") if cell is None else _cell(cell) for cell in view.matrix[place])
        grid.add_row(Text.assemble((f"{place + 1} ", "dim"), row.label), *shown)
    return grid


def _cell(cell: str) -> Text:
    from rich.text import Text

    return Text(cell, style="dim" if cell == SAME else "green" if cell.startswith("+") else "red")
