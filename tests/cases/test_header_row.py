"""Which row of a sheet names its columns, and which sheet: said by number, as Denodo's evaluator has it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay import registry
from assay.cases import load_cases
from assay.cases.load import load_predictions
from assay.cases.tables.formats import CsvFormat, ExcelFormat
from assay.errors import CaseFileError
from assay.model import FieldNames
from many_cases import each

TABLE = [("difficulty", "Solution", "Question"), ("easy", "SELECT 1", "One?"), ("hard", "SELECT 2", "Two?")]
Rows = Sequence[Sequence[str]]


def workbook(folder: Path, *sheets: Rows) -> Path:
    from xlsxwriter import Workbook

    path = folder / "in.xlsx"
    with Workbook(path) as book:
        for number, rows in enumerate(sheets):
            page = book.add_worksheet(f"S{number}")
            for at, row in enumerate(rows):
                page.write_row(at, 0, row)
    return path


def questions(path: Path, **fields: object) -> list[tuple[str, str | None, tuple[str, ...]]]:
    cases = load_cases(path, formats=[ExcelFormat(), CsvFormat()], fields=FieldNames(**fields))  # type: ignore[arg-type]
    return [(case.question, case.difficulty, case.golds) for case in cases]


FOUND = [("One?", "easy", ("SELECT 1",)), ("Two?", "hard", ("SELECT 2",))]


@each("above", [0, 1, 2, 5])
@each("filled", [True, False])
def test_the_row_is_counted_from_0_whatever_stands_above(tmp_path: Path, above: int, filled: bool) -> None:
    title = [("A title", "of", "the sheet") if filled else ()] * above
    path = workbook(tmp_path, [*title, *TABLE])
    assert questions(path, header_row=above) == FOUND


def test_what_stands_above_is_no_question(tmp_path: Path) -> None:
    path = workbook(tmp_path, [("Question", "Solution", "difficulty"), ("Old?", "SELECT 0", "easy"), *TABLE])
    assert questions(path)[0] == ("Old?", "easy", ("SELECT 0",))
    assert questions(path, header_row=2) == FOUND


@pytest.mark.parametrize("row", [1, 9, 100_000])
def test_a_row_without_content_is_said_by_its_number(tmp_path: Path, row: int) -> None:
    path = workbook(tmp_path, [("Question", "Solution"), (), *TABLE])
    with pytest.raises(CaseFileError, match=rf"row {row + 1} is blank \(--header-row {row}, counted from 0\)"):
        questions(path, header_row=row)


def test_a_sheet_may_be_said_by_its_place_empty_ones_counted(tmp_path: Path) -> None:
    other = [("Question", "Solution"), ("Else?", "SELECT 9")]
    path = workbook(tmp_path, [], other, TABLE)
    assert questions(path, sheet="2") == FOUND
    assert questions(path, sheet="S2") == FOUND
    assert questions(path, sheet="1") == [("Else?", None, ("SELECT 9",))]
    for absent in ("0", "3"):
        with pytest.raises(CaseFileError, match=f'no sheet "{absent}" with content'):
            questions(path, sheet=absent)


def test_only_a_table_has_such_a_row(tmp_path: Path) -> None:
    for name, text in (
        ("in.jsonl", '{"question": "One?", "gold": "SELECT 1", "prediction": "SELECT 1"}\n'),
        ("in.json", '[{"question": "One?", "gold": "SELECT 1", "prediction": "SELECT 1"}]'),
        ("in.yaml", '- {question: "One?", gold: SELECT 1, prediction: SELECT 1}\n'),
    ):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(CaseFileError, match=r": --header-row is for workbooks and CSV files.*omit it"):
            load_cases(path, formats=registry.case_formats(), fields=FieldNames(header_row=0))
        with pytest.raises(CaseFileError, match=r": --prediction-header-row is for.*omit it"):
            load_predictions(path, formats=registry.case_formats(), fields=FieldNames(header_row=0))


@pytest.mark.parametrize("above", [1, 2, 5])
@pytest.mark.parametrize("others", [0, 1, 2])
def test_a_title_above_the_names_is_skipped(tmp_path: Path, above: int, others: int) -> None:
    path = workbook(tmp_path, *[[("Read me",), ("first",)]] * others, [("A title",), *[()] * (above - 1), *TABLE])
    assert questions(path) == FOUND
    assert questions(path, sheet=f"S{others}", header_row=above) == FOUND


@each("queries", [("SELECT 1", "with a as (select 1) select * from a"), ("-- one\n(SELECT 1)", "VALUES 1")])
@each("title", [(), (("Evaluation", "", "Reference"),)])
@each(
    "description",
    ["The reference query", "SELECT statement that is right", "Select statement of the expert.", "Values we expect:"],
)
def test_a_row_that_describes_the_columns_is_no_case(
    tmp_path: Path, queries: tuple[str, str], title: tuple[tuple[str, ...], ...], description: str
) -> None:
    described = ("What the user asks", description)
    rows = [*title, ("Question", "Solution"), described, ("One?", queries[0]), ("Two?", queries[1])]
    with pytest.warns(UserWarning, match=rf"row {len(title) + 2}: the row describes the columns"):
        assert [case[0] for case in questions(workbook(tmp_path, rows))] == ["One?", "Two?"]


@each(
    "first",
    [
        ("One?", "SELECT broken"),
        ("One?", None),
        (1, "no query"),
        (None, "no query"),
        ("One?", "select name from person"),
        ("One?", "SELECT NULL AS nothing"),
        ("One?", "SHOW TABLES"),
    ],
)
def test_a_first_case_is_kept_unless_it_surely_describes_the_columns(tmp_path: Path, first: tuple[object, ...]) -> None:
    rows = [("Question", "Solution"), first, ("Two?", "no query either" if first[0] == "x" else "SELECT 2")]
    try:
        found = questions(workbook(tmp_path, rows))
    except CaseFileError:
        return  # it was read as a case, and refused as one
    assert len(found) == 2


FOREIGN = [
    ("Frage", "Abfrage", "Datenbank"),
    ("Wie viele?", "SELECT 1", "shop"),
    ("Und jetzt noch?", "SELECT 2", "shop"),
]
TITLES: list[Rows] = [
    [("A title",)],
    [("A title",), ()],
    [("A title",), ("Author: Ann", "Version", "", "3")],
    [(), ("A title",), ("2025-11-26",), (), ("Please fill in.",)],
    [("Release 7", "", "", ""), ("", "Team A", "", "")],
]


def csv_file(folder: Path, rows: Rows) -> Path:
    import csv

    path = folder / "in.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def merged_workbook(folder: Path, rows: Rows) -> Path:
    """With the first title over all columns."""
    from xlsxwriter import Workbook

    path = folder / "in.xlsx"
    with Workbook(path) as book:
        page = book.add_worksheet("S0")
        for at, row in enumerate(rows):
            page.write_row(at, 0, row)
        at = next(at for at, row in enumerate(rows) if any(row))
        page.merge_range(at, 0, at, 3, next(filter(None, rows[at])))
    return path


@each("title", TITLES)
@each("write", [workbook, csv_file, merged_workbook])
@each("known", [True, False])
def test_a_header_is_found_below_any_title(tmp_path: Path, title: Rows, write: Any, known: bool) -> None:
    path = write(tmp_path, [*title, *(TABLE if known else FOREIGN)])
    if known:
        assert questions(path) == questions(path, header_row=len(title)) == FOUND
        return
    with pytest.raises(CaseFileError) as raised:
        questions(path)
    message = str(raised.value)
    assert '"Frage", "Abfrage", "Datenbank"' in message
    assert "--question-column Frage --gold-column Abfrage" in message
    assert f"Row {len(title) + 1} was taken for the header" in message
    assert f"(--header-row {len(title)}, counted from 0)" in message
    named = questions(path, question="Frage", gold="Abfrage")
    assert named == questions(path, question="Frage", gold="Abfrage", header_row=len(title))
    assert [golds for _, _, golds in named] == [("SELECT 1",), ("SELECT 2",)]


@each("row", [2, 9])
def test_a_blank_row_of_a_csv_file_is_no_header(tmp_path: Path, row: int) -> None:
    path = csv_file(tmp_path, [("A title",), ("more",), (), *TABLE])
    with pytest.raises(CaseFileError, match=rf"row {row + 1} is blank \(--header-row {row}, counted from 0\)"):
        questions(path, header_row=row)


@each("write", [workbook, csv_file])
@each("first", [("1", "How many?", "SELECT COUNT(*) FROM person"), ("1", "How many?", "select " + "1, " * 40 + "1")])
def test_a_row_of_data_is_not_offered_as_a_header(tmp_path: Path, write: Any, first: Any) -> None:
    path = write(tmp_path, [first, ("2", "And how many now?", "SELECT 2"), ("3", "Who is it?", "SELECT 3")])
    for read in (load_cases, load_predictions):
        with pytest.raises(CaseFileError, match=r"looks like a row of data.*write one above it") as raised:
            read(path, formats=[ExcelFormat(), CsvFormat()])
        assert "-column" not in str(raised.value)


@each("write", [workbook, csv_file])
@each("title", [("Our", "test", "set"), ("Release 7", "Team A", "2026")])
def test_a_header_below_a_title_that_fills_its_row_is_named(tmp_path: Path, write: Any, title: Any) -> None:
    with pytest.raises(CaseFileError, match=r'2 looks more like the header: "Frage", "Abfrage", "Datenbank"') as raised:
        questions(write(tmp_path, [title, *FOREIGN]))
    assert "--header-row 0" in str(raised.value)
    assert "-column" not in str(raised.value)


@each("first", ["SHOW TABLES", "SELECT 1", "With a hint"])
@each("question", ["Wie viele?", "Nenne alle Tabellen"])
def test_a_first_case_is_not_taken_for_the_header(tmp_path: Path, first: str, question: str) -> None:
    head, *rows = FOREIGN
    with pytest.raises(CaseFileError, match="--gold-column Abfrage"):
        questions(workbook(tmp_path, [("Nr", *head), (1, question, first, "shop"), *((2, *row) for row in rows)]))
