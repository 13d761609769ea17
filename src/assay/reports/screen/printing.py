"""Print a summary of one screen: in colour on a terminal, as text anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.model import Leaderboard, Run, RunDiff
from assay.model.lint import LintReport
from assay.reports.blocks.run import RunReport
from assay.reports.console.printing import print_either
from assay.reports.screen.lines import Line
from assay.reports.screen.parts import WIDEST, WIDTH
from assay.reports.screen.run import run_screen, screen_text
from assay.reports.text.parts import TextPart

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class Room(Struct, frozen=True, kw_only=True):
    """The width of what a summary is printed to, and its kind."""

    width: int = WIDTH
    drawn: bool = False
    """Whether it is a terminal, which shows bars and underlines."""


def print_screen(made: Callable[[Room], Sequence[Line]], console: Console | None = None) -> None:
    """Print the lines that ``made`` gives for a terminal's width; elsewhere those for 80 columns, as text."""

    def drawn(width: int) -> list[RenderableType]:
        from rich.text import Text

        lines = made(Room(width=min(width, WIDEST), drawn=True))
        return [
            Text.assemble(*((one.text, one.style) for one in line), no_wrap=True, overflow="ellipsis") for line in lines
        ]

    print_either(drawn, lambda: screen_text(made(Room())), console)


def print_run(
    run: Run,
    *,
    console: Console | None = None,
    run_path: str | None = None,
    written: Mapping[str, str] | None = None,
    earlier: str | None = None,
    unkept: str = "",
) -> None:
    """Print the summary of a run. The arguments are those of `assay.reports.screen.run.run_screen`."""
    report = RunReport(run)

    def made(room: Room) -> Sequence[Line]:
        return run_screen(
            report,
            width=room.width,
            drawn=room.drawn,
            run_path=run_path,
            written=written,
            earlier=earlier,
            unkept=unkept,
        )

    print_screen(made, console)


def print_diff(diff: RunDiff, *, console: Console | None = None, cases: int | None = None) -> None:
    """Print the summary of a comparison of two runs."""
    from assay.reports.blocks.diff import DiffReport
    from assay.reports.screen.diff import diff_screen

    report = DiffReport(diff, cases=cases)
    print_screen(lambda room: diff_screen(report, width=room.width), console)


def print_leaderboard(board: Leaderboard, *, console: Console | None = None) -> None:
    """Print the summary of a leaderboard."""
    from assay.reports.screen.leaderboard import leaderboard_screen

    print_screen(lambda room: leaderboard_screen(board, width=room.width), console)


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
