"""Charts bound to the cells of a workbook's tables, with a copy of what the cells hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.reports.excel.page import HEAD, INK, RULE, Page

CHART_SIZE = {"width": 620, "height": 350}
CHART_GAP = 24
CHART_ROWS = 16
CHART_GROUPS = 30


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
    drawn.set_title({"name": title, "name_font": {"size": 12, "bold": True, "color": HEAD}, "overlay": False})
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


def cached(values: Sequence[float | None]) -> list[float | str]:
    """The values that the chart shows before its cells are read again; '' leaves a gap."""
    return ["" if value is None else value for value in values]
