"""A leaderboard as a workbook: the sections of every format, rates by group, and every case with each run's answer."""

from __future__ import annotations

from assay.model import Leaderboard
from assay.reports.blocks.diff import label_of
from assay.reports.blocks.leaderboard import LeaderboardReport
from assay.reports.excel.page import Page
from assay.reports.excel.run import book_of
from assay.reports.excel.sections import names_in, write_sections
from assay.reports.excel.table import tuple_columns, write_rows

_WIDEST_RUN = 14
_MOST_CASES = 1_000_000
"""A sheet of Excel ends soon after."""
_RATES = (
    *((title, "text") for title in ("Run", "By", "Group", "Metric")),
    ("Cases", "count"),
    *((title, "number") for title in ("Value", "Low", "High")),
    ("n", "count"),
    ("Unscored", "count"),
)
_CASE = [(title, "text") for title in ("Case", "Question", "Database", "Difficulty")]


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
    page.cell(0, 0, report.title, "title")
    for row, text in enumerate((report.lead, report.cases, *report.notes), start=1):
        page.cell(row, 0, text, "note")
    write_sections(page, 3 + len(report.notes), sections)


def _rates(page: Page, board: Leaderboard) -> None:
    page.prepare([label_of(one.run) for one in board.standings])
    rows = []
    for group in () if board.detail is None else board.detail.groups:
        name = group.name or ("all" if group.kind == "overall" else "none")
        for one, rates in zip(board.standings, group.rates, strict=True):
            for metric, rate in zip(board.detail.metrics, rates, strict=True):  # type: ignore[union-attr]
                of = (label_of(one.run), group.kind, name, metric, group.cases)
                rows.append((*of, rate.value, rate.low, rate.high, rate.n, rate.unscored))
    after = write_rows(page, 0, tuple_columns(_RATES), rows)
    page.sheet.freeze_panes(1, 0)
    if rows:
        page.sheet.autofilter(0, 0, after - 1, len(_RATES) - 1)


def _cases(page: Page, board: Leaderboard) -> None:
    runs = [(label_of(one.run), "score") for one in board.standings]
    page.prepare([])
    page.sheet.set_column(1, 1, 60)
    page.sheet.set_column(4, 3 + len(runs), _WIDEST_RUN)
    cases = () if board.detail is None else board.detail.cases[:_MOST_CASES]
    rows = [
        (case.case_id, case.question, case.database, case.difficulty, *(answer.value for answer in case.answers))
        for case in cases
    ]
    write_rows(page, 0, tuple_columns([*_CASE, *runs]), rows)
    page.sheet.freeze_panes(1, 1)
    if rows:
        page.sheet.autofilter(0, 0, len(rows), 3 + len(runs))
        for place in range(4, 4 + len(runs)):
            page.mark("yes_no", 1, len(rows), place)
