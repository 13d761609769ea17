"""Sections as a terminal shows them, drawn with rich.

Text is always a `rich.text.Text`, never markup: a case id may hold brackets. What colour says, words
or signs say too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from assay.reports.blocks.lines import ADJUSTED, Grid, Piece, grid
from assay.reports.blocks.values import (
    Block,
    ChangeRow,
    Changes,
    DiffFigure,
    Facts,
    Matrix,
    Medium,
    Number,
    Paragraph,
    Section,
    ShownKind,
    SideText,
    Status,
    Table,
    Times,
    first_names,
    sections_for,
)
from assay.reports.console.bars import COLOURS, GOOD_BAR, LEAST_BAR, WIDEST_BAR, Bars
from assay.reports.console.plain import MORE_IDS

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as Rows
    from rich.text import Text

MARGIN = 2
WIDEST = 100
"""The greatest width of a panel; from this width on, tables also show their less important columns."""
_GAP = 2
_NAME_WIDTH = 28
_LEAST_WIDTH = 10
_SOFT = 6
"""Columns of this rank or above are dropped to make a bar easy to read; the others only to fit a bar at all."""
_LONG: Final = frozenset({"ids", "query", "remark", "quoted"})
"""Roles whose text is cut where a line ends, so that names stay whole."""
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
        case Facts():
            yield lines((Text(name, style="dim"), Text(value)) for name, value in block.rows)
        case Paragraph():
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

    found, left_out = grid(table, medium), list[str]()
    if found.rows and table.wraps:
        yield _rows(found, {place for place, piece in enumerate(found.rows[0]) if piece.role in _LONG}, wraps=True)
    elif found.rows:
        fitted, left_out = _fitting(found, width, headed=table.headed)
        if ADJUSTED in left_out:
            # Only one column of p-values is left, and it must agree with the signs.
            fitted, left_out = _fitting(grid(table, medium, decisive=True), width, headed=table.headed)[0], []
        yield _rows(fitted, _yielding(fitted, width, headed=table.headed), headed=table.headed)
    named = [title for title in left_out if any(column.rank and column.title == title for column in table.columns)]
    if named:
        yield Text(f"\nNot enough room for: {', '.join(named)}. A wider terminal or --json has all.", style="dim")
    yield from (Text(line, style="dim") for line in found.foot)


def _widths(found: Grid, *, headed: bool, bar: int) -> list[tuple[int, int]]:
    """The least and the full width of each column. Long texts may be cut, so they never push another column out."""
    from rich.cells import cell_len

    widths = []
    for place, (head, piece) in enumerate(zip(found.heads, found.rows[0], strict=True)):
        full = max(cell_len(text) for text in (head if headed else "", *(row[place].text for row in found.rows)))
        least = found.least[place] or (_LEAST_WIDTH if piece.role in _LONG else full)
        if piece.role == "bar":
            least, full = bar, WIDEST_BAR
        elif piece.role == "words" and place == len(found.heads) - 1 and full > _NAME_WIDTH:
            least = _LEAST_WIDTH
        elif piece.role == "name" and not found.least[place]:
            least = full = min(full, _NAME_WIDTH)
        widths.append((min(least, full), full))
    return widths


def _fitting(found: Grid, width: int, *, headed: bool) -> tuple[Grid, list[str]]:
    """The table without the columns that do not fit, and their names.

    Those of the highest rank go first, then the bar, then the last of several long texts, then whatever is last.
    """
    kept, left_out = list(range(len(found.heads))), list[str]()
    roles = [piece.role for piece in found.rows[0]]

    def fits(bar: int = LEAST_BAR, *, whole: Collection[int] = (), name: int = _NAME_WIDTH) -> bool:
        widths = _widths(found, headed=headed, bar=bar)
        needed = (min(widths[place][place in whole], name if roles[place] == "name" else width) for place in kept)
        return sum(needed) + _GAP * (len(kept) - 1) <= width

    while rank := max(found.ranks[place] for place in kept):
        if fits(GOOD_BAR if rank >= _SOFT else LEAST_BAR):
            break
        worst = max(kept, key=lambda place: found.ranks[place])
        kept.remove(worst)
        left_out.insert(0, found.heads[worst])
    if "bar" in roles and not fits():
        kept.remove(roles.index("bar"))
    long = [place for place in kept if roles[place] in _LONG]
    while long and not fits(whole=long[:-1]):
        kept.remove(long.pop())
    while len(kept) > 1 and not fits(name=_LEAST_WIDTH):
        kept.pop()
    chosen = replace(
        found,
        heads=tuple(found.heads[place] for place in kept),
        ranks=tuple(found.ranks[place] for place in kept),
        least=tuple(found.least[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in found.rows),
        right=frozenset(new for new, place in enumerate(kept) if place in found.right),
    )
    return chosen, left_out


def _yielding(found: Grid, width: int, *, headed: bool) -> set[int]:
    """The columns that are narrower than they could be, as many as it takes: the last long text, the bar, columns that
    have a least width, the last one if it is wide, the names, any last one."""
    roles, widths = [piece.role for piece in found.rows[0]], _widths(found, headed=headed, bar=LEAST_BAR)
    places, last = range(len(roles)), len(roles) - 1
    spare = width + _GAP - sum(full + _GAP for _, full in widths)
    orders = (
        [place for place in places if roles[place] in _LONG][-1:],
        [place for place in places if roles[place] == "bar"],
        [place for place in places if found.least[place] and roles[place] != "name"],
        [last] if roles[last] == "words" and widths[last][1] > _NAME_WIDTH else [],
        [place for place in places if roles[place] == "name"],
        [last],
    )
    yielding: set[int] = set()
    for order in orders:
        if spare >= 0:
            break
        yielding |= set(order)
        spare += sum(widths[place][1] - min(_LEAST_WIDTH, widths[place][0]) for place in order)
    return yielding


def _rows(found: Grid, yielding: Collection[int], *, headed: bool = False, wraps: bool = False) -> RenderableType:
    """The rows as a rich table; ``wraps``: texts in the columns that yield go on below instead of being cut."""
    from rich.text import Text

    made = _grid_table()
    made.show_header = headed
    for place, (head, piece) in enumerate(zip(found.heads, found.rows[0], strict=True)):
        made.add_column(
            Text(head, style="dim", no_wrap=True, overflow="ellipsis"),
            no_wrap=place not in yielding,
            overflow="fold" if wraps else "ellipsis",
            justify="right" if place in found.right else "left",
            min_width=found.least[place] or (_LEAST_WIDTH if piece.role == "name" and place in yielding else None),
            max_width=_NAME_WIDTH if piece.role == "name" and not found.least[place] and not wraps else None,
        )
    cells: list[list[RenderableType]] = []
    for row in found.rows:
        texts = [_drawn(piece) for piece in row]
        for text in texts if not wraps else ():
            text.no_wrap, text.overflow = True, "ellipsis"
        cells.append([*texts])
    for place, piece in enumerate(found.rows[0]):
        if piece.role == "bar":
            figures = [row[place].figure for row in found.rows]
            bars = Bars([figure for figure in figures if figure is not None], ranged=piece.scale)
            made.columns[place].header = bars.head()
            for drawn, figure in zip(cells, figures, strict=True):
                drawn[place] = Text() if figure is None else bars.drawn(figure)
    for drawn in cells:
        made.add_row(*drawn)
    return made


def _grid_table() -> Rows:
    from rich.table import Table as Rows

    return Rows.grid(padding=(0, _GAP, 0, 0))


def _drawn(piece: Piece) -> Text:
    from rich.text import Text

    if piece.role == "mark":
        sign = Status(text=piece.text, good=piece.good).sign
        return Text(f"{sign} {piece.text}", style={True: "bold green", False: "bold red", None: "yellow"}[piece.good])
    if piece.role == "signed" and isinstance(piece.figure, DiffFigure):
        return Text(piece.text, style=f"bold {COLOURS[piece.figure.direction]}")
    if piece.blame:
        owner = piece.blame.removesuffix(": ")
        style = "bold" if owner == "system" else "bold red"
        return Text.assemble((owner, style), ": ", piece.text.removeprefix(piece.blame))
    return Text(piece.text, style="bold" if piece.strong else _STYLES.get(piece.role, ""))


def lines(rows: Iterable[Sequence[Text]]) -> RenderableType:
    """Rows as aligned lines, the last column of which is cut at the end of the line."""
    made = _grid_table()
    for row in rows:
        row[-1].no_wrap, row[-1].overflow = True, "ellipsis"
        made.add_row(*row)
    for column in made.columns[:-1]:
        column.no_wrap = True
    return made


def _matrix(matrix: Matrix, width: int) -> Iterable[RenderableType]:
    """The matrix as lines. Columns are numbered as the lines are, so that many fit; those that do not are left out."""
    from rich.text import Text

    def cell(found: Number | None) -> Text:
        if found is None:
            return Text("·", style="dim")
        signed = {"+": "green", "-": "red"}.get(found.text[:1], "")
        return Text(found.text, style=signed if found.value else "dim")

    numbers = [Text(str(place), style="dim") for place in range(1, len(matrix.names) + 1)]
    names = [Text.assemble((f"{place} ", "dim"), name) for place, name in enumerate(matrix.names, 1)]
    columns = [
        [number, *map(cell, cells)] for number, cells in zip(numbers, zip(*matrix.cells, strict=True), strict=True)
    ]
    made = _grid_table()
    made.add_column(no_wrap=True, overflow="ellipsis", max_width=_NAME_WIDTH)
    room = width - min(_NAME_WIDTH, max((name.cell_len for name in names), default=0))
    shown: list[list[Text]] = []
    for column in columns:
        room -= _GAP + max(text.cell_len for text in column)
        if room < 0:
            break
        made.add_column(no_wrap=True, justify="right")
        shown.append(column)
    for row in zip([Text(), *names], *shown, strict=True):
        made.add_row(*row)
    yield made
    yield Text(matrix.caption, style="dim")


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
    """A line that is cut where the terminal ends."""
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
