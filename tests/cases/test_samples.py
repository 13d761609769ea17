"""Several answers to one question in one file, by every way that says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars
import pytest

import assay
from assay import Prediction
from assay.errors import InputError
from many_cases import each

CASES = [{"id": f"q{place}", "question": f"question {place}", "gold_sql": f"SELECT {place}"} for place in range(3)]
RIGHT = {("q0", 0), ("q0", 1), ("q1", 1)}
"""The right ones of three answers to each question: two, one, none."""


def answers(column: str | None = "sample", *, first: int = 0, without: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    """Three answers to each question, but for the pairs of id and number in ``without``."""
    rows = []
    for place in range(3):
        for number in range(3):
            key = (f"q{place}", number)
            if key not in without:
                query = f"SELECT {place}" if key in RIGHT else "SELECT 99"
                row = {"id": key[0], "sql": query}
                rows.append(row if column is None else {**row, column: first + number})
    return rows


def evaluated(rows: Any, **options: Any) -> assay.Run:
    return assay.evaluate(
        options.pop("cases", CASES), rows, databases="sqlite:///:memory:", metrics=["match"], workers=1, **options
    )


def outcomes(run: assay.Run) -> dict[tuple[str, int], str]:
    return {(one.case.id, one.prediction.repeat): one.outcome for one in run.evidence}


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


EXPECTED = {
    (f"q{place}", number): "correct" if (f"q{place}", number) in RIGHT else "incorrect"
    for place in range(3)
    for number in range(3)
}


@each(
    ("rows", "options"),
    [
        (answers(), {}),
        (answers("epoch", first=1), {}),
        (answers("Sample Index", first=7), {}),
        (answers(None), {"repeats": 3}),
        (answers("attempt"), {"repeats": 3}),
        (list(reversed(answers())), {}),
        (answers(), {"repeats": 3}),
        ([Prediction(case_id=row["id"], query=row["sql"], repeat=row["sample"]) for row in answers()], {}),
        (polars.DataFrame(answers()), {}),
    ],
)
def test_each_answer_keeps_its_number(rows: Any, options: dict[str, Any]) -> None:
    run = evaluated(rows, **options)
    assert outcomes(run) == EXPECTED
    repeats = run.aggregates.repeats
    assert repeats is not None
    assert (repeats.asked, repeats.stable_wrong, repeats.flaky) == (3, 1, ("q0", "q1"))
    # pass@2 is 1 - C(wrong, 2) / C(3, 2): 1 for two right answers, 2/3 for one, 0 for none.
    assert repeats.pass_rates[1].any.value == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_a_file_of_questions_and_answers_counts_each_question_once(tmp_path: Path) -> None:
    questions = {case["id"]: case for case in CASES}
    rows = [{**questions[row["id"]], "predicted_sql": row["sql"], "sample": row["sample"]} for row in answers()]
    assert outcomes(evaluated(None, cases=rows)) == EXPECTED
    assert outcomes(evaluated(None, cases=written(tmp_path, rows))) == EXPECTED
    rows[1] = {**rows[1], "gold_sql": "SELECT 5"}
    with pytest.raises(InputError, match="the id 'q0' occurs twice among the cases"):
        evaluated(None, cases=rows)


def test_a_missing_answer_is_unanswered_in_its_place() -> None:
    run = evaluated(answers(without=(("q1", 1),)))
    assert outcomes(run) == EXPECTED | {("q1", 1): "incorrect"}
    (missing,) = [one for one in run.evidence if one.prediction.query is None]
    assert (missing.case.id, missing.prediction.repeat) == ("q1", 1)
    assert "its answer 2 of 3 is missing" in str(missing.prediction.failure)
    assert any("1 question has fewer than 3 answers" in note for note in run.provenance.input_notes)


def test_numbers_that_each_question_has_for_itself_only_order_its_answers() -> None:
    rows = [{**row, "sample_id": place} for place, row in enumerate(answers(None, without=(("q1", 2),)))]
    assert outcomes(evaluated(rows)) == EXPECTED


def test_a_limit_keeps_all_answers_to_its_questions(tmp_path: Path) -> None:
    run = evaluated(written(tmp_path, answers()), files=assay.FileOptions(limit=2))
    assert outcomes(run) == {key: value for key, value in EXPECTED.items() if key[0] != "q2"}


def test_a_stored_run_goes_on_from_the_same_file_and_is_compared(tmp_path: Path) -> None:
    path = written(tmp_path, answers())
    evaluated(path, output=tmp_path / "run")
    again = evaluated(path, output=tmp_path / "run")
    assert outcomes(again) == EXPECTED
    assert again.settings.repeats == 3


@each(
    ("rows", "options", "said"),
    [
        (answers(None), {}, "the id 'q0' occurs twice among the predictions.*repeats="),
        (answers("attempt"), {}, "the id 'q0' occurs twice"),
        (
            answers(),
            {"repeats": 4},
            "has up to 3 answers to a question, and repeats expects 4 for each: write repeats=3",
        ),
        (answers()[::3], {"repeats": 2}, "has one answer to each question, and repeats expects 2 for each"),
        ([row["sql"] for row in answers()], {"repeats": 3}, "the predictions have no ids"),
        ([{**row, "sample": "first"} for row in answers(None)], {}, "the id 'q0' occurs twice"),
        ([{**row, "sample": 0} for row in answers(None)], {}, "the id 'q0' occurs twice"),
        ([Prediction(case_id="q0", query="SELECT 0", repeat=1)] * 2, {}, "answers to the case 'q0' have the number 1"),
    ],
)
def test_what_is_not_certain_is_refused(rows: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        evaluated(rows, **options)
