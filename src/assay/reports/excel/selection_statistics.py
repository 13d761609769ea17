"""The Statistics sheet of an SDMX run: Data Query Metrics over all test cases, by tag, by turn, by dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from assay.model import DimensionTotal, Group, Rate, Run, SelectionTotals, TermCounts
from assay.reports.excel.columns import mean_style
from assay.reports.excel.page import DARK_BAR, LIGHT_BAR, LINE_POINTS, Page, lines_of
from assay.reports.excel.summary import CHART_GAP, CHART_GROUPS, CHART_ROWS, CHART_SIZE, bars, chart
from assay.reports.excel.tables import write_sections
from assay.reports.sections.run import run_sections
from assay.reports.text.plain import one_line, plural, words
from assay.reports.views.run import RunView
from assay.runs.metric_infos import info_of

_FIRST: Final = ("macro_precision", "macro_recall", "macro_f1")
"""What the sheet leads with; the run's other metrics follow in its order."""
_OWN: Final = frozenset({"gates", "metrics", "dimensions"})
"""Sections that the sheet has in its own place, or in the method's own words."""
_FIRST_WIDTH, _WIDEST_FIRST, _WIDTH, _COLUMNS = 24.0, 44.0, 13.0, 16
_DIMENSION_HEAD = (
    "Dimension",
    "True positives",
    "False positives",
    "False negatives",
    "Precision (pooled)",
    "Recall (pooled)",
    "F1 (pooled)",
    "Mean precision",
    "Mean recall",
    "Turns with it in target",
    "Turns beyond target",
)

Series = tuple[int, str, list[float | None], str]
"""A column of a table, what its chart's legend calls it, its values, and its colour."""


def write_statistics(page: Page, run: Run, view: RunView) -> None:
    """Tables one below the other, a chart beneath the table that it draws."""
    numbers, selection = run.aggregates, run.aggregates.selection
    sheet = page.sheet
    sheet.hide_gridlines(2)
    sheet.set_default_row(LINE_POINTS + 2)
    sheet.set_column(0, 0, _first_width(run, view))
    sheet.set_column(1, _COLUMNS, _WIDTH)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.set_margins(0.4, 0.4, 0.5, 0.5)
    row = _write_metrics(page, 0, run, view)
    if selection is not None:
        row = _write_pooled(page, row + 1, selection)
    row = _write_notes(page, row + 1, view)
    sections = run_sections(view)
    row = write_sections(page, row, [one for one in sections if one.key == "gates"])
    if numbers.by_tag:
        row = _write_groups(page, row + 1, "tag", numbers.by_tag, run)
    if selection is not None:
        if selection.by_dimension:
            row = _write_dimensions(page, row + 1, selection.by_dimension)
        if selection.by_turn:
            row = _write_groups(page, row + 1, "turn", selection.by_turn, run)
    write_sections(page, row, [one for one in sections if one.key not in _OWN])


def _first_width(run: Run, view: RunView) -> float:
    """Wide enough for the names of groups, dimensions and gates, within reason."""
    names = [group.name or "" for group in run.aggregates.by_tag] + [row.gate for row in view.gates]
    if run.aggregates.selection is not None:
        names += [total.dimension for total in run.aggregates.selection.by_dimension]
    return min(_WIDEST_FIRST, max(_FIRST_WIDTH, 1.15 * max(map(len, names), default=0) + 2))


def _metrics(group: Group) -> list[str]:
    """The metrics that the run has, in this sheet's order."""
    there = [summary.metric for summary in group.metrics]
    return [name for name in _FIRST if name in there] + [name for name in there if name not in _FIRST]


def _write_metrics(page: Page, row: int, run: Run, view: RunView) -> int:
    """Every metric's mean over all test cases, with its interval. Gives the row after."""
    overall = run.aggregates.overall
    said = {metric.metric: metric.meaning for metric in view.metrics}
    page.sheet.set_row(row, LINE_POINTS + 9)
    page.text(row, 0, "Data Query Metrics", "section")
    head = ["Metric", "Mean", "Low", "High", "n", "Unscored", "  Meaning", *[""] * 5]
    page.head(row + 1, head, numbers=range(1, 6))
    row += 2
    for name in _metrics(overall):
        rate = _rate(overall, name)
        page.text(row, 0, words(name), "name")
        for column, value in enumerate((rate.value, rate.low, rate.high), start=1):
            page.number(row, column, value, mean_style(info_of(name, run.settings)))
        page.number(row, 4, rate.n, "count")
        page.number(row, 5, rate.unscored, "count")
        page.text(row, 6, said.get(name, ""), "beside")
        row += 1
    return row


def _rate(group: Group, name: str) -> Rate:
    return group.rate(name) or Rate(n=0, numerator=0.0, unscored=group.cases, value=None, low=None, high=None)


def _write_pooled(page: Page, row: int, selection: SelectionTotals) -> int:
    """The micro values of the whole run: every term weighs the same. Gives the row after."""
    page.text(row, 0, f"All terms of {plural(selection.turns, 'scored turn')} pooled (micro)", "section")
    page.head(row + 1, ["", *_DIMENSION_HEAD[1:4], "Precision", "Recall", "F1"], numbers=range(1, 7), lines=2)
    page.text(row + 2, 0, "all dimensions", "name")
    _write_counts_of_terms(page, row + 2, selection.micro)
    return row + 3


