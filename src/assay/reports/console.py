"""A run's summary for whoever just ran it: drawn with rich on a terminal, plain lines anywhere else."""

from __future__ import annotations

import io
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model import Run
from assay.reports.build import view_of
from assay.reports.text import plural
from assay.reports.view import CountRow, DisagreementRow, Figure, RunView, named_ids

if TYPE_CHECKING:
    from rich.console import Console


def print_summary(run: Run, *, console: Console | None = None, run_path: str | None = None) -> None:
    """Print the summary of a run.

    On a terminal it is drawn to the console's width, without colour where NO_COLOR is set; elsewhere
    it is the plain text of `plain_summary`. ``run_path`` is where the run is stored, for the hints
    at the end.
    """
    from rich.console import Console

    console = console or Console(highlight=False)
    view = view_of(run, detailed=())
    if console.is_terminal and not console.options.ascii_only:
        from assay.reports.terminal import drawn

        console.print(*drawn(view, next_steps(run_path), console.width), sep="\n", highlight=False, markup=False)
        return
    text = plain_summary(view, run_path=run_path)
    # A terminal or pipe that is not UTF-8 gets question marks rather than a traceback.
    console.file.write(text.encode(console.encoding, "replace").decode(console.encoding))


def draw_summary(run: Run, *, width: int, colour: bool = False, run_path: str | None = None) -> str:
    """The summary as a terminal of that width shows it."""
    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        no_color=not colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
    )
    with console.capture() as captured:
        print_summary(run, console=console, run_path=run_path)
    return captured.get()


def plain_summary(view: RunView, *, run_path: str | None = None) -> str:
    """The summary as plain lines: nothing drawn, nothing cut, one fact a line."""
    lines = [
        view.title,
        f"{view.headline_metric}: {_reading(view.headline)}, {view.unscored:,} unscored",
        *(f"note: {note}" for note in view.notes),
    ]
    for table in view.groups:
        lines += ["", f"{view.headline_name} by {table.title}"]
        lines += _columns(
            [(row.name, row.headline.text, row.headline.interval, row.headline.tally) for row in table.rows], right=(1,)
        )
    lines += ["", "metrics"]
    lines += _columns(
        [
            (
                row.metric,
                row.figure.text,
                row.figure.interval,
                row.figure.tally,
                f"{row.figure.rate.unscored:,} unscored",
            )
            for row in view.metrics
        ],
        right=(1,),
    )
    if view.disagreements:
        lines += ["", "cases on which two metrics disagree"]
        lines += [f"  {_disagreement(row)}" for row in view.disagreements]
    for title, rows in view.count_tables:
        lines += ["", title]
        lines += _columns(
            [(_blamed(row), f"{row.count:,}", named_ids(row.cases, limit=10)) for row in rows], right=(1,)
        )
    if view.slowest:
        lines += ["", "slowest queries"]
        lines += _columns([(row.time, row.side, f"case {row.case.id}", row.query) for row in view.slowest], right=(0,))
    lines += ["", *(f"{what}: {command}" for what, command in next_steps(run_path))]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _reading(figure: Figure) -> str:
    return " ".join(part for part in (figure.text, figure.interval, f"({figure.tally})") if part)


def _columns(rows: Sequence[tuple[str, ...]], *, right: Sequence[int] = ()) -> list[str]:
    """Rows in aligned columns, those in ``right`` to the right; the last one is as long as it is."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]

    def line(row: tuple[str, ...]) -> str:
        cells = (
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  " + "  ".join(cells)

    return [line(row) for row in rows]


def _disagreement(row: DisagreementRow) -> str:
    sides = [
        f"only {name} says yes: {len(cases):,} ({named_ids(cases)})"
        for name, cases in ((row.first, row.only_first), (row.second, row.only_second))
        if cases
    ]
    return f"{row.first} / {row.second}: {plural(row.count, 'case')}; " + "; ".join(sides)


def _blamed(row: CountRow) -> str:
    return f"{row.blame}: {row.name}" if row.blame else row.name


def next_steps(run_path: str | None) -> list[tuple[str, str]]:
    """What to do next, and the command for it."""
    path = shlex.quote(run_path) if run_path else "RUN"
    return [
        ("every case, in a browser", f"assay report {path} --html report.html"),
        ("for a pull request", f"assay report {path} --md report.md"),
    ]
