"""A run as an Excel workbook: the Denodo AI SDK evaluator's Summary and Details, and the run's settings.

A run of SDMX selections has the sheets of StatGPT's evaluation method instead: Overview and Statistics.

Rows go to disk as they are written, so that memory does not grow with the run; numbers come from
the one report that all formats draw. The same run gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING

from assay.model import Run
from assay.reports.blocks.run import RunReport
from assay.reports.excel.columns import WorkbookMetrics
from assay.reports.excel.details import write_details
from assay.reports.excel.page import Page, cell_text
from assay.reports.excel.selections import write_selection_workbook
from assay.reports.excel.settings import write_settings
from assay.reports.excel.summary import write_summary

if TYPE_CHECKING:
    from xlsxwriter import Workbook

_NO_DATE = datetime(2000, 1, 1)  # noqa: DTZ001 - XlsxWriter takes naive times as UTC


class XlsxReporter:
    """Writes a run as one workbook: Summary, Details and Settings; for SDMX, Overview, Statistics and Settings."""

    name = "xlsx"
    suffix = ".xlsx"

    def render(self, run: Run) -> bytes:
        """The whole workbook."""
        report = RunReport(run)
        write = _write_workbook if run.settings.selection is None else write_selection_workbook
        return workbook_of(run, report.title, lambda book: write(book, run, report))


def workbook_of(run: Run, title: str, write: Callable[[Workbook], None]) -> bytes:
    """A workbook of a run with what ``write`` puts into it."""
    made = run.provenance
    return book_of(title, version=made.assay_version, started_at=made.started_at, write=write)


def book_of(title: str, *, version: str | None, started_at: str | None, write: Callable[[Workbook], None]) -> bytes:
    """A workbook with what ``write`` puts into it; ``started_at`` is its date."""
    import xlsxwriter

    content = BytesIO()
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    with xlsxwriter.Workbook(content, options) as workbook:
        workbook.set_properties(
            {
                "title": cell_text(title),
                "author": f"Assay {version or ''}".rstrip(),
                "created": _started(started_at),
            }
        )
        write(workbook)
    return content.getvalue()


def _write_workbook(workbook: Workbook, run: Run, report: RunReport) -> None:
    metrics = WorkbookMetrics.of(report)
    summary = Page(workbook, "Summary", centred=True)
    details = Page(workbook, "Details")
    settings = Page(workbook, "Settings", centred=True)
    write_summary(summary, report, metrics)
    write_details(details, run, metrics)
    write_settings(settings, run, report)


def _started(started_at: str | None) -> datetime:
    """When the run began, never when the report was drawn."""
    try:
        started = datetime.fromisoformat(started_at or "")
    except ValueError:
        return _NO_DATE
    return started.astimezone(UTC).replace(tzinfo=None) if started.tzinfo else started
