"""The sentence that says how a wrong answer differs: once, properly counted, with the values where one cell differs."""

from __future__ import annotations

import random
import re

from assay.comparison.answer import Answer
from assay.comparison.compare import compare
from assay.model import ComparisonOptions, Result, Row
from many_cases import each


def _reason(gold: list[Row], predicted: list[Row], *, ordered: bool = False, names: tuple[str, ...] = ()) -> str:
    columns = names or tuple(f"c{place}" for place in range(len(gold[0])))
    ours = Result(columns=columns, rows=tuple(gold))
    theirs = Result(columns=tuple(f"p{place}" for place in range(len(predicted[0]))), rows=tuple(predicted))
    found = compare(theirs, Answer.strict(ours) if ordered else ours, ComparisonOptions())
    assert not found.equal
    return found.reason


@each(
    ("gold", "predicted", "said"),
    [
        ([(13,)], [(0,)], "one cell differs: gold 13, predicted 0"),
        ([(None,)], [(0,)], "one cell differs: gold NULL, predicted 0"),
        ([("O'Hara",)], [("x",)], "one cell differs: gold 'O''Hara', predicted 'x'"),
        ([(5, 13)], [(5, 14)], "one cell differs in gold column c1: gold 13, predicted 14"),
        ([(13, 5)], [(5, 14)], "one cell differs in gold column c0: gold 13, predicted 14"),
        (
            [(1, 3), (2, 4), (3, 5)],
            [(3, 5), (2, 9), (1, 3)],
            "one cell of 3 rows differs in gold column c1: gold 4, predicted 9",
        ),
        ([(1, 2)], [(3, 4)], "the gold row is not in the prediction"),
        ([(1,), (2,)], [(3,), (4,)], "none of the 2 gold rows is in the prediction"),
        ([(1, 1), (2, 2), (3, 3)], [(1, 1), (5, 6), (7, 8)], "2 of 3 gold rows are not in the prediction"),
        ([(1, 1), (2, 2)], [(1, 1), (5, 6)], "1 of 2 gold rows is not in the prediction"),
    ],
)
def test_the_difference_is_said_with_its_values_or_its_counts(gold: list[Row], predicted: list[Row], said: str) -> None:
    assert _reason(gold, predicted) == said


def test_a_wrong_order_is_said_once() -> None:
    said = _reason([(1,), (2,)], [(2,), (1,)], ordered=True)
    assert said == "the rows match, but not their order"


def test_text_is_told_from_the_number_it_spells() -> None:
    assert _reason([(7,)], [("7",)]).startswith("one cell differs: gold 7, predicted '7' (")


def test_a_long_value_is_cut() -> None:
    said = _reason([("x" * 500,)], [(10**5000,)])
    assert len(said) < 200


def test_no_sentence_counts_nothing_and_every_shown_pair_of_values_differs() -> None:
    generator = random.Random(3)
    seen = 0
    for _ in range(3_000):
        width, count = generator.randint(1, 3), generator.randint(1, 4)
        gold = [tuple(generator.choice([0, 1, 2.5, None, "a"]) for _ in range(width)) for _ in range(count)]
        predicted = [tuple(generator.choice([0, 1, 2.5, None, "a"]) for _ in range(width)) for _ in range(count)]
        ours, theirs = (Result(columns=("a", "b", "c")[:width], rows=tuple(rows)) for rows in (gold, predicted))
        found = compare(theirs, ours)
        if found.equal:
            continue
        assert not found.reason.startswith("0 ")
        if found.reason.startswith("one cell"):
            seen += 1
            values = found.reason.split(": gold ")[1].split(" (")[0].split(", predicted ")
            assert values[0] != values[1]
            assert max(found.missing_rows, found.extra_rows) <= 1
    assert seen > 200


def test_no_reason_says_a_number_twice() -> None:
    """The cells hold no digits, so that every number of a sentence is a count; equal counts are left out."""
    generator = random.Random(36)
    words = "abcdefghijklmnopqrstuvwxyz"
    numbered = 0
    for _ in range(600):
        gold = [
            (generator.choice(words), generator.choice("xyz"), generator.choice("uvw"))
            for _ in range(generator.randint(1, 9))
        ]
        width = generator.choice((1, 2, 3, 3, 3))
        predicted = [(*row, "t", "s")[: generator.choice((width, width, 5))] for row in gold]
        widest = min(map(len, predicted))
        predicted = [row[:widest] for row in predicted]
        change = generator.randrange(4)
        if change == 0:
            predicted = predicted[: generator.randint(1, len(predicted))]
        elif change == 1:
            predicted += [generator.choice(predicted) for _ in range(generator.randint(1, 9))]
        elif change == 2:
            predicted += [("new",) * widest] * generator.randint(1, 9)
        ours = Result(columns=("p", "q", "r"), rows=tuple(gold))
        theirs = Result(columns=tuple("pqrst"[:widest]), rows=tuple(predicted))
        found = compare(theirs, ours, ComparisonOptions())
        counts = re.findall(r"\d[\d,]*", "" if found.equal else found.reason)
        assert len(counts) == len(set(counts)), found.reason
        numbered += bool(counts)
    assert numbered > 200
