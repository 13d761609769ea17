"""A leaderboard as a terminal shows it: who is first in a panel, then every section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.reports.console.drawn import MARGIN, drawn_sections, page, panel
from assay.reports.sections.leaderboard import leaderboard_sections
from assay.reports.views.leaderboard import LeaderboardView

if TYPE_CHECKING:
    from rich.console import RenderableType


def drawn_leaderboard(view: LeaderboardView, width: int) -> list[RenderableType]:
    """The parts of the leaderboard, top to bottom, for a terminal of ``width`` columns."""
    from rich.text import Text

    inner = max(20, width - 2 * MARGIN)
    lead = [Text(view.lead, style="bold"), Text(view.cases)]
    foot = f"{view.metric}, {view.confidence} interval"
    head = panel(lead, view.notes, head=view.title, foot=foot, width=inner)
    return page((head, *drawn_sections(leaderboard_sections(view), inner)))
