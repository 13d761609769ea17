"""Difficulties by number get the names that Denodo's own evaluator gives them, if all are such numbers."""

from __future__ import annotations

from assay.api.inputs import FileOptions, read_inputs
from many_cases import each

NAMES = (("1", "simple"), ("2", "moderate"), ("3", "challenging"))


@each(
    ("given", "named"),
    [
        ((1, 2, 3), ("simple", "moderate", "challenging")),
        (("1", 2.0, None), ("simple", "moderate", None)),
        ((1, "easy", 3), ("1", "easy", "3")),
        ((1, 2, 4), ("1", "2", "4")),
        ((None, None, None), (None, None, None)),
    ],
)
def test_numbers_are_named_if_all_difficulties_are_numbers(
    given: tuple[object, ...], named: tuple[str | None, ...]
) -> None:
    cases = [{"id": str(n), "question": "q", "gold_sql": "SELECT 1", "difficulty": one} for n, one in enumerate(given)]
    predictions = dict.fromkeys(("0", "1", "2"), "SELECT 1")
    inputs = read_inputs(cases, predictions, FileOptions(difficulty_names=NAMES), allow_unmatched=False)
    assert tuple(case.difficulty for case in inputs.cases) == named
    plain = read_inputs(cases, predictions, FileOptions(), allow_unmatched=False)
    assert "simple" not in [case.difficulty for case in plain.cases]
