"""The table of the Summary sheet and its charts: correct queries, subset, results, times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from assay.reports.excel.charts import CHART_GAP, CHART_GROUPS, CHART_ROWS, CHART_SIZE, bars, cached, chart, pie
from assay.reports.excel.page import (
    DARK_BAR,
    INK,
    LIGHT_BAR,
    LINE_POINTS,
    TIME_BAR,
    WIDEST_NAME,
    Page,
    lines_of,
    word_width,
)

_WIDTH: Final = 13.0
_SUBSET, _CORRECT, _SAMPLES, _TIME, _DEVIATION = range(5)
"""The places of the first columns, which the charts show."""
_BARS: Final = {_SUBSET: (LIGHT_BAR, "0.0 %"), _CORRECT: (DARK_BAR, "0.0 %"), _TIME: (TIME_BAR, "0.00")}
_BESIDE: Final = 2
"""How many charts are side by side."""


class SummaryColumn(Struct, frozen=True, kw_only=True):
    """One column of the table: its title, how it is written, and its value for each group and overall."""

    title: str
    style: str
    values: tuple[float | None, ...]


def write_table(page: Page, names: Sequence[str], columns: Sequence[SummaryColumn]) -> None:
    """Write the table from the sheet's first row: a row for each of ``names``; the last is the total."""
    # A name of several words wraps between them; one long word must fit.
    widths = [max(_WIDTH, word_width(column.title)) for column in columns]
    for place, width in enumerate(widths, start=1):
        page.sheet.set_column(place, place, width)
    page.print_readably([WIDEST_NAME, *widths])
    page.sheet.repeat_columns(0)
    page.sheet.freeze_panes(1, 1)
    page.head(0, ["Difficulty", *(column.title for column in columns)], numbers=range(1, len(columns) + 1), lines=3)
    for row, name in enumerate(names, start=1):
        total = row == len(names)
        page.sheet.set_row(row, LINE_POINTS * min(4, lines_of(name, WIDEST_NAME - 4)) + 3)
        page.text(row, 0, name, "name_wrapped", total=total)
        for place, column in enumerate(columns, start=1):
            page.number(row, place, column.values[row - 1], column.style, total=total)
    for place, column in enumerate(columns, start=1):
        if column.style == "percent":
            page.share_bands(1, len(names), place)


def write_charts(
    page: Page,
    row: int,
    names: Sequence[str],
    columns: Sequence[SummaryColumn],
    results: Sequence[tuple[str, int]],
) -> int:
    """Write the charts of the table's own cells, and of ``results`` in a table of their own. Returns the row after.

    They are the four charts of Denodo's own workbook. ``results`` are the numbers of answers by their result.
    """
    groups = names[:-1] or names
    shown = groups[:CHART_GROUPS]
    by = "by difficulty" if len(names) > 1 else "over all cases"
    by += f", first {len(shown)} of {len(groups)}" if len(shown) < len(groups) else ""
    if not columns[_SAMPLES].values[-1]:
        return row
    drawn = [
        chart(page, f"{columns[place].title} {by}", [_series(page, columns[place], place, shown)], "0 %", top=1.0)
        for place in (_CORRECT, _SUBSET)
        if _has_values(columns[place])
    ]
    count = len(drawn) + bool(results) + _has_values(columns[_TIME])
    after = row + math.ceil(count / _BESIDE) * (CHART_ROWS + 1)
    if results:
        drawn.append(pie(page, "Correct and incorrect answers", results, first_row=after + 1))
        after = _write_results(page, after, results)
    if _has_values(columns[_TIME]):
        drawn.append(_times(page, columns, shown, f"Mean time in seconds {by}, ± its standard deviation"))
    for index, one in enumerate(drawn):
        one.set_size(CHART_SIZE)
        down, beside = divmod(index, _BESIDE)
        left = beside * (CHART_SIZE["width"] + CHART_GAP)
        right = left + CHART_SIZE["width"]
        page.insert_chart(row + down * (CHART_ROWS + 1), one, left=left, right=right, down=CHART_SIZE["height"])
    page.print_charts_whole()
    return after


def _has_values(column: SummaryColumn) -> bool:
    return any(value is not None for value in column.values)


def _write_results(page: Page, row: int, results: Sequence[tuple[str, int]]) -> int:
    page.head(row, ["Result", "Answers"], numbers={1})
    for place, (name, count) in enumerate(results, start=row + 1):
        page.text(place, 0, name, "name")
        page.number(place, 1, count, "count")
    return row + len(results) + 2


def _times(page: Page, columns: Sequence[SummaryColumn], names: Sequence[str], title: str) -> Any:
    """The chart of mean times, with their standard deviations as error bars."""
    series = _series(page, columns[_TIME], _TIME, names)
    # Error bars would run through a label at the bar's end.
    series["data_labels"]["position"] = "inside_base"
    series["data_labels"]["font"] = {"size": 9, "color": "#FFFFFF", "bold": True}
    spread = _range(page, column=_DEVIATION + 1, rows=len(names))
    deviations = cached(columns[_DEVIATION].values[: len(names)])
    series["y_error_bars"] = {
        "type": "custom",
        "plus_values": spread,
        "minus_values": spread,
        "plus_data": deviations,
        "minus_data": deviations,
        "line": {"color": INK, "width": 1.25},
    }
    return chart(page, title, [series], "0.0", top=_top(columns, len(names)))


def _series(page: Page, column: SummaryColumn, place: int, names: Sequence[str]) -> dict[str, Any]:
    """One column of the table as bars, bound to its cells, with a copy of their values."""
    colour, decimals = _BARS[place]
    made = bars(page, names, column.values[: len(names)], at=(1, place + 1), colour=colour)
    return {
        **made,
        "name": [page.name, 0, place + 1],
        "name_data": [column.title],
        "data_labels": {**made["data_labels"], "num_format": decimals},
    }


def _top(columns: Sequence[SummaryColumn], shown: int) -> float | None:
    """A round end for the time axis above the longest error bar: not every program leaves room for it."""
    means, deviations = (columns[place].values[:shown] for place in (_TIME, _DEVIATION))
    highest = max((mean or 0.0) + (deviation or 0.0) for mean, deviation in zip(means, deviations, strict=True))
    if highest <= 0.0:
        return None
    step = 10.0 ** math.floor(math.log10(highest)) / 2
    return math.ceil(1.05 * highest / step) * step


def _range(page: Page, *, column: int, rows: int) -> str:
    from xlsxwriter.utility import xl_range_abs

    return f"={page.name}!{xl_range_abs(1, column, rows, column)}"
