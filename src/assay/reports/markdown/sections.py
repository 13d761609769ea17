"""Sections as Markdown. Text from outside is in code, or escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from assay.reports.blocks import lines
from assay.reports.blocks.lines import Piece
from assay.reports.blocks.values import Block, Changes, Facts, Figure, Matrix, Paragraph, Section, Table, Times
from assay.reports.markdown.blocks import cell_code, code, grid, section, sentence

_BAR_CELLS = 20
_PLAIN_HEAD = re.compile(r"[A-Za-z0-9 %()^-]*( / [a-z]+)?")

DrawChanges = Callable[[Changes], Iterable[str]]


def section_lines(one: Section, changes: DrawChanges) -> Iterable[str]:
    """The lines of a section; ``changes`` draws cases one by one in the room that is left."""
    if "comment" in one.folded:
        rest = one.heading.removeprefix(one.title)
        yield from ("", f"<details><summary><b>{sentence(one.title)}</b>{sentence(rest)}</summary>", "")
        yield from _blocks(one, changes)
        yield from ("", "</details>")
    else:
        yield from section(sentence(one.heading))
        yield from _blocks(one, changes)


def _blocks(one: Section, changes: DrawChanges) -> Iterable[str]:
    for place, block in enumerate(one.blocks_for("comment")):
        if place:
            yield ""
        yield from _block(block, changes)


def _block(block: Block, changes: DrawChanges) -> Iterable[str]:
    match block:
        case Table():
            yield from _table(block)
        case Times():
            yield from _table(block.table)
        case Matrix():
            yield from _matrix(block)
        case Facts():
            if block.title:
                yield from (f"{sentence(block.title)}: {sentence(block.said)}", "")
            yield from (f"- {_heading(name)}: {code(value)}" for name, value in block.rows)
        case Paragraph():
            bullet = "- " if len(block.lines) > 1 else ""
            yield from (f"{bullet}{sentence(line)}" for line in block.lines)
        case Changes():
            yield from changes(block)


def _table(table: Table) -> Iterable[str]:
    found = lines.grid(table, "comment")
    yield from grid(map(_heading, found.heads), [tuple(map(_cell, row)) for row in found.rows])
    for line in found.foot:
        yield from ("", line)


def _heading(text: str) -> str:
    """A column's title: in code where it could act as Markdown or as a mention."""
    return text if _PLAIN_HEAD.fullmatch(text) else cell_code(text)


def _cell(piece: Piece) -> str:
    match piece.role:
        case "bar":
            return f"`{_bar(piece.figure)}`"
        case "name" | "ids" | "query" | "quoted":
            found = cell_code(piece.text) if piece.text else ""
            return f"**{found}**" if piece.strong else found
        case "value":
            return f"**{piece.text}**" if piece.leads else piece.text
        case "mark":
            return {True: "✅ {}", False: "❌ **{}**", None: "{}"}[piece.good].format(piece.text)
        case "aside" | "number":
            return piece.text.replace("<", "&lt;")
        case _:
            return sentence(piece.text)
    return ""


def _bar(figure: object) -> str:
    value = figure.rate.value if isinstance(figure, Figure) and figure.share else None
    filled = 0 if value is None else round(min(1.0, max(0.0, value)) * _BAR_CELLS)
    return "█" * filled + "░" * (_BAR_CELLS - filled)


def _matrix(matrix: Matrix) -> Iterable[str]:
    if len(matrix.names) > matrix.most:
        yield f"More than {matrix.most:,} are no longer read as a table: the JSON report has every pair."
        return
    rows = (
        (cell_code(name), *("·" if cell is None else cell.text for cell in cells))
        for name, cells in zip(matrix.names, matrix.cells, strict=True)
    )
    yield from grid(("", *map(cell_code, matrix.names)), rows)
    yield from ("", matrix.caption)
