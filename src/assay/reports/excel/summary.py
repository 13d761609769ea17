"""The Summary sheet: the numbers by difficulty and overall, charts bound to them, every metric's interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from assay.reports.excel.columns import WorkbookMetrics
from assay.reports.excel.page import (
    DARK_BAR,
    HEAD,
    INK,
    LIGHT_BAR,
    LINE_POINTS,
    RULE,
    TIME_BAR,
    Page,
    lines_of,
    word_width,
)
from assay.reports.excel.tables import (
    COUNT_ROWS,
    write_counts,
    write_gates,
    write_groups,
    write_pairs,
    write_repeats,
    write_times,
    write_usage,
)
from assay.reports.views.run import GroupRow, RunView

_FIRST_WIDTH, _WIDEST_FIRST, _WIDTH = 22.0, 40.0, 13.0
CHART_SIZE = {"width": 620, "height": 350}
CHART_GAP = 24
CHART_ROWS = 16
CHART_GROUPS = 30
_MOST_GROUPS = 12
_SCORED = "Scored"
"""The column of how many questions are scored, where that is not all of them."""


AS_DENODO = (
    "This table counts as Denodo's own workbook does, to be compared with one: a question without a score or a time "
    "counts as 0 in each mean, Time Std Dev is the population's, Percent Overlap is the precision of the F1."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One column of the table: its title, how it is written, and its value for a group."""

    title: str
    style: str
    values: tuple[float | None, ...]


def write_summary(page: Page, view: RunView, metrics: WorkbookMetrics) -> None:
    """The table first, where other programs look for it; beneath it what a person needs beside it."""
    groups = view.difficulties
    columns = _columns([*groups, view.overall], metrics)
    sheet = page.sheet
    sheet.hide_gridlines(2)
    sheet.set_default_row(LINE_POINTS + 2)
    sheet.set_column(0, 0, _first_width(groups, view))
    for place, column in enumerate(columns, start=1):
        # A name of several words wraps between them; one long word must fit.
        sheet.set_column(place, place, max(_WIDTH, word_width(column.title)))
    sheet.freeze_panes(1, 1)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.set_margins(0.4, 0.4, 0.5, 0.5)
    _write_table(page, [*groups, view.overall], columns)
    row = _write_notes(page, len(groups) + 3, view, metrics)
    row = write_gates(page, row + 1, view) if view.gates else row
    row = _charts(page, row + 1, groups or [view.overall], columns, first_row=1)
    row = _write_samples(page, row, [*groups, view.overall], metrics)
    row = _write_metrics(page, row, view, metrics)
    row = write_repeats(page, row, view)
    row = write_groups(page, row, view)
    row = write_pairs(page, row, view)
    row = write_times(page, row, view)
    row = write_usage(page, row, view)
    for title, rows in view.count_tables:
        row = write_counts(page, row + 1, title, rows)


def _first_width(groups: Sequence[GroupRow], view: RunView) -> float:
    """Wide enough for the names of groups, metrics and counts, within reason."""
    names = [*(group.name for group in groups), *(row.metric for row in view.metrics)]
    names += [f"{row.blame or ''}: {row.name}" for _, rows in view.count_tables for row in rows[:COUNT_ROWS]]
    names += [row.gate for row in view.gates]
    return min(_WIDEST_FIRST, max(_FIRST_WIDTH, 1.15 * max(map(len, names), default=0) + 2))


def _columns(rows: Sequence[GroupRow], metrics: WorkbookMetrics) -> list[_Column]:
    """The guide's five, how many questions are scored where that is not all of them, then the other metrics."""
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
    """The mean over all cases with 0 for those that the mean leaves out, as Denodo's workbook has it."""
    return None if not cases else (mean or 0.0) * n / cases


def _time_of(row: GroupRow, *, over_all_cases: bool) -> tuple[float | None, float | None]:
    """Mean and standard deviation of the times that are there; or over all cases, with 0 for a missing time.

    The second is the population's, not the sample's.
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
    """Of how many questions Percent Correct Queries tells."""
    return row.cases if metrics.correct is None else row.figures[metrics.names.index(metrics.correct)].rate.n


def _write_samples(page: Page, row: int, rows: Sequence[GroupRow], metrics: WorkbookMetrics) -> int:
    """How many questions a mean is over, where that is not what the table says of all. Gives the row after.

    A table of its own: a column beside each mean would double the width of the one that people look at.
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
        page.sheet.set_row(row, LINE_POINTS * min(4, lines_of(group.name, _WIDEST_FIRST - 4)) + 3)
        page.text(row, 0, "Overall" if total else group.name, "name_wrapped", total=total)
        for place, column in enumerate(columns, start=1):
            page.number(row, place, column.values[index], column.style, total=total)


def _write_notes(page: Page, row: int, view: RunView, metrics: WorkbookMetrics) -> int:
    """Title, headline, and what a reader must know before trusting it. Gives the row after."""
    page.sheet.set_row(row, LINE_POINTS + 8)
    page.text(row, 0, view.title, "title")
    headline = f"{view.headline_name} {view.headline.text} {view.headline.interval}".rstrip()
    page.text(row + 1, 0, f"{headline} · {view.tally} ({view.confidence} interval in brackets)", "plain")
    page.text(row + 2, 0, view.outcomes, "plain")
    row += 3
    for note in (metrics.note(), *([AS_DENODO] if metrics.as_denodo else []), *view.notes):
        page.text(row, 0, note, "note")
        row += 1
    return row


def _charts(page: Page, row: int, groups: Sequence[GroupRow], columns: Sequence[_Column], *, first_row: int) -> int:
    """Charts of the table's own cells, side by side. Gives the row after."""
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
    """One column of the table as bars, bound to its cells, with a copy of what they hold."""
    last_row = first_row + len(names) - 1
    return {
        "name": [page.name, 0, place + 1],
        "name_data": [columns[place].title],
        "categories": [page.name, first_row, 0, last_row, 0],
        "categories_data": list(names),
        "values": [page.name, first_row, place + 1, last_row, place + 1],
        "values_data": cached(columns[place].values[: len(names)]),
        "fill": {"color": colour},
        "border": {"none": True},
        "gap": 70,
        "overlap": -5,
        "data_labels": {"value": True, "num_format": decimals, "font": {"size": 9, "color": INK}},
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


def _top(columns: Sequence[_Column], shown: int) -> float | None:
    """A round end of the time axis above the longest error bar, which not every program leaves room for."""
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


def cached(values: Sequence[float | None]) -> list[float | str]:
    """What the chart shows before its cells are read again; '' leaves a gap."""
    return ["" if value is None else value for value in values]


def _write_metrics(page: Page, row: int, view: RunView, metrics: WorkbookMetrics) -> int:
    """Every metric over all cases, with its interval. Gives the row after."""
    page.text(row, 0, f"Every metric over all cases, with its {view.confidence} interval", "section")
    page.head(row + 1, ["Metric", "Value", "Low", "High", "n", "Unscored", "  Meaning", *[""] * 4], numbers=range(1, 6))
    row += 2
    for metric in view.metrics:
        rate = metric.figure.rate
        style = metrics.style(metric.metric)
        page.text(row, 0, metric.metric, "name")
        for column, value in enumerate((rate.value, rate.low, rate.high), start=1):
            page.number(row, column, value, style)
        page.number(row, 4, rate.n, "count")
        page.number(row, 5, rate.unscored, "count")
        page.text(row, 6, metric.meaning, "beside")
        row += 1
    return row
