"""The summary as a terminal shows it, drawn with rich.

Text is always a `rich.text.Text`, never markup: a case id may hold brackets. What colour says, words
or signs say too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.reports.text.gate_table import drawn_gates
from assay.reports.text.plain import unscored
from assay.reports.text.selection_tables import dimension_cells, dimension_legend, group_cells
from assay.reports.views.repeats import pass_cells
from assay.reports.views.run import CaseLink, CountRow, CrossTable, Figure, GroupTable, RunView, most_cases, named_ids
from assay.reports.views.selections import BesideHeadline, SelectionOverview
from assay.reports.views.times import TITLE, time_cells, usage_cells

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

GROUP_ROWS = 8
_MARGIN = 2
_GAP = 2
_NAME_WIDTH = 28
_LEAST_WIDTH = 10
_WIDE = 100
_GOOD, _MIDDLING, _POOR = "green", "yellow", "red"


def drawn(view: RunView, steps: Sequence[tuple[str, str]], width: int) -> list[RenderableType]:
    """The parts of the summary, top to bottom, for a terminal of ``width`` columns."""
    from rich.padding import Padding
    from rich.text import Text

    inner = max(20, width - 2 * _MARGIN)
    parts: list[RenderableType] = [Text(), _headline(view, inner)]
    if view.gates:
        parts += [_title(f"Gates: {view.gates_passed}"), drawn_gates(view.gates, inner)]
    if view.selection:
        parts += _selection_parts(view, view.selection, inner)
    for table in () if view.selection else view.first_groups:
        parts += [_title(f"{view.headline_name} by {table.title}"), *_group_table(table, inner)]
    if view.repeats:
        header, cells = pass_cells(view.repeats)
        parts += [_title(view.repeats.title), *_grid(header, cells, inner, right=range(1, len(header)))]
    parts += [_title("Metrics"), *_metric_table(view, inner)]
    if inner < _WIDE:  # else the table says it
        parts += [Text(row.explained, style="dim") for row in view.metrics if row.explained]
    for title, rows in view.count_tables:
        parts += [_title(title), *_count_table(rows, inner)]
    if view.cross:
        parts += [_title("Cases on which two metrics disagree"), *_pairs(view, inner), *_cross_table(view.cross, inner)]
    for table in () if view.selection else view.other_groups:
        parts += [_title(f"{view.headline_name} by {table.title}"), *_group_table(table, inner)]
    if view.times or view.usage:
        parts += [_title(TITLE)]
    if view.times:
        header, cells = time_cells(view.times)
        parts += _grid(header, cells, inner, right=range(1, len(header) - 1))
    if view.usage:
        header, cells = usage_cells(view.usage)
        parts += [*([Text()] if view.times else []), *_grid(header, cells, inner, right=(1, 2))]
    if view.slowest:
        parts += [_title("Slowest queries"), *_slow_table(view, inner)]
    if steps:
        parts += [_title("Next"), *_steps(steps)]
    parts.append(Text())
    return [Padding(part, (0, _MARGIN)) for part in parts]


def _title(text: str) -> Text:
    from rich.text import Text

    return Text("\n").append(text[:1].upper() + text[1:], style="bold underline")


def _lines(rows: Sequence[Sequence[Text]], width: int, *, right: Sequence[int] = ()) -> list[Text]:
    """Rows as aligned lines no wider than ``width``: the first column is capped, and what no longer fits
    at the right is cut, or left out where only a stub of it would remain."""
    from rich.text import Text

    if not rows:
        return []
    widths = [_widest(column) for column in zip(*rows, strict=True)]
    widths[0] = min(widths[0], _NAME_WIDTH)
    used = 0
    for place, wanted in enumerate(widths):
        room = width - used
        widths[place] = wanted if wanted <= room else room if room >= _LEAST_WIDTH else 0
        used += widths[place] + _GAP
    lines = []
    for row in rows:
        line = Text(no_wrap=True, overflow="ellipsis")
        for place, (cell, room) in enumerate(zip(row, widths, strict=True)):
            if room:
                shown = cell.copy()
                shown.truncate(room, overflow="ellipsis")
                blanks = " " * (room - shown.cell_len)
                line.append_text(Text(blanks).append_text(shown) if place in right else shown.append(blanks))
                line.append(" " * _GAP)
        line.rstrip()
        lines.append(line)
    return lines


def _widest(cells: Sequence[Text]) -> int:
    return max(cell.cell_len for cell in cells)


def _headline(view: RunView, width: int) -> RenderableType:
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    figure = view.headline
    line = Text()
    line.append(figure.text, style=f"bold {_shade(figure)}")
    line.append(f" {figure.interval} · {view.tally}" if figure.interval else f" · {view.tally}")
    notes = Table.grid(padding=(0, 1, 0, 0))
    for note in view.notes:
        notes.add_row(Text("!", style="bold yellow"), Text(note))
    parts: list[RenderableType] = [line, _bar(figure, max(10, min(width, 100) - 6))]
    parts += [Text(view.outcomes_beside)] if view.outcomes_beside else []
    parts += _lines([_beside(view, named) for named in view.beside], max(20, min(width, 100) - 6), right=(1,))
    parts += [Text(f"joined {view.joined}", style="dim")] if view.joined else []
    if view.notes:
        parts += [Text(), notes]
    return Panel(
        Group(*parts),
        title=Text(f" {view.title} ", style="bold"),
        title_align="left",
        subtitle=Text(f" {view.headline_metric}, {view.confidence} interval ", style="dim"),
        subtitle_align="right",
        border_style="dim",
        padding=(1, 2),
        width=min(width, 100),
    )


def _beside(view: RunView, named: BesideHeadline) -> tuple[Text, ...]:
    """A metric beside the headline, in a line of its own."""
    from rich.text import Text

    figure = view.overall.figures[named.place]
    return Text(named.name), Text(figure.text, style="bold"), Text(figure.interval, style="dim"), Text(figure.tally)


def _selection_parts(view: RunView, overview: SelectionOverview, width: int) -> list[RenderableType]:
    """The tables of dimensions and groups, each with a header; columns that do not fit are left out."""
    from rich.text import Text

    parts: list[RenderableType] = []
    if overview.dimensions:
        header, rows = dimension_cells(overview, means=width >= _WIDE)
        parts += [_title("Terms by dimension"), *_grid(header, rows, width, right=range(1, len(header)))]
        parts += [Text(dimension_legend(overview), style="dim")]
    for table in view.groups:
        header, rows = group_cells(view, table, limit=GROUP_ROWS)
        parts += [_title(f"{view.headline_name} by {table.title}"), *_grid(header, rows, width, right=(1, 3, 4, 5))]
        hidden = len(table.rows) - len(rows)
        parts += [Text(f"and {hidden:,} with fewer cases", style="dim")] if hidden else []
    return parts


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, right: Sequence[int]) -> list[Text]:
    """A table with a header. The first column gives way until the others fit, as far as a name stays readable."""
    from rich.text import Text

    others = sum(_GAP + max(map(len, column)) for column in list(zip(header, *rows, strict=True))[1:])
    room = max(_LEAST_WIDTH, width - others)
    lines = [[Text(cell, style="dim") for cell in header]]
    for row in rows:
        name = Text(row[0])
        name.truncate(room, overflow="ellipsis")
        lines.append([name, *map(Text, row[1:])])
    return _lines(lines, width, right=right)


def _shade(figure: Figure) -> str:
    value = figure.rate.value
    if value is None:
        return "default"
    return _GOOD if value >= 0.8 else _MIDDLING if value >= 0.5 else _POOR


def _bar(figure: Figure, cells: int) -> Text:
    """A bar up to the value: solid to the interval's lower end, thin to its upper one."""
    from rich.text import Text

    rate = figure.rate
    bar = Text(no_wrap=True)
    if rate.value is None or not figure.share:
        return bar.append("·" * cells, style="dim")
    low = rate.value if rate.low is None else rate.low
    high = rate.value if rate.high is None else rate.high
    sure, value, possible = (round(min(1.0, max(0.0, part)) * cells) for part in (low, rate.value, high))
    bar.append("━" * sure, style=_shade(figure))
    bar.append("━" * (value - sure), style=f"{_shade(figure)} dim")
    bar.append("╌" * (possible - value), style=_shade(figure))
    return bar.append("─" * (cells - possible), style="bright_black")


