"""A folder's runs on a terminal or as plain lines, newest last: beside the prompt, as in any log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.model import HistoryPoint
from assay.reports.text.plain import plural
from assay.reports.views.history import HistoryRow, HistoryView, history_view

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_GAP = 2
_STATUS_STYLES = {"running": "yellow", "damaged": "red", "finished": "bold"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    title: str
    cells: tuple[str, ...]
    right: bool = False
    least: int | None = None
    """To how many characters it may be cut; None: not at all."""
    rank: int = 0
    """Which column gives way first where there is no room: the highest. 0: never."""

    @property
    def width(self) -> int:
        from rich.cells import cell_len

        return max(map(cell_len, (self.title, *self.cells)))


def print_runs(points: Sequence[HistoryPoint], *, folder: str, console: Console | None = None) -> None:
    """Print the runs: drawn to the console's width on a terminal, as `plain_runs` elsewhere."""
    from rich.console import Console

    console = console or Console(highlight=False)
    view = history_view(points, folder=folder)
    if console.is_terminal and not console.options.ascii_only:
        for line in drawn_runs(view, console.width):
            console.print(line, highlight=False, markup=False)
        return
    console.file.write(plain_runs(view).encode(console.encoding, "replace").decode(console.encoding))


def plain_runs(view: HistoryView) -> str:
    """A line a run with nothing cut, then what must be known of them."""
    columns = _columns(view, short=False)
    lines = [_heading(view), ""]
    for place in range(-1, len(view.rows)):
        cells = [(column.title if place < 0 else column.cells[place], column) for column in columns]
        texts = [text.rjust(one.width) if one.right else text.ljust(one.width) for text, one in cells]
        lines.append("  ".join(texts).rstrip())
    lines += [f"damaged: {folder}: {trouble}" for folder, trouble in view.troubles]
    lines += [f"note: {note}" for note in view.notes]
    return "\n".join(lines) + "\n"


def drawn_runs(view: HistoryView, width: int) -> list[Text]:
    """The lines for a terminal of ``width`` columns; columns that find no room are left out, and named."""
    from rich.text import Text

    columns, left_out = _fitting(_columns(view, short=width < 100), width)
    lines = [Text(), Text(_heading(view), style="bold"), Text()]
    for place in range(-1, len(view.rows)):
        line = Text(no_wrap=True, overflow="ellipsis")
        for column, room in columns:
            row = view.rows[place] if place >= 0 else None
            cell = Text(column.title if row is None else column.cells[place], style=_style(column, row))
            cell.truncate(room, overflow="ellipsis")
            blanks = " " * (room - cell.cell_len)
            line.append_text(Text(blanks).append_text(cell) if column.right else cell.append(blanks))
            line.append(" " * _GAP)
        line.rstrip()
        lines.append(line)
    lines.append(Text())
    if left_out:
        lines.append(Text(f"Not enough room for: {', '.join(left_out)}. A wider terminal or --json has all.", "dim"))
    for folder, trouble in view.troubles:
        lines.append(Text("✗ ", style="red").append(f"{folder}: {trouble}", style="default"))
    for note in view.notes:
        lines.append(Text("! ", style="bold yellow").append(note, style="not bold default"))
    return lines if left_out or view.troubles or view.notes else lines[:-1]


def _heading(view: HistoryView) -> str:
    said = f"{plural(len(view.rows), 'run')} in {view.title}"
    if not view.metrics:
        return said
    by = ", ".join(view.metrics)
    return f"{said} · {by}" + (f", {view.confidence} interval" if view.confidence else "")


def _columns(view: HistoryView, *, short: bool) -> list[_Column]:
    """The columns that say something; ``short``: years that are all the same are left out."""
    rows = view.rows
    years = {row.started[:4] for row in rows if row.started}
    cut = len("2026-") if short and len(years) == 1 else 0

    def of(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(texts)

    columns = [
        _Column(title="started" if cut else "started (UTC)", cells=of([row.started[cut:] for row in rows])),
        _Column(title="run", cells=of([row.name for row in rows]), least=12),
        _Column(title="folder", cells=of([row.folder for row in rows]), least=10, rank=8),
        _Column(title="tags", cells=of([", ".join(row.tags) for row in rows]), least=10, rank=4),
        _Column(title="system", cells=of([row.system for row in rows]), least=10, rank=7),
        _Column(title="cases", cells=of([row.cases for row in rows]), least=12, rank=3),
        _Column(title="n", cells=of([row.count for row in rows]), right=True, rank=2),
        _Column(title="headline", cells=of([row.headline for row in rows]), right=True),
        _Column(title="", cells=of([row.interval for row in rows]), rank=1),
        _Column(title="unscored", cells=of([row.unscored for row in rows]), right=True, rank=5),
        _Column(title="took", cells=of([row.took for row in rows]), right=True, rank=6),
    ]
    return [column for column in columns if any(column.cells)]


def _fitting(columns: Sequence[_Column], width: int) -> tuple[list[tuple[_Column, int]], list[str]]:
    """The columns with their widths, and the titles of those that were left out."""
    kept, left_out = list(columns), []

    def least(column: _Column) -> int:
        return column.width if column.least is None else min(column.width, column.least)

    while kept and sum(map(least, kept)) + _GAP * (len(kept) - 1) > width:
        worst = max(kept, key=lambda column: column.rank)
        if worst.rank == 0:
            break
        kept.remove(worst)
        left_out.append(worst.title or "interval")
    spare = width - sum(map(least, kept)) - _GAP * (len(kept) - 1)
    widths = []
    for column in kept:
        more = max(0, min(spare, column.width - least(column)))
        spare -= more
        widths.append((column, least(column) + more))
    return widths, left_out[::-1]


def _style(column: _Column, row: HistoryRow | None) -> str:
    if row is None:
        return "dim"
    if column.title == "headline":
        return _STATUS_STYLES[row.point.status]
    return "dim" if column.title in ("", "started", "started (UTC)", "folder") else ""
