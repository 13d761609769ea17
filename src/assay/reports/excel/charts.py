"""Charts bound to the cells of a workbook's tables, with a copy of what the cells hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.reports.excel.page import HEAD, INK, RULE, Page

CHART_SIZE = {"width": 620, "height": 350}
CHART_GAP = 24
CHART_ROWS = 16
CHART_GROUPS = 30
PIE_COLOURS = ("#5B8C5A", "#C0504D", "#B8C2CC")
"""Colours of correct, incorrect and unscored."""


def bars(
    page: Page, names: Sequence[str], values: Sequence[float | None], *, at: tuple[int, int], colour: str
) -> dict[str, Any]:
    """Bars bound to cells of a column, with a copy of their values; ``at``: row and column of the first cell."""
    first, column = at
    last = first + len(names) - 1
    return {
        "categories": [page.name, first, 0, last, 0],
        "categories_data": list(names),
        "values": [page.name, first, column, last, column],
        "values_data": cached(values),
        "fill": {"color": colour},
        "border": {"none": True},
        "gap": 70,
        "overlap": -5,
        "data_labels": {"value": True, "num_format": "0.0 %", "font": {"size": 9, "color": INK}},
    }


def chart(page: Page, title: str, series: Sequence[dict[str, Any]], axis: str, *, top: float | None = None) -> Any:
    """Columns in the workbook's look; ``axis`` is the format of its numbers, ``top`` where it ends."""
    drawn = page.workbook.add_chart({"type": "column"})
    for one in series:
        drawn.add_series(one)
    drawn.set_title(_title(title))
    drawn.set_x_axis({"num_font": {"size": 10, "color": INK}, "line": {"color": RULE}})
    drawn.set_y_axis(
        {
            "min": 0,
            **({"max": top} if top is not None else {}),
            "num_format": axis,
            "num_font": {"size": 9, "color": INK},
            "line": {"none": True},
            "major_gridlines": {"visible": True, "line": {"color": RULE, "width": 0.75}},
        }
    )
    drawn.set_legend({"position": "bottom"} if len(series) > 1 else {"none": True})
    drawn.set_chartarea({"border": {"color": RULE}})
    return drawn


def pie(page: Page, title: str, parts: Sequence[tuple[str, int]], *, first_row: int) -> Any:
    """A pie of correct, incorrect and unscored; ``first_row`` is that of their names and counts, next to each other."""
    last = first_row + len(parts) - 1
    drawn = page.workbook.add_chart({"type": "pie"})
    drawn.add_series(
        {
            "name": title,
            "categories": [page.name, first_row, 0, last, 0],
            "categories_data": [name for name, _ in parts],
            "values": [page.name, first_row, 1, last, 1],
            "values_data": [count for _, count in parts],
            "points": [{"fill": {"color": colour}, "border": {"color": "#FFFFFF"}} for colour in PIE_COLOURS],
            "data_labels": {
                "value": True,
                "percentage": True,
                "separator": "\n",
                "position": "outside_end",
                "custom": [{"delete": not count} for _, count in parts],
                "font": {"size": 9, "color": INK},
            },
        }
    )
    drawn.set_title(_title(title))
    drawn.set_legend({"position": "bottom"})
    drawn.set_chartarea({"border": {"color": RULE}})
    return drawn


def _title(text: str) -> dict[str, Any]:
    return {"name": text, "name_font": {"size": 12, "bold": True, "color": HEAD}, "overlay": False}


def cached(values: Sequence[float | None]) -> list[float | str]:
    """The values that the chart shows before its cells are read again; '' leaves a gap."""
    return ["" if value is None else value for value in values]
