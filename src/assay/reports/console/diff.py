"""A comparison for whoever just asked for it: drawn with rich on a terminal, plain lines anywhere else."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.model import Leaderboard, RunDiff, RunHead
from assay.reports.console.diff_terminal import GROUP_ROWS, MATCH_NAMES, MORE_IDS, drawn_diff
from assay.reports.console.leaderboard_terminal import drawn_leaderboard
from assay.reports.text.gate_table import plain_cells
from assay.reports.text.plain import aligned, one_line
from assay.reports.views.diff import ChangeTable, DiffFigure, DiffGroupTable, DiffView, first_names, most_changed
from assay.reports.views.diff_build import view_of_diff
from assay.reports.views.leaderboard import LeaderboardView
from assay.reports.views.leaderboard_build import view_of_leaderboard

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PAIRS = 45
"""Of a leaderboard's pairs so many are written as lines: those of ten runs."""
_WORDS = {"better": "better", "worse": "worse", "unclear": "may be chance", "unknown": ""}


def print_diff(diff: RunDiff, *, console: Console | None = None, cases: int | None = None) -> None:
    """Print a comparison: drawn to the console's width on a terminal, the text of `plain_diff` elsewhere."""
    view = view_of_diff(diff, cases=cases)
    steps = _steps((diff.baseline, diff.candidate))
    _print(lambda width: drawn_diff(view, steps, width), lambda: _plain_diff(view, steps), console)


def print_leaderboard(board: Leaderboard, *, console: Console | None = None) -> None:
    """Print a leaderboard: drawn to the console's width on a terminal, the text of `plain_leaderboard` elsewhere."""
    view = view_of_leaderboard(board)
    _print(lambda width: drawn_leaderboard(view, width), lambda: plain_leaderboard(board), console)


def plain_diff(diff: RunDiff, *, cases: int | None = None) -> str:
    """A comparison as plain lines: nothing drawn, no line cut, one fact a line."""
    return _plain_diff(view_of_diff(diff, cases=cases), ())


def plain_leaderboard(board: Leaderboard) -> str:
    """A leaderboard as plain lines."""
    view = view_of_leaderboard(board)
    lines = [view.title, view.lead, view.cases, *(f"note: {note}" for note in view.notes)]
    if view.standings:
        head = ("place", "possible", "letters", "run", view.metric, "", "")
        rows = [
            (row.place, row.possible, row.letters, row.label, row.figure.text, row.figure.interval, row.figure.tally)
            for row in view.standings
        ]
        lines += ["", "ranking", *aligned([head, *rows], right=(0, 1, 4))]
    if view.pairs:
        lines += ["", "pairs", *_pair_lines(view)]
    lines += ["", *view.legend] if view.legend else []
    return _text(lines)


def _print(drawn: Callable[[int], list[RenderableType]], plain: Callable[[], str], console: Console | None) -> None:
    from rich.console import Console

    console = console or Console(highlight=False)
    if console.is_terminal and not console.options.ascii_only:
        console.print(*drawn(console.width), sep="\n", highlight=False, markup=False)
        return
    # A terminal or pipe that is not UTF-8 gets question marks rather than a traceback.
    console.file.write(plain().encode(console.encoding, "replace").decode(console.encoding))


def _text(lines: Sequence[str]) -> str:
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _plain_diff(view: DiffView, steps: Sequence[tuple[str, str]]) -> str:
    lines = [view.title, view.sentence]
    if view.counts:
        lines.append(", ".join(f"{one.count:,} {one.name}" for one in view.counts))
    lines += [f"note: {note}" for note in view.notes]
    lines += [f"{side.role}: {side.label}, by itself {side.own}" for side in (view.baseline, view.candidate)]
    if view.gates:
        lines += ["", f"gates: {view.gates_passed}", *aligned(plain_cells(view.gates))]
    for table in view.changes:
        lines += _change_lines(table)
    if view.metrics:
        rows = [(row.metric, row.figure) for row in view.metrics]
        lines += ["", "metrics", *_figure_lines("metric", rows)]
        lines += [f"  {row.explained}" for row in view.metrics if row.explained]
    lines += view.only_in_one
    for group in view.groups:
        lines += ["", f"{view.headline_metric} by {group.title}", *_group_lines(group)]
    if view.matching:
        lines += ["", "cases that are not the same in both runs"]
        lines += aligned(
            [
                (row.title, f"{len(row.names):,}", f"{first_names(row.names, MATCH_NAMES)} ({row.meaning})")
                for row in view.matching
            ],
            right=(1,),
        )
    if view.power or view.methods:
        lines += ["", *filter(None, [view.power]), *view.methods]
    lines += ["", *(f"{what}: {command}" for what, command in steps)] if steps else []
    return _text(lines)


def _change_lines(table: ChangeTable) -> list[str]:
    lines = ["", f"{table.title}: {table.count:,} ({table.meaning})"]
    for row in table.rows:
        where = f" ({row.where})" if row.where else ""
        lines.append(f"  {row.id}: {row.question}{where}")
        for role, side in (("baseline", row.baseline), ("candidate", row.candidate)):
            lines.append(f"    {role}: {side.state}{': ' if side.reason else ''}{side.reason}")
    if table.more:
        lines.append(f"  {'and ' if table.rows else ''}{first_names(table.more, MORE_IDS)}")
    return lines


def _figure_lines(head: str, rows: Sequence[tuple[str, DiffFigure]]) -> list[str]:
    header = (head, "from", "to", "points", "", "", "p", "adjusted p", "gained", "lost", "cases")
    cells = [
        (
            name,
            one.baseline,
            one.candidate,
            one.difference,
            one.interval,
            _word(one),
            one.p_value,
            one.adjusted_p_value,
            f"{one.diff.gained:,}",
            f"{one.diff.lost:,}",
            one.tally,
        )
        for name, one in rows
    ]
    return aligned([header, *cells], right=(1, 2, 3, 8, 9))


def _word(one: DiffFigure) -> str:
    firm = one.beyond or one.direction not in ("better", "worse")
    return _WORDS[one.direction] if firm else f"{_WORDS[one.direction]} on these cases"


def _group_lines(table: DiffGroupTable) -> list[str]:
    rows = most_changed(table, GROUP_ROWS)
    hidden = len(table.rows) - len(rows)
    lines = _figure_lines(table.kind, [(row.name, row.figure) for row in rows])
    return [*lines, *([f"  and {hidden:,} in which fewer cases changed"] if hidden else [])]


def _pair_lines(view: LeaderboardView) -> list[str]:
    header = ("", "", "points", "", "adjusted p", "")
    rows = [
        (
            pair.first,
            pair.second,
            pair.difference,
            pair.interval,
            pair.adjusted_p_value or pair.p_value,
            "can be told apart" if pair.apart else "cannot be told apart",
        )
        for pair in view.pairs[:PAIRS]
    ]
    lines = aligned([header, *rows], right=(2,))
    hidden = len(view.pairs) - len(rows)
    return [*lines, *([f"  and {hidden:,} more in the JSON report"] if hidden else [])]


def _steps(heads: Sequence[RunHead]) -> list[tuple[str, str]]:
    """The command for a pull request's comment, where both runs are stored."""
    folders = [head.folder or "" for head in heads]
    # A name with characters that do not show could not be typed from what is shown.
    if not all(folder and one_line(folder) == folder for folder in folders):
        return []
    return [("for a pull request", f"assay diff {shlex.join(folders)} --md diff.md")]
