"""A comparison of two runs as a terminal shows it, drawn with rich.

Text is always a `rich.text.Text`, never markup: a case id may hold brackets. What colour says, words
or signs say too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.reports.text.gate_table import drawn_gates
from assay.reports.views.diff import (
    SIGNS_MEANING,
    ChangeRow,
    ChangeTable,
    DiffFigure,
    DiffGroupTable,
    DiffView,
    Direction,
    ShownKind,
    SideText,
    first_names,
    most_changed,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

GROUP_ROWS = 8
MORE_IDS = 12
MATCH_NAMES = 10
MARGIN = 2
_WIDEST = 100
_NAME_WIDTH = 28
_LEAST_BAR, _GOOD_BAR, _WIDEST_BAR = 11, 21, 41
_ADJUSTED = "adjusted"
_FIRM = 4
"""Columns kept above this give way for a bar at all; the others already for one that is easy to read."""
_COLOURS: dict[Direction, str] = {"better": "green", "worse": "red", "unclear": "yellow", "unknown": "default"}
_KIND_STYLES: dict[ShownKind, tuple[str, str]] = {
    "still_right": ("━", "green dim"),
    "fixed": ("█", "green"),
    "better": ("▓", "green"),
    "flaky": ("┅", "yellow"),
    "worse": ("▓", "red"),
    "broken": ("█", "red"),
    "otherwise": ("╍", "red dim"),
    "still_wrong": ("─", "bright_black"),
    "unscored": ("·", "bright_black"),
}
"""In the order of the bar: right to wrong."""


def drawn_diff(view: DiffView, steps: Sequence[tuple[str, str]], width: int) -> list[RenderableType]:
    """The parts of the comparison, top to bottom, for a terminal of ``width`` columns."""
    from rich.padding import Padding
    from rich.text import Text

    inner = max(20, width - 2 * MARGIN)
    parts: list[RenderableType] = [Text(), _panel(view, inner), *_sides(view, inner)]
    if view.gates:
        parts += [title(f"Gates: {view.gates_passed}"), drawn_gates(view.gates, inner)]
    for table in view.changes:
        parts += _change_table(table)
    if view.metrics:
        figures = [row.figure for row in view.metrics]
        names = [Text(row.metric, style="bold" if row.headline else "") for row in view.metrics]
        parts += [title("Metrics"), *_forest("metric", names, figures, inner)]
        parts.append(Text(SIGNS_MEANING, style="dim"))
        parts += [Text(row.explained, style="dim") for row in view.metrics if row.explained]
    parts += [Text(said, style="dim") for said in view.only_in_one]
    for group in view.groups:
        parts += _group_table(view, group, inner)
    if view.matching:
        parts += [title("Cases that are not the same in both runs"), *_matching(view, inner)]
    parts += [title("What these numbers can show")] if view.power or view.methods else []
    parts += [Text(view.power)] if view.power else []
    parts += [Text(said, style="dim") for said in view.methods]
    if steps:
        parts += [title("Next"), *drawn_steps(steps)]
    parts.append(Text())
    return [Padding(part, (0, MARGIN)) for part in parts]


def title(text: str) -> Text:
    """A heading, with a blank line above."""
    from rich.text import Text

    return Text("\n").append(text, style="bold underline")


def framed(
    parts: Sequence[RenderableType], notes: Sequence[str], *, head: str, foot: str, width: int
) -> RenderableType:
    """The panel that a summary begins with."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    shown = [*parts]
    if notes:
        grid = Table.grid(padding=(0, 1, 0, 0))
        for note in notes:
            grid.add_row(Text("!", style="bold yellow"), Text(note))
        shown += [Text(), grid]
    return Panel(
        Group(*shown),
        title=Text(f" {head} ", style="bold"),
        title_align="left",
        subtitle=Text(f" {foot} ", style="dim"),
        subtitle_align="right",
        border_style="dim",
        padding=(1, 2),
        width=min(width, _WIDEST),
    )


def drawn_steps(steps: Sequence[tuple[str, str]]) -> list[Text]:
    """Where to read on."""
    from rich.text import Text

    room = max(len(what) for what, _ in steps) + 2
    return [Text.assemble((what.ljust(room), "dim"), (command, "cyan")) for what, command in steps]


def _panel(view: DiffView, width: int) -> RenderableType:
    from rich.text import Text

    colour = _COLOURS[view.direction if view.firm else "unclear"]
    parts: list[RenderableType] = [Text.assemble((view.lead, f"bold {colour}"), ": ", view.rest)]
    if view.counts:
        cells = max(10, min(width, _WIDEST) - 6)
        parts += [Text(), _kinds_bar(view, cells), *_kinds_legend(view, cells)]
    foot = f"{view.headline_metric}, {view.confidence} interval"
    return framed(parts, view.notes, head=view.title, foot=foot, width=width)


