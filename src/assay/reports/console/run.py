"""A run's summary for whoever just ran it: drawn with rich on a terminal, plain lines anywhere else."""

from __future__ import annotations

import io
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.model import Run
from assay.reports.console.terminal import GROUP_ROWS, drawn
from assay.reports.text.gate_table import plain_cells
from assay.reports.text.plain import aligned, one_line, unscored
from assay.reports.text.selection_tables import dimension_cells, dimension_legend, group_cells
from assay.reports.views.repeats import pass_cells
from assay.reports.views.run import CountRow, CrossTable, Figure, GroupTable, RunView, most_cases, named_ids
from assay.reports.views.run_build import view_of
from assay.reports.views.selections import SelectionOverview
from assay.reports.views.times import TITLE, time_cells, usage_cells

if TYPE_CHECKING:
    from rich.console import Console

_QUERY_LENGTH = 120


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
    from rich.console import Console

    console = console or Console(highlight=False)
    view = view_of(run, detailed=())
    if console.is_terminal and not console.options.ascii_only:
        console.print(
            *drawn(view, next_steps(run_path, written), console.width), sep="\n", highlight=False, markup=False
        )
        return
    text = plain_summary(view, run_path=run_path, written=written)
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


def plain_summary(view: RunView, *, run_path: str | None = None, written: Mapping[str, str] | None = None) -> str:
    """The summary as plain lines: nothing drawn, no line cut, one fact a line."""
    beside = view.lenient + (f" · {view.caution}" if view.caution else "")
    lines = [
        view.title,
        f"{view.headline_metric}: {_reading(view.headline)}, {view.headline.rate.unscored:,} unscored{beside}",
        f"outcomes: {view.outcomes}",
        *(f"{named.name}: {_reading(view.overall.figures[named.place])}" for named in view.beside),
        *([f"joined: {view.joined}"] if view.joined else []),
        *(f"note: {note}" for note in view.notes),
    ]
    if view.gates:
        lines += ["", f"gates: {view.gates_passed}", *aligned(plain_cells(view.gates))]
    if view.selection:
        lines += _selection_lines(view, view.selection)
    else:
        for table in view.first_groups:
            lines += ["", f"{view.headline_name} by {table.title}", *_group_lines(table)]
    if view.repeats:
        header, cells = pass_cells(view.repeats)
        lines += ["", view.repeats.title, *aligned([header, *cells], right=range(len(header)))]
    lines += ["", "metrics"]
    lines += aligned(
        [
            (
                row.metric,
                row.figure.text,
                row.figure.interval,
                row.figure.tally,
                unscored(row.figure.rate),
            )
            for row in view.metrics
        ],
        right=(1,),
    )
    lines += [f"  {row.explained}" for row in view.metrics if row.explained]
    for title, rows in view.count_tables:
        lines += ["", title]
        lines += aligned([(_blamed(row), f"{row.count:,}", named_ids(row.cases, limit=10)) for row in rows], right=(1,))
    if view.cross:
        lines += ["", "cases on which two metrics disagree"]
        lines += aligned(
            [(f"{row.says}, not {row.denies}", f"{len(row.cases):,}", named_ids(row.cases)) for row in view.pairs],
            right=(1,),
        )
        lines += ["", *_cross_lines(view.cross)]
    for table in () if view.selection else view.other_groups:
        lines += ["", f"{view.headline_name} by {table.title}", *_group_lines(table)]
    if view.times or view.usage:
        lines += ["", TITLE.lower()]
    if view.times:
        header, cells = time_cells(view.times)
        lines += aligned([header, *cells], right=range(1, len(header) - 1))
    if view.usage:
        header, cells = usage_cells(view.usage)
        lines += aligned([header, *cells], right=(1, 2))
    if view.slowest:
        lines += ["", "slowest queries"]
        lines += aligned(
            [
                (row.time, row.side, f"case {row.case.id}", one_line(row.query, limit=_QUERY_LENGTH))
                for row in view.slowest
            ],
            right=(0,),
        )
    steps = next_steps(run_path, written)
    lines += ["", *(f"{what}: {command}" for what, command in steps)] if steps else []
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _selection_lines(view: RunView, overview: SelectionOverview) -> list[str]:
    """The tables of dimensions and groups, each with a header."""
    lines = []
    if overview.dimensions:
        header, rows = dimension_cells(overview)
        lines += ["", "terms by dimension", *aligned([header, *rows], right=range(1, len(header)))]
        lines += [f"  {dimension_legend(overview)}"]
    for table in view.groups:
        header, rows = group_cells(view, table, limit=GROUP_ROWS)
        lines += ["", f"{view.headline_name} by {table.title}", *aligned([header, *rows], right=(1, 3, 4, 5))]
        hidden = len(table.rows) - len(rows)
        lines += [f"  and {hidden:,} with fewer cases"] if hidden else []
    return lines


def _group_lines(table: GroupTable) -> list[str]:
    rows = most_cases(table, GROUP_ROWS)
    hidden = len(table.rows) - len(rows)
    lines = aligned(
        [
            (row.name, row.headline.text, row.headline.interval, row.headline.tally, unscored(row.headline.rate))
            for row in rows
        ],
        right=(1,),
    )
    return [*lines, *([f"  and {hidden:,} with fewer cases"] if hidden else [])]


def _cross_lines(cross: CrossTable) -> list[str]:
    """The matrix, its columns numbered."""
    places = range(len(cross.metrics))
    rows = [("all pairs", *(str(place + 1) for place in places))]
    for place, name in enumerate(cross.metrics):
        rows.append((f"{place + 1} {name}", *("·" if count is None else f"{count:,}" for count in cross.counts[place])))
    return aligned(rows, right=range(1, len(cross.metrics) + 1))


def _reading(figure: Figure) -> str:
    return " ".join(part for part in (figure.text, figure.interval, f"({figure.tally})") if part)


def _blamed(row: CountRow) -> str:
    return f"{row.blame}: {row.name}" if row.blame else row.name


def next_steps(run_path: str | None, written: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Where to read on: the reports that are written, and the commands for the others.

    ``written`` has the path of each report that exists, by format. Without ``run_path`` the run is
    stored nowhere, and no command could draw it.
    """
    steps = []
    for what, suffix in (("every case, in a browser", "html"), ("for a pull request", "md")):
        if written and suffix in written:
            steps.append((what, written[suffix]))
        elif run_path:
            steps.append((what, f"assay report {shlex.quote(run_path)} --{suffix} report.{suffix}"))
    return steps
