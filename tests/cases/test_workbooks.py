"""Workbooks: which sheet, merged cells, and files that are made to end whoever reads them."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from assay import registry
from assay.api.inputs import FileOptions, read_inputs
from assay.cases import load_cases
from assay.cases.tables import workbook
from assay.errors import CaseFileError, UsageError
from assay.model import FieldNames
from many_cases import each

QUESTIONS = [
    ["id", "question", "gold_sql", "difficulty"],
    ["a", "how many?", "SELECT 1", "Easy"],
    ["b", "who?", "SELECT 2", "easy "],
]
ANSWERS = [["id", "predicted_sql"], ["b", "SELECT 2"], ["a", "SELECT 3"]]
README = [["About this file"], ["Ask us"]]


def book(path: Path, sheets: Mapping[str, Sequence[Sequence[object]]], *, then: Callable[[Any], None] = len) -> Path:
    """A workbook; ``then`` gets its first sheet before it is closed."""
    with xlsxwriter.Workbook(path) as written:
        made = []
        for name, rows in sheets.items():
            made.append(written.add_worksheet(name))
            for number, row in enumerate(rows):
                made[-1].write_row(number, 0, row)
        if then is not len:
            then(made[0])
    return path


def test_a_readme_before_the_questions_is_no_trap_and_what_is_not_read_is_named(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", {"Readme": README, "Questions": QUESTIONS, "Answers": ANSWERS})
    inputs = read_inputs(path, None, FileOptions(), allow_unmatched=False)
    assert [case.id for case in inputs.cases] == ["a", "b"]
    assert [answer.query for answer in inputs.predictions] == ["SELECT 3", "SELECT 2"]
    assert inputs.cases[0].origin == 'b.xlsx, sheet "Questions", row 2'
    assert inputs.joining is not None
    assert (inputs.joining.by, inputs.joining.left_out) == ("id", ("Readme",))


def test_the_process_that_reads_a_workbook_imports_no_room(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", {"Q": QUESTIONS})
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", workbook.__file__, path],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
    )
    modules = set(re.findall(r"(assay\S*)", done.stderr.decode()))
    assert {name for name in modules if not name.startswith("assay.platform")} <= {"assay", "assay._version"}


def test_easy_and_easy_are_one_difficulty(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", {"Q": QUESTIONS})
    inputs = read_inputs(path, {"a": "SELECT 1"}, FileOptions(), allow_unmatched=False)
    assert {case.difficulty for case in inputs.cases} == {"Easy"}


def test_several_sheets_that_could_be_meant_are_an_error_until_one_is_named(tmp_path: Path, formats: Any) -> None:
    path = book(tmp_path / "b.xlsx", {"Old": QUESTIONS, "New": QUESTIONS[:2], "Readme": README})
    with pytest.raises(CaseFileError, match=r'the sheets "Old", "New" all have .*--sheet'):
        load_cases(path, formats=formats)
    assert len(load_cases(path, formats=formats, fields=FieldNames(sheet="New"))) == 1
    with pytest.raises(CaseFileError, match=r'no sheet "new" with content; the sheets .*mean "New"'):
        load_cases(path, formats=formats, fields=FieldNames(sheet="new"))
    with pytest.raises(CaseFileError, match=r'"Readme", row 1|no column found for the question'):
        load_cases(path, formats=formats, fields=FieldNames(sheet="Readme"))


def test_sheets_none_of_which_fits_are_all_named_with_their_columns(tmp_path: Path, formats: Any) -> None:
    path = book(tmp_path / "b.xlsx", {"Readme": README, "Data": [["Frage", "Antwort"], ["x", "y"]]})
    with pytest.raises(CaseFileError, match=r'"Readme" has "About this file"; "Data" has "Frage", "Antwort"'):
        load_cases(path, formats=formats)


def test_a_sheet_of_what_has_none_is_an_error(tmp_path: Path, formats: Any) -> None:
    (tmp_path / "c.csv").write_text("question,gold\na,SELECT 1\n")
    with pytest.raises(UsageError, match="a sheet was named"):
        load_cases(tmp_path / "c.csv", formats=formats, fields=FieldNames(sheet="A"))


def test_cells_merged_downwards_have_one_value(tmp_path: Path, formats: Any) -> None:
    rows = [["question", "gold_sql", "db_id"], *([f"q{place}", "SELECT 1", ""] for place in range(5))]
    path = book(tmp_path / "b.xlsx", {"Q": rows}, then=lambda sheet: sheet.merge_range(2, 2, 4, 2, "shop") and None)
    assert [case.database for case in load_cases(path, formats=formats)] == [None, "shop", "shop", "shop", None]


def test_cells_merged_over_columns_are_named(tmp_path: Path, formats: Any) -> None:
    path = book(tmp_path / "b.xlsx", {"Q": QUESTIONS}, then=lambda sheet: sheet.merge_range(3, 1, 3, 2, "x") and None)
    with pytest.raises(CaseFileError, match=r"row 4: the cells B4:C4 are merged over several columns"):
        load_cases(path, formats=formats)


def test_a_cell_in_the_last_row_and_column_costs_a_message(tmp_path: Path, formats: Any) -> None:
    path = book(tmp_path / "b.xlsx", {"Q": QUESTIONS}, then=lambda sheet: sheet.write(1_048_575, 16_383, "x") and None)
    with pytest.raises(CaseFileError, match="a cell far below or to the right"):
        load_cases(path, formats=formats)


def test_a_workbook_that_inflates_without_end_costs_a_message(tmp_path: Path, formats: Any) -> None:
    small = book(tmp_path / "small.xlsx", {"Q": QUESTIONS})
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(small) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b"</sheetData>", b" " * (700 << 20) + b"</sheetData>")
            made.writestr(name, content)
    with pytest.raises(CaseFileError, match="MiB once unpacked"):
        load_cases(path, formats=formats)
    # The same, and the archive says that it is small.
    raw = bytearray(path.read_bytes())
    entry = raw.rfind(b"xl/worksheets/sheet1.xml") - 46
    assert raw[entry : entry + 4] == b"PK\x01\x02"
    raw[entry + 24 : entry + 28] = struct.pack("<I", 2000)
    path.write_bytes(raw)
    with pytest.raises(CaseFileError, match=r"is not a readable Excel file|cannot be read within"):
        load_cases(path, formats=formats)


@each(
    ("others", "fields", "said"),
    [
        ({}, {"question": "Frge"}, 'unknown column "Frge" for the question; .*did you mean "Frage"'),
        ({"Notes": [["remark"], ["x"]]}, {"question": "Frge"}, 'unknown column "Frge" for .*did you mean "Frage"'),
        ({"Notes": [["remark"], ["x"]]}, {"gold": "goldsq"}, 'unknown column "goldsq" for .*did you mean "gold_sql"'),
        ({}, {}, "no column found for the question; .*--question-column Frage"),
        ({"Notes": [["remark"], ["x"]]}, {}, "no column found for the question; .*--question-column Frage"),
        ({"B": [["id", "Frage", "gold_sql"], ["1", "?", "SELECT 1"]]}, {}, 'no sheet has .*"B" has .*and so the gold'),
    ],
)
def test_a_missing_column_is_told_alike_with_one_sheet_and_with_several(
    others: dict[str, list[list[str]]], fields: dict[str, str], said: str, tmp_path: Path
) -> None:
    own = [["id", "Frage", "gold_sql"], ["1", "how many?", "SELECT 1"]]
    path = book(tmp_path / "book.xlsx", {"Q": own, **others})
    with pytest.raises(CaseFileError, match=said):
        load_cases(path, formats=registry.case_formats(), fields=FieldNames(**fields))
