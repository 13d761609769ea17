"""How a page reads sections: the parts under its tabs, and the filters of its templates for blocks and cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.reports.blocks.run_sections import counted
from assay.reports.blocks.values import (
    Block,
    Cell,
    Column,
    Description,
    DiffFigure,
    Figure,
    Name,
    Row,
    Section,
    Status,
    Tab,
    Table,
    is_blank,
)
from assay.reports.html.charts import histograms
from assay.reports.text.plain import seconds

FOLDED = {"figures": 20, "counts": 12, "grouped": 8}
"""How many rows of tables of these looks a page shows before it folds the others away."""

_Line = list[tuple[Column, Cell, str]]


class Part(Struct, frozen=True, kw_only=True):
    """What stands under one tab: over the whole width, then as cards in columns, then over the whole width again."""

    name: Tab
    title: str
    top: tuple[Section, ...]
    cards: tuple[Section, ...]
    bottom: tuple[Section, ...]


def parts(sections: Sequence[Section], *, run: str = "Run", metrics: str = "Metrics") -> tuple[Part, ...]:
    """The parts of a page, the overview first; a part in which nothing stands is left out, but for the overview.

    ``run`` and ``metrics`` are the titles of those tabs.
    """
    titles: dict[Tab, str] = {"overview": "Overview", "metrics": metrics, "causes": "Causes", "run": run}

    def part(name: Tab) -> Part:
        own = [one for one in sections if one.tab == name]
        return Part(
            name=name,
            title=titles[name],
            top=tuple(one for one in own if one.place == "top"),
            cards=tuple(sorted((one for one in own if one.place == "columns"), key=lambda one: one.rank)),
            bottom=tuple(one for one in own if one.place == "bottom"),
        )

    made = map(part, titles)
    return tuple(one for one in made if one.name == "overview" or one.top or one.cards or one.bottom)


def kind(value: object) -> str:
    """The name of its class."""
    return type(value).__name__


def for_page(table: Table) -> Table:
    """The table without the columns of the summary, and without those that say nothing."""
    return table.only(lambda column, cells: column.detail != "summary" and not (cells and all(map(is_blank, cells))))


def columns(table: Table) -> list[tuple[Column, str]]:
    """Each column with the kind of its first cell that is not blank."""
    kinds = (
        [kind(row.cells[place]) for row in table.rows if row.cells[place] is not None]
        for place in range(len(table.columns))
    )
    return [(column, (found or ["str"])[0]) for column, found in zip(table.columns, kinds, strict=True)]


def has_figures(table: Table) -> bool:
    """Whether any column holds figures."""
    return any(found == "Figure" for _, found in columns(table))


def stacked(row: Row, table: Table) -> list[_Line]:
    """A row as lines of the page: one line per figure where a row has several, since each figure has a bar."""
    kinds = zip(columns(table), row.cells, strict=True)
    cells: _Line = [(column, cell, kind(cell) if cell is not None else like) for (column, like), cell in kinds]
    figures = [(column, cell) for column, cell, _ in cells if isinstance(cell, Figure)]
    if table.look != "figures" or len(figures) < 2:
        return [cells]
    head = cells[0][1]
    return [
        [
            (table.columns[0], Name(text=column.long.format(head)), "Name"),
            (replace(column, parts="all"), figure, "Figure"),
        ]
        for column, figure in figures
    ]


def remark(line: _Line) -> Description | None:
    """What the row's name means."""
    return next((cell for _, cell, _ in line if isinstance(cell, Description)), None)


def page_rows(table: Table) -> tuple[Sequence[Row], Sequence[Row]]:
    """The rows to show and the others; a ranked table has the lowest first, where most can be gained."""
    shown, hidden = table.shown(FOLDED.get(table.look, table.most))
    return (sorted(shown, key=_lowest), sorted(hidden, key=_lowest)) if table.ranked else (shown, hidden)


def folds(table: Table) -> bool:
    """Whether the other rows are on the page, folded away."""
    return table.look in FOLDED


def _lowest(row: Row) -> tuple[bool, float, int]:
    value = next((cell.rate.value for cell in row.cells if isinstance(cell, Figure)), None)
    return value is None, 0.0 if value is None else value, -row.weight


def missed_marks(blocks: Sequence[Block]) -> bool | None:
    """Whether any state is bad; None where none is marked."""
    cells = [cell for block in blocks if isinstance(block, Table) for row in block.rows for cell in row.cells]
    found = [cell.good for cell in cells if isinstance(cell, Status)]
    return False in found if found else None


def page_aside(section: Section) -> str:
    """The remark after the title: the section's own, a matrix's caption, or how a table is cut and ordered."""
    for block in () if section.aside else section.blocks_in("full"):
        if isinstance(block, Table) and block.look == "matrix":
            return block.foot
        if isinstance(block, Table) and block.ranked:
            shown, hidden = page_rows(block)
            return f"the {len(shown):,} with most cases, lowest first" if hidden else "lowest first"
    return section.aside


def scales(sections: Iterable[Section]) -> Mapping[str, float]:
    """The scale of differences, one for all rows: the largest end of an interval, above 0 and at most 1."""
    ends: dict[str, list[float]] = {"all": [0.01], "bounds": [0.01]}
    for section in sections:
        for block in section.blocks:
            for row in block.rows if isinstance(block, Table) else ():
                for column, cell in zip(block.columns, row.cells, strict=True):  # type: ignore[union-attr]
                    if isinstance(cell, DiffFigure) and cell.share:
                        found = (cell.diff.low, cell.diff.high, cell.diff.difference)
                        ends[column.parts] += [abs(end) for end in found if end is not None]
    return {parts: min(1.0, max(found)) for parts, found in ends.items()}


def tight(text: str) -> str:
    """The text with no line break between a number and its percent sign."""
    return text.replace(" %", "\u00a0%")


FILTERS: Mapping[str, Callable[..., object]] = {
    "kind": kind,
    "columns": columns,
    "tight": tight,
    "has_figures": has_figures,
    "stacked": stacked,
    "remark": remark,
    "page_rows": page_rows,
    "for_page": for_page,
    "folds": folds,
    "missed_marks": missed_marks,
    "page_aside": page_aside,
    "counted": counted,
    "histograms": histograms,
    "seconds": seconds,
}
