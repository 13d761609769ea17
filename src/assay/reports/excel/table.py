"""Tables of a workbook: columns, each with its title, look, width and value for a row, and how rows are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Evidence, Run
from assay.reports.blocks import reviews
from assay.reports.excel.page import LINE_POINTS, Page, Value, lines_of, word_width

_WRAPPED: Final = ("wrapped", "name_wrapped", "sql")
_TEXTS: Final = ("text", "name", *_WRAPPED)
"""The styles of text; the titles of other columns are at the right, as numbers are."""


class Column(Struct, frozen=True):
    """One column of a table."""

    title: str
    width: float
    value: Callable[[Any], Value]
    """Its value in a row, which in a sheet of cases is an `Evidence`."""
    style: str = "wrapped"
    widest: float | None = None
    """If given, it is as wide as its longest text, from ``width`` up to this."""
    optional: bool = False
    """Whether it is left out if no row has a value for it."""
    usual: Value = None
    """What counts as no value, besides None and the empty text."""
    marks: str | None = None
    """How Excel colours its cells (`MARKS`)."""


def values_column(title: str, values: Iterable[Value], style: str) -> Column:
    """A column of these values, for rows that are their places."""
    return Column(title, 0, tuple(values).__getitem__, style)


def tuple_columns(titles: Iterable[tuple[str, str]]) -> list[Column]:
    """The columns of rows that are tuples, by their titles and styles."""
    return [Column(title, 0, itemgetter(place), style) for place, (title, style) in enumerate(titles)]


def review_columns() -> list[Column]:
    """The reviewed verdict, and the decision that it follows from."""
    return [
        Column("Reviewed verdict", 11, lambda item: (reviews.of_case(item) or (None,))[0], "text", optional=True),
        Column("Review", 40, lambda item: (reviews.of_case(item) or (None, None))[1], optional=True),
    ]


def metric_column(title: str, name: str | None, style: str, *, width: float = 13) -> Column:
    """One metric's values; blank for a case without a value, and for every case if the run has no such metric."""

    def value(item: Evidence) -> Value:
        return next((score.value for score in item.scores if score.metric == name), None)

    return Column(title, width, value, style)


def repeat_column(title: str, run: Run) -> list[Column]:
    """A column with the number of the answer to its question, from 1; no column if each question was asked once."""
    if run.settings.repeats == 1:
        return []
    return [Column(title, 9, lambda item: item.prediction.repeat + 1, "count")]


def fitted(columns: Iterable[Column], items: Iterable[Any]) -> list[Column]:
    """The columns without the optional ones that have no value in any row, each with its width."""
    columns = list(columns)
    fitting = [place for place, column in enumerate(columns) if column.widest is not None]
    longest = dict.fromkeys(fitting, 0)
    empty = {place for place, column in enumerate(columns) if column.optional}
    for item in items:
        for place in fitting:
            longest[place] = max(longest[place], len(str(columns[place].value(item) or "")))
        empty -= {place for place in empty if columns[place].value(item) not in (None, "", columns[place].usual)}
    return [
        column
        if column.widest is None
        else replace(column, width=max(column.width, min(column.widest, longest[place] + 2)))
        for place, column in enumerate(columns)
        if place not in empty
    ]


def write_rows(
    page: Page,
    row: int,
    columns: Sequence[Column],
    items: Sequence[Any],
    *,
    lines: int = 1,
    last_is_total: bool = False,
) -> int:
    """Write the titles, on ``lines`` lines, and a row for each item below. Returns the row after."""
    numbers = {place for place, column in enumerate(columns) if column.style not in _TEXTS}
    page.head(row, [column.title for column in columns], numbers=numbers, lines=lines)
    for number, item in enumerate(items, start=1):
        for place, column in enumerate(columns):
            page.cell(
                row + number, place, column.value(item), column.style, total=last_is_total and number == len(items)
            )
    return row + len(items) + 1


def write_cases(
    page: Page, items: Sequence[Any], columns: Sequence[Column], *, kept: int, lines: int, shares: str = "bands"
) -> None:
    """Every item, usually the evidence of a case, in its order, one row at a time.

    The first ``kept`` columns stay in sight; a row shows ``lines`` lines of text at most, and its cells contain all.
    ``shares``: the marks of percentages.
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
    wrapped.sort(key=lambda entry: -entry[1])  # the widest first: they decide most heights
    for row, item in enumerate(items, start=1):
        values = [column.value(item) for column in columns]
        sheet.set_row(row, LINE_POINTS * _lines(values, wrapped, most=lines) + 3)
        for place, (column, value) in enumerate(zip(columns, values, strict=True)):
            page.cell(row, place, value, column.style)
    last = max(1, len(items))
    sheet.autofilter(0, 0, last, len(columns) - 1)
    for place, column in enumerate(columns):
        if marks := column.marks or {"yes_no": "yes_no", "percent": shares}.get(column.style):
            page.mark(marks, 1, last, place)


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
