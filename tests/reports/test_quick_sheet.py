"""A quick sheet writes what XlsxWriter's own sheet writes, byte for byte."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import Any

import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st
from xlsxwriter.worksheet import Worksheet

from assay.reports.excel.quick_sheet import QuickSheet
from many_cases import each

HARD = ["", " ", " a", "a\n", "a\nb\t", "<r>x</r>", "<r>x", "<b>&amp;\"'", "_x0041_", "_x", "\x00\x0b", "\ufffe", "=1"]
HARD += ["\xa0a", "é😀", "a\u2028", "\x1f"]
TEXTS = st.one_of(st.sampled_from(HARD), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
NUMBERS = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False))
ROWS = st.lists(st.lists(st.none() | TEXTS | NUMBERS, min_size=1, max_size=30), max_size=5)


def written(rows: list[list[Any]], sheet_class: type[Any]) -> bytes:
    """The XML of a sheet with these rows below a head."""
    content = BytesIO()
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(content, options) as workbook:
        looks = workbook.add_format({"bold": True}), workbook.add_format({"italic": True})
        sheet = workbook.add_worksheet("one", worksheet_class=sheet_class)
        sheet.write_string(0, 0, "head", looks[0])
        for number, row in enumerate(rows, start=1):
            cells = [(value, looks[column % 2]) for column, value in enumerate(row)]
            if sheet_class is QuickSheet:
                sheet.write_whole_row(
                    number, 15.0 * number + 3, [(None if value == "" else value, look) for value, look in cells]
                )
                continue
            sheet.set_row(number, 15.0 * number + 3)
            for column, (value, look) in enumerate(cells):
                sheet.write(number, column, None if value == "" else value, look)
        sheet.write_formula(9, 0, "=1+1", looks[0])
    return zipfile.ZipFile(content).read("xl/worksheets/sheet1.xml")


@given(rows=ROWS)
def test_every_row_is_written_as_by_the_library(rows: list[list[Any]]) -> None:
    assert written(rows, QuickSheet) == written(rows, Worksheet)


@each("text", HARD)
def test_text_that_is_hard_to_write_is_written_as_by_the_library(text: str) -> None:
    rows = [[text + "x" * (column > 26) for column in range(60)]]
    assert written(rows, QuickSheet) == written(rows, Worksheet)
