"""Questions and predictions from data frames of any library, with the same columns and errors as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
from msgspec.structs import replace

import assay
from assay.api.inputs import FileOptions, read_cases_only, read_inputs
from assay.errors import CaseFileError, InputError, UsageError
from assay.model import FieldNames
from running import sqlite_url

COUNT = 4
CASES = [
    {"id": n, "question": f"number {n}?", "gold_sql": f"SELECT {n}", "difficulty": "easy", "tags": ["a", "b"]}
    for n in range(COUNT)
]
ANSWERS = [{"id": n, "predicted_sql": f"SELECT {n if n else -1}"} for n in reversed(range(COUNT))]
Make = Callable[[Sequence[dict[str, Any]]], Any]
LIBRARIES: dict[str, Make] = {
    "dicts": list,
    "generator": iter,
    "pandas": pandas.DataFrame,
    "pandas with an index of ids": lambda rows: pandas.DataFrame(rows).set_index(next(iter(rows[0]))),
    "polars": polars.DataFrame,
    "polars, lazy": lambda rows: polars.DataFrame(rows).lazy(),
    "arrow table": pyarrow.Table.from_pylist,
    "arrow batch": pyarrow.RecordBatch.from_pylist,
}
EVERY = pytest.mark.parametrize("make", LIBRARIES.values(), ids=list(LIBRARIES))
ASIDE = pytest.mark.parametrize("other", [LIBRARIES[name] for name in ("dicts", "pandas", "arrow table")])


def renamed(rows: Sequence[dict[str, Any]], **names: str) -> list[dict[str, Any]]:
    return [{names.get(name, name): value for name, value in row.items()} for row in rows]


def read(cases: Any, predictions: Any, options: FileOptions | None = None) -> list[tuple[str, str | None, str | None]]:
    found = read_inputs(cases, predictions, options or FileOptions(), allow_unmatched=False)
    pairs = zip(found.cases, found.predictions, strict=True)
    return [(case.id, case.golds[0], prediction.query) for case, prediction in pairs]


EXPECTED = [(str(n), f"SELECT {n}", f"SELECT {n if n else -1}") for n in range(COUNT)]


@EVERY
@ASIDE
def test_questions_and_predictions_of_every_library_are_joined(make: Make, other: Make) -> None:
    assert read(make(CASES), other(ANSWERS)) == EXPECTED
    assert read(other(CASES), make(ANSWERS)) == EXPECTED


@EVERY
def test_every_field_of_a_case_is_read(make: Make) -> None:
    cases, name = read_cases_only(make(CASES), FileOptions())
    assert name == "4 cases in memory"
    assert [(one.question, one.difficulty, one.tags) for one in cases] == [
        (f"number {n}?", "easy", ("a", "b")) for n in range(COUNT)
    ]


@EVERY
@ASIDE
@pytest.mark.parametrize("role", ["id", "question", "gold"])
def test_a_column_of_the_questions_can_have_another_name(make: Make, other: Make, role: str) -> None:
    column = {"gold": "gold_sql"}.get(role, role)
    cases = make(renamed(CASES, **{column: "my column"}))
    options = FileOptions(
        case_fields=replace(FieldNames(), **{role: "my column"}),
        prediction_fields=FieldNames(id="id", prediction="predicted_sql"),
    )
    assert read(cases, other(ANSWERS), options) == EXPECTED


@EVERY
@ASIDE
@pytest.mark.parametrize(("role", "column"), [("id", "id"), ("prediction", "predicted_sql")])
def test_a_column_of_the_predictions_can_have_another_name(make: Make, other: Make, role: str, column: str) -> None:
    options = FileOptions(prediction_fields=replace(FieldNames(), **{role: "my column"}))
    assert read(other(CASES), make(renamed(ANSWERS, **{column: "my column"})), options) == EXPECTED


@EVERY
def test_what_lacks_a_column_is_told_with_the_columns_that_are_there(make: Make) -> None:
    with pytest.raises(
        CaseFileError, match=r'the cases in memory: no column found for the gold query.*"question", "mine"'
    ):
        read(make(renamed(CASES, gold_sql="mine")), ANSWERS)
    with pytest.raises(
        CaseFileError, match=r'the predictions in memory: no column found for the predicted.* "id", "mine"'
    ):
        read(CASES, make(renamed(ANSWERS, predicted_sql="mine")))
    with pytest.raises(CaseFileError, match=r'"golden".*the columns are "id", "question", "gold_sql"'):
        read(make(CASES), ANSWERS, FileOptions(case_fields=FieldNames(gold="golden")))


@EVERY
def test_an_id_that_occurs_twice_is_named(make: Make) -> None:
    with pytest.raises(InputError, match="the id '1' occurs twice among the cases"):
        read(make([*CASES, CASES[1]]), ANSWERS)
    with pytest.raises(InputError, match="the id '1' occurs twice among the predictions"):
        read(CASES, make([*ANSWERS, ANSWERS[-2]]))


@pytest.mark.parametrize(
    "column", [pandas.Series, polars.Series, pyarrow.array, lambda cells: pyarrow.chunked_array([cells])]
)
def test_a_single_column_holds_the_predictions_in_the_order_of_the_questions(column: Callable[[Any], Any]) -> None:
    queries = [row["predicted_sql"] for row in reversed(ANSWERS)]
    assert read(pandas.DataFrame(CASES), column(queries)) == EXPECTED
    assert read(CASES, column([*queries[:-1], None]))[-1] == ("3", "SELECT 3", None)


def test_absent_cells_are_absent_and_not_the_text_nan() -> None:
    cases = pandas.DataFrame([{**row, "difficulty": None if row["id"] == 1 else "easy"} for row in CASES])
    answers = pandas.DataFrame([{**row, "predicted_sql": None if row["id"] == 2 else "SELECT 1"} for row in ANSWERS])
    found = read_inputs(cases, answers, FileOptions(), allow_unmatched=False)
    assert [one.difficulty for one in found.cases] == ["easy", None, "easy", "easy"]
    assert [one.query for one in found.predictions] == ["SELECT 1", "SELECT 1", None, "SELECT 1"]


def test_lists_that_pandas_reads_from_parquet_as_arrays_are_lists(tmp_path: Path) -> None:
    pandas.DataFrame(CASES).to_parquet(tmp_path / "cases.parquet")
    cases, _ = read_cases_only(pandas.read_parquet(tmp_path / "cases.parquet"), FileOptions())
    assert cases[0].tags == ("a", "b")


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pandas.concat([pandas.DataFrame(CASES)] * 2, axis=1)
    with pytest.raises(UsageError, match="the DataFrame has two columns called 'id': rename one of them"):
        read(frame, ANSWERS)


@EVERY
def test_without_rows_there_is_nothing_to_evaluate(make: Make) -> None:
    nothing = make(CASES)
    nothing = list(nothing)[:0] if isinstance(nothing, list) or hasattr(nothing, "__next__") else nothing[:0]
    with pytest.raises(InputError, match="there is no case to evaluate"):
        read(nothing, ANSWERS)


@pytest.mark.parametrize("value", [5, 1.5, object()])
def test_anything_else_is_told_what_to_give(value: object) -> None:
    with pytest.raises(UsageError, match=r"the cases are .*: give a file, a list, a DataFrame of pandas or polars"):
        read(value, ANSWERS)
    with pytest.raises(UsageError, match=r"the predictions are .*: give a file, a list, a DataFrame"):
        read(CASES, value)


ABSENT = {"None": None, "NaN": float("nan"), "numpy's NaN": numpy.float64("nan"), "NA": pandas.NA, "NaT": pandas.NaT}
ANSWERED: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "iterator": iter,
    "mapping": lambda answers: {str(n): answer for n, answer in enumerate(answers)},
    "pandas column": lambda answers: pandas.Series(answers, dtype=object),
    "array": lambda answers: numpy.array(answers, dtype=object),
    "rows": lambda answers: [{"id": n, "predicted_sql": answer} for n, answer in enumerate(answers)],
    "pandas": lambda answers: pandas.DataFrame({"id": range(len(answers)), "predicted_sql": answers}, dtype=object),
    "function": lambda answers: lambda case: answers[int(case.id)],
}


@pytest.mark.parametrize("absent", ABSENT.values(), ids=list(ABSENT))
@pytest.mark.parametrize("make", ANSWERED.values(), ids=list(ANSWERED))
def test_an_absent_value_of_any_library_is_no_prediction(make: Callable[[list[Any]], Any], absent: object) -> None:
    for answers in (["SELECT 0", absent, "SELECT 2", absent], [absent] * COUNT):
        found = read_inputs(CASES, make(answers), FileOptions(), allow_unmatched=False).predictions
        assert [one.query for one in found] == [one if isinstance(one, str) else None for one in answers]
        assert [one.failure is None for one in found] == [isinstance(one, str) for one in answers]


def test_frames_are_evaluated_and_linted(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "shop.sqlite", "CREATE TABLE t(a INTEGER)")
    run = assay.evaluate(
        pandas.DataFrame(CASES), polars.DataFrame(ANSWERS), databases=url, metrics=["match"], workers=1
    )
    assert (run.aggregates.correct, run.aggregates.incorrect) == (COUNT - 1, 1)
    assert assay.lint(pyarrow.Table.from_pylist(CASES), databases=url).cases == COUNT


@pytest.mark.parametrize("write", [json.dumps, str], ids=["JSON", "Python's list"])
@pytest.mark.parametrize("other", ["SELECT 4", None])
def test_a_text_that_is_a_list_of_texts_holds_several_gold_queries(
    tmp_path: Path, write: Callable[[object], str], other: str | None
) -> None:
    golds = ["SELECT 'it''s', \"x\"", f"SELECT\n{COUNT}", other]
    rows: list[dict[str, Any]] = [{**CASES[0], "gold_sql": write(golds)}, {**CASES[1], "gold_sql": "SELECT [a] FROM t"}]
    frame = pandas.DataFrame(rows)
    frame.to_csv(tmp_path / "cases.csv", index=False)
    frame.to_excel(tmp_path / "cases.xlsx", index=False)
    frame.to_json(tmp_path / "cases.json", orient="records")
    frame.to_parquet(tmp_path / "cases.parquet")
    files = [tmp_path / f"cases.{kind}" for kind in ("csv", "xlsx", "json", "parquet")]
    for given in [*(make(rows) for make in LIBRARIES.values()), *files]:
        cases, _ = read_cases_only(given, FileOptions())
        assert [case.golds for case in cases] == [tuple(gold for gold in golds if gold), ("SELECT [a] FROM t",)]


def test_polars_writes_a_column_of_texts_and_lists_as_texts() -> None:
    golds = ["SELECT 4", ["SELECT 0", "SELECT 5"]]
    frame = polars.DataFrame({"question": ["a?", "b?"], "gold_sql": golds}, strict=False)
    cases, _ = read_cases_only(frame, FileOptions())
    assert [case.golds for case in cases] == [("SELECT 4",), ("SELECT 0", "SELECT 5")]