def _kinds_bar(view: DiffView, cells: int) -> Text:
    """All paired cases, from still right to unscored; each kind has a cell at least."""
    from rich.text import Text

    counts = {one.kind: one.count for one in view.counts}
    kinds = [kind for kind in _KIND_STYLES if kind in counts]
    total = sum(counts.values())
    shares = {kind: max(1, round(counts[kind] / total * cells)) for kind in kinds}
    # The largest kind gives or takes what rounding left over.
    largest = max(kinds, key=lambda kind: counts[kind])
    shares[largest] = max(1, shares[largest] + cells - sum(shares.values()))
    bar = Text(no_wrap=True)
    for kind in kinds:
        sign, style = _KIND_STYLES[kind]
        bar.append(sign * shares[kind], style=style)
    return bar


def _kinds_legend(view: DiffView, width: int) -> list[Text]:
    """What the signs of the bar stand for; an entry is never torn apart."""
    from rich.text import Text

    counts = {one.kind: one for one in view.counts}
    lines = [Text()]
    for kind, (sign, style) in _KIND_STYLES.items():
        if kind in counts:
            entry = Text.assemble((sign, style), " ", (f"{counts[kind].count:,}", "bold"), f" {counts[kind].name}")
            if lines[-1] and lines[-1].cell_len + 3 + entry.cell_len > width:
                lines.append(Text())
            lines[-1].append("   " if lines[-1] else "").append_text(entry)
    return lines


