"""A comparison for whoever just asked for it: drawn with rich on a terminal, plain lines anywhere else."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model import Leaderboard, RunDiff, RunHead
from assay.reports.console.diff_terminal import drawn_diff
from assay.reports.console.leaderboard_terminal import drawn_leaderboard
from assay.reports.console.plain import plain_sections, plain_text
from assay.reports.console.printing import print_either
from assay.reports.sections.diff import diff_sections
from assay.reports.sections.leaderboard import leaderboard_sections
from assay.reports.text.plain import one_line
from assay.reports.views.diff import DiffView
from assay.reports.views.diff_build import view_of_diff
from assay.reports.views.leaderboard_build import view_of_leaderboard

if TYPE_CHECKING:
    from rich.console import Console


def print_diff(diff: RunDiff, *, console: Console | None = None, cases: int | None = None) -> None:
    """Print a comparison: drawn to the console's width on a terminal, the text of `plain_diff` elsewhere."""
    view = view_of_diff(diff, cases=cases)
    steps = _steps((diff.baseline, diff.candidate))
    print_either(lambda width: drawn_diff(view, steps, width), lambda: _plain_diff(view, steps), console)


def print_leaderboard(board: Leaderboard, *, console: Console | None = None) -> None:
    """Print a leaderboard: drawn to the console's width on a terminal, the text of `plain_leaderboard` elsewhere."""
    view = view_of_leaderboard(board)
    print_either(lambda width: drawn_leaderboard(view, width), lambda: plain_leaderboard(board), console)


def plain_diff(diff: RunDiff, *, cases: int | None = None) -> str:
    """A comparison as plain lines: nothing drawn, no line cut, one fact a line."""
    return _plain_diff(view_of_diff(diff, cases=cases), ())


def plain_leaderboard(board: Leaderboard) -> str:
    """A leaderboard as plain lines."""
    view = view_of_leaderboard(board)
    notes = (f"note: {note}" for note in view.notes)
    return plain_text((view.title, view.lead, view.cases, *notes, *plain_sections(leaderboard_sections(view))))


def _plain_diff(view: DiffView, steps: Sequence[tuple[str, str]]) -> str:
    lines = [view.title, view.sentence]
    if view.counts:
        lines.append(", ".join(f"{one.count:,} {one.name}" for one in view.counts))
    lines += [f"note: {note}" for note in view.notes]
    lines += [f"{side.role}: {side.label}, by itself {side.own}" for side in (view.baseline, view.candidate)]
    lines += plain_sections(diff_sections(view))
    lines += ["", *(f"{what}: {command}" for what, command in steps)] if steps else []
    return plain_text(lines)


def _steps(heads: Sequence[RunHead]) -> list[tuple[str, str]]:
    """The command for a pull request's comment, where both runs are stored."""
    folders = [head.folder or "" for head in heads]
    # A name with characters that do not show could not be typed from what is shown.
    if not all(folder and one_line(folder) == folder for folder in folders):
        return []
    return [("for a pull request", f"assay diff {shlex.join(folders)} --md diff.md")]
