"""Write the sections of a report into a workbook, one below the other: each is given its row, returns the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import (
    CaseLink,
    Cell,
    Chart,
    Column,
    Description,
    DiffFigure,
    Figure,
    IdList,
    Name,
    Number,
    Query,
    Section,
    Status,
    Table,
    Text,
    named_ids,
    sections_in,
)
from assay.reports.excel.charts import CHART_GAP, CHART_GROUPS, CHART_ROWS, CHART_SIZE, bars, chart
from assay.reports.excel.page import DARK_BAR, LIGHT_BAR, LINE_POINTS, Page

_ID_WIDTH: Final = 13
_WIDTH: Final = 11
"""How many columns the head of a table spans if its last column holds sentences."""


def write_sections(page: Page, row: int, sections: Iterable[Section]) -> int:
    """Write every section with a blank row above. Returns the row after."""
    for section in sections_in(sections, "full"):
        parts = _parts(section)
        if not parts:
            continue
        page.cell(row + 1, 0, section.heading, "section")
        row += 2
        for place, part in enumerate(parts):
            row += bool(place)
            if isinstance(part, Table):
                row = _write_table(page, row, part)
                continue
            for line in part.lines:
                page.cell(row, 0, line, "note")
                row += 1
    page.print_charts_whole()
    return row


def write_notes(page: Page, row: int, report: RunReport, *notes: str) -> int:
    """Write title, headline, and the notes to read before trusting it. Returns the row after."""
    page.sheet.set_row(row, LINE_POINTS + 8)
    page.cell(row, 0, report.title, "title")
    headline = f"{report.headline_name} {report.headline.text} {report.headline.interval}".rstrip()
    page.cell(row + 1, 0, f"{headline} · {report.tally} ({report.confidence} interval in brackets)", "plain")
    page.cell(row + 2, 0, report.outcomes, "plain")
    for place, one in enumerate((*notes, *report.notes), start=row + 3):
        page.cell(place, 0, one, "note")
    return row + 3 + len(notes) + len(report.notes)


def names_in(sections: Iterable[Section]) -> list[str]:
    """The texts of the first column, which decide its width."""
    parts = (part for section in sections_in(sections, "full") for part in _parts(section))
    tables = (part for part in parts if isinstance(part, Table))
    return [cell.whole for table in tables for row in table.rows if isinstance(cell := row.cells[0], Name)]


def _parts(section: Section) -> list[Table | Text]:
    """What a workbook has of a section: its sentences, its tables and those of its charts."""
    blocks = (block.table if isinstance(block, Chart) else block for block in section.blocks_in("full"))
    return [block for block in blocks if isinstance(block, Table | Text)]


def _write_table(page: Page, row: int, given: Table) -> int:
    """Write all rows. Returns the row after."""
    # Sentences that wrap elsewhere run over the cells to their right, so that they stand in one column at the end.
    unwanted = "full" if given.wraps else "summary"
    table = given.only(lambda column, _: column.detail != unwanted)
    if table.title:
        page.cell(row, 0, table.title, "section")
        row += 1
    likes = [_first([one.cells[place] for one in table.rows]) for place in range(len(table.columns))]
    parts = [_heads(column, like) for column, like in zip(table.columns, likes, strict=True)]
    heads = [head for one in parts for head in one]
    numbers = {
        place
        for place, like in enumerate(like for like, one in zip(likes, parts, strict=True) for _ in one)
        if isinstance(like, Number | Figure)
    }
    ends = isinstance(likes[-1], Description)
    page.head(row, [*heads, *[""] * (_WIDTH - len(heads))] if ends else heads, numbers=numbers)
    row += 1
    for one in table.rows:
        at = 0
        for column, cell in zip(table.columns, one.cells, strict=True):
            if isinstance(cell, Figure):
                at = _write_figure(page, row, at, cell, parts=column.parts, style=one.style or column.style)
            else:
                _write_cell(page, row, at, cell)
                at += 1
        row += 1
    row = _write_chart(page, row, table, [len(one) for one in parts])
    if table.foot:
        page.cell(row, 0, table.foot, "note")
        row += 1
    return row


def _write_chart(page: Page, row: int, table: Table, widths: Sequence[int]) -> int:
    """Write bars of the table's own cells below it; ``widths`` are those of its columns. Returns the row after."""
    rows = [one for one in table.rows if not one.strong][:CHART_GROUPS]
    first = row - len(table.rows)
    series, titles = [], []
    for place, colour in zip(table.bars, (LIGHT_BAR, DARK_BAR), strict=False):
        values = [cell.value if isinstance(cell := one.cells[place], Number) else None for one in rows]
        names = [cell.whole for one in rows if isinstance(cell := one.cells[0], Name)]
        if any(value is not None for value in values):
            titles.append(table.columns[place].long or table.columns[place].title)
            at = (first, sum(widths[:place]))
            made = bars(page, names, values, at=at, colour=colour)
            if table.bars_are == "counts":
                made["data_labels"] = {**made["data_labels"], "num_format": "#,##0"}
            series.append({**made, "name": titles[-1]})
    if not series:
        return row
    rest = f", first {len(rows)}" if len(rows) == CHART_GROUPS else ""
    by = "" if table.columns[0].title == "name" else f" by {table.columns[0].title}"
    title = f"{' and '.join(titles)}{by}{rest}"
    axis, top = ("0 %", 1.0) if table.bars_are == "shares" else ("#,##0", None)
    drawn = chart(page, title[:1].upper() + title[1:], series, axis, top=top)
    # Room for the labels of some twenty bars, at most two pages wide.
    width = min(2 * CHART_SIZE["width"] + CHART_GAP, max(CHART_SIZE["width"], 90 * len(rows)))
    drawn.set_size({"width": width, "height": CHART_SIZE["height"]})
    page.insert_chart(row, drawn, below=8, right=width, down=8 + CHART_SIZE["height"])
    return row + CHART_ROWS + 1


