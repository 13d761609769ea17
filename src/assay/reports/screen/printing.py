"""Print a summary of one screen: in colour on a terminal, as text anywhere else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.model import Leaderboard, Run, RunDiff
from assay.model.lint import LintReport
from assay.reports.blocks.run import RunReport
from assay.reports.console.printing import print_either
from assay.reports.screen.lines import Line, wrapped
from assay.reports.screen.parts import LINES, WIDEST, WIDTH
from assay.reports.screen.run import run_screen, screen_text
from assay.reports.text.parts import TextPart
from assay.reports.text.plain import columns_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class Room(Struct, frozen=True, kw_only=True):
    """The width of what a summary is printed to, and its kind."""

    width: int = WIDTH
    drawn: bool = False
    """Whether it is a terminal, which shows bars and underlines."""
    lines: int = LINES
    """The most lines: less what the command prints before and after the summary."""


def lines_taken(texts: Iterable[str], width: int) -> int:
    """How many lines of a terminal of ``width`` columns the lines of texts take."""
    return sum(_lines_of(line, max(1, width)) for text in texts for line in text.splitlines())


def _lines_of(text: str, width: int) -> int:
    """Those of a text whose words are not broken; what follows two blanks begins a line."""
    if columns_of(text) <= width:
        return 1
    return sum(len(wrapped(piece, width, rest="  ")) for piece in re.split(r"  +", text))


def print_screen(
    made: Callable[[Room], Sequence[Line]], console: Console | None = None, *, others: Sequence[str] = ()
) -> None:
    """Print the lines that ``made`` gives for a terminal's width; elsewhere those for 80 columns, as text.

    ``others`` are the lines that the command prints besides: all together fit one screen.
    """

    def drawn(width: int) -> list[RenderableType]:
        from rich.text import Text

        lines = made(Room(width=min(width, WIDEST), drawn=True, lines=LINES - lines_taken(others, width)))
        return [
            Text.assemble(*((one.text, one.style) for one in line), no_wrap=True, overflow="ellipsis") for line in lines
        ]

    print_either(drawn, lambda: screen_text(made(Room(lines=LINES - lines_taken(others, WIDTH)))), console)


def print_run(
    run: Run,
    *,
    console: Console | None = None,
    run_path: str | None = None,
    written: Mapping[str, str] | None = None,
    earlier: str | None = None,
    unkept: str = "",
    others: Sequence[str] = (),
) -> None:
    """Print the summary of a run. The arguments are those of `run_screen` and, for ``others``, of `print_screen`."""
    report = RunReport(run)

    def made(room: Room) -> Sequence[Line]:
        return run_screen(
            report,
            width=room.width,
            drawn=room.drawn,
            lines=room.lines,
            run_path=run_path,
            written=written,
            earlier=earlier,
            unkept=unkept,
        )

    print_screen(made, console, others=others)


def print_diff(
    diff: RunDiff, *, console: Console | None = None, cases: int | None = None, others: Sequence[str] = ()
) -> None:
    """Print the summary of a comparison of two runs."""
    from assay.reports.blocks.diff import DiffReport
    from assay.reports.screen.diff import diff_screen

    report = DiffReport(diff, cases=cases)
    print_screen(lambda room: diff_screen(report, width=room.width, lines=room.lines), console, others=others)


def print_leaderboard(board: Leaderboard, *, console: Console | None = None, others: Sequence[str] = ()) -> None:
    """Print the summary of a leaderboard."""
    from assay.reports.screen.leaderboard import leaderboard_screen

    print_screen(lambda room: leaderboard_screen(board, width=room.width, lines=room.lines), console, others=others)


def print_lint(report: LintReport, *, console: Console | None = None, typed: Sequence[str] = ()) -> None:
    """Print the summary of a lint; ``typed``: the words of its command."""
    from assay.reports.screen.lint import lint_screen

    print_screen(lambda room: lint_screen(report, width=room.width, typed=typed), console)


def print_explanation(
    parts: Iterable[TextPart], *, verdicts: Sequence[str] = (), console: Console | None = None
) -> None:
    """Print an explanation with long queries, results and lists cut; ``verdicts`` end a long one."""
    from assay.reports.screen.explanation import explanation_screen

    made = list(parts)
    print_screen(lambda room: explanation_screen(made, width=room.width, drawn=room.drawn, verdicts=verdicts), console)
