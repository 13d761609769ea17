"""Print what is drawn to a terminal, plain lines to anything else: gates, a folder's runs, a leaderboard."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import IO, TYPE_CHECKING

from assay.model import Agreement, GateResult, HistoryPoint, Leaderboard
from assay.model.runs.estimate import Estimate, EstimatedDifference
from assay.reports.blocks.gates import gates_section
from assay.reports.console.drawn import MARGIN, drawn_sections, page, panel
from assay.reports.console.plain import plain_sections, plain_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from assay.reports.blocks.estimate import EstimateReport
    from assay.reports.blocks.history import HistoryReport
    from assay.reports.blocks.leaderboard import LeaderboardReport


def print_either(
    drawn: Callable[[int], Iterable[RenderableType]], plain: Callable[[], str], console: Console | None
) -> None:
    """Print what ``drawn`` gives for the terminal's width, without colour if NO_COLOR is set; else ``plain``."""
    if console is None and is_surely_plain():
        _write_plain(sys.stdout, getattr(sys.stdout, "encoding", None) or "utf-8", plain)
        return
    from rich.console import Console

    console = console or Console(highlight=False)
    if console.is_terminal and not console.options.ascii_only:
        console.print(*drawn(console.width), sep="\n", highlight=False, markup=False)
        return
    _write_plain(console.file, console.encoding, plain)


_FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Environment variables by which a user can have anything treated as a terminal."""


def is_surely_plain() -> bool:
    """Whether standard output is not a terminal, and nothing says otherwise. It is known without importing rich."""
    if any(name in os.environ for name in _FORCING):
        return False
    try:
        return not sys.stdout.isatty()
    except (AttributeError, ValueError):  # replaced, or closed
        return False


def _write_plain(file: IO[str], encoding: str, plain: Callable[[], str]) -> None:
    # A terminal or pipe that is not UTF-8 gets question marks rather than a traceback.
    file.write(plain().encode(encoding, "replace").decode(encoding))


def print_table(results: Sequence[GateResult], *, console: Console | None = None) -> None:
    """Print the table alone: drawn on a terminal, plain lines elsewhere."""
    section = gates_section(results)
    print_either(
        lambda width: page(drawn_sections([section], max(20, width - 2 * MARGIN)))[1:-1],
        lambda: plain_text(plain_sections([section])),
        console,
    )


def print_agreement(agreement: Agreement, *, console: Console | None = None) -> None:
    """Print how far reviewers agree, and their conflicts: drawn on a terminal, plain lines elsewhere."""
    from assay.reports.blocks.reviewers import section

    made = section(agreement)
    print_either(
        lambda width: page(drawn_sections([made], max(20, width - 2 * MARGIN))),
        lambda: plain_text(plain_sections([made], "full")),
        console,
    )


def print_runs(points: Sequence[HistoryPoint], *, folder: str, console: Console | None = None) -> None:
    """Print the runs: drawn to the console's width on a terminal, as `plain_runs` elsewhere."""
    from assay.reports.blocks.history import history_report  # a run prints no history

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


def print_leaderboard(board: Leaderboard, *, console: Console | None = None) -> None:
    """Print a leaderboard: drawn to the console's width on a terminal, the text of `plain_leaderboard` elsewhere."""
    from assay.reports.blocks.leaderboard import LeaderboardReport  # nor a leaderboard

    report = LeaderboardReport(board)
    print_either(lambda width: drawn_leaderboard(report, width), lambda: plain_leaderboard(board), console)


def plain_leaderboard(board: Leaderboard) -> str:
    """A leaderboard as plain lines."""
    from assay.reports.blocks.leaderboard import LeaderboardReport

    return _plain(LeaderboardReport(board))


def print_estimate(estimate: Estimate | EstimatedDifference, *, console: Console | None = None) -> None:
    """Print an estimate: drawn to the console's width on a terminal, plain lines elsewhere."""
    from assay.reports.blocks.estimate import EstimateReport

    report = EstimateReport(estimate)
    print_either(lambda width: _drawn(report, report.foot, width), lambda: _plain(report), console)


def _plain(report: LeaderboardReport | EstimateReport) -> str:
    notes = (f"note: {note}" for note in report.notes)
    return plain_text((report.title, report.lead, report.cases, *notes, *plain_sections(report.sections, "full")))


def drawn_leaderboard(report: LeaderboardReport, width: int) -> list[RenderableType]:
    """The parts of the leaderboard, top to bottom, for a terminal of ``width`` columns."""
    return _drawn(report, f"{report.metric}, {report.confidence} interval", width)


def _drawn(report: LeaderboardReport | EstimateReport, foot: str, width: int) -> list[RenderableType]:
    from rich.text import Text

    inner = max(20, width - 2 * MARGIN)
    lead = [Text(report.lead, style="bold"), Text(report.cases)]
    head = panel(lead, report.notes, head=report.title, foot=foot, width=inner)
    return page((head, *drawn_sections(report.sections, inner)))
