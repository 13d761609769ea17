"""A leaderboard: on a terminal a panel that says who is first, then every section; elsewhere plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.model import Leaderboard
from assay.reports.blocks.leaderboard import LeaderboardReport
from assay.reports.console.drawn import MARGIN, drawn_sections, page, panel
from assay.reports.console.plain import plain_sections, plain_text
from assay.reports.console.printing import print_either

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_leaderboard(board: Leaderboard, *, console: Console | None = None) -> None:
    """Print a leaderboard: drawn to the console's width on a terminal, the text of `plain_leaderboard` elsewhere."""
    report = LeaderboardReport(board)
    print_either(lambda width: drawn_leaderboard(report, width), lambda: plain_leaderboard(board), console)


def plain_leaderboard(board: Leaderboard) -> str:
    """A leaderboard as plain lines."""
    report = LeaderboardReport(board)
    notes = (f"note: {note}" for note in report.notes)
    return plain_text((report.title, report.lead, report.cases, *notes, *plain_sections(report.sections, "full")))


def drawn_leaderboard(report: LeaderboardReport, width: int) -> list[RenderableType]:
    """The parts of the leaderboard, top to bottom, for a terminal of ``width`` columns."""
    from rich.text import Text

    inner = max(20, width - 2 * MARGIN)
    lead = [Text(report.lead, style="bold"), Text(report.cases)]
    foot = f"{report.metric}, {report.confidence} interval"
    head = panel(lead, report.notes, head=report.title, foot=foot, width=inner)
    return page((head, *drawn_sections(report.sections, inner)))