def _first(cells: Sequence[Cell]) -> Cell:
    """The first cell of a column that is not blank, which stands for its kind."""
    return next((cell for cell in cells if cell is not None), None)


def _heads(column: Column, like: Cell) -> list[str]:
    title = column.long or column.title
    # Names that are not ours stay as they are.
    title = title if column.long else title[:1].upper() + title[1:]
    if isinstance(like, Figure):
        return [title, "Low", "High", *(["n", "Unscored"] if column.parts == "all" else [])]
    if isinstance(like, Number) and like.style == "fine_seconds":
        return [f"{title} (s)"]
    return [f"  {title}" if isinstance(like, Description | IdList | Query | Status | tuple) else title]


def _ids(cases: Sequence[CaseLink]) -> str:
    """The first few ids, as many as the column is wide for, and how many more there are."""
    return next(
        (said for limit in range(5, 1, -1) if len(said := named_ids(cases, limit=limit)) <= _ID_WIDTH),
        named_ids(cases, limit=1),
    )


def _write_figure(page: Page, row: int, at: int, figure: Figure, *, parts: str, style: str) -> int:
    """Write a figure and return the column after it."""
    rate = figure.rate
    for place, value in enumerate((rate.value, rate.low, rate.high), start=at):
        page.cell(row, place, value, style)
    if parts == "bounds":
        return at + 3
    page.cell(row, at + 3, rate.n, "count")
    page.cell(row, at + 4, rate.unscored, "count")
    return at + 5


def _write_cell(page: Page, row: int, at: int, cell: Cell) -> None:
    match cell:
        case Number():
            page.cell(row, at, cell.value, cell.style)
        case Description():
            example = f"for example: {cell.example}" if cell.example else ""
            page.cell(row, at, "; ".join(filter(None, (*cell.meaning.split("\n"), example))), "beside")
        case Name() | str():
            page.cell(row, at, cell.whole if isinstance(cell, Name) else cell, "indented" if at else "name")
        case DiffFigure():
            page.cell(row, at, cell.diff.difference, "percent")
        case Status() | Query() | IdList() | tuple():
            text = _ids(cell) if isinstance(cell, tuple) else cell.text() if isinstance(cell, IdList) else cell.text
            page.cell(row, at, text, "indented")
        case _:
            page.cell(row, at, "")
