"""A leaderboard as Markdown, made for a pull-request comment; text from outside is in code spans."""

from __future__ import annotations

from collections.abc import Iterable

from assay.model import Leaderboard
from assay.reports.blocks.leaderboard import leaderboard_sections
from assay.reports.blocks.values import sections_for
from assay.reports.markdown.blocks import LENGTH, noted, sentence, within
from assay.reports.markdown.sections import section_lines
from assay.reports.views.leaderboard import LeaderboardView
from assay.reports.views.leaderboard_build import view_of_leaderboard


def leaderboard_markdown(board: Leaderboard) -> bytes:
    """The leaderboard, short enough for one comment."""
    view = view_of_leaderboard(board)
    answer = "\n".join(_answer(view))
    sections = sections_for(leaderboard_sections(view), "comment")
    parts = ["\n".join(section_lines(one, lambda _: ())) for one in sections]
    return ("\n".join([answer, *within(parts, LENGTH - 1000 - len(answer))]) + "\n").encode()


def _answer(view: LeaderboardView) -> Iterable[str]:
    yield f"## {sentence(view.title)}"
    yield ""
    yield f"**{sentence(view.lead)}** {sentence(view.cases)}"
    yield ""
    yield from noted(view.notes)