def _group_table(table: GroupTable, width: int) -> list[Text]:
    """Every difficulty; of many databases or tags those with most cases."""
    from rich.text import Text

    rows = most_cases(table, GROUP_ROWS)
    figures = [
        (
            Text(row.headline.text, style="bold"),
            Text(row.headline.interval, style="dim"),
            Text(row.headline.tally),
            Text(unscored(row.headline.rate), style="dim"),
        )
        for row in rows
    ]
    names = [Text(row.name) for row in rows]
    taken = min(_NAME_WIDTH, _widest(names)) + sum(_widest(column) + _GAP for column in zip(*figures, strict=True))
    bar = max(_LEAST_WIDTH, min(40, width - taken - _GAP))
    bars = [_bar(row.headline, bar) for row in rows]
    lines = _lines(
        [(name, drawn_bar, *cells) for name, drawn_bar, cells in zip(names, bars, figures, strict=True)],
        width,
        right=(2,),
    )
    hidden = len(table.rows) - len(rows)
    return [*lines, *([Text(f"and {hidden:,} with fewer cases", style="dim")] if hidden else [])]


def _metric_table(view: RunView, width: int) -> list[Text]:
    from rich.text import Text

    return _lines(
        [
            (
                Text(row.metric, style="bold" if row.headline else ""),
                Text(row.figure.text, style="bold"),
                Text(row.figure.interval, style="dim"),
                Text(row.figure.tally),
                Text(unscored(row.figure.rate), style="dim"),
                *([Text(row.meaning, style="dim")] if width >= _WIDE else []),
            )
            for row in view.metrics
        ],
        width,
        right=(1,),
    )


