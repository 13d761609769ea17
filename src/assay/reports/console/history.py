"""A folder's runs on a terminal or as plain lines, newest last: next to the prompt, as in any log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model import HistoryPoint
from assay.reports.blocks.history import HistoryReport, history_report
from assay.reports.console.drawn import drawn_sections
from assay.reports.console.plain import plain_sections, plain_text
from assay.reports.console.printing import print_either

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_runs(points: Sequence[HistoryPoint], *, folder: str, console: Console | None = None) -> None:
    """Print the runs: drawn to the console's width on a terminal, as `plain_runs` elsewhere."""
    report = history_report(points, folder=folder)
    print_either(lambda width: drawn_runs(report, width), lambda: plain_runs(report), console)


def plain_runs(report: HistoryReport) -> str:
    """One line per run with nothing cut, then the notes on these runs."""
    told = [f"damaged: {folder}: {trouble}" for folder, trouble in report.troubles]
    told += [f"note: {note}" for note in report.notes]
    return plain_text((report.heading, *plain_sections(report.sections), *told))


def drawn_runs(report: HistoryReport, width: int) -> list[RenderableType]:
    """The lines for a terminal of ``width`` columns; columns that do not fit are left out, and named."""
    from rich.text import Text

    told = [Text.assemble(("✗ ", "red"), f"{folder}: {trouble}") for folder, trouble in report.troubles]
    told += [Text.assemble(("! ", "bold yellow"), note) for note in report.notes]
    table = drawn_sections(report.sections, width)
    return [Text(), Text(report.heading, style="bold"), *table, *([Text(), *told] if told else [])]
