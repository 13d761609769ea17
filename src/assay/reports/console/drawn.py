"""Sections as a terminal shows them, drawn with rich.

Text is always a `rich.text.Text`, never markup: a case id may hold brackets. What colour says, words
or signs say too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from assay.reports.blocks.lines import ADJUSTED, Grid, Piece, grid
from assay.reports.blocks.values import (
    Block,
    ChangeRow,
    Changes,
    DiffFigure,
    Facts,
    Mark,
    Matrix,
    Medium,
    Number,
    Paragraph,
    Section,
    ShownKind,
    SideText,
    Table,
    Times,
    first_names,
    sections_for,
)
from assay.reports.console.bars import COLOURS, GOOD_BAR, LEAST_BAR, column_of_bars
from assay.reports.console.plain import MORE_IDS

if TYPE_CHECKING:
    from rich.console import RenderableType
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
            yield from lines([(Text(name, style="dim"), Text(value)) for name, value in block.rows], width)
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
    if table.wraps and found.rows:
        yield _wrapped(found, width)
    elif found.rows:
        kept, left_out = _fitting(found, width)
        if ADJUSTED in left_out:
            # Only one column of p-values is left, and it must agree with the signs.
            kept, left_out = _fitting(grid(table, medium, decisive=True), width)[0], []
        yield from _grid(kept, width, headed=table.headed)
    named = [title for title in left_out if any(column.rank and column.title == title for column in table.columns)]
    if named:
        yield Text(f"\nNot enough room for: {', '.join(named)}. A wider terminal or --json has all.", style="dim")
    yield from (Text(line, style="dim") for line in found.foot)


def _wrapped(found: Grid, width: int) -> RenderableType:
    """Rows that are never cut: what does not fit a line goes on in the next."""
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


def _fitting(found: Grid, width: int) -> tuple[Grid, list[str]]:
    """The table without the columns that do not fit, and their names. Those of the highest rank go first."""
    roles = [piece.role for piece in found.rows[0]]

    def needs(place: int) -> int:
        if roles[place] == "bar":
            return 0
        widest = max(cell_len(text) for text in (found.heads[place], *(row[place].text for row in found.rows)))
        # Long text may be cut, so it never pushes another column out.
        long = _LEAST_WIDTH if roles[place] in _LONG else widest
        most = found.least[place] or (_NAME_WIDTH if roles[place] == "name" else long)
        return min(widest, most) + _GAP

    from rich.cells import cell_len

    kept, left_out = list(range(len(roles))), list[str]()
    while True:
        worst = max(kept, key=lambda place: found.ranks[place])
        rank = found.ranks[worst]
        bar = 0 if "bar" not in roles else (GOOD_BAR if rank >= _SOFT else LEAST_BAR) + _GAP
        if not rank or sum(map(needs, kept)) + bar <= width + _GAP:
            break
        kept.remove(worst)
        left_out.insert(0, found.heads[worst])
    chosen = replace(
        found,
        heads=tuple(found.heads[place] for place in kept),
        ranks=tuple(found.ranks[place] for place in kept),
        least=tuple(found.least[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in found.rows),
        right=frozenset(new for new, place in enumerate(kept) if place in found.right),
    )
    return chosen, left_out


def _grid(found: Grid, width: int, *, headed: bool) -> Iterable[Text]:
    """The lines. Bars take the room that is left; under a header the first name shrinks until the others fit."""
    from rich.text import Text

    rows = [[_drawn(piece) for piece in row] for row in found.rows]
    if headed:
        rows.insert(0, [Text(head, style="dim") for head in found.heads])
    roles = [piece.role for piece in found.rows[0]]
    named = roles.index("name") if "name" in roles else 0
    columns = list(zip(*rows, strict=True))
    others = sum(_GAP + _widest(column) for place, column in enumerate(columns) if place != named)
    if "bar" in roles:
        place, name = roles.index("bar"), min(_NAME_WIDTH, _widest(columns[named]))
        for row in rows:
            row[named].truncate(name, overflow="ellipsis")
        figures = [figure for row in found.rows if (figure := row[place].figure) is not None]
        drawn = column_of_bars(figures, width - name - others, ranged=found.rows[0][place].scale)
        for row, cell in zip(rows, ([drawn[0]] if headed else []) + drawn[1] if drawn else (), strict=bool(drawn)):
            row[place] = cell
    elif headed and roles[-1] not in _LONG and not any(found.least):
        for row in rows:
            row[named].truncate(max(_LEAST_WIDTH, width - others), overflow="ellipsis")
    yield from lines(rows, width, right=sorted(found.right), named=named, least=found.least)


def _drawn(piece: Piece) -> Text:
    from rich.text import Text

    if piece.role == "mark":
        sign = Mark(text=piece.text, good=piece.good).sign
        return Text(f"{sign} {piece.text}", style={True: "bold green", False: "bold red", None: "yellow"}[piece.good])
    if piece.role == "signed" and isinstance(piece.figure, DiffFigure):
        return Text(piece.text, style=f"bold {COLOURS[piece.figure.direction]}")
    if piece.blame:
        owner = piece.blame.removesuffix(": ")
        style = "bold" if owner == "system" else "bold red"
        return Text.assemble((owner, style), ": ", piece.text.removeprefix(piece.blame))
    return Text(piece.text, style="bold" if piece.strong else _STYLES.get(piece.role, ""))


def lines(
    rows: Sequence[Sequence[Text]], width: int, *, right: Sequence[int] = (), named: int = 0, least: Sequence[int] = ()
) -> list[Text]:
    """Rows as aligned lines no wider than ``width``: columns shrink to their ``least``, or that of names is capped.

    What still does not fit at the right is cut, or left out where only a stub of it would remain.
    """
    from rich.text import Text

    if not rows:
        return []
    widths = [_widest(column) for column in zip(*rows, strict=True)]
    if any(least):
        wanted, widths = widths, [min(room, most or room) for room, most in zip(widths, least, strict=True)]
        spare = width - sum(widths) - _GAP * (len(widths) - 1)
        for place, room in enumerate(wanted):
            more = max(0, min(spare, room - widths[place]))
            widths[place], spare = widths[place] + more, spare - more
    else:
        widths[named] = min(widths[named], _NAME_WIDTH)
    used = 0
    for place, each in enumerate(widths):
        room = width - used
        widths[place] = each if each <= room else room if room >= _LEAST_WIDTH else 0
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


def _matrix(matrix: Matrix, width: int) -> Iterable[Text]:
    """The matrix as lines. Columns are numbered as the lines are, so that many fit."""
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
