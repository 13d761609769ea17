"""A leaderboard: on a terminal a panel that says who is first, then every section; elsewhere plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.model import Leaderboard
from assay.reports.blocks.leaderboard import leaderboard_sections
from assay.reports.console.drawn import MARGIN, drawn_sections, page, panel
from assay.reports.console.plain import plain_sections, plain_text
from assay.reports.console.printing import print_either
from assay.reports.views.leaderboard import LeaderboardView
from assay.reports.views.leaderboard_build import view_of_leaderboard

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_leaderboard(board: Leaderboard, *, console: Console | None = None) -> None:
    """Print a leaderboard: drawn to the console's width on a terminal, the text of `plain_leaderboard` elsewhere."""
    view = view_of_leaderboard(board)
    print_either(lambda width: drawn_leaderboard(view, width), lambda: plain_leaderboard(board), console)


def plain_leaderboard(board: Leaderboard) -> str:
    """A leaderboard as plain lines."""
    view = view_of_leaderboard(board)
    notes = (f"note: {note}" for note in view.notes)
    return plain_text((view.title, view.lead, view.cases, *notes, *plain_sections(leaderboard_sections(view))))


def drawn_leaderboard(view: LeaderboardView, width: int) -> list[RenderableType]:
    """The parts of the leaderboard, top to bottom, for a terminal of ``width`` columns."""
    from rich.text import Text

    inner = max(20, width - 2 * MARGIN)
    lead = [Text(view.lead, style="bold"), Text(view.cases)]
    foot = f"{view.metric}, {view.confidence} interval"
    head = panel(lead, view.notes, head=view.title, foot=foot, width=inner)
    return page((head, *drawn_sections(leaderboard_sections(view), inner)))
