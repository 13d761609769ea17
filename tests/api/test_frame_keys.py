"""The index of pandas as the key, layouts of rows in memory, both sides in one frame, and swapped sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pandas
import pytest

from assay.api.inputs import FileOptions, read_inputs
from assay.errors import InputError, UsageError
from assay.model import FieldNames

IDS = [70, 12, 35, 8]
ORDER = [2, 0, 3, 1]
CASES = pandas.DataFrame(
    {"id": IDS, "question": [f"number {n}?" for n in IDS], "gold_sql": [f"SELECT {n}" for n in IDS]}
)
ANSWERS = pandas.DataFrame({"id": IDS, "predicted_sql": [f"SELECT {-n}" for n in IDS]})
Frame: TypeAlias = pandas.DataFrame


def unnamed(values: Any) -> Any:
    return values.rename_axis(None)


def pairs(cases: Any, predictions: Any = None, **options: Any) -> list[tuple[str, str | None]]:
    found = read_inputs(cases, predictions, FileOptions(**options), allow_unmatched=False)
    return [(case.golds[0], one.query) for case, one in zip(found.cases, found.predictions, strict=True)]


EXPECTED = [(f"SELECT {n}", f"SELECT {-n}") for n in IDS]
QUESTIONS: dict[str, Callable[[], Frame]] = {
    "a column": lambda: CASES,
    "a named index": lambda: CASES.set_index("id"),
    "an unnamed index": lambda: unnamed(CASES.set_index("id")),
    "an index with a name of its own": lambda: CASES.set_index("id").rename_axis("Ticket #"),
}
PREDICTIONS: dict[str, Callable[[Frame], Any]] = {
    "a series": lambda rows: rows.predicted_sql,
    "a frame": lambda rows: rows,
    "a series without names": lambda rows: unnamed(rows.predicted_sql).rename(None),
    "a frame without names": unnamed,
    "a series with a name of its own": lambda rows: rows.predicted_sql.rename_axis("Ticket #"),
    "a frame with a name of its own": lambda rows: rows.rename_axis("Ticket #"),
}


@pytest.mark.parametrize("questions", QUESTIONS.values(), ids=list(QUESTIONS))
@pytest.mark.parametrize("predictions", PREDICTIONS.values(), ids=list(PREDICTIONS))
@pytest.mark.parametrize("order", [list(range(len(IDS))), ORDER], ids=["in order", "shuffled"])
def test_an_index_of_ids_is_the_key(
    questions: Callable[[], Frame], predictions: Callable[[Frame], Any], order: list[int]
) -> None:
    rows = ANSWERS.set_index("id").iloc[order]
    assert pairs(questions(), predictions(rows)) == EXPECTED


@pytest.mark.parametrize("order", [list(range(len(IDS))), ORDER], ids=["in order", "shuffled"])
def test_frames_that_share_an_index_are_joined_by_it(order: list[int]) -> None:
    questions = CASES.drop(columns="id").set_axis([4, 9, 2, 7])
    assert pairs(questions, ANSWERS.predicted_sql.set_axis([4, 9, 2, 7]).iloc[order]) == EXPECTED


QUESTION_SETS = pytest.mark.parametrize("questions", [CASES, CASES.drop(columns="id")], ids=["ids", "no ids"])
FORMS = pytest.mark.parametrize("form", [pandas.Series.copy, pandas.Series.to_frame], ids=["series", "frame"])


@QUESTION_SETS
def test_a_default_index_is_the_position(questions: Frame) -> None:
    assert pairs(questions, ANSWERS.predicted_sql) == EXPECTED
    assert pairs(questions.to_dict("records"), ANSWERS.predicted_sql) == EXPECTED
    assert pairs(questions.set_axis([4, 9, 2, 7]), ANSWERS.predicted_sql.tolist()) == EXPECTED


LABELS = {
    "numbers": [4, 9, 2, 7],
    "a permutation": [2, 0, 3, 1],
    "texts of numbers": ["4", "9", "2", "7"],
    "floats": [4.0, 9.0, 2.0, 7.0],
    "names": ["d", "i", "b", "g"],
    "dates": pandas.date_range("2026-01-01", periods=4),
    "levels": pandas.MultiIndex.from_product([["a", "b"], [1, 2]]),
}


@QUESTION_SETS
@FORMS
@pytest.mark.parametrize("labels", LABELS.values(), ids=list(LABELS))
@pytest.mark.parametrize("order", [list(range(4)), [3, 2, 1, 0], ORDER], ids=["in order", "reversed", "shuffled"])
def test_the_same_labels_on_both_sides_decide(
    questions: Frame, form: Callable[[Any], Any], labels: Any, order: list[int]
) -> None:
    frame, answers = questions.set_axis(labels), ANSWERS.predicted_sql.set_axis(labels)
    assert pairs(frame, form(answers.iloc[order])) == EXPECTED
    reordered = [EXPECTED[row] for row in order]
    assert pairs(frame.iloc[order], form(answers)) == reordered


@pytest.mark.parametrize("order", [[3, 2, 1, 0], ORDER])
def test_a_reordered_default_index_is_a_label(order: list[int]) -> None:
    assert pairs(CASES, ANSWERS.predicted_sql.iloc[order]) == EXPECTED
    assert pairs(CASES, ANSWERS.predicted_sql.sort_values()) == EXPECTED
    assert pairs(CASES.iloc[order], ANSWERS.predicted_sql) == [EXPECTED[row] for row in order]


def test_labels_of_texts_and_numbers_are_the_same_ids() -> None:
    assert pairs(CASES.set_axis(list("4927")), ANSWERS.predicted_sql.set_axis([4, 9, 2, 7]).iloc[ORDER]) == EXPECTED
    assert pairs(CASES, ANSWERS.set_axis([str(n) for n in IDS]).predicted_sql.iloc[ORDER]) == EXPECTED


OTHER_LABELS = {
    "numbers": [4, 9, 2, 7],
    "counted from 1": [1, 2, 3, 4],
    "a gap": [0, 1, 2, 4],
    "names": ["d", "i", "b", "g"],
    "a label twice": [0, 1, 1, 2],
    "two parts": [0, 1, 0, 1],
    "a missing label": [0, 1, 2, None],
    "levels": pandas.MultiIndex.from_product([["a", "b"], [1, 2]]),
}


@QUESTION_SETS
@FORMS
@pytest.mark.parametrize("labels", OTHER_LABELS.values(), ids=list(OTHER_LABELS))
def test_other_labels_are_refused(questions: Frame, form: Callable[[Any], Any], labels: Any) -> None:
    for cases in (questions, questions.to_dict("records")):
        with pytest.raises(InputError, match=r"index of the predictions|no column of the predictions is recognized"):
            pairs(cases, form(ANSWERS.predicted_sql.set_axis(labels)))
    with pytest.raises(InputError, match=r"index of the questions|no column of the predictions is recognized"):
        pairs(questions.set_axis(labels), form(ANSWERS.predicted_sql))


def test_a_label_twice_on_both_sides_decides_nothing() -> None:
    with pytest.raises(InputError, match=r"index of the predictions \(0, 1, 0, …\) has the label 0 more than once"):
        pairs(CASES.set_axis([0, 1, 0, 1]), ANSWERS.predicted_sql.set_axis([0, 1, 0, 1]))


def test_labels_that_are_ids_and_labels_of_other_cases_are_refused() -> None:
    questions = CASES.assign(id=[2, 0, 3, 1])
    answers = ANSWERS.predicted_sql
    with pytest.raises(InputError, match=r"are the questions' ids and also the labels .*rename_axis\(\"id\"\)"):
        pairs(questions, answers.set_axis([2, 0, 3, 1]))
    assert pairs(questions, answers.set_axis([2, 0, 3, 1]).rename_axis("id")) == EXPECTED
    assert pairs(questions, answers) == EXPECTED


def test_positions_that_the_user_asks_for_are_taken() -> None:
    answers = ANSWERS.predicted_sql.set_axis([4, 9, 2, 7])
    assert pairs(CASES, answers, prediction_fields=FieldNames(id="@position")) == EXPECTED


def test_a_named_index_of_other_ids_fits_no_case() -> None:
    with pytest.raises(InputError, match="no prediction matches a case"):
        pairs(CASES, ANSWERS.set_index(pandas.Index([901, 902, 903, 904], name="id")).predicted_sql)


DEFOG = Frame(
    {
        "question": ["Names?", "Ids?"],
        "query": ["SELECT {a.id, a.name} FROM a", "SELECT id FROM a; SELECT max(id) FROM a"],
        "db_name": ["shop", "shop"],
        "query_category": ["x", "y"],
    }
)


@pytest.mark.parametrize("options", [{}, {"case_format": "defog"}], ids=["recognised", "named"])
def test_a_layout_is_the_same_in_a_frame_and_in_a_file(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "defog.csv"
    DEFOG.to_csv(path, index=False)
    predictions = ["SELECT 1", "SELECT 2"]
    frame, rows, file = (
        [case.golds for case in read_inputs(one, predictions, FileOptions(**options), allow_unmatched=False).cases]
        for one in (DEFOG, DEFOG.to_dict("records"), path)
    )
    assert frame == rows == file
    assert [len(golds) for golds in frame] == [3, 2]


@pytest.mark.parametrize("name", ["csv", "spider2", "ehrsql", "jsonl"])
def test_a_format_of_files_is_refused_for_rows_in_memory(name: str) -> None:
    with pytest.raises(UsageError, match=f"case_format is '{name}', a layout of files"):
        pairs(CASES, ANSWERS, case_format=name)
    with pytest.raises(UsageError, match=f"prediction_format is '{name}', a layout of files"):
        pairs(CASES, ANSWERS, prediction_format=name)


def test_an_unknown_format_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"case_format is 'defogg'.*did you mean 'defog'"):
        pairs(CASES, ANSWERS, case_format="defogg")


@pytest.mark.parametrize(
    "form", [lambda rows: rows, lambda rows: rows.to_dict("records"), lambda rows: iter(rows.to_dict("records"))]
)
def test_one_frame_may_hold_both_sides(form: Callable[[Frame], Any]) -> None:
    assert pairs(form(CASES.merge(ANSWERS, on="id"))) == EXPECTED


def test_one_frame_without_predictions_is_told_so() -> None:
    with pytest.raises(InputError, match="predictions"):
        pairs(CASES)


@pytest.mark.parametrize("form", [lambda rows: rows, lambda rows: rows.to_dict("records")])
def test_swapped_sides_are_named(form: Callable[[Frame], Any]) -> None:
    with pytest.raises(UsageError, match=r"are swapped: .*column 'predicted_sql'.*column 'gold_sql'.*evaluate\("):
        pairs(form(ANSWERS), form(CASES))
