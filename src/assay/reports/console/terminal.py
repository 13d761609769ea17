"""The summary of a run as a terminal shows it: the headline in a panel, then every section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.reports.console.bars import bar, shade
from assay.reports.console.drawn import MARGIN, WIDEST, drawn_sections, drawn_steps, lines, page, panel
from assay.reports.sections.run import run_sections
from assay.reports.views.run import RunView
from assay.reports.views.selections import BesideHeadline

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


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
    """A metric beside the headline, in a line of its own."""
    from rich.text import Text

    figure = view.overall.figures[named.place]
    return Text(named.name), Text(figure.text, style="bold"), Text(figure.interval, style="dim"), Text(figure.tally)
