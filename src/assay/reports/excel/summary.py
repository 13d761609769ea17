"""The Summary sheet: the numbers by difficulty and overall, charts bound to them, every metric's interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from assay.reports.excel.charts import CHART_GAP, CHART_GROUPS, CHART_ROWS, CHART_SIZE, bars, cached, chart
from assay.reports.excel.columns import WorkbookMetrics
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
from assay.reports.excel.tables import names_in, write_notes, write_sections
from assay.reports.sections.run import run_sections
from assay.reports.views.run import GroupRow, RunView

_WIDTH = 13.0
_MOST_GROUPS = 12
_SCORED = "Scored"
"""The title of the column that counts scored questions, present where some question is not scored."""

AS_DENODO = (
    "This table counts as Denodo's own workbook does, to be compared with one: a question without a score or a time "
    "counts as 0 in each mean, Time Std Dev is the population's, Percent Overlap is the precision of the F1."
)


class _Column(Struct, frozen=True, kw_only=True):
    """One column of the table: its title, how it is written, and its value for a group."""

    title: str
    style: str
    values: tuple[float | None, ...]


def write_summary(page: Page, view: RunView, metrics: WorkbookMetrics) -> None:
    """Write the table first, where other programs look for it, and what else a person needs below it."""
    groups, sections = view.difficulties, run_sections(view)
    columns = _columns([*groups, view.overall], metrics)
    sheet = page.sheet
    page.prepare(names=[*(group.name for group in groups), *names_in(sections)])
    for place, column in enumerate(columns, start=1):
        # A name of several words wraps between them; one long word must fit.
        sheet.set_column(place, place, max(_WIDTH, word_width(column.title)))
    sheet.freeze_panes(1, 1)
    _write_table(page, [*groups, view.overall], columns)
    own = [AS_DENODO] if metrics.as_denodo else []
    row = write_notes(page, len(groups) + 3, view, metrics.note(), *own)
    row = write_sections(page, row, [one for one in sections if one.key == "gates"])
    row = _charts(page, row + 1, groups or [view.overall], columns, first_row=1)
    row = _write_samples(page, row, [*groups, view.overall], metrics)
    write_sections(page, row - 1, [one for one in sections if one.key != "gates"])


def _columns(rows: Sequence[GroupRow], metrics: WorkbookMetrics) -> list[_Column]:
    """The guide's five columns, the count of scored questions where some are not, then the other metrics."""
    place = {name: index for index, name in enumerate(metrics.names)}

    def of_metric(title: str, name: str | None) -> _Column:
        if name not in place:
            return _Column(title=title, style="percent", values=(None,) * len(rows))
        rates = [(row.figures[place[name]].rate, row.cases) for row in rows]
        means = (over_all(rate.value, rate.n, cases) if metrics.as_denodo else rate.value for rate, cases in rates)
        return _Column(title=title, style=metrics.style(name), values=tuple(means))

    times = [_time_of(row, over_all_cases=metrics.as_denodo) for row in rows]
    scored = _Column(title=_SCORED, style="count", values=tuple(_scored(row, metrics) for row in rows))
    columns = [
        of_metric("Percent Subset", metrics.subset),
        of_metric("Percent Correct Queries", metrics.correct),
        _Column(title="Number of Samples", style="count", values=tuple(row.cases for row in rows)),
        _Column(title="Mean Time (s)", style="seconds", values=tuple(mean for mean, _ in times)),
        _Column(title="Time Std Dev", style="seconds", values=tuple(deviation for _, deviation in times)),
        *([] if metrics.as_denodo or scored.values == tuple(row.cases for row in rows) else [scored]),
    ]
    rest = (name for name in metrics.names if name not in (metrics.subset, metrics.correct))
    return columns + [of_metric(metrics.titles[name], name) for name in rest]


def over_all(mean: float | None, n: int, cases: int) -> float | None:
    """The mean over all cases, as in Denodo's workbook: 0 for the cases that the usual mean leaves out."""
    return None if not cases else (mean or 0.0) * n / cases


def _time_of(row: GroupRow, *, over_all_cases: bool) -> tuple[float | None, float | None]:
    """Mean and standard deviation of the known times; or over all cases, with 0 for a missing time.

    Over all cases the standard deviation is the population's, else the sample's.
    """
    time = row.answer_time
    if not over_all_cases:
        return (None, None) if time is None else (time.mean_s, time.std_dev_s)
    if not row.cases:
        return None, None
    n, mean = (0, 0.0) if time is None else (time.n, time.mean_s)
    spread = (n - 1) * (time.std_dev_s or 0.0) ** 2 if time is not None and n > 1 else 0.0
    overall = n * mean / row.cases
    squares = spread + n * (mean - overall) ** 2 + (row.cases - n) * overall**2
    return overall, math.sqrt(squares / row.cases)


def _scored(row: GroupRow, metrics: WorkbookMetrics) -> int:
    """How many questions Percent Correct Queries covers."""
    return row.cases if metrics.correct is None else row.figures[metrics.names.index(metrics.correct)].rate.n


