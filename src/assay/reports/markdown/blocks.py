"""Sections and blocks as Markdown: in them no text from outside acts as Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from assay.reports.blocks.lines import Piece, text_columns
from assay.reports.blocks.values import (
    Block,
    Changes,
    Chart,
    Figure,
    KeyValues,
    Section,
    Status,
    Table,
    Text,
    reading,
)

LENGTH = 60_000
"""Characters: GitHub refuses comments of more than 65,536, and step summaries of more than 1 MiB."""
_BACKTICKS = re.compile("`+")
_NOTES = 8
_NOTE_LENGTH = 600


def section(title: str) -> Iterable[str]:
    """A heading of the third level, blank lines around it."""
    return ("", f"### {title}", "")


def grid(header: Iterable[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """A table; its cells are Markdown already."""
    titles = tuple(header)
    yield "| " + " | ".join(titles) + " |"
    yield "|" + "---|" * len(titles)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def code(text: str) -> str:
    """A code span that contains any one-line text."""
    text = " ".join(text.split())
    if not text:
        return "` `"
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def cell_code(text: str) -> str:
    """A code span within a table, where ``|`` ends the cell even in backticks and its escapes vary."""
    return f"<code>{html(text)}</code>" if "|" in text else code(text)


def fenced(language: str, text: str) -> Iterable[str]:
    """A code block that contains any text, and a blank line."""
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    return (f"{fence}{language}", text, fence, "")


def plain(text: str) -> str:
    """Our own sentences and numbers, which may quote a name: nothing in them is Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|~#@&])", lambda found: f"&#{ord(found.group())};", text)


def sentence(text: str) -> str:
    """A sentence of ours that may quote a name: no Markdown, no HTML, no link and no mention in it."""
    cut = text if len(text) <= _NOTE_LENGTH else text[: _NOTE_LENGTH - 1] + "…"
    apart = cut.replace("@", "@\u2060").replace("://", ":\u2060//").replace("www.", "www\u2060.")
    return plain(apart)


def noted(notes: Sequence[str], show: Callable[[str], str] = sentence) -> Iterable[str]:
    """The first notes as a quotation."""
    for note in notes[:_NOTES]:
        yield f"> {show(note)}"
        yield ">"
    if len(notes) > _NOTES:
        yield f"> and {len(notes) - _NOTES:,} more notes"
    if notes:
        yield ""


def within(parts: Sequence[str], room: int) -> list[str]:
    """Those of the parts, in order, that fit."""
    kept = []
    for part in parts:
        if len(part) + 1 <= room:
            kept.append(part)
            room -= len(part) + 1
    return kept


def html(text: str) -> str:
    """Text within an HTML tag. An @ is kept from being a mention by a word joiner after it."""
    escaped = re.sub(r"([\\`*_\[\]<>|~#&\"':])", lambda found: f"&#{ord(found.group())};", text)
    return escaped.replace("@", "@\u2060")


_BAR_CELLS = 20
_LARGEST_MATRIX = 12
_PLAIN_HEAD = re.compile(r"[A-Za-z0-9 %()^-]*( / [a-z]+)?")

DrawChanges = Callable[[Changes], Iterable[str]]


def shortened(sections: Iterable[Section], changes: DrawChanges, is_open: Mapping[str, int]) -> Iterable[str]:
    """Each section as text. One that is not in ``is_open`` is folded; the others show that many rows of each table.

    A section with a longer table is there once more, folded and with all the rows that Markdown shows.
    """
    for one in sections:
        most = is_open.get(one.key)
        folded = replace(one, folded=True)
        if most is None:
            yield "\n".join(section_lines(folded, changes))
            continue
        yield "\n".join(section_lines(_of_rows(one, most), changes))
        if any(isinstance(block, Table) and len(block.rows) > most for block in map(_table_of, one.blocks)):
            yield "\n".join(section_lines(replace(folded, title=f"{one.title}: all"), changes))


def _table_of(block: Block) -> Block:
    return block.table if isinstance(block, Chart) else block


def _of_rows(one: Section, most: int) -> Section:
    """The section with at most that number of rows in each of its tables; a chart becomes its table."""

    def cut(block: Block) -> Block:
        return replace(block, most=min(most, block.most or most)) if isinstance(block, Table) else block

    return replace(one, folded=False, blocks=tuple(cut(_table_of(block)) for block in one.blocks))


def section_lines(one: Section, changes: DrawChanges) -> Iterable[str]:
    """The lines of a section; ``changes`` draws cases one by one in the room that is left."""
    if one.folded:
        rest = one.heading.removeprefix(one.title)
        yield from ("", f"<details><summary><b>{sentence(one.title)}</b>{sentence(rest)}</summary>", "")
        yield from _blocks(one, changes)
        yield from ("", "</details>")
    else:
        yield from section(sentence(one.heading))
        yield from _blocks(one, changes)


def _blocks(one: Section, changes: DrawChanges) -> Iterable[str]:
    for place, block in enumerate(one.blocks_in("full")):
        if place:
            yield ""
        yield from _block(block, changes)


def _block(block: Block, changes: DrawChanges) -> Iterable[str]:
    match block:
        case Chart():
            yield from _block(block.table, changes)
        case Table(look="matrix"):
            yield from _matrix(block)
        case Table():
            columns, foot = text_columns(block, "comment")
            cells = zip(*(map(_cell, column.pieces) for column in columns), strict=True)
            yield from grid((_heading(column.title) for column in columns), cells)
            for line in foot:
                yield from ("", sentence(line))
        case KeyValues():
            if block.title:
                yield from (f"{sentence(block.title)}: {sentence(block.said)}", "")
            yield from (f"- {_heading(name)}: {code(value)}" for name, value in block.rows)
        case Text():
            bullet = "- " if len(block.lines) > 1 else ""
            yield from (f"{bullet}{sentence(line)}" for line in block.lines)
        case Changes():
            yield from changes(block)


def _heading(text: str) -> str:
    """A column's title: in code where it could act as Markdown or as a mention."""
    return text if _PLAIN_HEAD.fullmatch(text) else cell_code(text)


def _cell(piece: Piece) -> str:
    match piece.role:
        case "bar":
            return f"`{_bar(piece.cell)}`"
        case "name" | "ids" | "query" | "quoted":
            found = cell_code(piece.text) if piece.text else ""
            return f"**{found}**" if piece.strong else found
        case "value":
            return f"**{piece.text}**" if piece.leads else piece.text
        case "mark":
            good = piece.cell.good if isinstance(piece.cell, Status) else None
            return {True: "✅ {}", False: "❌ **{}**", None: "{}"}[good].format(piece.text)
        case "aside" | "number":
            return piece.text.replace("<", "&lt;")
        case _:
            return sentence(piece.text)
    return ""


def _bar(figure: object) -> str:
    value = figure.rate.value if isinstance(figure, Figure) and figure.share else None
    filled = 0 if value is None else round(min(1.0, max(0.0, value)) * _BAR_CELLS)
    return "█" * filled + "░" * (_BAR_CELLS - filled)


def _matrix(table: Table) -> Iterable[str]:
    if len(table.rows) > _LARGEST_MATRIX:
        yield f"More than {_LARGEST_MATRIX:,} are no longer read as a table: the JSON report has every pair."
        return
    heads = [cell_code(column.title) if column.title else "" for column in table.columns]
    rows = ((cell_code(name), *(cell or "·" for cell in cells)) for name, *cells in map(reading, table.rows))
    yield from grid(heads, rows)
    yield from ("", sentence(table.foot))
