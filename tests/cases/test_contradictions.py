"""Rows in another order are never joined in silence, whatever the column that tells is called and wherever it lies."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay.api.inputs import FileOptions, Inputs, read_inputs
from assay.errors import AssayError, InputError
from many_cases import each

COUNT = 6
Row = dict[str, object]


def _joined(folder: Path, cases: Sequence[Row], predictions: Sequence[Row]) -> Inputs:
    for name, rows in (("cases.jsonl", cases), ("predictions.jsonl", predictions)):
        (folder / name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return read_inputs(folder / "cases.jsonl", folder / "predictions.jsonl", FileOptions(), allow_unmatched=False)


def _case(number: int) -> Row:
    return {"question": f"How many of kind {chr(65 + number)}?", "gold_sql": f"SELECT {number}"}


def _question(number: int) -> object:
    return _case(number)["question"]


ECHOES: dict[str, Callable[[int], Row]] = {
    "another language": lambda number: {"frage": _question(number)},
    "a prompt": lambda number: {"prompt": _question(number)},
    "within a prompt": lambda number: {"prompt": f"You write SQL.\nQuestion: {_question(number)}\nSQL:"},
    "an object": lambda number: {"request": {"body": {"q": _question(number)}}},
    "messages": lambda number: {"messages": [{"role": "user", "content": _question(number)}]},
    "JSON in a cell": lambda number: {"request": json.dumps({"q": _question(number)})},
}
SHARED: dict[str, Callable[[int], Row]] = {
    "half an id each": lambda number: {"domain": "ab"[number // 3], "nr": number % 3},
    "half an id under other names": lambda number: {"part": number % 3},
    "difficulty": lambda number: {"difficulty": ("easy", "hard")[number % 2]},
    "an id in an object": lambda number: {"ticket": {"key": f"z{number}"}},
    "an id in a list": lambda number: {"order": [f"z{number}"]},
    "an id in JSON": lambda number: {"ticket": json.dumps({"key": f"z{number}"})},
}


def _orders() -> list[list[int]]:
    """Orders in which some row stands elsewhere, for every echo another mix of them."""
    draws = random.Random(15)
    mixed = [draws.sample(range(COUNT), COUNT) for _ in range(6)]
    return [[1, 0, 2, 3, 4, 5], *(order for order in mixed if order != sorted(order))]


@each("kind", ECHOES)
@each("order", _orders())
def test_a_question_repeated_under_any_name_contradicts_rows_in_another_order(
    tmp_path: Path, kind: str, order: list[int]
) -> None:
    cases = [_case(number) for number in range(COUNT)]
    answers = [{**ECHOES[kind](number), "predicted_sql": f"SELECT {number}"} for number in order]
    with pytest.raises(InputError, match=r"repeats a question.*--ignore-questions"):
        _joined(tmp_path, cases, answers)
    assert _joined(tmp_path, cases, sorted(answers, key=lambda row: str(row["predicted_sql"]))).joining is not None


@each("kind", [kind for kind in ECHOES if kind != "within a prompt"])
def test_so_it_does_where_ids_say_otherwise(tmp_path: Path, kind: str) -> None:
    cases = [{"id": f"c{number}", **_case(number)} for number in range(COUNT)]
    answers = [
        {"id": f"c{number}", **ECHOES[kind]((number + 1) % COUNT), "predicted_sql": "SELECT 1"}
        for number in range(COUNT)
    ]
    with pytest.raises(InputError, match=r"line 1: .*repeats a question 'How many of kind B\?'.*\(joined by id\)"):
        _joined(tmp_path, cases, answers)


@pytest.mark.parametrize("kind", SHARED)
@pytest.mark.parametrize("order", _orders())
def test_what_both_files_hold_contradicts_rows_in_another_order(tmp_path: Path, kind: str, order: list[int]) -> None:
    other = {"part": "section"} if kind.endswith("names") else {}
    if all(SHARED[kind](number) == SHARED[kind](place) for place, number in enumerate(order)):
        pytest.skip("this order of rows is no other one by that column")
    cases = [{**SHARED[kind](number), **_case(number)} for number in range(COUNT)]
    answers = [
        {**{other.get(name, name): value for name, value in SHARED[kind](number).items()}, "predicted_sql": "SELECT 1"}
        for number in order
    ]
    with pytest.raises(AssayError):
        _joined(tmp_path, cases, answers)
    rows = sorted(zip(order, answers, strict=True), key=lambda one: one[0])
    assert len(_joined(tmp_path, cases, [row for _, row in rows]).predictions) == COUNT


def test_measures_and_labels_of_answers_contradict_nothing(tmp_path: Path) -> None:
    cases = [{**_case(number), "length": number % 3} for number in range(COUNT)]
    answers = [
        {"predicted_sql": "SELECT 1", "usage": {"total_tokens": 7 + number}, "meta": {"model": "m", "seconds": number}}
        for number in range(COUNT)
    ]
    joining = _joined(tmp_path, cases, answers).joining
    assert joining is not None
    assert joining.by == "position"