def _write_samples(page: Page, row: int, rows: Sequence[GroupRow], metrics: WorkbookMetrics) -> int:
    """Write how many questions each mean is over, where the summary table does not say it. Returns the row after.

    It is a separate table: a column next to each mean would double the width of the summary.
    """
    scored = [_scored(group, metrics) for group in rows]
    counted = {"Mean Time (s)": [0 if group.answer_time is None else group.answer_time.n for group in rows]}
    titles = {**metrics.titles, metrics.subset or "": "Percent Subset"}
    for place, name in enumerate(metrics.names):
        if name != metrics.correct:
            counted[titles[name]] = [group.figures[place].rate.n for group in rows]
    differing = {title: counts for title, counts in counted.items() if counts != scored and any(counts)}
    if metrics.as_denodo or not differing:
        return row
    usual = "all of them" if scored == [group.cases for group in rows] else _SCORED
    page.text(row, 0, f"How many questions a mean is over, where it is not {usual}", "section")
    names = [*(group.name for group in rows[:-1][:_MOST_GROUPS]), "Overall"]
    page.head(row + 1, ["Mean", *names], numbers=range(1, len(names) + 1), lines=2)
    row += 2
    for title, counts in differing.items():
        page.text(row, 0, title, "name")
        for place, count in enumerate([*counts[:-1][:_MOST_GROUPS], counts[-1]], start=1):
            page.number(row, place, count, "count")
        row += 1
    return row + 1


def _write_table(page: Page, rows: Sequence[GroupRow], columns: Sequence[_Column]) -> None:
    page.head(0, ["Difficulty", *(column.title for column in columns)], numbers=range(1, len(columns) + 1), lines=3)
    for index, group in enumerate(rows):
        total = index == len(rows) - 1
        row = index + 1
        page.sheet.set_row(row, LINE_POINTS * min(4, lines_of(group.name, WIDEST_NAME - 4)) + 3)
        page.text(row, 0, "Overall" if total else group.name, "name_wrapped", total=total)
        for place, column in enumerate(columns, start=1):
            page.number(row, place, column.values[index], column.style, total=total)
    for place, column in enumerate(columns, start=1):
        if column.style == "percent":
            page.share_bands(1, len(rows), place)


def _charts(page: Page, row: int, groups: Sequence[GroupRow], columns: Sequence[_Column], *, first_row: int) -> int:
    """Write charts of the table's own cells, side by side. Returns the row after."""
    shown = min(len(groups), CHART_GROUPS)
    last_row = first_row + shown - 1
    by = "by difficulty" if len(groups) > 1 or groups[0].name != "all" else "over all cases"
    by += f", first {shown} of {len(groups)}" if shown < len(groups) else ""
    names = [group.name for group in groups[:shown]]
    if names == ["all"]:
        names = ["Overall"]
    drawn: list[Any] = []
    series = partial(_series, page, columns, names, first_row=first_row)
    filled = [place for place in (0, 1) if any(value is not None for value in columns[place].values)]
    accuracy = [series(place=place, colour=(LIGHT_BAR, DARK_BAR)[place], decimals="0.0 %") for place in filled]
    if accuracy and groups[0].cases:
        drawn.append(
            chart(page, f"{' and '.join(columns[place].title for place in filled)} {by}", accuracy, "0 %", top=1.0)
        )
    if any(value is not None for value in columns[3].values):
        times = series(place=3, colour=TIME_BAR, decimals="0.00")
        spread = [page.name, first_row, 5, last_row, 5]
        deviations = cached(columns[4].values[:shown])
        # Error bars would run through a label at the bar's end.
        times["data_labels"]["position"] = "inside_base"
        times["data_labels"]["font"] = {"size": 9, "color": "#FFFFFF", "bold": True}
        times["y_error_bars"] = {
            "type": "custom",
            "plus_values": _range(spread),
            "minus_values": _range(spread),
            "plus_data": deviations,
            "minus_data": deviations,
            "line": {"color": INK, "width": 1.25},
        }
        drawn.append(
            chart(
                page, f"Mean time in seconds {by}, ± its standard deviation", [times], "0.0", top=_top(columns, shown)
            )
        )
    for index, one in enumerate(drawn):
        one.set_size(CHART_SIZE)
        beside = index * (CHART_SIZE["width"] + CHART_GAP)
        page.sheet.insert_chart(row, 0, one, {"x_offset": beside, "object_position": 2})
    return row + CHART_ROWS + 1 if drawn else row


def _series(
    page: Page,
    columns: Sequence[_Column],
    names: Sequence[str],
    *,
    first_row: int,
    place: int,
    colour: str,
    decimals: str,
) -> dict[str, Any]:
    """One column of the table as bars, bound to its cells, with a copy of their values."""
    made = bars(page, names, columns[place].values[: len(names)], at=(first_row, place + 1), colour=colour)
    return {
        **made,
        "name": [page.name, 0, place + 1],
        "name_data": [columns[place].title],
        "data_labels": {**made["data_labels"], "num_format": decimals},
    }


def _top(columns: Sequence[_Column], shown: int) -> float | None:
    """A round end for the time axis above the longest error bar: not every program leaves room for it."""
    means, deviations = (columns[place].values[:shown] for place in (3, 4))
    highest = max((mean or 0.0) + (deviation or 0.0) for mean, deviation in zip(means, deviations, strict=True))
    if highest <= 0.0:
        return None
    step = 10.0 ** math.floor(math.log10(highest)) / 2
    return math.ceil(1.05 * highest / step) * step


def _range(cells: Sequence[Any]) -> str:
    from xlsxwriter.utility import xl_range_abs

    name, *corners = cells
    return f"={name}!{xl_range_abs(*corners)}"
