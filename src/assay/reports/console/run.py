"""A run's summary on standard output: drawn with rich on a terminal, plain lines anywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay.model import Run
from assay.platform.shell import quoted
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import Figure
from assay.reports.console.bars import bar, shade
from assay.reports.console.drawn import MARGIN, WIDEST, drawn_sections, drawn_steps, lines, page, panel
from assay.reports.console.plain import plain_sections, plain_text
from assay.reports.console.printing import print_either

_LONGEST_ID = 60
"""A longer one is not for typing."""

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_summary(
    run: Run,
    *,
    console: Console | None = None,
    run_path: str | None = None,
    written: Mapping[str, str] | None = None,
    earlier: str | None = None,
) -> None:
    """Print the summary of a run.

    On a terminal it is drawn to the console's width, without colour if NO_COLOR is set; elsewhere
    it is the plain text of `plain_summary`. ``run_path`` is the run's folder, ``earlier`` that of an
    earlier run over the same cases, and ``written`` has the path of each report that exists by format:
    for the hints at the end.
    """
    report = RunReport(run)
    steps = next_steps(report, run_path, written, earlier=earlier)
    print_either(
        lambda width: drawn(report, steps, width),
        lambda: plain_summary(report, run_path=run_path, written=written, earlier=earlier),
        console,
    )


def plain_summary(
    report: RunReport,
    *,
    run_path: str | None = None,
    written: Mapping[str, str] | None = None,
    earlier: str | None = None,
) -> str:
    """The summary as plain lines: nothing drawn, no line cut, one fact per line."""
    beside = report.lenient + (f" · {report.caution}" if report.caution else "")
    lines = [
        report.title,
        f"{report.headline_metric}: {_reading(report.headline)}, {report.headline.rate.unscored:,} unscored{beside}",
        *([f"after reviews: {report.reviewed}"] if report.reviewed else []),
        f"outcomes: {report.outcomes}",
        *(f"{name}: {_reading(figure)}" for name, figure in report.figures_beside),
        *([f"joined: {report.joined}"] if report.joined else []),
        *(f"note: {note}" for note in report.notes),
        *plain_sections(report.sections),
    ]
    steps = next_steps(report, run_path, written, earlier=earlier)
    lines += ["", *(f"{what}: {command}" for what, command in steps)] if steps else []
    return plain_text(lines)


def _reading(figure: Figure) -> str:
    return " ".join(part for part in (figure.text, figure.interval, f"({figure.tally})") if part)


def next_steps(
    report: RunReport, run_path: str | None, written: Mapping[str, str] | None = None, *, earlier: str | None = None
) -> list[tuple[str, str]]:
    """What to do next, the most useful first: a command each, or a report that is written.

    A wrong answer is explained, an earlier run over the same cases compared, every case shown and reviewed.
    ``written`` has the path of each report that exists, by format. Without ``run_path`` the run is stored nowhere, and
    no command could read it.
    """
    steps = []
    there = dict(written or {})
    if run_path:
        run = quoted(run_path)
        if (wrong := telling_case(report)) is not None:
            steps.append(("why one is wrong", f"assay explain {run} {wrong}"))
        if earlier is not None:
            steps.append(("what has changed", f"assay diff {quoted(earlier)} {run}"))
        there = {"html": f"assay view {run}", "md": f"assay report {run} --md report.md"} | there
    if "html" in there:
        steps.append(("every case, in a browser", there["html"]))
    if run_path:
        steps.append(("review verdicts and gold queries", f"assay review {quoted(run_path)}"))
    if "md" in there:
        steps.append(("for a pull request", there["md"]))
    return steps


def telling_case(report: RunReport) -> str | None:
    """The id of a wrong answer as a shell takes it, if there is one: best one with a repair, else with a cause."""
    numbers = report.numbers
    failed = [count for count in numbers.failures if count.name.startswith("system: ")]
    for count in (*numbers.fix_first, *numbers.causes, *numbers.near_misses, *failed):
        for case in report.linked(count.case_ids):
            if len(case.id) <= _LONGEST_ID and case.id.isprintable():
                return quoted(case.id) if not case.id.startswith("-") else f"-- {quoted(case.id)}"
    return None


def drawn(report: RunReport, steps: Sequence[tuple[str, str]], width: int) -> list[RenderableType]:
    """The parts of the summary, top to bottom, for a terminal of ``width`` columns."""
    inner = max(20, width - 2 * MARGIN)
    return page((_headline(report, inner), *drawn_sections(report.sections, inner), *drawn_steps(steps)))


def _headline(report: RunReport, width: int) -> RenderableType:
    from rich.text import Text

    figure = report.headline
    line = Text()
    line.append(figure.text, style=f"bold {shade(figure)}")
    line.append(f" {figure.interval} · {report.tally}" if figure.interval else f" · {report.tally}")
    parts: list[RenderableType] = [line, bar(figure, max(10, min(width, WIDEST) - 6))]
    parts += [Text(report.outcomes_beside)] if report.outcomes_beside else []
    if report.beside:
        beside = (
            (Text(name), Text(one.text, style="bold"), Text(one.interval, style="dim"), Text(one.tally))
            for name, one in report.figures_beside
        )
        parts.append(lines(beside))
    parts += [Text(f"joined {report.joined}", style="dim")] if report.joined else []
    foot = f"{report.headline_metric}, {report.confidence} interval"
    return panel(parts, report.notes, head=report.title, foot=foot, width=width)
