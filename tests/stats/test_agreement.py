"""Cohen's kappa against worked examples, and its interval."""

from __future__ import annotations

import pytest

from assay.llm_judge import calibrate
from assay.stats.agreement import YesNoTable, cohen_kappa
from many_cases import each


def _table(yes_yes: int, yes_no: int, no_yes: int, no_no: int) -> YesNoTable:
    return YesNoTable(true_positives=yes_yes, false_positives=yes_no, false_negatives=no_yes, true_negatives=no_no)


@each(
    ("table", "kappa"),
    [
        (_table(20, 5, 10, 15), 0.4),  # 35 of 50 agree where chance would give half
        (_table(45, 15, 25, 15), 0.130434782608),
        (_table(25, 35, 5, 35), 0.259259259259),
        (_table(10, 0, 0, 10), 1.0),
        (_table(0, 10, 10, 0), -1.0),
        (_table(5, 5, 5, 5), 0.0),
        (_table(3, 0, 7, 0), 0.0),
    ],
)
def test_kappa_is_that_of_worked_examples(table: YesNoTable, kappa: float) -> None:
    found = cohen_kappa(table)
    assert found is not None
    assert found[0] == pytest.approx(kappa)
    assert -1.0 <= found[1] <= found[0] <= found[2] <= 1.0


@pytest.mark.parametrize("table", [_table(0, 0, 0, 0), _table(9, 0, 0, 0), _table(0, 0, 0, 9)])
def test_kappa_is_not_defined_where_both_say_one_thing(table: YesNoTable) -> None:
    assert cohen_kappa(table) is None


def test_raters_who_never_differ_are_not_certain_to_agree() -> None:
    few, many = cohen_kappa(_table(3, 0, 0, 3)), cohen_kappa(_table(300, 0, 0, 300))
    assert few is not None
    assert many is not None
    assert few[0] == many[0] == 1.0
    assert few[1] < 0.3
    assert 0.97 < many[1] < 1.0


def test_unscored_answers_are_in_no_rate_but_counted() -> None:
    judged = [(True, True), (True, False), (False, True), (False, False), (True, None), (False, None)]
    found = calibrate([*judged, (True, True)])
    assert (found.table, found.unscored) == (_table(2, 1, 1, 1), 2)
    assert [rate.value for rate in (found.precision, found.recall, found.specificity, found.accuracy)] == [
        pytest.approx(2 / 3),
        pytest.approx(2 / 3),
        0.5,
        0.6,
    ]
    assert found.accuracy.unscored == 2
    assert found.accuracy.low is not None
    assert found.kappa is not None
    empty = calibrate([(True, None)])
    assert (empty.precision.value, empty.precision.low, empty.kappa) == (None, None, None)
