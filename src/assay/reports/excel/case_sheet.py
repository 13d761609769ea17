"""A sheet with one row per case: how its columns are declared and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from assay.model import Evidence, Run
from assay.reports.blocks import reviews
from assay.reports.excel.page import LINE_POINTS, Page, lines_of, word_width

Value = str | float | None
_WRAPPED = ("wrapped", "name_wrapped", "sql")


class CaseColumn(Struct, frozen=True, kw_only=True):
    """One column: its title, how it is written, how wide, and its value for a case."""

    title: str
    style: str
    width: float
    value: Callable[[Any], Value]
    """Value for one of the sheet's items, usually an `Evidence`."""
    safe: bool = False
    """Whether its text is known to be visible and to fit a cell."""
    usual: Value = None
    """The value of most cases: a column that contains no other may be left out (`FilledColumns`)."""


def text_column(
    title: str,
    width: float,
    value: Callable[[Evidence], Value],
    *,
    style: str = "wrapped",
    safe: bool = False,
    usual: Value = None,
) -> CaseColumn:
    """A column of text."""
    return CaseColumn(title=title, style=style, width=width, value=value, safe=safe, usual=usual)


def review_columns() -> list[CaseColumn]:
    """The reviewed verdict, and the decision that it follows from."""
    return [
        text_column("Reviewed verdict", 11, lambda item: (reviews.of_case(item) or (None,))[0], style="text"),
        text_column("Review", 40, lambda item: (reviews.of_case(item) or (None, None))[1]),
    ]


def metric_column(title: str, name: str | None, style: str, *, width: float = 13) -> CaseColumn:
    """One metric's values; blank for a case without a value, and for every case if the run has no such metric."""

    place = 0  # nearly always the same: the scores are in the order of the run's metrics

    def value(item: Evidence) -> Value:
        nonlocal place
        scores = item.scores
        if place >= len(scores) or scores[place].metric != name:
            places = (index for index, score in enumerate(scores) if score.metric == name)
            place = next(places, len(scores))
            if place == len(scores):
                return None
        return scores[place].value

    return CaseColumn(title=title, style=style, width=width, value=value)


def repeat_column(title: str, run: Run) -> list[CaseColumn]:
    """A column with the number of the answer to its question, from 1; no column if each question was asked once."""
    if run.settings.repeats == 1:
        return []
    return [CaseColumn(title=title, style="count", width=9, value=lambda item: item.prediction.repeat + 1)]


class FilledColumns:
    """Which columns have a value in some case, gathered case by case: a sheet leaves the others out."""

    def __init__(self, columns: Sequence[CaseColumn]) -> None:
        self._columns = columns
        self._empty = list(columns)

    def add(self, item: Evidence) -> None:
        """One case."""
        if self._empty:
            self._empty = [column for column in self._empty if column.value(item) in (None, "", column.usual)]

    def filled(self) -> list[CaseColumn]:
        """The columns with a value."""
        return [column for column in self._columns if column not in self._empty]


class Longest:
    """The length of the longest of many texts."""

    __slots__ = ("_length",)

    def __init__(self) -> None:
        self._length = 0

    def add(self, text: str | None) -> None:
        """One of the texts."""
        if text and len(text) > self._length:
            self._length = len(text)

    def width(self, narrowest: int, widest: int) -> float:
        """A width that fits the longest text, within bounds."""
        return float(max(narrowest, min(widest, self._length + 2)))


def write_cases(page: Page, items: Sequence[Any], columns: Sequence[CaseColumn], *, kept: int, lines: int) -> None:
    """Every item, usually the evidence of a case, in its order, one row at a time.

    The first ``kept`` columns stay in sight; a row shows ``lines`` lines of text at most, and its cells contain all.
    """
    sheet = page.sheet
    widths = [max(column.width, word_width(column.title) + 2) for column in columns]
    for place, width in enumerate(widths):
        sheet.set_column(place, place, width)
    sheet.freeze_panes(1, kept)
    page.print_readably(widths)
    sheet.repeat_rows(0)
    sheet.repeat_columns(0)
    # All titles are at the left: the filter's button covers the right end of a cell.
    page.head(0, [column.title for column in columns], lines=2)
    wrapped = [(place, column.width - 2) for place, column in enumerate(columns) if column.style in _WRAPPED]
    values_of, styles = [column.value for column in columns], [(column.style, column.safe) for column in columns]
    wrapped.sort(key=lambda entry: -entry[1])  # the widest first: they decide most heights
    for row, item in enumerate(items, start=1):
        values = [value(item) for value in values_of]
        page.cells(row, LINE_POINTS * _lines(values, wrapped, most=lines) + 3, values, styles)
    last = max(1, len(items))
    sheet.autofilter(0, 0, last, len(columns) - 1)
    for place, column in enumerate(columns):
        if column.style == "yes_no":
            page.colour_yes_no(1, last, place)


def _lines(values: Sequence[Value], wrapped: Sequence[tuple[int, float]], *, most: int) -> int:
    """How many lines of text a row shows."""
    lines = 1
    for place, width in wrapped:
        text = values[place]
        if isinstance(text, str):
            # A text with that many line breaks shows ``most`` lines: no need to measure thousands of them.
            lines = max(lines, most if text.count("\n", 0, 2000) >= most else lines_of(text, width))
            if lines >= most:
                return most
    return lines
