"""A run's summary on standard output: drawn with rich on a terminal, plain lines anywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay.model import Run
from assay.reports.console.bars import bar, shade
from assay.reports.console.drawn import MARGIN, WIDEST, drawn_sections, drawn_steps, lines, page, panel
from assay.reports.console.plain import plain_sections, plain_text
from assay.reports.console.printing import print_either
from assay.reports.sections.run import run_sections
from assay.reports.views.figures import Figure
from assay.reports.views.run import RunView
from assay.reports.views.run_build import view_of
from assay.reports.views.selections import BesideHeadline
from assay.shell import quoted

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


def print_summary(
    run: Run,
    *,
    console: Console | None = None,
    run_path: str | None = None,
    written: Mapping[str, str] | None = None,
) -> None:
    """Print the summary of a run.

    On a terminal it is drawn to the console's width, without colour where NO_COLOR is set; elsewhere
    it is the plain text of `plain_summary`. ``run_path`` is where the run is stored, and
    ``written`` has the path of each report that exists by format, for the hints at the end.
    """
    view, steps = view_of(run, detailed=()), next_steps(run_path, written)
    print_either(
        lambda width: drawn(view, steps, width),
        lambda: plain_summary(view, run_path=run_path, written=written),
        console,
    )


def plain_summary(view: RunView, *, run_path: str | None = None, written: Mapping[str, str] | None = None) -> str:
    """The summary as plain lines: nothing drawn, no line cut, one fact per line."""
    beside = view.lenient + (f" · {view.caution}" if view.caution else "")
    lines = [
        view.title,
        f"{view.headline_metric}: {_reading(view.headline)}, {view.headline.rate.unscored:,} unscored{beside}",
        f"outcomes: {view.outcomes}",
        *(f"{named.name}: {_reading(view.overall.figures[named.place])}" for named in view.beside),
        *([f"joined: {view.joined}"] if view.joined else []),
        *(f"note: {note}" for note in view.notes),
        *plain_sections(run_sections(view)),
    ]
    steps = next_steps(run_path, written)
    lines += ["", *(f"{what}: {command}" for what, command in steps)] if steps else []
    return plain_text(lines)


def _reading(figure: Figure) -> str:
    return " ".join(part for part in (figure.text, figure.interval, f"({figure.tally})") if part)


def next_steps(run_path: str | None, written: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Where to read on: the reports that are written, and the commands that write the others.

    ``written`` has the path of each report that exists, by format. Without ``run_path`` the run is
    stored nowhere, and no command could draw it.
    """
    steps = []
    for what, suffix in (("every case, in a browser", "html"), ("for a pull request", "md")):
        if written and suffix in written:
            steps.append((what, written[suffix]))
        elif run_path:
            steps.append((what, f"assay report {quoted(run_path)} --{suffix} report.{suffix}"))
    return steps


def drawn(view: RunView, steps: Sequence[tuple[str, str]], width: int) -> list[RenderableType]:
    """The parts of the summary, top to bottom, for a terminal of ``width`` columns."""
    inner = max(20, width - 2 * MARGIN)
    return page((_headline(view, inner), *drawn_sections(run_sections(view), inner), *drawn_steps(steps)))


def _headline(view: RunView, width: int) -> RenderableType:
    from rich.text import Text

    figure = view.headline
    line = Text()
    line.append(figure.text, style=f"bold {shade(figure)}")
    line.append(f" {figure.interval} · {view.tally}" if figure.interval else f" · {view.tally}")
    parts: list[RenderableType] = [line, bar(figure, max(10, min(width, WIDEST) - 6))]
    parts += [Text(view.outcomes_beside)] if view.outcomes_beside else []
    parts += lines([_beside(view, named) for named in view.beside], max(20, min(width, WIDEST) - 6), right=(1,))
    parts += [Text(f"joined {view.joined}", style="dim")] if view.joined else []
    foot = f"{view.headline_metric}, {view.confidence} interval"
    return panel(parts, view.notes, head=view.title, foot=foot, width=width)


def _beside(view: RunView, named: BesideHeadline) -> tuple[Text, ...]:
    """A metric shown next to the headline, in a line of its own."""
    from rich.text import Text

    figure = view.overall.figures[named.place]
    return Text(named.name), Text(figure.text, style="bold"), Text(figure.interval, style="dim"), Text(figure.tally)
