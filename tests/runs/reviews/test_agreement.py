"""Reviewers compared with one another, and their conflicts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.runs.reviews.reviewing import case_of, evidence_of, review_of

from assay.model import Case, Review
from assay.runs.reviews.agreement import agreement
from assay.runs.reviews.collection import Reviews

_DECISION = {"correct": "accept", "incorrect": "reject"}


def _said(case: Case, reviewer: str, outcome: str, *, at: int = 0, query: str = "SELECT 2", **fields: object) -> Review:
    answer = evidence_of(case, query)
    time = f"2026-01-01T00:{at:02d}:00Z"
    return review_of(case, _DECISION[outcome], answer, reviewer=reviewer, at=time, outcome=outcome, **fields)


def _both(counts: tuple[int, int, int, int]) -> Iterator[Review]:
    outcomes = [(one, two) for one in _DECISION for two in _DECISION]
    number = 0
    for count, (one, two) in zip(counts, outcomes, strict=True):
        for _ in range(count):
            number += 1
            case = case_of(id=f"q{number}")
            yield from (_said(case, "Ana", one), _said(case, "Ben", two, at=1))


def test_two_reviewers_are_compared_by_table_rate_and_kappa() -> None:
    found = agreement(_both((38, 4, 3, 5)))
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.outcomes) == ("Ana", "Ben", ("correct", "incorrect"))
    assert pair.table == ((38, 4), (3, 5))
    assert (pair.agreed.numerator, pair.agreed.n) == (43, 50)
    assert pair.agreed.low == pytest.approx(0.7381, abs=1e-4)  # Wilson's
    assert [round(number, 3) for number in (pair.kappa.value, pair.kappa.low, pair.kappa.high)] == [0.504, 0.172, 0.764]
    assert found.reviewers == (("Ana", 50), ("Ben", 50))
    assert len(found.conflicts) == 7
    assert found.fleiss is None


def test_three_reviewers_have_fleiss_kappa_over_the_answers_of_all_three() -> None:
    reviews = list(_both((10, 3, 2, 10)))
    reviews += [_said(case_of(id=f"q{number}"), "Cleo", "correct", at=2) for number in range(1, 21)]
    found = agreement(reviews)
    assert found.fleiss is not None
    assert found.fleiss_answers == 20
    assert [(pair.first, pair.second) for pair in found.pairs] == [("Ana", "Ben"), ("Ana", "Cleo"), ("Ben", "Cleo")]


def test_only_equal_answers_to_the_same_question_and_gold_are_compared() -> None:
    case, changed, corrected = case_of(), case_of(question="How few?"), case_of(golds=("SELECT 7",))
    ana = _said(case, "Ana", "correct")
    assert not agreement([ana, _said(changed, "Ben", "incorrect")]).pairs
    assert not agreement([ana, _said(corrected, "Ben", "incorrect")]).pairs
    assert not agreement([ana, _said(case, "Ben", "incorrect", query="SELECT 3")]).pairs
    spelt = _said(case, "Ben", "incorrect", query="select  2 ;")
    assert agreement([ana, spelt]).pairs[0].table == ((0, 1), (0, 0))
    equal = [review_of(case, "accept", evidence_of(case, f"SELECT {n}", result="r1"), reviewer=name, outcome="correct")
             for n, name in enumerate(("Ana", "Ben"))]  # fmt: skip
    assert agreement(equal).pairs[0].table == ((1, 0), (0, 0))


def test_the_latest_decision_of_a_person_counts_and_none_that_was_taken_back() -> None:
    case = case_of()
    first, second = _said(case, "Ana", "incorrect"), _said(case, "Ana", "correct", at=1)
    ben = _said(case, "Ben", "correct", at=2)
    assert agreement([first, second, ben]).pairs[0].table == ((1, 0), (0, 0))
    undo = review_of(case, "undo", reviewer="Ana", undoes=second.id)
    assert agreement([first, second, undo, ben]).pairs[0].table == ((0, 0), (1, 0))
    unsure = review_of(case, "unsure", evidence_of(case, "SELECT 2"), reviewer="Ben", at="2026-01-01T00:05:00Z")
    assert agreement([second, unsure]).pairs == ()


def test_a_question_without_a_usable_gold_is_a_third_category() -> None:
    case = case_of()
    wrong = review_of(case, "gold_wrong", evidence_of(case, "SELECT 2"), reviewer="Ben", outcome="unscored")
    (pair,) = agreement([_said(case, "Ana", "correct"), wrong]).pairs
    assert pair.outcomes == ("correct", "incorrect", "unscored")
    assert pair.table == ((0, 0, 1), (0, 0, 0), (0, 0, 0))


def test_conflicts_name_who_said_what_and_what_counts() -> None:
    case = case_of()
    ana, ben, cleo = (
        _said(case, name, outcome, at=at, note=f"{name}'s note")
        for at, (name, outcome) in enumerate((("Ana", "correct"), ("Ben", "correct"), ("Cleo", "incorrect")))
    )
    for settle, reviewer in (("latest", "Cleo"), ("majority", "Ben"), ("Ana", "Ana")):
        (conflict,) = Reviews([ana, ben, cleo], settle=settle).agreement().conflicts
        assert conflict.case_id == "q1"
        assert not conflict.about_question
        assert [review.reviewer for review in conflict.reviews] == ["Ana", "Ben", "Cleo"]
        assert conflict.settled.reviewer == reviewer
    (tied,) = agreement([ana, cleo], settle="majority").conflicts
    assert tied.settled is None


def test_people_may_disagree_about_a_question_by_different_answers() -> None:
    case = case_of()
    ana = review_of(case, "gold_wrong", evidence_of(case, "SELECT 2"), reviewer="Ana", gold="SELECT 9")
    ben = review_of(case, "unanswerable", evidence_of(case, "SELECT 3"), reviewer="Ben")
    (conflict,) = agreement([ana, ben]).conflicts
    assert conflict.about_question
    assert conflict.settled is not None
    assert agreement([ana]).conflicts == ()


def test_nobody_and_one_person_agree_with_nobody() -> None:
    assert agreement([]).everyone.n == 0
    alone = agreement([_said(case_of(), "Ana", "correct")])
    assert (alone.reviewers, alone.pairs, alone.everyone.value) == ((("Ana", 1),), (), None)
