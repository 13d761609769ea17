"""The whole workbook of an F1 part and a VES part: Summary with its charts, and Details."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from assay._version import __version__
from assay.reports.excel.columns import GUIDE, TIMINGS
from assay.reports.excel.details import is_plain_integer
from assay.reports.excel.page import Page, Value
from assay.reports.excel.run import book_of
from assay.reports.excel.summary import AS_DENODO
from assay.reports.excel.summary_table import write_charts, write_table
from assay.reports.excel.table import Column, fitted, values_column, write_cases
from assay.runs.aggregate.difficulties import difficulty_rank

if TYPE_CHECKING:
    from xlsxwriter import Workbook

_CASE: Final = ("Question ID", "Repeat", "Difficulty", "VQL Generated", "Ground Truth VQL")
COLUMNS: Final = (*_CASE, *GUIDE, *TIMINGS, "Have Same Column Count", "Reason", "VES detail", "Flags")
"""The columns of the Details sheet."""

_CORRECT, _SUBSET, _TIME = "Results Match", "Subsetting Percentage", "total_execution_time"
_SHARES: Final = frozenset({_SUBSET, "Percent Overlap", "Bird Standard F1"})
_YES_NO: Final = frozenset({_CORRECT, "Have Same Row Count", "Have Same Column Count"})
_LOOKS: Final[dict[str, tuple[str, float, float | None]]] = {
    **dict.fromkeys(("VQL Generated", "Ground Truth VQL"), ("sql", 58, None)),
    **dict.fromkeys(("Reason", "VES detail"), ("wrapped", 44, None)),
    **dict.fromkeys(("Difficulty", "Flags"), ("wrapped", 12, 28)),
    "Repeat": ("count", 9, None),
    **dict.fromkeys(_YES_NO, ("yes_no", 14, None)),
    **dict.fromkeys(_SHARES, ("percent", 14, None)),
    **dict.fromkeys(TIMINGS, ("fine_seconds", 14, None)),
}
"""The style, the width and the greatest width of columns by their titles."""
_LINES = 10


class MergedParts(Struct, frozen=True, kw_only=True):
    """The merged rows: their columns, some of `COLUMNS`, and a row for each answer."""

    titles: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def values(self, title: str) -> list[Value]:
        """The values of a column; None in each row if it is missing."""
        place = self.titles.index(title) if title in self.titles else None
        return [None if place is None else row[place] for row in self.rows]


def merged_workbook(parts: MergedParts, title: str, *, as_denodo: bool) -> bytes:
    """The workbook. ``title`` says what was merged; ``as_denodo`` counts missing scores and times as 0."""

    def write(workbook: Workbook) -> None:
        summary, details = Page(workbook, "Summary", centred=True), Page(workbook, "Details")
        _write_summary(summary, parts, title, as_denodo=as_denodo)
        _write_details(details, parts)

    return book_of(title, version=__version__, started_at=None, write=write)


def _write_summary(page: Page, parts: MergedParts, title: str, *, as_denodo: bool) -> None:
    names, groups = _groups(parts)
    numbers = partial(_numbers, parts, groups, as_denodo=as_denodo)
    correct = numbers(_CORRECT)
    times = numbers(_TIME)
    deviation, least = (statistics.pstdev, 1) if as_denodo else (statistics.stdev, 2)
    deviations = [deviation(group) if len(group) >= least else None for group in times]
    scored, answers = list(map(len, correct)), list(map(len, groups))
    columns = [
        _mean("Percent Subset", numbers(_SUBSET)),
        _mean("Percent Correct Queries", correct),
        values_column("Number of Samples", answers, "count"),
        _mean("Mean Time (s)", times, "seconds"),
        values_column("Time Std Dev", deviations, "seconds"),
        *([] if scored == answers else [values_column("Scored", scored, "count")]),
        *(
            _mean(name, numbers(name), "number" if name == "VES Score" else "percent")
            for name in (*GUIDE, "Have Same Column Count")
            if name not in (_CORRECT, _SUBSET) and name in parts.titles
        ),
    ]
    page.prepare(names=names)
    write_table(page, names, columns)
    row = len(names) + 2
    page.cell(row, 0, title, "title")
    notes = ["Merged from these workbooks by question ID; no query was executed.", *([AS_DENODO] if as_denodo else [])]
    for place, note in enumerate(notes, start=row + 1):
        page.cell(place, 0, note, "note")
    right, total = round(sum(correct[-1])), len(correct[-1])
    results = ("correct", right), ("incorrect", total - right), ("unscored", len(parts.rows) - total)
    write_charts(page, row + len(notes) + 2, names, columns, results)


def _groups(parts: MergedParts) -> tuple[list[str], list[list[int]]]:
    """The names of the difficulties, easiest first, and overall; and the places of the rows of each."""
    difficulties = [str(name or "") for name in parts.values("Difficulty")]
    every = list(range(len(difficulties)))
    names = sorted(set(difficulties), key=lambda name: (not name, difficulty_rank(name), name))
    if names == [""]:
        return ["Overall"], [every]
    groups = [[place for place in every if difficulties[place] == name] for name in names]
    return [*(name or "none" for name in names), "Overall"], [*groups, every]


def _numbers(parts: MergedParts, groups: Sequence[Sequence[int]], title: str, *, as_denodo: bool) -> list[list[float]]:
    """The numbers of a column in each group."""
    missing = 0.0 if as_denodo else None
    values = [value if isinstance(value, float) else missing for value in parts.values(title)]
    if all(value is None for value in parts.values(title)):
        values = [None] * len(values)
    return [[value for place in group if (value := values[place]) is not None] for group in groups]


def _mean(title: str, groups: Sequence[Sequence[float]], style: str = "percent") -> Column:
    means = tuple(statistics.fmean(group) if group else None for group in groups)
    return values_column(title, means, style)


def _write_details(page: Page, parts: MergedParts) -> None:
    columns = [_column(parts, place, title) for place, title in enumerate(parts.titles)]
    write_cases(page, parts.rows, fitted(columns, parts.rows), kept=1, lines=_LINES)


def _column(parts: MergedParts, place: int, title: str) -> Column:
    if title == "Question ID":
        if all(is_plain_integer(str(name)) for name in parts.values(title)):
            return Column(title, 11, lambda row: int(row[place]), "id")
        return Column(title, 12, itemgetter(place), "name_wrapped", widest=28)
    style, width, widest = _LOOKS.get(title, ("number", 14, None))
    marks = "times" if title == _TIME else None
    return Column(title, width, itemgetter(place), style, widest=widest, marks=marks)
