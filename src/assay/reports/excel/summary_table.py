"""The table of the Summary sheet and its charts: correct queries, subset, results, times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

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
from assay.reports.excel.table import Column, tuple_columns, values_column, write_rows

_WIDTH: Final = 13.0
_SUBSET, _CORRECT, _SAMPLES, _TIME, _DEVIATION = range(5)
"""The places of the first columns, which the charts show."""
_BARS: Final = {_SUBSET: (LIGHT_BAR, "0.0 %"), _CORRECT: (DARK_BAR, "0.0 %"), _TIME: (TIME_BAR, "0.00")}
_BESIDE: Final = 2
"""How many charts are side by side."""


def write_table(page: Page, names: Sequence[str], columns: Sequence[Column]) -> None:
    """Write the table from the sheet's first row: a row for each of ``names``; the last is the total.

    The columns have their values by the place of the name.
    """
    # A name of several words wraps between them; one long word must fit.
    widths = [max(_WIDTH, word_width(one.title)) for one in columns]
    for place, width in enumerate(widths, start=1):
        page.sheet.set_column(place, place, width)
    page.print_readably([WIDEST_NAME, *widths])
    page.sheet.repeat_columns(0)
    page.sheet.freeze_panes(1, 1)
    for row, name in enumerate(names, start=1):
        page.sheet.set_row(row, LINE_POINTS * min(4, lines_of(name, WIDEST_NAME - 4)) + 3)
    titled = [values_column("Difficulty", names, "name_wrapped"), *columns]
    write_rows(page, 0, titled, range(len(names)), lines=3, last_is_total=True)
    for place, one in enumerate(columns, start=1):
        if one.style == "percent":
            page.mark("bands", 1, len(names), place)


def write_charts(
    page: Page,
    row: int,
    names: Sequence[str],
    columns: Sequence[Column],
    results: Sequence[tuple[str, int]],
) -> int:
    """Write the charts of the table's own cells, and of ``results`` in a table of their own. Returns the row after.

    They are the four charts of Denodo's own workbook. ``results`` are the numbers of answers by their result.
    """
    groups = names[:-1] or names
    shown = groups[:CHART_GROUPS]
    by = "by difficulty" if len(names) > 1 else "over all cases"
    by += f", first {len(shown)} of {len(groups)}" if len(shown) < len(groups) else ""
    last = len(names) - 1
    if not columns[_SAMPLES].value(last):
        return row
    filled = [place for place in _BARS if any(columns[place].value(one) is not None for one in range(len(names)))]
    drawn = [
        chart(page, f"{columns[place].title} {by}", [_series(page, columns[place], place, shown)], "0 %", top=1.0)
        for place in (_CORRECT, _SUBSET)
        if place in filled
    ]
    count = len(drawn) + bool(results) + (_TIME in filled)
    after = row + math.ceil(count / _BESIDE) * (CHART_ROWS + 1)
    if results:
        drawn.append(pie(page, "Correct and incorrect answers", results, first_row=after + 1))
        counted = tuple_columns([("Result", "name"), ("Answers", "count")])
        after = write_rows(page, after, counted, results) + 1
    if _TIME in filled:
        drawn.append(_times(page, columns, shown, f"Mean time in seconds {by}, ± its standard deviation"))
    for index, one in enumerate(drawn):
        one.set_size(CHART_SIZE)
        down, beside = divmod(index, _BESIDE)
        left = beside * (CHART_SIZE["width"] + CHART_GAP)
        right = left + CHART_SIZE["width"]
        page.insert_chart(row + down * (CHART_ROWS + 1), one, left=left, right=right, down=CHART_SIZE["height"])
    page.print_charts_whole()
    return after


def _times(page: Page, columns: Sequence[Column], names: Sequence[str], title: str) -> Any:
    """The chart of mean times, with their standard deviations as error bars."""
    series = _series(page, columns[_TIME], _TIME, names)
    # Error bars would run through a label at the bar's end.
    series["data_labels"]["position"] = "inside_base"
    series["data_labels"]["font"] = {"size": 9, "color": "#FFFFFF", "bold": True}
    spread = _range(page, column=_DEVIATION + 1, rows=len(names))
    deviations = cached(_values(columns[_DEVIATION], len(names)))
    series["y_error_bars"] = {
        "type": "custom",
        "plus_values": spread,
        "minus_values": spread,
        "plus_data": deviations,
        "minus_data": deviations,
        "line": {"color": INK, "width": 1.25},
    }
    return chart(page, title, [series], "0.0", top=_top(columns, len(names)))


def _values(one: Column, count: int) -> list[Any]:
    """The values of the first groups."""
    return [one.value(place) for place in range(count)]


def _series(page: Page, one: Column, place: int, names: Sequence[str]) -> dict[str, Any]:
    """One column of the table as bars, bound to its cells, with a copy of their values."""
    colour, decimals = _BARS[place]
    made = bars(page, names, _values(one, len(names)), at=(1, place + 1), colour=colour)
    return {
        **made,
        "name": [page.name, 0, place + 1],
        "name_data": [one.title],
        "data_labels": {**made["data_labels"], "num_format": decimals},
    }


def _top(columns: Sequence[Column], shown: int) -> float | None:
    """A round end for the time axis above the longest error bar: not every program leaves room for it."""
    means, deviations = (_values(columns[place], shown) for place in (_TIME, _DEVIATION))
    highest = max((mean or 0.0) + (deviation or 0.0) for mean, deviation in zip(means, deviations, strict=True))
    if highest <= 0.0:
        return None
    step = 10.0 ** math.floor(math.log10(highest)) / 2
    return math.ceil(1.05 * highest / step) * step


def _range(page: Page, *, column: int, rows: int) -> str:
    from xlsxwriter.utility import xl_range_abs

    return f"={page.name}!{xl_range_abs(1, column, rows, column)}"
