"""The three other workbooks of the Denodo AI SDK evaluator: its F1 part, its VES part, and the answers without scores.

Each contains one sheet with one row per question, and columns of the Details sheet under the same names.
"""

from __future__ import annotations

from typing import ClassVar

from assay.model import Run
from assay.reports.blocks.run import RunReport
from assay.reports.excel.columns import TIMINGS, WorkbookMetrics
from assay.reports.excel.details import write_details
from assay.reports.excel.page import Page
from assay.reports.excel.run import workbook_of

_CASE = ("Question ID", "Repeat", "Difficulty", "VQL Generated", "Ground Truth VQL")


class _PartReporter:
    name: ClassVar[str]
    suffix = ".xlsx"
    sheet: ClassVar[str]
    titles: ClassVar[tuple[str, ...]]

    def render(self, run: Run) -> bytes:
        """The whole workbook. Columns that the run has no values for are left out."""
        report = RunReport(run)
        metrics = WorkbookMetrics.of(report)
        return workbook_of(
            run,
            f"{report.title}: {self.sheet}",
            lambda workbook: write_details(Page(workbook, self.sheet), run, metrics, titles=self.titles),
        )


class F1Reporter(_PartReporter):
    """The comparison of rows: how much of the gold result each prediction contains."""

    name = "xlsx-f1"
    sheet = "F1"
    titles = (
        *_CASE,
        "Results Match",
        "Subsetting Percentage",
        "Percent Overlap",
        "Have Same Row Count",
        "Have Same Column Count",
        "Bird Standard F1",
        "Reason",
    )


class VesReporter(_PartReporter):
    """The comparison of times: how fast the right answers are."""

    name = "xlsx-ves"
    sheet = "VES"
    titles = (*_CASE, "Results Match", "VES Score", "VES detail", "Flags", *TIMINGS)


class AnswersReporter(_PartReporter):
    """The system's answers, without scores."""

    name = "xlsx-answers"
    sheet = "Answers"
    titles = (
        *("Question ID", "Repeat", "Question", "Ground Truth VQL", "Difficulty", "Context", "VQL Generated"),
        *("Explanation", "Tables used", *TIMINGS, "Input tokens", "Output tokens", "Total tokens", "Failure"),
    )