def _sides(view: DiffView, width: int) -> list[RenderableType]:
    from rich.text import Text

    sides = (view.baseline, view.candidate)
    labels = [Text(side.label, style="bold") for side in sides]
    room = min(max(10, width // 3), max(label.cell_len for label in labels))
    lines: list[RenderableType] = [Text()]
    for side, label in zip(sides, labels, strict=True):
        line = _padded(Text(side.role, style="dim"), len("candidate")).append_text(_padded(label, room))
        lines.append(_unbroken(line.append(f"by itself {side.own}")))
    return lines


def _padded(text: Text, room: int) -> Text:
    """Text cut or filled up to that many columns, and the gap to what follows."""
    shown = text.copy()
    shown.truncate(room, overflow="ellipsis", pad=True)
    return shown.append("  ")


def _unbroken(line: Text) -> Text:
    """A line that is cut where the terminal ends."""
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _change_table(table: ChangeTable) -> list[RenderableType]:
    from rich.text import Text

    style = _KIND_STYLES[table.kind][1].removesuffix(" dim")
    head = title(f"{table.title}: {table.count:,}").append(f"  {table.meaning}", style="dim")
    parts: list[RenderableType] = [head]
    room = min(_NAME_WIDTH, max((Text(row.id).cell_len for row in table.rows), default=0))
    for row in table.rows:
        names = [Text(row.id, style=f"bold {style}"), Text(), Text()]
        parts += [
            _unbroken(_padded(name, room).append_text(said)) for name, said in zip(names, _said_of(row), strict=True)
        ]
    if table.more:
        lead = "and " if table.rows else ""
        parts.append(Text(f"{lead}{first_names(table.more, MORE_IDS)}", style="dim"))
    return parts


def _said_of(row: ChangeRow) -> tuple[Text, Text, Text]:
    from rich.text import Text

    question = Text(row.question or "(no question)").append(f"  {row.where}" if row.where else "", style="dim")

    def told(role: str, side: SideText) -> Text:
        said = Text(f"{role.ljust(10)}", style="dim").append(side.state, style="green" if side.state == "right" else "")
        return said.append(f": {side.reason}" if side.reason else "")

    return question, told("baseline", row.baseline), told("candidate", row.candidate)


def _group_table(view: DiffView, table: DiffGroupTable, width: int) -> list[RenderableType]:
    from rich.text import Text

    rows = most_changed(table, GROUP_ROWS)
    parts: list[RenderableType] = [title(f"{view.headline_metric} by {table.title}")]
    parts += _forest(table.kind, [Text(row.name) for row in rows], [row.figure for row in rows], width)
    hidden = len(table.rows) - len(rows)
    return [*parts, *([Text(f"and {hidden:,} in which fewer cases changed", style="dim")] if hidden else [])]


def _matching(view: DiffView, width: int) -> list[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(overflow="fold", max_width=max(20, width - 20))
    for row in view.matching:
        names = Text(first_names(row.names, MATCH_NAMES)).append(f"\n{row.meaning}", style="dim")
        grid.add_row(Text(row.title), Text(f"{len(row.names):,}", style="bold"), names)
    return [grid]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One column of a table of differences; ``keep``: the lower, the sooner it gives way on a narrow terminal."""

    head: str
    cells: Sequence[Text]
    keep: int

    @property
    def width(self) -> int:
        return max(len(self.head), *(cell.cell_len for cell in self.cells))


def _forest(head: str, names: Sequence[Text], figures: Sequence[DiffFigure], width: int) -> list[RenderableType]:
    """Differences with their intervals around zero, all on one scale."""
    from rich.table import Table
    from rich.text import Text

    named = min(_NAME_WIDTH, max(len(head), *(name.cell_len for name in names)))
    columns = _fitting(_columns(figures), width - named - 2)
    if not any(column.head == _ADJUSTED for column in columns):
        # One column of p-values then, and it must not say other than the signs do.
        columns = _fitting(_columns(figures, decisive=True), width - named - 2)
    room = _room(columns, width - named - 2)
    scale = max([0.01, *(abs(end) for one in figures for end in _ends(one))])
    cells = min(_WIDEST_BAR, room) // 2 * 2 - 1
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=named)
    bars = [_interval_bar(one, cells, scale) for one in figures] if cells >= _LEAST_BAR - 2 else None
    places = [(columns[0], "right"), *((column, "left") for column in columns[1:])]
    heads = [Text(head, style="dim"), Text(columns[0].head, style="dim")]
    grid.add_column(no_wrap=True, justify="right")
    if bars:
        grid.add_column(no_wrap=True)
        heads.append(_axis(cells, scale))
    for column, _ in places[1:]:
        grid.add_column(no_wrap=True, justify="right" if column.head == "cases" else "left")
        heads.append(Text(column.head, style="dim"))
    grid.add_row(*heads)
    for place, name in enumerate(names):
        row = [name, columns[0].cells[place], *([bars[place]] if bars else [])]
        grid.add_row(*row, *(column.cells[place] for column in columns[1:]))
    return [grid]


def _room(columns: Sequence[_Column], width: int) -> int:
    """What the columns leave for a bar."""
    return width - sum(column.width + 2 for column in columns)


def _fitting(columns: list[_Column], width: int) -> list[_Column]:
    """Without those that leave too little for a bar; the first one stays."""
    while columns[1:]:
        least = min(columns, key=lambda column: column.keep)
        if _room(columns, width) >= (_LEAST_BAR if least.keep > _FIRM else _GOOD_BAR):
            break
        columns.remove(least)
    return columns


def _columns(figures: Sequence[DiffFigure], *, decisive: bool = False) -> list[_Column]:
    """What stands beside a name: the difference first, then the rest as far as it fits.

    ``decisive``: of the p-values only those that the signs go by.
    """
    from rich.text import Text

    def dim(texts: Sequence[str]) -> list[Text]:
        return [Text(text, style="dim") for text in texts]

    def signed(one: DiffFigure) -> Text:
        return Text(f"{one.sign} {one.difference}", style=f"bold {_COLOURS[one.direction]}")

    p_values = [one.decisive_p_value if decisive else one.p_value for one in figures]
    p_head = _ADJUSTED if decisive and p_values == [one.adjusted_p_value for one in figures] else "p"
    columns = [
        _Column(head="points", cells=[signed(one) for one in figures], keep=9),
        _Column(head="", cells=dim([one.interval for one in figures]), keep=8),
        _Column(head="from → to", cells=[Text(f"{one.baseline} → {one.candidate}") for one in figures], keep=5),
        _Column(head=p_head, cells=[Text(one) for one in p_values], keep=6),
        _Column(head=_ADJUSTED, cells=dim(["" if decisive else one.adjusted_p_value for one in figures]), keep=4),
        _Column(head="+/-", cells=[Text(f"{one.diff.gained:,}/{one.diff.lost:,}") for one in figures], keep=3),
        _Column(head="cases", cells=dim([one.tally for one in figures]), keep=2),
    ]
    return [column for column in columns if any(cell.plain for cell in column.cells)]


def _ends(one: DiffFigure) -> list[float]:
    """What a bar of it shows; nothing where it is no share, for which the axis is none."""
    return [end for end in (one.diff.low, one.diff.high, one.diff.difference) if end is not None and one.share]


def _interval_bar(one: DiffFigure, cells: int, scale: float) -> Text:
    """The interval as a thick line on an axis whose middle is zero, the difference as a dot on it."""
    from rich.text import Text

    def place(value: float) -> int:
        return round((value / scale + 1) / 2 * (cells - 1))

    signs = [("─", "bright_black")] * cells
    colour = _COLOURS[one.direction]
    ends = [place(end) for end in _ends(one)]
    for cell in range(min(ends), max(ends) + 1) if ends else ():
        signs[cell] = ("━", colour)
    zero = cells // 2
    signs[zero] = ("┿", colour) if ends and min(ends) <= zero <= max(ends) else ("┼", "bright_black")
    if ends and one.diff.difference is not None:
        signs[place(one.diff.difference)] = ("●", f"bold {colour}")
    return Text.assemble(*signs)


def _axis(cells: int, scale: float) -> Text:
    from rich.text import Text

    end = f"{scale * 100:.1f}"
    low, high = f"-{end}", f"+{end}"
    half = cells // 2
    if half < len(high) + 1:
        return Text("0".center(cells), style="dim")
    return Text(low.ljust(half) + "0" + high.rjust(cells - half - 1), style="dim")
