"""A question set under foreign names: the options to copy name a column only if its content is surely that."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from assay import registry
from assay.cases import load_questions
from assay.errors import CaseFileError
from assay.model import FieldNames

ASKED = ["How many clients?", "Which branches?", "Who is oldest?"]
TOLD = ["List the clients", "List the branches", "Name the oldest"]
GOLD = ["SELECT 1", "SELECT 2", "SELECT 3"]
HINTS = ["use the view client", "", "use the view client"]
NOTES = ["checked by Ann", "checked by Bob", "not checked yet"]


@pytest.mark.parametrize(
    ("columns", "suggested"),
    [
        ({"Frage": ASKED, "Erwartetes VQL": GOLD, "Kontext": HINTS}, "Frage"),
        ({"Kontext": HINTS, "Frage": TOLD, "Erwartetes VQL": GOLD}, "Frage"),
        ({"Notiz": NOTES, "Frage": ASKED, "Erwartetes VQL": GOLD}, "Frage"),
        ({"Notiz": NOTES, "Frage": TOLD, "Erwartetes VQL": GOLD}, "NAME"),
        ({"Kontext": HINTS, "Erwartetes VQL": GOLD}, "NAME"),
        ({"Kontext": ["use the view"] * 3, "Erwartetes VQL": GOLD}, "NAME"),
    ],
)
def test_the_suggested_question_column_is_surely_one(
    columns: dict[str, list[str]], suggested: str, tmp_path: Path
) -> None:
    with (tmp_path / "set.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Nr", *columns])
        writer.writerows(zip("123", *columns.values(), strict=True))
    with pytest.raises(CaseFileError) as raised:
        load_questions(tmp_path / "set.csv", formats=registry.case_formats(), format="csv")
    said = str(raised.value)
    assert f"--question-column {suggested} --gold-column 'Erwartetes VQL'" in said
    assert '"Question"' in said
    assert '"Solution"' in said


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
@pytest.mark.parametrize("given", [0, 1, 3, 4, 30])
@pytest.mark.parametrize("named", [True, False])
def test_a_wrong_header_row_is_answered_with_the_right_one(
    suffix: str, given: int, named: bool, tmp_path: Path
) -> None:
    header = ["Nr", "Frage", "Erwartetes VQL"] if named else ["Nr", "Question", "Solution"]
    rows = [["Testkatalog"], [], header, *(list(row) for row in zip("123", ASKED, GOLD, strict=True))]
    path = tmp_path / f"set.{suffix}"
    if suffix == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    else:
        xlsxwriter = pytest.importorskip("xlsxwriter")
        with xlsxwriter.Workbook(path) as book:
            page = book.add_worksheet()
            for place, row in enumerate(rows):
                page.write_row(place, 0, row)
    names = {"question": "Frage", "gold": "Erwartetes VQL"} if named else {}

    def read(row: int) -> int:
        fields = FieldNames(header_row=row, **names)
        return len(load_questions(path, formats=registry.case_formats(), format=None, fields=fields).cases)

    assert read(2) == len(GOLD)
    with pytest.raises(CaseFileError, match=r"row 3 looks like the header: write  --header-row 2"):
        read(given)
