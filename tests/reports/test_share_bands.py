"""Shares are coloured in bands whose ends are 50, 70 and 90 %, and every share is in one band."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

from xlsxwriter import Workbook

from assay.reports.excel.page import SHARE_BANDS, Page


def test_the_bands_are_adjacent_and_their_ends_are_denodos() -> None:
    assert [low for low, _, _ in SHARE_BANDS] == [0, 0.5, 0.7, 0.9]
    assert all(high == low for (_, high, _), (low, _, _) in pairwise(SHARE_BANDS))
    assert SHARE_BANDS[-1][1] > 1
    assert len({colour for _, _, colour in SHARE_BANDS}) == len(SHARE_BANDS)


def test_each_band_is_a_rule_for_numbers_alone(tmp_path: Path) -> None:
    with Workbook(tmp_path / "a.xlsx") as book:
        Page(book, "S").mark("bands", 1, 9, 2)
    with ZipFile(tmp_path / "a.xlsx") as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert sheet.count("<cfRule") == len(SHARE_BANDS)
    assert sheet.count("ISNUMBER(C2)") == len(SHARE_BANDS)
