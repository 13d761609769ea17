"""What gold allows: ties in any order, and any choice where a LIMIT cuts a tie."""

from __future__ import annotations

from itertools import combinations
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.comparison.answer import Answer, Segment
from assay.comparison.compare import compare
from assay.errors import UsageError
from assay.model import Result, Row


def _answer(rows: list[Row], ranks: list[object], *, limit: int, offset: int = 0) -> Answer:
    gold = Result.of(rows[offset : offset + limit])
    answer = Answer.ranked(gold, rows, ranks, offset=offset, ordered=True)
    assert answer is not None
    return answer


def _allows(answer: Answer, *rows: Row) -> bool:
    return compare(Result.of(rows), answer).equal


def test_rows_that_tie_may_come_in_any_order_and_others_may_not() -> None:
    answer = _answer([("a",), ("b",), ("c",)], [1, 1, 2], limit=3)
    assert not answer.ambiguous
    assert _allows(answer, ("b",), ("a",), ("c",))
    assert not _allows(answer, ("a",), ("c",), ("b",))


def test_a_cut_through_a_tie_allows_every_choice() -> None:
    answer = _answer([("a",), ("b",), ("c",), ("d",)], [1, 2, 2, 2], limit=2)
    assert answer.ambiguous
    assert _allows(answer, ("a",), ("b",))
    assert _allows(answer, ("a",), ("d",))
    assert not _allows(answer, ("b",), ("c",))
    assert not _allows(answer, ("d",), ("a",))
    assert not _allows(answer, ("a",), ("x",))
    assert not _allows(answer, ("a",), ("b",), ("c",))


def test_a_choice_takes_each_row_at_most_as_often_as_it_stands_there() -> None:
    answer = _answer([("a",), ("a",), ("b",), ("c",)], [1, 1, 1, 1], limit=3)
    assert _allows(answer, ("a",), ("a",), ("c",))
    assert not _allows(answer, ("b",), ("b",), ("c",))


def test_offset_cuts_at_the_front_too() -> None:
    answer = _answer([("a",), ("b",), ("c",), ("d",), ("e",)], [1, 1, 1, 2, 3], limit=2, offset=2)
    assert _allows(answer, ("a",), ("d",))
    assert _allows(answer, ("b",), ("d",))
    assert not _allows(answer, ("a",), ("b",))
    assert not _allows(answer, ("a",), ("e",))


def test_columns_may_be_permuted_in_an_ambiguous_answer() -> None:
    answer = _answer([(1, "a"), (2, "b"), (3, "c")], [1, 1, 1], limit=2)
    assert _allows(answer, ("c", 3), ("a", 1))
    assert not _allows(answer, ("c", 1), ("a", 3))


def test_a_tie_among_equal_rows_is_no_ambiguity() -> None:
    assert not _answer([("a",), ("a",), ("a",)], [1, 1, 1], limit=2).ambiguous


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=2), st.data())
def test_what_gold_leaves_open_is_counted_as_by_trying_every_choice(tied: list[list[int]], data: st.DataObject) -> None:
    takes = [data.draw(st.integers(1, len(numbers))) for numbers in tied]
    cut = [
        Segment(rows=tuple((number,) for number in numbers), take=take)
        for numbers, take in zip(tied, takes, strict=True)
    ]
    bags = [
        {tuple(sorted(chosen)) for chosen in combinations(numbers, take)}
        for numbers, take in zip(tied, takes, strict=True)
    ]
    open_ones = [place for place, bag in enumerate(bags) if len(bag) > 1]
    found = Answer(result=Result.of([]), segments=tuple(cut), ordered=True).ambiguity
    if not open_ones:
        assert found is None
        return
    assert found.choices == prod(len(bags[place]) for place in open_ones)
    assert found.taken_rows == sum(takes[place] for place in open_ones)
    assert found.tied_rows == sum(len(tied[place]) for place in open_ones)


def test_floats_in_an_ambiguous_answer_are_compared_within_tolerance() -> None:
    answer = _answer([(0.1,), (0.3,), (0.5,)], [1, 1, 1], limit=1)
    assert _allows(answer, (0.1 + 0.2,))


def test_a_probe_with_too_few_rows_is_not_believed() -> None:
    assert Answer.ranked(Result.of([(1,), (2,)]), [(1,)], [1], offset=0, ordered=True) is None


def test_a_segment_cannot_give_more_than_it_has() -> None:
    with pytest.raises(UsageError, match="cannot provide 2"):
        Segment(rows=((1,),), take=2)


def test_a_column_without_a_counterpart_is_the_reason_where_all_else_is_alike() -> None:
    gold = Result.of([("a", 1), ("b", 1), ("c", 2)], columns=["name", "n"])
    predicted = Result.of([(1, 7), (1, 8), (2, 9)], columns=["n", "id"])
    compared = compare(predicted, gold)
    assert (compared.equal, compared.column_mapping, compared.missing_rows) == (False, (None, 0), 0)
    assert compared.reason == "1 of 2 gold columns has no counterpart in the prediction"
