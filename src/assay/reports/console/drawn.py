"""Sections as a terminal shows them, drawn with rich.

Text is always a `rich.text.Text`, never markup: a case id may hold brackets. What colour says, words
or signs say too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from assay.reports.console.forest import forest
from assay.reports.console.plain import MORE_IDS
from assay.reports.sections.lines import Grid, Piece, grid
from assay.reports.sections.values import (
    Block,
    Changes,
    Checks,
    Facts,
    Matrix,
    Medium,
    Names,
    Number,
    Paragraph,
    Section,
    Table,
    Times,
    sections_for,
)
from assay.reports.text.gate_table import drawn_gates
from assay.reports.views.diff import ChangeRow, ChangeTable, DiffFigure, ShownKind, SideText, first_names
from assay.reports.views.run import Figure

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

MARGIN = 2
WIDEST = 100
"""A panel is no wider; from this width on, tables have their less needful columns."""
_GAP = 2
_NAME_WIDTH = 28
_LEAST_WIDTH = 10
_WIDEST_BAR = 40
_LONG: Final = frozenset({"ids", "query", "remark", "quoted"})
"""What is cut where a line ends, rather than a name."""
_GOOD, _MIDDLING, _POOR = "green", "yellow", "red"
_STYLES: Final = {"aside": "dim", "ids": "dim", "remark": "dim", "query": "dim"}
KIND_STYLES: Final[dict[ShownKind, tuple[str, str]]] = {
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
"""Sign and style of what became of a case between two runs, right to wrong."""


def drawn_sections(sections: Iterable[Section], width: int) -> Iterable[RenderableType]:
    """Every section under its title, for lines of ``width`` columns."""
    from rich.text import Text

    medium: Medium = "wide" if width >= WIDEST else "narrow"
    for section in sections_for(sections, medium):
        yield title(section.title, section.aside) if section.title else Text()
        for place, block in enumerate(section.blocks_for(medium)):
            if place and not isinstance(block, Paragraph):
                yield Text()
            yield from _block(block, medium, width)


def _block(block: Block, medium: Medium, width: int) -> Iterable[RenderableType]:
    from rich.text import Text

    match block:
        case Table():
            yield from _table(block, medium, width)
        case Times():
            yield from _table(block.table, medium, width)
        case Matrix():
            yield from _matrix(block, width)
        case Checks():
            yield drawn_gates(block.rows, width)
        case Facts():
            yield from lines([(Text(fact.name, style="dim"), Text(fact.value)) for fact in block.rows], width)
        case Paragraph():
            yield from (Text(line, style="dim" if block.quiet else "") for line in block.lines)
        case Changes():
            yield from _changes(block.table)


def title(text: str, aside: str = "") -> Text:
    """A heading, with a blank line above."""
    from rich.text import Text

    head = Text("\n").append(text, style="bold underline")
    return head.append(f"  {aside}" if ":" in text else f": {aside}", style="dim") if aside else head


def panel(parts: Sequence[RenderableType], notes: Sequence[str], *, head: str, foot: str, width: int) -> RenderableType:
    """The panel that a summary begins with."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table as Rows
    from rich.text import Text

    shown = [*parts]
    if notes:
        noted = Rows.grid(padding=(0, 1, 0, 0))
        for note in notes:
            noted.add_row(Text("!", style="bold yellow"), Text(note))
        shown += [Text(), noted]
    return Panel(
        Group(*shown),
        title=Text(f" {head} ", style="bold"),
        title_align="left",
        subtitle=Text(f" {foot} ", style="dim"),
        subtitle_align="right",
        border_style="dim",
        padding=(1, 2),
        width=min(width, WIDEST),
    )


def drawn_steps(steps: Sequence[tuple[str, str]]) -> Iterable[Text]:
    """Where to read on, under a heading; nothing without steps."""
    from rich.text import Text

    if steps:
        yield title("Next")
    room = max((len(what) for what, _ in steps), default=0) + _GAP
    yield from (Text.assemble((what.ljust(room), "dim"), (command, "cyan")) for what, command in steps)


def page(parts: Iterable[RenderableType]) -> list[RenderableType]:
    """The parts with a blank line around them, and a margin."""
    from rich.padding import Padding
    from rich.text import Text

    return [Padding(part, (0, MARGIN)) for part in (Text(), *parts, Text())]