def _cross_table(cross: CrossTable, width: int) -> list[Text]:
    """The matrix, its columns numbered so that it fits any width."""
    from rich.text import Text

    places = range(len(cross.metrics))
    rows = [(Text("all pairs", style="dim"), *(Text(str(place + 1), style="dim") for place in places))]
    for place, name in enumerate(cross.metrics):
        counts = (
            Text("·" if count is None else f"{count:,}", style="" if count else "dim") for count in cross.counts[place]
        )
        rows.append((Text.assemble((f"{place + 1} ", "dim"), name), *counts))
    return [Text(), *_lines(rows, width, right=range(1, len(cross.metrics) + 1))]


def _pairs(view: RunView, width: int) -> list[Text]:
    """Who says yes alone, and on which cases."""
    from rich.text import Text

    rows = [
        (
            Text.assemble((row.says, "bold"), f", not {row.denies}"),
            Text(f"{len(row.cases):,}", style="bold"),
            _dim_ids(row.cases),
        )
        for row in view.pairs
    ]
    return _lines(rows, width, right=(1,))


def _dim_ids(cases: Sequence[CaseLink]) -> Text:
    from rich.text import Text

    return Text(named_ids(cases), style="dim")


def _count_table(rows: Sequence[CountRow], width: int) -> list[Text]:
    from rich.text import Text

    def name(row: CountRow) -> Text:
        if row.blame is None:
            return Text(row.name)
        return Text.assemble((row.blame, "bold" if row.blame == "system" else "bold red"), ": ", row.name)

    return _lines(
        [
            (name(row), Text(f"{row.count:,}", style="bold"), _dim_ids(row.cases), Text(row.example or row.meaning))
            for row in rows
        ],
        width,
        right=(1,),
    )


def _slow_table(view: RunView, width: int) -> list[Text]:
    from rich.text import Text

    return _lines(
        [
            (
                Text(row.time, style="bold"),
                Text(row.side),
                Text("case ").append(named_ids([row.case])),
                Text(row.query, style="dim"),
            )
            for row in view.slowest
        ],
        width,
        right=(0,),
    )


def _steps(steps: Sequence[tuple[str, str]]) -> list[Text]:
    from rich.text import Text

    width = max(len(what) for what, _ in steps) + _GAP
    return [Text.assemble((what.ljust(width), "dim"), (command, "cyan")) for what, command in steps]
