"""A leaderboard as a workbook: the sections of every format, rates by group, and every case with each run's answer."""

from __future__ import annotations

from assay.model import Leaderboard
from assay.reports.blocks.diff import label_of
from assay.reports.blocks.leaderboard import LeaderboardReport
from assay.reports.excel.page import Page
from assay.reports.excel.run import book_of
from assay.reports.excel.tables import names_in, write_sections

_WIDEST_RUN = 14
_MOST_CASES = 1_000_000
"""A sheet of Excel ends soon after."""


def leaderboard_xlsx(board: Leaderboard) -> bytes:
    """The whole workbook: Leaderboard, Rates and Cases."""
    from xlsxwriter import Workbook

    report = LeaderboardReport(board)
    made = board.standings[0].run.provenance if board.standings else None

    def write(book: Workbook) -> None:
        pages = [Page(book, name, centred=True) for name in ("Leaderboard", "Rates", "Cases")]
        _ranking(pages[0], report)
        _rates(pages[1], board)
        _cases(pages[2], board)

    return book_of(report.title, version=None if made is None else made.assay_version, started_at=None, write=write)


def _ranking(page: Page, report: LeaderboardReport) -> None:
    sections = report.sections
    page.prepare([report.metric, *names_in(sections)])
    page.text(0, 0, report.title, "title")
    for row, text in enumerate((report.lead, report.cases, *report.notes), start=1):
        page.text(row, 0, text, "note")
    write_sections(page, 3 + len(report.notes), sections)


def _rates(page: Page, board: Leaderboard) -> None:
    titles = ("Run", "By", "Group", "Metric", "Cases", "Value", "Low", "High", "n", "Unscored")
    page.prepare([label_of(one.run) for one in board.standings])
    page.head(0, titles, numbers=range(4, len(titles)))
    row = 1
    for group in () if board.detail is None else board.detail.groups:
        for one, rates in zip(board.standings, group.rates, strict=True):
            for metric, rate in zip(board.detail.metrics, rates, strict=True):  # type: ignore[union-attr]
                texts = (
                    label_of(one.run),
                    group.kind,
                    group.name or ("all" if group.kind == "overall" else "none"),
                    metric,
                )
                for column, text in enumerate(texts):
                    page.text(row, column, text)
                page.number(row, 4, group.cases, "count")
                for column, value in enumerate((rate.value, rate.low, rate.high), start=5):
                    page.number(row, column, value, "number")
                page.number(row, 8, rate.n, "count")
                page.number(row, 9, rate.unscored, "count")
                row += 1
    page.sheet.freeze_panes(1, 0)
    if row > 1:
        page.sheet.autofilter(0, 0, row - 1, len(titles) - 1)


def _cases(page: Page, board: Leaderboard) -> None:
    labels = [label_of(one.run) for one in board.standings]
    titles = ("Case", "Question", "Database", "Difficulty", *labels)
    page.prepare([])
    page.sheet.set_column(1, 1, 60)
    page.sheet.set_column(4, 3 + len(labels), _WIDEST_RUN)
    page.head(0, titles, numbers=range(4, len(titles)))
    cases = () if board.detail is None else board.detail.cases[:_MOST_CASES]
    for row, case in enumerate(cases, start=1):
        for column, text in enumerate((case.case_id, case.question, case.database, case.difficulty)):
            page.text(row, column, text)
        for column, answer in enumerate(case.answers, start=4):
            page.number(row, column, answer.value, "yes_no" if answer.value in (0.0, 1.0) else "number")
    page.sheet.freeze_panes(1, 1)
    if cases:
        page.sheet.autofilter(0, 0, len(cases), len(titles) - 1)
        for column in range(4, 4 + len(labels)):
            page.colour_yes_no(1, len(cases), column)
