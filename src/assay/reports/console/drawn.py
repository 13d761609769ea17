"""Sections as a terminal shows them, drawn with rich.

Text is always a `rich.text.Text`, never markup: a case id may contain brackets. What colour says, words
or signs say too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from assay.reports.blocks.lines import FULL_RANK, Piece, TextColumn, text_columns
from assay.reports.blocks.values import (
    HOLM,
    Block,
    ChangeRow,
    Changes,
    Chart,
    DiffFigure,
    Figure,
    KeyValues,
    Name,
    Number,
    Section,
    ShownKind,
    SideText,
    Status,
    Table,
    first_names,
    reading,
    sections_in,
)
from assay.reports.blocks.values import (
    Text as Sentences,
)
from assay.reports.console.bars import COLOURS, GOOD_BAR, LEAST_BAR, WIDEST_BAR, Bars
from assay.reports.console.plain import MORE_IDS

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as Rows
    from rich.text import Text

MARGIN = 2
WIDEST = 100
"""The greatest width of a panel."""
_GAP = 2
_NAME_WIDTH = 28
_LEAST_WIDTH = 10
_SOFT = 6
"""Columns of this rank or above are dropped to make a bar easy to read; the others only to fit a bar at all."""
_LONG: Final = frozenset({"ids", "query", "remark", "quoted"})
"""Roles whose text is cut at the end of a line, so that names stay whole."""
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
"""Sign and style per kind of change between two runs, from right to wrong."""


def drawn_sections(sections: Iterable[Section], width: int) -> Iterable[RenderableType]:
    """Every section under its title, for lines of ``width`` columns."""
    from rich.text import Text

    for section in sections_in(sections, "summary"):
        yield title(section.title, section.aside) if section.title else Text()
        for place, block in enumerate(section.blocks_in("summary")):
            if place and not isinstance(block, Sentences):
                yield Text()
            yield from _block(block, width)


def _block(block: Block, width: int) -> Iterable[RenderableType]:
    from rich.text import Text

    match block:
        case Chart():
            yield from _block(block.table, width)
        case Table(look="matrix"):
            yield from _matrix(block, width)
        case Table():
            yield from _table(block, width)
        case KeyValues():
            yield lines((Text(name, style="dim"), Text(value)) for name, value in block.rows)
        case Sentences():
            yield from (Text(line, style="dim" if block.quiet else "") for line in block.lines)
        case Changes():
            yield from _changes(block)


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
    """What to do next, under a heading; nothing without steps."""
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


def _table(table: Table, width: int) -> Iterable[RenderableType]:
    from rich.text import Text

    (columns, foot), left_out = text_columns(table, "terminal"), list[TextColumn]()
    if columns and columns[0].pieces and table.wraps:
        long = {place for place, column in enumerate(columns) if column.role in _LONG}
        yield _rows(columns, long, headed=False, wraps=True)
    elif columns and columns[0].pieces:
        fitted, left_out = _fitting(columns, width, headed=table.headed)
        if any(column.title == HOLM for column in left_out):
            # Only one column of p-values is left, and it must agree with the signs.
            columns, _ = text_columns(table, "terminal", decisive=True)
            fitted, left_out = _fitting(columns, width, headed=table.headed)[0], []
        yield _rows(fitted, _yielding(fitted, width, headed=table.headed), headed=table.headed)
    ranked = {column.title for column in table.columns if column.rank}
    if named := [column.title for column in left_out if column.rank < FULL_RANK and column.title in ranked]:
        yield Text(f"\nNot enough room for: {', '.join(named)}. A wider terminal or --json has all.", style="dim")
    yield from (Text(line, style="dim") for line in foot)


def _widths(columns: Sequence[TextColumn], *, headed: bool, bar: int) -> list[tuple[int, int]]:
    """The least and the full width of each column. Long texts may be cut, so they never push another column out."""
    from rich.cells import cell_len

    widths = []
    for column in columns:
        full = max(cell_len(text) for text in (column.title if headed else "", *(one.text for one in column.pieces)))
        least = column.least or (_LEAST_WIDTH if column.role in _LONG else full)
        if column.role == "bar":
            least, full = bar, WIDEST_BAR
        elif column.role == "words" and column is columns[-1] and full > _NAME_WIDTH:
            least = _LEAST_WIDTH
        elif column.role == "name" and not column.least:
            least = full = min(full, _NAME_WIDTH)
        widths.append((min(least, full), full))
    return widths


def _fitting(given: Sequence[TextColumn], width: int, *, headed: bool) -> tuple[list[TextColumn], list[TextColumn]]:
    """The columns that fit, and those that do not.

    Those of the highest rank go first, then the bar, then the last of several long texts, then whatever is last.
    """
    kept, left_out = list(given), list[TextColumn]()

    def fits(bar: int = LEAST_BAR, *, whole: Sequence[TextColumn] = (), name: int = _NAME_WIDTH) -> bool:
        # A column has the width that it has among all of them.
        widths = dict(zip(map(id, given), _widths(given, headed=headed, bar=bar), strict=True))
        needed = (min(widths[id(column)][column in whole], name if column.role == "name" else width) for column in kept)
        return sum(needed) + _GAP * (len(kept) - 1) <= width

    while rank := max(column.rank for column in kept):
        if fits(GOOD_BAR if rank >= _SOFT else LEAST_BAR):
            break
        worst = max(kept, key=lambda column: column.rank)
        kept.remove(worst)
        left_out.insert(0, worst)
    bars = [column for column in kept if column.role == "bar"]
    if bars and not fits():
        kept.remove(bars[0])
    long = [column for column in kept if column.role in _LONG]
    while long and not fits(whole=long[:-1]):
        kept.remove(long.pop())
    while len(kept) > 1 and not fits(name=_LEAST_WIDTH):
        kept.pop()
    return kept, left_out


def _yielding(columns: Sequence[TextColumn], width: int, *, headed: bool) -> set[int]:
    """The columns that are narrower than they could be, as many as it takes: the last long text, the bar, columns that
    have a least width, the last one if it is wide, the names, any last one."""
    widths, last = _widths(columns, headed=headed, bar=LEAST_BAR), len(columns) - 1

    def places(wanted: Callable[[TextColumn], bool]) -> list[int]:
        return [place for place, column in enumerate(columns) if wanted(column)]

    spare = width + _GAP - sum(full + _GAP for _, full in widths)
    orders = (
        places(lambda column: column.role in _LONG)[-1:],
        places(lambda column: column.role == "bar"),
        places(lambda column: bool(column.least) and column.role != "name"),
        [last] if columns[last].role == "words" and widths[last][1] > _NAME_WIDTH else [],
        places(lambda column: column.role == "name"),
        [last],
    )
    yielding: set[int] = set()
    for order in orders:
        if spare >= 0:
            break
        yielding |= set(order)
        spare += sum(widths[place][1] - min(_LEAST_WIDTH, widths[place][0]) for place in order)
    return yielding


def _rows(
    columns: Sequence[TextColumn], yielding: Collection[int], *, headed: bool, wraps: bool = False
) -> RenderableType:
    """The rows as a rich table; ``wraps``: texts in the columns that yield go on below instead of being cut."""
    from rich.text import Text

    made = _grid_table()
    made.show_header = headed
    widths = _widths(columns, headed=headed, bar=LEAST_BAR)
    cells: list[list[RenderableType]] = []
    for place, column in enumerate(columns):
        is_name = column.role == "name"
        header: RenderableType = Text(column.title, style="dim", no_wrap=True, overflow="ellipsis")
        figures = [one.cell if isinstance(one.cell, Figure | DiffFigure) else None for one in column.pieces]
        if column.role == "bar":
            bars = Bars([figure for figure in figures if figure is not None], ranged=column.ranged)
            header = bars.head()
            cells.append([Text() if figure is None else bars.drawn(figure) for figure in figures])
        else:
            texts = [_drawn(piece) for piece in column.pieces]
            for text in texts if not wraps else ():
                text.no_wrap, text.overflow = True, "ellipsis"
            cells.append([*texts])
        made.add_column(
            header,
            no_wrap=place not in yielding,
            overflow="fold" if wraps else "ellipsis",
            justify="right" if column.is_right else "left",
            min_width=widths[place][0] if column.least else (_LEAST_WIDTH if is_name and place in yielding else None),
            max_width=_NAME_WIDTH if is_name and not column.least and not wraps else None,
        )
    for row in zip(*cells, strict=True):
        made.add_row(*row)
    return made


def _grid_table() -> Rows:
    from rich.table import Table as Rows

    return Rows.grid(padding=(0, _GAP, 0, 0))


def _drawn(piece: Piece) -> Text:
    from rich.text import Text

    match piece.cell:
        case Status(text=text, good=good) as state:
            style = {True: "bold green", False: "bold red", None: "yellow"}[good]
            return Text(f"{state.sign} {text}", style=style)
        case DiffFigure(direction=direction) if piece.role == "signed":
            return Text(piece.text, style=f"bold {COLOURS[direction]}")
        case Name(blame=owner, text=text) if owner:
            return Text.assemble((owner, "bold" if owner == "system" else "bold red"), ": ", text)
    return Text(piece.text, style="bold" if piece.strong else _STYLES.get(piece.role, ""))


def lines(rows: Iterable[Sequence[Text]]) -> RenderableType:
    """Rows as aligned lines, whose last column is cut at the end of the line."""
    made = _grid_table()
    for row in rows:
        row[-1].no_wrap, row[-1].overflow = True, "ellipsis"
        made.add_row(*row)
    for column in made.columns[:-1]:
        column.no_wrap = True
    return made


def _matrix(table: Table, width: int) -> Iterable[RenderableType]:
    """The matrix as lines. Columns are numbered as the lines are, so that many fit; those that do not are left out."""
    from rich.text import Text

    def cell(found: object) -> Text:
        if not isinstance(found, Number):
            return Text("·", style="dim")
        signed = {"+": "green", "-": "red"}.get(found.text[:1], "")
        return Text(found.text, style=signed if found.value else "dim")

    names = [Text.assemble((f"{place} ", "dim"), reading(row)[0]) for place, row in enumerate(table.rows, 1)]
    made = _grid_table()
    made.add_column(no_wrap=True, overflow="ellipsis", max_width=_NAME_WIDTH)
    room = width - min(_NAME_WIDTH, max((name.cell_len for name in names), default=0))
    shown: list[list[Text]] = []
    for place in range(1, len(table.columns)):
        column = [Text(str(place), style="dim"), *(cell(row.cells[place]) for row in table.rows)]
        room -= _GAP + max(text.cell_len for text in column)
        if room < 0:
            break
        made.add_column(no_wrap=True, justify="right")
        shown.append(column)
    for row in zip([Text(), *names], *shown, strict=True):
        made.add_row(*row)
    yield made
    yield Text(table.foot, style="dim")


def _changes(table: Changes) -> Iterable[RenderableType]:
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
    """Text cut or filled up to ``room`` columns, and the gap to the next column."""
    shown = text.copy()
    shown.truncate(room, overflow="ellipsis", pad=True)
    return shown.append(" " * _GAP)


def unbroken(line: Text) -> Text:
    """A line that is cut at the terminal's width."""
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
