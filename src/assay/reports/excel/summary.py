"""The Summary sheet: the numbers by difficulty and overall, charts bound to them, every metric's interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from assay.model import Group
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.run_numbers import over_all
from assay.reports.blocks.values import Figure
from assay.reports.excel.columns import WorkbookMetrics
from assay.reports.excel.page import Page
from assay.reports.excel.sections import names_in, write_notes, write_sections
from assay.reports.excel.summary_table import write_charts, write_table
from assay.reports.excel.table import Column, values_column, write_rows

_MOST_GROUPS = 12
_SCORED = "Scored"
"""The title of the column that counts scored questions, present if some question is not scored."""

AS_DENODO = (
    "This table counts as Denodo's own workbook does, to be compared with one: a question without a score or a time "
    "counts as 0 in each mean, Time Std Dev is the population's, Percent Overlap is the precision of the F1."
)


class SummaryRow(NamedTuple):
    """A difficulty, or all cases, with every metric over them."""

    group: Group
    figures: tuple[Figure, ...]


def write_summary(page: Page, report: RunReport, metrics: WorkbookMetrics) -> None:
    """Write the table first, because other programs look for it there, and what else a person needs below it."""
    groups, sections = report.numbers.by_difficulty, report.sections
    rows = [SummaryRow(group, report.figures(group)) for group in (*groups, report.numbers.overall)]
    columns = _columns(rows, metrics)
    names = [*map(report.group_name, groups), "Overall"]
    page.prepare(names=[*names[:-1], *names_in(sections)])
    # The table is first in the sheet, where other programs look for it; on paper the accuracy is above it.
    page.printed_title(
        report.title, f"{report.headline_name} {report.headline.text} {report.headline.interval}".rstrip()
    )
    write_table(page, names, columns)
    own = [AS_DENODO] if metrics.as_denodo else []
    row = write_notes(page, len(groups) + 3, report, metrics.note(), *own)
    row = write_sections(page, row, [one for one in sections if one.key == "gates"])
    row = write_charts(page, row + 1, names, columns, _results(report, rows[-1], metrics))
    row = _write_samples(page, row, rows, names, metrics)
    write_sections(page, row - 1, [one for one in sections if one.key != "gates"])


def _columns(rows: Sequence[SummaryRow], metrics: WorkbookMetrics) -> list[Column]:
    """The guide's five columns, the count of scored questions if some are not, then the other metrics."""
    place = {name: index for index, name in enumerate(metrics.names)}

    def of_metric(title: str, name: str | None) -> Column:
        if name not in place:
            return values_column(title, [None] * len(rows), "percent")
        rates = [(row.figures[place[name]].rate, row.group.cases) for row in rows]
        means = (over_all(rate.value, rate.n, cases) if metrics.as_denodo else rate.value for rate, cases in rates)
        return values_column(title, means, metrics.style(name))

    times = [_time_of(row, over_all_cases=metrics.as_denodo) for row in rows]
    scored, cases = [_scored(row, metrics) for row in rows], [row.group.cases for row in rows]
    columns = [
        of_metric("Percent Subset", metrics.subset),
        of_metric("Percent Correct Queries", metrics.correct),
        values_column("Number of Samples", cases, "count"),
        values_column("Mean Time (s)", (mean for mean, _ in times), "seconds"),
        values_column("Time Std Dev", (deviation for _, deviation in times), "seconds"),
        *([] if metrics.as_denodo or scored == cases else [values_column(_SCORED, scored, "count")]),
    ]
    rest = (name for name in metrics.names if name not in (metrics.subset, metrics.correct))
    return columns + [of_metric(metrics.titles[name], name) for name in rest]


def _time_of(row: SummaryRow, *, over_all_cases: bool) -> tuple[float | None, float | None]:
    """Mean and standard deviation of the known times; or over all cases, with 0 for a missing time.

    Over all cases the standard deviation is the population's, else the sample's.
    """
    time = row.group.answer_time
    if not over_all_cases:
        return (None, None) if time is None else (time.mean_s, time.std_dev_s)
    if not row.group.cases:
        return None, None
    n, mean = (0, 0.0) if time is None else (time.n, time.mean_s)
    spread = (n - 1) * (time.std_dev_s or 0.0) ** 2 if time is not None and n > 1 else 0.0
    overall = n * mean / row.group.cases
    squares = spread + n * (mean - overall) ** 2 + (row.group.cases - n) * overall**2
    return overall, math.sqrt(squares / row.group.cases)


def _scored(row: SummaryRow, metrics: WorkbookMetrics) -> int:
    """How many questions Percent Correct Queries covers."""
    return row.group.cases if metrics.correct is None else row.figures[metrics.names.index(metrics.correct)].rate.n


def _results(report: RunReport, overall: SummaryRow, metrics: WorkbookMetrics) -> tuple[tuple[str, int], ...]:
    """How many answers are correct, incorrect and unscored; as Denodo counts them, none is unscored."""
    numbers, cases = report.numbers, overall.group.cases
    if metrics.correct is None or not cases:
        return ()
    if metrics.as_denodo:
        rate = overall.figures[metrics.names.index(metrics.correct)].rate
        correct = round((rate.value or 0.0) * rate.n)
        return ("correct", correct), ("incorrect", cases - correct), ("unscored", 0)
    return ("correct", numbers.correct), ("incorrect", numbers.incorrect), ("unscored", numbers.unscored)


def _write_samples(
    page: Page, row: int, rows: Sequence[SummaryRow], groups: Sequence[str], metrics: WorkbookMetrics
) -> int:
    """Write the number of questions in each mean, if the summary table does not say it. Returns the row after.

    It is a separate table: a column next to each mean would double the width of the summary.
    """
    scored = [_scored(one, metrics) for one in rows]
    counted = {"Mean Time (s)": [0 if one.group.answer_time is None else one.group.answer_time.n for one in rows]}
    titles = {**metrics.titles, metrics.subset or "": "Percent Subset"}
    for place, name in enumerate(metrics.names):
        if name != metrics.correct:
            counted[titles[name]] = [one.figures[place].rate.n for one in rows]
    differing = {title: counts for title, counts in counted.items() if counts != scored and any(counts)}
    if metrics.as_denodo or not differing:
        return row
    usual = "all of them" if scored == [one.group.cases for one in rows] else _SCORED
    page.cell(row, 0, f"Number of questions in each mean, if not {usual}", "section")
    shown = {name: [counts[place] for counts in differing.values()] for place, name in enumerate(groups[:-1])}
    columns = [
        values_column("Mean", differing, "name"),
        *(values_column(name, shown[name], "count") for name in groups[:-1][:_MOST_GROUPS]),
        values_column("Overall", (counts[-1] for counts in differing.values()), "count"),
    ]
    return write_rows(page, row + 1, columns, range(len(differing)), lines=2) + 1