def _write_counts_of_terms(page: Page, row: int, counts: TermCounts) -> None:
    for column, count in enumerate((counts.true_positives, counts.false_positives, counts.false_negatives), start=1):
        page.number(row, column, count, "count")
    for column, share in enumerate((counts.precision, counts.recall, counts.f1), start=4):
        page.number(row, column, share, "percent")


def _write_notes(page: Page, row: int, view: RunView) -> int:
    """Title, tally, and what a reader must know before trusting them. Gives the row after."""
    page.sheet.set_row(row, LINE_POINTS + 8)
    page.text(row, 0, view.title, "title")
    asked = f" asked {view.repeats.asked:,} times" if view.repeats else ""
    headline = f"{view.headline_name} {view.headline.text} {view.headline.interval}".rstrip()
    page.text(row + 1, 0, f"{headline} · {view.tally} ({view.confidence} interval in brackets)", "plain")
    page.text(row + 2, 0, f"{plural(view.cases_count, 'test case')}{asked}: {view.outcomes}", "plain")
    notes = [f"Means are over test cases; Low and High bound them at {view.confidence}.", *view.notes]
    row += 3
    for note in notes:
        page.text(row, 0, note, "note")
        row += 1
    return row


def _write_groups(page: Page, row: int, kind: str, groups: Sequence[Group], run: Run) -> int:
    """The metrics of each group, then macro precision and recall as a chart. Gives the row after."""
    names = _metrics(groups[0])
    page.text(row, 0, f"By {kind}", "section")
    counted = "Turns" if kind == "turn" else "Test cases"
    head = [kind.capitalize(), counted, "Scored", *(words(name) for name in names)]
    page.head(row + 1, head, numbers=range(1, len(head)), lines=2)
    first = row = row + 2
    labels = [_label(kind, group) for group in groups]
    for label, group in zip(labels, groups, strict=True):
        page.sheet.set_row(row, LINE_POINTS * min(3, lines_of(label, _WIDEST_FIRST - 4)) + 3)
        page.text(row, 0, label, "name_wrapped")
        page.number(row, 1, group.cases, "count")
        scored = max((_rate(group, name).n for name in names), default=0)
        page.number(row, 2, scored, "count")
        for column, name in enumerate(names, start=3):
            page.number(row, column, _rate(group, name).value, mean_style(info_of(name, run.settings)))
        row += 1
    drawn = [name for name in ("macro_precision", "macro_recall") if name in names]
    series = [
        (3 + names.index(name), words(name), [_rate(group, name).value for group in groups], colour)
        for name, colour in zip(drawn, (LIGHT_BAR, DARK_BAR), strict=False)
    ]
    return _draw(page, row, f"Macro precision and recall by {kind}", labels, series, first=first)


def _label(kind: str, group: Group) -> str:
    if group.name is None:
        return f"no {kind}"
    name = one_line(group.name, limit=60) or "''"
    return f"{kind} {name}" if kind == "turn" else name


def _write_dimensions(page: Page, row: int, totals: Sequence[DimensionTotal]) -> int:
    """Each dimension over all scored turns, and a chart. Gives the row after."""
    page.text(row, 0, "By dimension", "section")
    page.head(row + 1, _DIMENSION_HEAD, numbers=range(1, len(_DIMENSION_HEAD)), lines=2)
    first = row = row + 2
    labels = [one_line(total.dimension, limit=60) for total in totals]
    for label, total in zip(labels, totals, strict=True):
        page.text(row, 0, label, "name")
        _write_counts_of_terms(page, row, total.counts)
        page.number(row, 7, total.mean_precision, "percent")
        page.number(row, 8, total.mean_recall, "percent")
        page.number(row, 9, total.turns, "count")
        page.number(row, 10, total.turns_beyond_target, "count")
        row += 1
    series = [
        (4, "precision", [total.counts.precision for total in totals], LIGHT_BAR),
        (5, "recall", [total.counts.recall for total in totals], DARK_BAR),
    ]
    return _draw(page, row, "Precision and recall by dimension, terms pooled", labels, series, first=first)


def _draw(page: Page, row: int, title: str, labels: Sequence[str], series: Sequence[Series], *, first: int) -> int:
    """A chart of the table's own cells, with a copy of what they hold. Gives the row after."""
    shown = min(len(labels), CHART_GROUPS)
    series = [one for one in series if any(value is not None for value in one[2][:shown])]
    if not series:
        return row
    drawn_series = [
        {**bars(page, labels[:shown], values[:shown], at=(first, column), colour=colour), "name": name}
        for column, name, values, colour in series
    ]
    rest = f", first {shown} of {len(labels):,}" if shown < len(labels) else ""
    drawn = chart(page, title + rest, drawn_series, "0 %", top=1.0)
    # Room for the labels of some twenty bars, and no more than two pages' width.
    width = min(2 * CHART_SIZE["width"] + CHART_GAP, max(CHART_SIZE["width"], 90 * shown))
    drawn.set_size({"width": width, "height": CHART_SIZE["height"]})
    page.sheet.insert_chart(row, 0, drawn, {"x_offset": 0, "y_offset": 8, "object_position": 2})
    return row + CHART_ROWS + 1
