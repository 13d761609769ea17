"""A folder's runs on a terminal or as plain lines, newest last: next to the prompt, as in any log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model import HistoryPoint
from assay.reports.console.drawn import drawn_sections
from assay.reports.console.plain import plain_sections, plain_text
from assay.reports.console.printing import print_either
from assay.reports.sections.history import heading, history_sections
from assay.reports.views.history import HistoryView, history_view

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_runs(points: Sequence[HistoryPoint], *, folder: str, console: Console | None = None) -> None:
    """Print the runs: drawn to the console's width on a terminal, as `plain_runs` elsewhere."""
    view = history_view(points, folder=folder)
    print_either(lambda width: drawn_runs(view, width), lambda: plain_runs(view), console)


def plain_runs(view: HistoryView) -> str:
    """One line per run with nothing cut, then the notes on these runs."""
    told = [f"damaged: {folder}: {trouble}" for folder, trouble in view.troubles]
    told += [f"note: {note}" for note in view.notes]
    return plain_text((heading(view), *plain_sections(history_sections(view)), *told))


def drawn_runs(view: HistoryView, width: int) -> list[RenderableType]:
    """The lines for a terminal of ``width`` columns; columns that do not fit are left out, and named."""
    from rich.text import Text

    told = [Text.assemble(("✗ ", "red"), f"{folder}: {trouble}") for folder, trouble in view.troubles]
    told += [Text.assemble(("! ", "bold yellow"), note) for note in view.notes]
    table = drawn_sections(history_sections(view), width)
    return [Text(), Text(heading(view), style="bold"), *table, *([Text(), *told] if told else [])]