def _table(table: Table, medium: Medium, width: int) -> Iterable[RenderableType]:
    from rich.text import Text

    cells = [cell for row in table.rows for cell in row.cells]
    if any(isinstance(cell, DiffFigure) for cell in cells):
        yield from forest(table, medium, width)
    elif any(isinstance(cell, Names) for cell in cells):
        yield _wrapped(grid(table, medium), width)
    else:
        yield from _grid(grid(table, medium), width, headed=table.headed)
    hidden = len(table.shown(medium)[1])
    if hidden:
        yield Text(f"and {hidden:,} {table.more}", style="dim")
    if table.foot:
        yield Text(table.foot, style="dim")


def _wrapped(found: Grid, width: int) -> RenderableType:
    """Rows of which nothing is cut: what does not fit a line goes on in the next."""
    from rich.table import Table as Rows

    made = Rows.grid(padding=(0, 2, 0, 0))
    for place, piece in enumerate(found.rows[0]):
        wraps = piece.role in ("ids", "remark")
        made.add_column(
            no_wrap=not wraps,
            overflow="fold",
            justify="right" if place in found.right else "left",
            max_width=max(20, width // 2) if wraps else None,
        )
    for row in found.rows:
        made.add_row(*map(_drawn, row))
    return made


def _grid(found: Grid, width: int, *, headed: bool) -> Iterable[Text]:
    """The lines. Bars take what is left over; under a header the first name gives way until the others fit."""
    from rich.text import Text

    if not found.rows:
        return
    rows = [[_drawn(piece) for piece in row] for row in found.rows]
    if headed:
        rows.insert(0, [Text(head, style="dim") for head in found.heads])
    roles = [piece.role for piece in found.rows[0]]
    named = roles.index("name") if "name" in roles else 0
    columns = list(zip(*rows, strict=True))
    others = sum(_GAP + _widest(column) for place, column in enumerate(columns) if place != named)
    if "bar" in roles:
        room = min(_NAME_WIDTH, _widest(columns[named]))
        for row in rows:
            row[named].truncate(room, overflow="ellipsis")
        _draw_bars(found, rows, roles.index("bar"), min(_WIDEST_BAR, width - room - others))
    elif headed and roles[-1] not in _LONG:
        for row in rows:
            row[named].truncate(max(_LEAST_WIDTH, width - others), overflow="ellipsis")
    yield from lines(rows, width, right=sorted(found.right), named=named)


def _draw_bars(found: Grid, rows: list[list[Text]], place: int, cells: int) -> None:
    """Put the bars in their place; those of a range get their scale above them."""
    from rich.text import Text

    figures = [figure for row in found.rows if (figure := row[place].figure) is not None]
    scale = range_of(figures) if found.rows[0][place].scale else None
    if scale is not None and cells < _LEAST_WIDTH:
        return  # the rows, being empty there, are set without them
    cells = max(_LEAST_WIDTH, cells)
    for figure, row in zip(figures, rows[-len(figures) :], strict=True):
        row[place] = bar(figure, cells) if scale is None else range_bar(figure, cells, *scale)
    if scale is not None:
        low, high = (f"{end * 100:.3g}" for end in scale)
        rows[0][place] = Text(low.ljust(cells - len(high)) + high, style="dim")


def _drawn(piece: Piece) -> Text:
    from rich.text import Text

    if piece.blame:
        owner = piece.blame.removesuffix(": ")
        style = "bold" if owner == "system" else "bold red"
        return Text.assemble((owner, style), ": ", piece.text.removeprefix(piece.blame))
    return Text(piece.text, style="bold" if piece.strong else _STYLES.get(piece.role, ""))


def lines(rows: Sequence[Sequence[Text]], width: int, *, right: Sequence[int] = (), named: int = 0) -> list[Text]:
    """Rows as aligned lines no wider than ``width``: the column of names is capped, and what no longer fits
    at the right is cut, or left out where only a stub of it would remain."""
    from rich.text import Text

    if not rows:
        return []
    widths = [_widest(column) for column in zip(*rows, strict=True)]
    widths[named] = min(widths[named], _NAME_WIDTH)
    used = 0
    for place, wanted in enumerate(widths):
        room = width - used
        widths[place] = wanted if wanted <= room else room if room >= _LEAST_WIDTH else 0
        used += widths[place] + _GAP if widths[place] else 0
    made = []
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
        made.append(line)
    return made


def _widest(cells: Sequence[Text]) -> int:
    return max(cell.cell_len for cell in cells)


def shade(figure: Figure) -> str:
    """The colour of a share: good, middling, poor."""
    value = figure.rate.value
    if value is None:
        return "default"
    return _GOOD if value >= 0.8 else _MIDDLING if value >= 0.5 else _POOR


def bar(figure: Figure, cells: int) -> Text:
    """A bar up to the value: solid to the interval's lower end, thin to its upper one."""
    from rich.text import Text

    rate = figure.rate
    drawn = Text(no_wrap=True)
    if rate.value is None or not figure.share:
        return drawn.append("·" * cells, style="dim")
    low = rate.value if rate.low is None else rate.low
    high = rate.value if rate.high is None else rate.high
    sure, value, possible = (round(min(1.0, max(0.0, part)) * cells) for part in (low, rate.value, high))
    drawn.append("━" * sure, style=shade(figure))
    drawn.append("━" * (value - sure), style=f"{shade(figure)} dim")
    drawn.append("╌" * (possible - value), style=shade(figure))
    return drawn.append("─" * (cells - possible), style="bright_black")


def range_of(figures: Sequence[Figure]) -> tuple[float, float]:
    """What bars of a range span: all intervals, out to whole tenths."""
    rates = [figure.rate for figure in figures]
    ends = [end for rate in rates for end in (rate.low, rate.value, rate.high) if end is not None]
    if not ends:
        return 0.0, 1.0
    low, high = int(min(ends) * 10 // 1) / 10, -int(-max(ends) * 10 // 1) / 10
    return low, max(high, low + 0.1)


def range_bar(figure: Figure, cells: int, low: float, high: float) -> Text:
    """The interval as a thick line, the value as a dot on it."""
    from rich.text import Text

    def place(value: float) -> int:
        return round(min(1.0, max(0.0, (value - low) / (high - low))) * (cells - 1))

    signs = [("─", "bright_black")] * cells
    rate = figure.rate
    if rate.value is not None:
        for cell in range(place(rate.value if rate.low is None else rate.low), place(rate.high or rate.value) + 1):
            signs[cell] = ("━", "cyan")
        signs[place(rate.value)] = ("●", "bold cyan")
    return Text.assemble(*signs)


def _matrix(matrix: Matrix, width: int) -> Iterable[Text]:
    """The columns are numbered, as the lines are, so that many fit."""
    from rich.text import Text

    def cell(found: Number | None) -> Text:
        if found is None:
            return Text("·", style="dim")
        signed = {"+": "green", "-": "red"}.get(found.text[:1], "")
        return Text(found.text, style=signed if found.value else "dim")

    count = len(matrix.names)
    rows = [(Text(), *(Text(str(place + 1), style="dim") for place in range(count)))]
    for place, (name, cells) in enumerate(zip(matrix.names, matrix.cells, strict=True), start=1):
        rows.append((Text.assemble((f"{place} ", "dim"), name), *map(cell, cells)))
    yield from lines(rows, width, right=range(1, count + 1))
    yield Text(matrix.caption, style="dim")


def _changes(table: ChangeTable) -> Iterable[RenderableType]:
    from rich.text import Text

    style = KIND_STYLES[table.kind][1].removesuffix(" dim")
    room = min(_NAME_WIDTH, max((Text(row.id).cell_len for row in table.rows), default=0))
    for row in table.rows:
        names = [Text(row.id, style=f"bold {style}"), Text(), Text()]
        for name, said in zip(names, _said_of(row), strict=True):
            yield unbroken(padded(name, room).append_text(said))
    if table.more:
        yield Text(f"{'and ' if table.rows else ''}{first_names(table.more, MORE_IDS)}", style="dim")


def _said_of(row: ChangeRow) -> tuple[Text, Text, Text]:
    from rich.text import Text

    question = Text(row.question or "(no question)").append(f"  {row.where}" if row.where else "", style="dim")

    def told(role: str, side: SideText) -> Text:
        said = Text(f"{role.ljust(10)}", style="dim").append(side.state, style="green" if side.state == "right" else "")
        return said.append(f": {side.reason}" if side.reason else "")

    return question, told("baseline", row.baseline), told("candidate", row.candidate)


def padded(text: Text, room: int) -> Text:
    """Text cut or filled up to that many columns, and the gap to what follows."""
    shown = text.copy()
    shown.truncate(room, overflow="ellipsis", pad=True)
    return shown.append(" " * _GAP)


def unbroken(line: Text) -> Text:
    """A line that is cut where the terminal ends."""
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
