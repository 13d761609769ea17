"""Sections as plain lines: nothing drawn, no line cut, one fact per line."""

from __future__ import annotations

from collections.abc import Iterable

from assay.reports.blocks.lines import grid
from assay.reports.blocks.values import (
    Block,
    Changes,
    Facts,
    Matrix,
    Paragraph,
    Section,
    Table,
    Times,
    first_names,
    sections_for,
)
from assay.reports.text.plain import aligned

MORE_IDS = 12
"""How many case ids are listed where cases are only named."""


def plain_text(lines: Iterable[str]) -> str:
    """The lines as a text, without blanks at their ends."""
    return "\n".join(line.rstrip() for line in lines) + "\n"


def plain_sections(sections: Iterable[Section]) -> Iterable[str]:
    """Every section with a blank line and its heading above."""
    for section in sections_for(sections, "plain"):
        yield ""
        if section.title:
            yield section.heading
        for place, block in enumerate(section.blocks_for("plain")):
            beneath = place and isinstance(block, Paragraph)
            if place and not beneath:
                yield ""
            yield from (f"  {line}" if beneath else line for line in _block(block))


def _block(block: Block) -> Iterable[str]:
    match block:
        case Table():
            yield from _table(block)
        case Times():
            yield from _table(block.table)
        case Matrix():
            yield from _matrix(block)
        case Facts():
            yield from aligned(block.rows)
        case Paragraph():
            yield from block.lines
        case Changes():
            yield from _changes(block)


def _table(table: Table) -> Iterable[str]:
    found = grid(table, "plain")
    rows = [tuple(piece.text for piece in row) for row in found.rows]
    if rows:
        yield from aligned([found.heads, *rows] if table.headed else rows, right=sorted(found.right))
    yield from (f"  {line}" for line in found.foot)


def _matrix(matrix: Matrix) -> Iterable[str]:
    """The matrix as lines. Columns are numbered as the lines are."""
    rows = [("", *(str(place + 1) for place in range(len(matrix.names))))]
    for place, (name, cells) in enumerate(zip(matrix.names, matrix.cells, strict=True), start=1):
        rows.append((f"{place} {name}", *("·" if cell is None else cell.text for cell in cells)))
    yield from aligned(rows, right=range(1, len(matrix.names) + 1))
    yield f"  {matrix.caption}"


def _changes(table: Changes) -> Iterable[str]:
    for row in table.rows:
        where = f" ({row.where})" if row.where else ""
        yield f"  {row.id}: {row.question}{where}"
        for role, side in (("baseline", row.baseline), ("candidate", row.candidate)):
            yield f"    {role}: {side.state}{': ' if side.reason else ''}{side.reason}"
    if table.more:
        yield f"  {'and ' if table.rows else ''}{first_names(table.more, MORE_IDS)}"
