"""How a page reads sections: the parts under its tabs, and the filters of its templates for blocks and cells.

Histograms of times are on a scale of 1, 2, 5; ``charts.html`` draws them as inline SVG. The median is a solid line and
the 90 % mark a dashed one, each with its label, so that nothing depends on colour.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from assay.model import TimeSpread
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
from assay.reports.text.plain import seconds
from assay.runs.aggregate.spread import EDGES

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
    """Whether any column contains figures."""
    return any(found == "Figure" for _, found in columns(table))


def stacked(row: Row, table: Table) -> list[_Line]:
    """A row as lines of the page: one line per figure if a row has several, since each figure has a bar."""
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
    """The rows to show and the others; a ranked table has the lowest first, as most can be gained there."""
    shown, hidden = table.shown(FOLDED.get(table.look, table.most))
    return (sorted(shown, key=_lowest), sorted(hidden, key=_lowest)) if table.ranked else (shown, hidden)


def folds(table: Table) -> bool:
    """Whether the other rows are on the page, folded away."""
    return table.look in FOLDED


def _lowest(row: Row) -> tuple[bool, float, int]:
    value = next((cell.rate.value for cell in row.cells if isinstance(cell, Figure)), None)
    return value is None, 0.0 if value is None else value, -row.weight


def missed_marks(blocks: Sequence[Block]) -> bool | None:
    """Whether any state is bad; None if none is marked."""
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


_WIDTH, _HEIGHT = 360.0, 168.0
_LEFT, _RIGHT, _TOP, _BASE = 20.0, 340.0, 54.0, 142.0
_CHARACTER = 6.96
"""The width of a character, on the wide side, so that what is computed to fit does fit."""
_FEWEST_BINS = 6
_GAP = 3.0


def histograms(rows: Sequence[TimeSpread]) -> list[tuple[TimeSpread, dict[str, object]]]:
    """Each row with what its chart is drawn of.

    Gold and predicted queries share a scale, so that they compare at a glance.
    """
    queries = [row for row in rows if row.name != "answer"]
    return [(row, histogram(row, queries if row in queries else [row])) for row in rows]


def histogram(row: TimeSpread, beside: Sequence[TimeSpread]) -> dict[str, object]:
    """What the macro ``histogram`` draws of one row, on a scale that covers all rows of ``beside``, this one included.

    Empty without bins.
    """
    if not row.bins:
        return {}
    edges = _edges(beside)
    counts = {one.low_s: one.count for one in row.bins}
    most = max(counts.values())
    step = (_RIGHT - _LEFT) / (len(edges) - 1)
    columns = [
        {
            "x": _LEFT + place * step + _GAP / 2,
            "width": step - _GAP,
            "height": max(1.5, counts[low] / most * (_BASE - _TOP)),
            "between": f"{_edge(low)} to {_edge(high)}",
            "count": f"{counts[low]:,}",
            "labelled": len(f"{counts[low]:,}") * _CHARACTER <= step + _GAP,
        }
        for place, (low, high) in enumerate(pairwise(edges))
        if counts.get(low)
    ]
    times = (("median", "median", row.median_s), ("tail", "90 %", row.p90_s))
    marks = [
        (kind, x, _inside(x, text), text)
        for kind, name, time_s in times
        for x, text in [(_x(time_s, edges, step), f"{name} {seconds(time_s)}")]
    ]
    return {
        "words": (
            f"Histogram of the time of {counted(row)}: median {seconds(row.median_s)}, 90 % within "
            f"{seconds(row.p90_s)}, longest {seconds(row.max_s)}, mean {seconds(row.mean_s)}."
        ),
        "columns": columns,
        "ticks": list(_ticks(edges, step)),
        "marks": marks,
        "left": _LEFT,
        "right": _RIGHT,
        "base": _BASE,
        "width": _WIDTH,
        "height": _HEIGHT,
    }


def _edges(spreads: Sequence[TimeSpread]) -> list[float]:
    """The edges of the bins of all spreads; a narrow range is widened, so that few bins are not huge blocks."""
    bins = [one for spread in spreads for one in spread.bins]
    low, last = min(one.low_s for one in bins), max(one.high_s for one in bins)
    scale = (0.0, *EDGES)
    first, end = bisect_left(scale, low), bisect_left(scale, last)
    while end - first < _FEWEST_BINS:
        end += 1
        first -= first > 1 and end - first < _FEWEST_BINS
    edges = [*scale[first : end + 1]]
    return edges if edges[-1] >= last else [*edges, last]


def _x(time_s: float, edges: Sequence[float], step: float) -> float:
    """The horizontal place of a time: by its logarithm within its bin, or mid-bin if the bin begins at 0."""
    place = min(max(bisect_right(edges, time_s) - 1, 0), len(edges) - 2)
    low, high = edges[place], edges[place + 1]
    within = 0.5
    if low > 0.0:
        within = min(1.0, max(0.0, math.log(max(time_s, low) / low) / math.log(high / low)))
    return _LEFT + (place + within) * step


def _ticks(edges: Sequence[float], step: float) -> Iterator[tuple[float, float, str]]:
    """Every edge, or powers of ten only if there is no room for all: where it is, the middle of its text, the text."""
    widest = max(len(_edge(edge)) for edge in edges) * _CHARACTER + 6
    for place, edge in enumerate(edges):
        if widest <= step or edge == 0.0 or f"{edge:.0e}".startswith("1e"):
            x = _LEFT + place * step
            yield x, _inside(x, _edge(edge)), _edge(edge)


def _inside(x: float, text: str) -> float:
    """The middle of a text to be put at ``x``, moved so that the text lies within the drawing."""
    half = len(text) * _CHARACTER / 2
    return min(max(x, half), _WIDTH - half)


def _edge(edge: float) -> str:
    """``0.2 ms``, ``50 ms``, ``2 s``, ``1,000 s``."""
    return "0" if edge == 0.0 else f"{edge * 1000:g} ms" if edge < 1.0 else f"{edge:,.0f} s"


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
