"""Sections as plain lines: nothing drawn, no line cut, one fact per line."""

from __future__ import annotations

from collections.abc import Iterable

from assay.reports.blocks.lines import text_columns
from assay.reports.blocks.values import (
    Block,
    Changes,
    Chart,
    Detail,
    KeyValues,
    Section,
    Table,
    Text,
    first_names,
    reading,
    sections_in,
)
from assay.reports.text.plain import aligned

MORE_IDS = 12
"""How many case ids are listed if cases are only named."""


def plain_text(lines: Iterable[str]) -> str:
    """The lines as a text, without blanks at their ends."""
    return "\n".join(line.rstrip() for line in lines) + "\n"


def plain_sections(sections: Iterable[Section], detail: Detail = "summary") -> Iterable[str]:
    """Every section with a blank line and its heading above."""
    for section in sections_in(sections, detail):
        yield ""
        if section.title:
            yield section.heading
        for place, block in enumerate(section.blocks_in(detail)):
            beneath = place and isinstance(block, Text)
            if place and not beneath:
                yield ""
            yield from (f"  {line}" if beneath else line for line in _block(block))


def _block(block: Block) -> Iterable[str]:
    match block:
        case Chart():
            yield from _block(block.table)
        case Table(look="matrix"):
            yield from _matrix(block)
        case Table():
            yield from _table(block)
        case KeyValues():
            yield from aligned(block.rows)
        case Text():
            yield from block.lines
        case Changes():
            yield from _changes(block)


def _table(table: Table) -> Iterable[str]:
    columns, foot = text_columns(table, "plain")
    rows = list(zip(*([piece.text for piece in column.pieces] for column in columns), strict=True))
    if rows:
        right = [place for place, column in enumerate(columns) if column.is_right]
        heads = [tuple(column.title for column in columns)] if table.headed else []
        yield from aligned([*heads, *rows], right=right)
    yield from (f"  {line}" for line in foot)


def _matrix(table: Table) -> Iterable[str]:
    """The matrix as lines. Columns are numbered as the lines are."""
    rows = [("", *(str(place) for place in range(1, len(table.columns))))]
    for place, row in enumerate(table.rows, start=1):
        name, *cells = reading(row)
        rows.append((f"{place} {name}", *(cell or "·" for cell in cells)))
    yield from aligned(rows, right=range(1, len(table.columns)))
    yield f"  {table.foot}"


def _changes(table: Changes) -> Iterable[str]:
    for row in table.rows:
        where = f" ({row.where})" if row.where else ""
        yield f"  {row.id}: {row.question}{where}"
        for role, side in (("baseline", row.baseline), ("candidate", row.candidate)):
            yield f"    {role}: {side.state}{': ' if side.reason else ''}{side.reason}"
    if table.more:
        yield f"  {'and ' if table.rows else ''}{first_names(table.more, MORE_IDS)}"
