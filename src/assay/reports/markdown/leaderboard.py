"""A leaderboard as Markdown, made for a pull-request comment; text from outside is in code spans."""

from __future__ import annotations

from collections.abc import Iterable

from assay.model import Leaderboard
from assay.reports.blocks.leaderboard import LeaderboardReport
from assay.reports.blocks.values import sections_for
from assay.reports.markdown.blocks import LENGTH, noted, sentence, within
from assay.reports.markdown.sections import section_lines


def leaderboard_markdown(board: Leaderboard) -> bytes:
    """The leaderboard, short enough for one comment."""
    report = LeaderboardReport(board)
    answer = "\n".join(_answer(report))
    sections = sections_for(report.sections, "comment")
    parts = ["\n".join(section_lines(one, lambda _: ())) for one in sections]
    return ("\n".join([answer, *within(parts, LENGTH - 1000 - len(answer))]) + "\n").encode()


def _answer(report: LeaderboardReport) -> Iterable[str]:
    yield f"## {sentence(report.title)}"
    yield ""
    yield f"**{sentence(report.lead)}** {sentence(report.cases)}"
    yield ""
    yield from noted(report.notes)
