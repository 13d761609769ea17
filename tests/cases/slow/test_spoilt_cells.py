"""Cells of workbooks that hold an error, or a formula that nobody computed: never read as blank."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from assay.cases import load_cases, load_predictions
from assay.errors import CaseFileError
from assay.model import FieldNames

HEADER = ["id", "question", "gold_sql", "db_id", "note"]
ERRORS = ["#REF!", "#N/A", "#DIV/0!", "#NAME?", "#VALUE!", "#NUM!", "#NULL!", "#SPILL!"]
NOT_COMPUTED = {
    "as openpyxl writes it": '<c r="{at}"><f>A1&amp;"x"</f><v/></c>',
    "with an empty value": '<c r="{at}"><f>A1&amp;"x"</f><v></v></c>',
    "without a value": '<c r="{at}" s="0"><f>A1&amp;"x"</f></c>',
    "with a prefix": '<x:c xmlns:x="urn:x" r="{at}"><x:f>A1</x:f></x:c>',
    "shared": '<c r="{at}"><f t="shared" si="0"/></c>',
    "without a place": "<c><f>A1</f></c>",
}


def book(path: Path, cell: str, *, at: str = "C3", name: str = "Cases & more", rows: int = 2) -> Path:
    """Questions whose cell ``at`` is the XML given."""
    plain = path.with_name("plain.xlsx")
    with xlsxwriter.Workbook(plain) as workbook:
        sheet = workbook.add_worksheet(name)
        sheet.write_row(0, 0, HEADER)
        for row in range(1, rows + 1):
            sheet.write_row(row, 0, [f"case {row}", f"question {row}?", "SELECT 1", "shop", "x"])
        sheet.write_number(at, 987654)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w") as made:
        for part in source.namelist():
            content = source.read(part)
            if part.endswith("sheet1.xml"):
                assert content.count(b"<v>987654</v>") == 1
                content = content.replace(f'<c r="{at}"><v>987654</v></c>'.encode(), cell.format(at=at).encode())
                assert b"987654" not in content
            made.writestr(part, content)
    return path


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("formula", ["", "<f>Other!#REF!</f>"])
def test_an_error_is_named_with_its_cell(tmp_path: Path, formats: Any, error: str, formula: str) -> None:
    path = book(tmp_path / "b.xlsx", f'<c r="{{at}}" t="e">{formula}<v>{error}</v></c>')
    with pytest.raises(CaseFileError, match=rf"Cases & more!C3 contains the error {re.escape(error)}"):
        load_cases(path, formats=formats)


@pytest.mark.parametrize("cell", NOT_COMPUTED.values(), ids=list(NOT_COMPUTED))
@pytest.mark.parametrize("at", ["A2", "B3", "C2", "C3", "D3"])
def test_a_formula_without_a_value_is_named_with_its_cell(tmp_path: Path, formats: Any, cell: str, at: str) -> None:
    path = book(tmp_path / "b.xlsx", cell, at=at)
    with pytest.raises(CaseFileError, match=f"cell Cases & more!{at} contains a formula without a saved value"):
        load_cases(path, formats=formats)


@pytest.mark.parametrize("cell", NOT_COMPUTED.values(), ids=list(NOT_COMPUTED))
def test_where_every_prediction_is_a_formula_no_case_is_called_unanswered(
    tmp_path: Path, formats: Any, cell: str
) -> None:
    path = book(tmp_path / "b.xlsx", cell, rows=1, at="C2")
    with pytest.raises(CaseFileError, match="cell Cases & more!C2 contains a formula without a saved value"):
        load_predictions(path, formats=formats, fields=FieldNames(prediction="gold_sql"))


def test_a_value_that_was_saved_is_read_be_it_the_empty_text(tmp_path: Path, formats: Any) -> None:
    saved = book(tmp_path / "b.xlsx", '<c r="{at}" t="str"><f>"SELECT "&amp;2</f><v>SELECT 2</v></c>')
    assert load_cases(saved, formats=formats)[1].golds == ("SELECT 2",)
    empty = book(tmp_path / "b.xlsx", '<c r="{at}" t="str"><f>""</f><v></v></c>')
    assert load_cases(empty, formats=formats)[1].golds == ()


def test_text_that_reads_like_an_error_is_text(tmp_path: Path, formats: Any) -> None:
    path = book(tmp_path / "b.xlsx", '<c r="{at}" t="inlineStr"><is><t>#REF!</t></is></c>')
    assert load_cases(path, formats=formats)[1].golds == ("#REF!",)


@pytest.mark.parametrize("at", ["E2", "G2"])
def test_a_spoilt_cell_in_a_column_that_is_not_used_is_no_matter(tmp_path: Path, formats: Any, at: str) -> None:
    path = book(tmp_path / "b.xlsx", '<c r="{at}" t="e"><v>#REF!</v></c>', at=at)
    assert [case.golds for case in load_cases(path, formats=formats)] == [("SELECT 1",)] * 2


def test_a_spoilt_cell_beyond_the_last_value_is_named(tmp_path: Path, formats: Any) -> None:
    path = book(tmp_path / "b.xlsx", '<c r="{at}"><f>B2</f></c>', at="A9")
    with pytest.raises(CaseFileError, match=r"row 9.*cell Cases & more!A9"):
        load_cases(path, formats=formats)


@pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice")
@pytest.mark.parametrize("suffix", ["ods", "xlsx"])
def test_an_error_that_libreoffice_computed_is_named(tmp_path: Path, formats: Any, suffix: str) -> None:
    path = book(tmp_path / "b.xlsx", '<c r="{at}"><f>1/0</f></c>')
    (tmp_path / "out").mkdir()
    subprocess.run(
        [
            *("soffice", f"-env:UserInstallation=file://{tmp_path}/profile", "--headless"),
            *("--convert-to", suffix, "--outdir", str(tmp_path / "out"), str(path)),
        ],
        check=True,
        capture_output=True,
        timeout=300,
    )
    with pytest.raises(CaseFileError, match=r"row 3.*cell Cases & more!C3 contains the error #DIV/0!"):
        load_cases(tmp_path / "out" / f"b.{suffix}", formats=formats)
