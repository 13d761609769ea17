"""Kappa against worked examples, and its interval."""

from __future__ import annotations

from collections import Counter

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.llm_judge import calibrate
from assay.stats.agreement import YesNoTable, cohen_kappa, fleiss_kappa
from many_cases import each

Table = tuple[tuple[int, ...], ...]


@each(
    ("table", "kappa"),
    [
        (((20, 5), (10, 15)), 0.4),  # 35 of 50 agree where chance would give half
        (((45, 15), (25, 15)), 0.130434782608),
        (((25, 35), (5, 35)), 0.259259259259),
        (((10, 0), (0, 10)), 1.0),
        (((0, 10), (10, 0)), -1.0),
        (((5, 5), (5, 5)), 0.0),
        (((3, 0), (7, 0)), 0.0),
        (((44, 5, 1), (7, 20, 3), (9, 5, 6)), 0.4915254237288136),  # Cohen 1960, three categories
    ],
)
def test_kappa_is_that_of_worked_examples(table: Table, kappa: float) -> None:
    found = cohen_kappa(table)
    assert found is not None
    if len(table) == 2:
        assert found.value == pytest.approx(kappa)
    n = sum(map(sum, table))
    observed = sum(table[place][place] for place in range(len(table))) / n
    chance = sum(sum(table[place]) * sum(row[place] for row in table) for place in range(len(table))) / n**2
    assert found.value == pytest.approx((observed - chance) / (1 - chance))
    assert -1.0 <= found.low <= found.value <= found.high <= 1.0


def test_the_interval_is_that_of_a_worked_table() -> None:
    found = cohen_kappa(((38, 4), (3, 5)))
    assert [round(number, 3) for number in (found.value, found.low, found.high)] == [0.504, 0.172, 0.764]
    assert round((found.low + found.high) / 2, 3) == 0.468


def test_the_variance_is_that_of_fleiss_cohen_and_everitt() -> None:
    table = numpy.array([[53, 5, 2], [11, 14, 5], [1, 6, 3]])
    found = cohen_kappa(table.tolist(), added=0.0)
    shares = table / table.sum()
    rows, columns, kappa = shares.sum(axis=1), shares.sum(axis=0), found.value
    chance = float(rows @ columns)
    same = sum(shares[i, i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in range(3))
    other = sum(shares[i, j] * (columns[i] + rows[j]) ** 2 for i in range(3) for j in range(3) if i != j)
    variance = (same + (1 - kappa) ** 2 * other - (kappa - chance * (1 - kappa)) ** 2) / (1 - chance) ** 2
    half = 1.959963984540054 * (variance / table.sum()) ** 0.5
    assert (found.high - found.low) / 2 == pytest.approx(half)


@pytest.mark.parametrize("table", [((0, 0), (0, 0)), ((9, 0), (0, 0)), ((0, 0), (0, 9))])
def test_kappa_is_not_defined_where_both_say_one_thing(table: Table) -> None:
    assert cohen_kappa(table) is None


def test_raters_who_never_differ_are_not_certain_to_agree() -> None:
    few, many = cohen_kappa(((3, 0), (0, 3))), cohen_kappa(((300, 0), (0, 300)))
    assert few.value == many.value == 1.0
    assert few.low < 0.3
    assert 0.97 < many.low < 1.0


def test_fleiss_kappa_is_that_of_the_worked_example() -> None:
    """Fourteen raters, ten subjects, five categories (Fleiss 1971, as Wikipedia has it)."""
    subjects = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    found = fleiss_kappa(Counter(subjects), raters=14, categories=5)
    assert round(found.value, 3) == 0.210
    assert found.low < 0.21 < found.high


def test_fleiss_kappa_of_two_raters_is_scotts_pi() -> None:
    found = fleiss_kappa({(2, 0): 38, (1, 1): 7, (0, 2): 5}, raters=2, categories=2)
    chance = (83 / 100) ** 2 + (17 / 100) ** 2
    assert found.value == pytest.approx((43 / 50 - chance) / (1 - chance))
    assert fleiss_kappa({(3, 0): 9}, raters=3, categories=2) is None
    assert fleiss_kappa({}, raters=3, categories=2) is None


@given(st.lists(st.integers(0, 60), min_size=4, max_size=4))
def test_an_interval_holds_its_value_and_does_not_care_who_is_first(counts: list[int]) -> None:
    a, b, c, d = counts
    found, turned, renamed = (cohen_kappa(table) for table in (((a, b), (c, d)), ((a, c), (b, d)), ((d, c), (b, a))))
    if found is None:
        assert turned is None
        assert renamed is None
        return
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high
    for other in (turned, renamed):
        assert (other.value, other.low, other.high) == pytest.approx((found.value, found.low, found.high))


@each(("reviewers", "categories", "lowest"), [(2, 2, 0.92), (2, 3, 0.91), (3, 2, 0.92), (3, 3, 0.90)])
def test_intervals_hold_the_true_kappa(reviewers: int, categories: int, lowest: float) -> None:
    """A small form of benchmarks/agreement.py: a rare class, and reviewers who are not alike."""
    generator = numpy.random.default_rng(35)
    rates = [0.85, *([0.15 / (categories - 1)] * (categories - 1))]
    skills = [0.92, 0.8, 0.88][:reviewers]
    draws, cases = 800, 50

    def votes(size: int) -> numpy.ndarray:
        truth = generator.choice(categories, p=rates, size=(size, 1))
        errs = generator.random((size, reviewers)) > skills
        return (truth + errs * generator.integers(1, categories, size=(size, reviewers))) % categories

    def kappa(sample: numpy.ndarray) -> tuple[float, float, float]:
        counted = Counter(map(tuple, sample.tolist()))
        if reviewers == 2:
            found = cohen_kappa([[counted[row, column] for column in range(categories)] for row in range(categories)])
        else:
            patterns = Counter[tuple[int, ...]]()
            for chosen, number in counted.items():
                patterns[tuple(chosen.count(category) for category in range(categories))] += number
            found = fleiss_kappa(patterns, raters=reviewers, categories=categories)
        return found.value, found.low, found.high

    true = kappa(votes(1_000_000))[0]
    held = [low <= true <= high for _, low, high in map(kappa, votes(draws * cases).reshape(draws, cases, reviewers))]
    assert numpy.mean(held) > lowest


def test_unscored_answers_are_in_no_rate_but_counted() -> None:
    judged = [(True, True), (True, False), (False, True), (False, False), (True, None), (False, None)]
    found = calibrate([*judged, (True, True)])
    table = YesNoTable(true_positives=2, false_positives=1, false_negatives=1, true_negatives=1)
    assert (found.table, found.unscored) == (table, 2)
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
