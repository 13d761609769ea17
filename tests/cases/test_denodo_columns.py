"""A question set under foreign names: the options to copy name a column only if its content is surely that."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from assay import registry
from assay.cases import load_questions
from assay.errors import CaseFileError

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
