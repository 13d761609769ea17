"""A quick sheet writes what XlsxWriter's own sheet writes, byte for byte."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import Any

import pytest
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
CELLS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 30), st.none() | TEXTS | NUMBERS | st.booleans(), st.booleans()),
    max_size=30,
)


def written(cells: list[tuple[int, int, Any, bool]], sheet_class: type[Any], *, constant_memory: bool) -> bytes:
    """The XML of a sheet with these cells: row, column, value, and whether it has a format."""
    content = BytesIO()
    options = {"constant_memory": constant_memory, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(content, options) as workbook:
        looks = workbook.add_format({"bold": True}), None
        sheet = workbook.add_worksheet("one", worksheet_class=sheet_class)
        for row, column, value, formatted in sorted(cells, key=lambda cell: cell[:2]):
            sheet.write(row, column, value, looks[0] if formatted else looks[1])
        sheet.write_formula(6, 0, "=1+1", looks[0])
    return zipfile.ZipFile(content).read("xl/worksheets/sheet1.xml")


@pytest.mark.slow
@pytest.mark.parametrize("constant_memory", [True, False])
@given(cells=CELLS)
def test_every_cell_is_written_as_by_the_library(
    cells: list[tuple[int, int, Any, bool]], *, constant_memory: bool
) -> None:
    ours = written(cells, QuickSheet, constant_memory=constant_memory)
    assert ours == written(cells, Worksheet, constant_memory=constant_memory)


@each("text", HARD)
def test_text_that_is_hard_to_write_is_written_as_by_the_library(text: str) -> None:
    cells = [(0, column, text + "x" * (column > 26), True) for column in range(60)]
    assert written(cells, QuickSheet, constant_memory=True) == written(cells, Worksheet, constant_memory=True)
