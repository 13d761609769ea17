"""A column that numbers the rows of a question set (``No.``, ``Nr``, ``#``) is its id."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import assay
from assay import registry
from assay.cases import load_questions
from assay.cases.fields import is_row_number
from assay.errors import InputError
from assay.reports.blocks.run import RunReport

NAMES = ("No.", "No", "Nr", "Nr.", "NR", "№", "Nº", "N°", "#", "num", "Number", "S.No", "Sl. No.", "Row", "row_number")
MORE = ("Q#", "Question No.", "question-number", "Case", "Case No", "Lfd. Nr.", "Item no")
OTHERS = ("Notes", "Rows", "Amount", "Numbers of rows", "Nobody", "Norm", "Case type", "Question", "")


@pytest.mark.parametrize("name", [*NAMES, *MORE])
def test_names_of_row_numbers(name: str) -> None:
    assert is_row_number(name)


@pytest.mark.parametrize("name", OTHERS)
def test_other_names(name: str) -> None:
    assert not is_row_number(name)


def _table(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def _questions(folder: Path, name: str, numbers: list[object]) -> Path:
    rows = [[number, f"What is {place}?", f"SELECT {place}"] for place, number in enumerate(numbers)]
    return _table(folder / "questions.csv", [name, "Question", "gold_sql"], rows)


def _database(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS products (id INTEGER)")
    return f"sqlite:///{folder}/shop.sqlite"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("numbers", [[1, 2, 3], [12, 7, 40], ["Q-1", "Q-2", "Q-3"]])
def test_distinct_row_numbers_are_the_ids(tmp_path: Path, name: str, numbers: list[object]) -> None:
    loaded = load_questions(_questions(tmp_path, name, numbers), formats=registry.case_formats())
    assert [case.id for case in loaded.cases] == list(map(str, numbers))
    assert not loaded.by_position


@pytest.mark.parametrize("numbers", [[1, 1, 2], [1, "", 3], ["first", "second", "third"], ["a b 1", "a b 2", "c 3"]])
def test_other_values_are_not_ids(tmp_path: Path, numbers: list[object]) -> None:
    loaded = load_questions(_questions(tmp_path, "No.", numbers), formats=registry.case_formats())
    assert [case.id for case in loaded.cases] == ["0", "1", "2"]
    assert loaded.unread == ("No.",)


def test_a_column_named_as_an_id_comes_first(tmp_path: Path) -> None:
    path = _table(tmp_path / "q.csv", ["No.", "id", "question", "gold_sql"], [[1, "a", "Which?", "SELECT 1"]])
    (case,) = load_questions(path, formats=registry.case_formats()).cases
    assert case.id == "a"


@pytest.mark.parametrize("name", ["No.", "Nr"])
def test_row_numbers_of_both_files_join_them(tmp_path: Path, name: str) -> None:
    questions = _questions(tmp_path, "No.", [1, 2, 3])
    answers = [[number, f"SELECT {number - 1}"] for number in (3, 1, 2)]
    run = assay.evaluate(
        questions, _table(tmp_path / "p.csv", [name, "predicted_sql"], answers), databases=_database(tmp_path)
    )
    assert run.rate("match").numerator == 3
    assert run.provenance.joining is not None
    assert run.provenance.joining.by == "id"


def test_row_numbers_of_predictions_alone_are_not_the_ids_of_questions_that_have_others(tmp_path: Path) -> None:
    """They may count from 1 where the ids count from 0."""
    questions = _table(
        tmp_path / "q.csv",
        ["question_id", "question", "gold_sql"],
        [[number, f"What is {number}?", f"SELECT {number}"] for number in range(5)],
    )
    predictions = _table(tmp_path / "p.csv", ["No.", "predicted_sql"], [[1, "SELECT 0"], [2, "SELECT 1"]])
    with pytest.raises(InputError, match="the questions have ids"):
        assay.evaluate(questions, predictions, databases=_database(tmp_path))


def test_texts_in_the_order_of_the_row_numbers_are_joined_by_position(tmp_path: Path) -> None:
    queries = ["SELECT 0", "SELECT 1", "SELECT 2"]
    (tmp_path / "p.json").write_text(str(queries).replace("'", '"'), encoding="utf-8")
    run = assay.evaluate(_questions(tmp_path, "No.", [1, 2, 3]), tmp_path / "p.json", databases=_database(tmp_path))
    assert run.rate("match").numerator == 3
    with pytest.raises(InputError, match="the questions have ids"):
        assay.evaluate(_questions(tmp_path, "No.", [3, 1, 2]), tmp_path / "p.json", databases=_database(tmp_path))


def test_a_name_that_ends_with_a_full_stop_ends_no_sentence_twice(tmp_path: Path) -> None:
    path = _questions(tmp_path, "No.", [1, 1, 2])
    run = assay.evaluate(path, {"0": "SELECT 0", "1": "SELECT 1", "2": "SELECT 2"}, databases=_database(tmp_path))
    assert '1 column of the input files is not read: "No.".' in RunReport(run.record).notes
