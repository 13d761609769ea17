"""The Settings sheet: the run's settings, system and data, its counts, and how sure its headline is."""

from __future__ import annotations

from collections.abc import Iterable

from assay.model import Run
from assay.reports.blocks.run import RunReport
from assay.reports.excel.page import LINE_POINTS, Page, lines_of

_NAME_WIDTH, _VALUE_WIDTH = 34.0, 96.0

Entry = tuple[str, str | float | None, str]
"""A name, a value, and the style in which it is written; no value: a heading."""


def write_settings(page: Page, run: Run, report: RunReport) -> None:
    """Write names and values, with a heading above each part."""
    sheet = page.sheet
    sheet.hide_gridlines(2)
    sheet.set_default_row(LINE_POINTS + 2)
    sheet.set_column(0, 0, _NAME_WIDTH)
    sheet.set_column(1, 1, _VALUE_WIDTH)
    sheet.freeze_panes(1, 0)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
    page.head(0, ["Setting", "Value"])
    for row, (name, value, style) in enumerate(_entries(run, report), start=1):
        if style == "section":
            sheet.set_row(row, LINE_POINTS + 9)
        elif isinstance(value, str):
            height = max(lines_of(value, _VALUE_WIDTH), lines_of(name, _NAME_WIDTH))
            sheet.set_row(row, LINE_POINTS * min(height, 20) + 3)
        page.cell(row, 0, name, "section" if style == "section" else "wrapped")
        if style != "section":
            page.cell(row, 1, value, style, left=not isinstance(value, str))


def _entries(run: Run, report: RunReport) -> Iterable[Entry]:
    settings, provenance, rate = run.settings, run.provenance, report.headline.rate
    yield "Run", None, "section"
    yield "Title", report.title, "wrapped"
    yield from ((name, value, "wrapped") for name, value in report.facts)
    yield "Workers", settings.workers, "count"
    yield "Metrics", ", ".join(settings.metrics), "wrapped"
    if settings.selection is None:
        yield "Rows of a result, at most", settings.limits.max_rows, "count"
        yield "Bytes of a result, at most", settings.limits.max_result_bytes, "count"
    yield "Counts", None, "section"
    yield "Cases", report.numbers.cases, "count"
    answers = "" if settings.repeats == 1 else " answers"
    if answers:
        yield "Answers", len(run.evidence), "count"
    yield f"Correct{answers}", report.numbers.correct, "count"
    yield f"Incorrect{answers}", report.numbers.incorrect, "count"
    yield f"Unscored{answers}", report.numbers.unscored, "count"
    yield f"Unanswered{answers and ' askings'}", report.numbers.unanswered, "count"
    yield "Cases left out by a limit", provenance.cases_left_out, "count"
    yield "Blank rows skipped", provenance.blank_rows, "count"
    yield "Predictions that match no case", len(provenance.unmatched_predictions), "count"
    yield f"Headline: {report.headline_metric}", None, "section"
    yield "Value", rate.value, "percent"
    yield f"Low end of the {report.confidence} interval", rate.low, "percent"
    yield f"High end of the {report.confidence} interval", rate.high, "percent"
    yield "Scored cases", rate.n, "count"
    yield "Unscored cases", rate.unscored, "count"
    if provenance.engine_versions:
        yield "Versions of the engines", None, "section"
        yield from ((engine.name, engine.digest, "wrapped") for engine in provenance.engine_versions)
    if provenance.inputs:
        yield "Fingerprints of the inputs", None, "section"
        yield from ((source.name, source.digest, "wrapped") for source in provenance.inputs)
