"""What follows from reviews: for which answers a decision holds, when it is stale, and who prevails."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.runs.reviews.reviewing import case_of, evidence_of, review_of

from assay.model import Case, CaseOptions, Evidence, Leniency, Prediction, Review, Verdict
from assay.model.results.given import GivenResult
from assay.runs.reviews.deciding import decided, needs_execution, reviewed, reviewed_case
from assay.runs.reviews.keys import gold_hash, question_hash

CASE = case_of()
QUERIES = ("SELECT 2", "SELECT 3", "SELECT a FROM t", "SELECT b FROM t", "SELECT 1")
_LENIENT = Leniency(extra_columns="allowed")


def outcome(evidence: Evidence, *reviews: Review, judged: Verdict | None = None, settle: str = "latest") -> str | None:
    found = reviewed(evidence, decided(evidence.case, reviews, settle=settle), judged=judged)
    return None if found is None else found.outcome


@pytest.mark.parametrize(
    ("decision", "verdict", "expected"),
    [
        ("confirm", "correct", "correct"),
        ("confirm", "incorrect", "incorrect"),
        ("accept", "incorrect", "correct"),
        ("reject", "correct", "incorrect"),
        ("unsure", "incorrect", None),
        ("gold_wrong", "correct", "unscored"),
    ],
)
def test_decision_decides_its_answer(decision: str, verdict: str, expected: str | None) -> None:
    answer = evidence_of(CASE, "SELECT 2", verdict)
    assert outcome(answer, review_of(CASE, decision, answer)) == expected


def test_decision_holds_for_the_same_text_and_the_same_result() -> None:
    answer = evidence_of(CASE, "SELECT a FROM t", result="h1")
    accepted = review_of(CASE, "accept", answer)
    assert outcome(evidence_of(CASE, "select a  from t;"), accepted) == "correct"
    assert outcome(evidence_of(CASE, "SELECT t.a FROM t", result="h1"), accepted) == "correct"
    other = reviewed(evidence_of(CASE, "SELECT b FROM t", result="h2"), decided(CASE, [accepted]))
    assert other.pending  # it has to be scored by the accepted query, too
    assert outcome(evidence_of(CASE, "SELECT 'A' FROM t"), review_of(CASE, "confirm", answer)) is None


def test_confirmed_match_holds_for_matches_but_a_rejected_one_for_its_text_alone() -> None:
    match = evidence_of(CASE, "SELECT 1 + 0", "correct")
    other = evidence_of(CASE, "SELECT 2 - 1", "correct")
    assert outcome(other, review_of(CASE, "confirm", match)) == "correct"
    assert outcome(other, review_of(CASE, "reject", match)) is None
    by_leniency = evidence_of(CASE, "SELECT 1, 2", "correct", flags=frozenset({"lenient"}))
    assert outcome(by_leniency, review_of(CASE, "confirm", match)) is None


@given(
    decision=st.sampled_from(["confirm", "accept", "reject"]),
    queries=st.lists(st.sampled_from(QUERIES), min_size=2, max_size=2, unique=True),
    verdicts=st.lists(st.sampled_from(["correct", "incorrect"]), min_size=2, max_size=2),
    results=st.lists(st.sampled_from(["h1", "h2"]), min_size=2, max_size=2),
)
def test_decision_never_leaks_to_an_unequal_answer(
    decision: str, queries: list[str], verdicts: list[str], results: list[str]
) -> None:
    first, second = (
        evidence_of(CASE, query, verdict, result=None if verdict == "correct" else result)
        for query, verdict, result in zip(queries, verdicts, results, strict=True)
    )
    found = reviewed(second, decided(CASE, [review_of(CASE, decision, first)]))
    equal = verdicts[0] == verdicts[1] and (verdicts[0] == "correct" or results[0] == results[1])
    if not equal and found is not None:
        assert found.pending  # only as far as an accepted query makes it right
        assert decision == "accept"
    if equal and decision == "reject" and verdicts[0] == "correct":
        assert found is None


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"question": "How many, then?"}, "question"),
        ({"context": "a hint"}, "question"),
        ({"golds": ("SELECT 9",)}, "gold"),
        ({"options": CaseOptions(columns="strict")}, "gold"),
        ({"question": "?", "golds": ("SELECT 9",)}, "question and gold"),
    ],
)
@pytest.mark.parametrize("decision", ["confirm", "accept", "reject", "gold_wrong", "ambiguous", "unanswerable"])
def test_stale_review_has_no_effect(changed: dict[str, Any], what: str, decision: str) -> None:
    answer = evidence_of(CASE, "SELECT 2")
    review = review_of(CASE, decision, answer, gold="SELECT 5" if decision == "gold_wrong" else None)
    now = replace(CASE, **changed)
    found = decided(now, [review])
    assert [(stale.id, why) for stale, why in found.stale] == [(review.id, what)]
    assert reviewed_case(now, found) is now
    assert reviewed(replace(answer, case=now), found) is None


def test_database_counts_only_if_both_are_known() -> None:
    answer = evidence_of(CASE, "SELECT 2")
    review = review_of(CASE, "accept", answer, database_hash="d1")
    assert decided(CASE, [review], database_hash="d2").stale == ((review, "database"),)
    assert not decided(CASE, [review]).stale
    assert not decided(CASE, [replace(review, database_hash="")], database_hash="d2").stale


def test_correction_that_the_question_set_has_by_now_is_done() -> None:
    answer = evidence_of(CASE, "SELECT 2")
    corrected = review_of(CASE, "gold_wrong", answer, gold="SELECT 5")
    accepted = review_of(CASE, "accept", answer)
    found = decided(replace(CASE, golds=("select 5;",)), [corrected, accepted])
    assert found.done == (corrected,)
    assert found.stale == ((accepted, "gold"),)
    declines = replace(CASE, expects="decline")
    assert decided(declines, [review_of(CASE, "unanswerable", answer)]).done


def test_undo_takes_a_review_back() -> None:
    answer = evidence_of(CASE, "SELECT 2")
    review = review_of(CASE, "accept", answer)
    assert outcome(answer, review, review_of(CASE, "undo", undoes=review.id)) is None


@given(
    votes=st.lists(
        st.tuples(
            st.sampled_from("ABCD"), st.sampled_from(["confirm", "accept", "gold_wrong", "unsure"]), st.integers(0, 3)
        ),
        max_size=7,
    ),
    seed=st.integers(0, 9),
)
def test_order_of_lines_does_not_matter_to_a_majority(votes: list[tuple[str, str, int]], seed: int) -> None:
    answer = evidence_of(CASE, "SELECT 2")
    reviews = [
        review_of(CASE, decision, answer, reviewer=name, at=f"2026-01-01T00:00:0{second}Z")
        for name, decision, second in votes
    ]
    shuffled = random.Random(seed).sample(reviews, len(reviews))
    first, second = (decided(CASE, order, settle="majority") for order in (reviews, shuffled))
    assert first.question == second.question
    judged = Verdict(outcome="incorrect", reason="by the corrected case")
    one, other = (reviewed(answer, found, judged=judged) for found in (first, second))
    assert (one and one.outcome) == (other and other.outcome)


def test_rules_settle_two_reviewers_who_disagree() -> None:
    answer = evidence_of(CASE, "SELECT 2")
    ana = review_of(CASE, "accept", answer, reviewer="Ana", at="2026-01-01T00:00:00Z")
    ben = review_of(CASE, "confirm", answer, reviewer="Ben", at="2026-01-02T00:00:00Z")
    cem = review_of(CASE, "confirm", answer, reviewer="Cem", at="2026-01-01T00:00:00Z")
    assert outcome(answer, ana, ben) == "incorrect"
    assert outcome(answer, ben, ana) == "incorrect"  # the time counts, not the line
    assert outcome(answer, ana, ben, settle="Ana") == "correct"
    assert outcome(answer, ana, ben, cem, settle="majority") == "incorrect"
    assert decided(CASE, [ana, ben]).conflicts == ((ana, ben),)
    assert not decided(CASE, [ben, cem]).conflicts
    assert outcome(answer, ben, settle="Ana") == "incorrect"  # Ana said nothing: the latest counts


def test_case_that_reviews_describe() -> None:
    answer = evidence_of(CASE, "SELECT 2")

    def corrected(*reviews: Review, case: Case = CASE) -> Case | None:
        return reviewed_case(case, decided(case, reviews))

    accepted = review_of(CASE, "accept", answer)
    assert corrected() is CASE
    assert corrected(review_of(CASE, "confirm", answer)) is CASE
    assert corrected(accepted) == replace(CASE, golds=("SELECT 1", "SELECT 2"))
    assert corrected(review_of(CASE, "gold_wrong", gold="SELECT 5")) == replace(CASE, golds=("SELECT 5",))
    both = corrected(accepted, review_of(CASE, "gold_wrong", gold="SELECT 5"))
    assert both == replace(CASE, golds=("SELECT 5", "SELECT 2"))
    assert corrected(review_of(CASE, "gold_wrong")) is None
    assert corrected(accepted, review_of(CASE, "gold_wrong")) == replace(CASE, golds=("SELECT 2",))
    assert corrected(review_of(CASE, "unanswerable")) == replace(CASE, expects="decline")
    assert corrected(review_of(CASE, "ambiguous")) == replace(CASE, expects="clarify")
    lenient = corrected(review_of(CASE, "ambiguous", leniency=_LENIENT))
    assert lenient.options.leniency == _LENIENT
    assert (gold_hash(lenient) == gold_hash(CASE), question_hash(lenient) == question_hash(CASE)) == (False, True)


def test_conditions_on_columns_stay_with_their_gold() -> None:
    given = GivenResult.of([(1, 2)])
    case = case_of(results=(given,), options=CaseOptions(condition_columns=((0,), (1,))))
    answer = evidence_of(case, "SELECT 2")
    found = reviewed_case(case, decided(case, [review_of(case, "accept", answer)]))
    assert [found.counting(index) for index in range(3)] == [(0,), (), (1,)]


def test_answer_is_scored_by_the_corrected_case_once() -> None:
    answer = evidence_of(CASE, "SELECT 2")
    found = decided(CASE, [review_of(CASE, "gold_wrong", gold="SELECT 5")])
    pending = reviewed(answer, found)
    assert (pending.outcome, pending.pending) == ("unscored", True)
    assert needs_execution(answer, found) == replace(CASE, golds=("SELECT 5",))
    judged = reviewed(answer, found, judged=Verdict(outcome="correct", reason="equal"))
    assert (judged.outcome, judged.pending) == ("correct", False)
    kept = replace(answer, reviewed=judged)
    assert reviewed(kept, found) == judged
    other = decided(CASE, [review_of(CASE, "gold_wrong", gold="SELECT 6")])
    again = reviewed(kept, other)
    assert again.pending


def test_later_decision_about_the_question_makes_a_confirmed_verdict_void() -> None:
    answer = evidence_of(CASE, "SELECT 2", "correct")
    confirmed = review_of(CASE, "confirm", answer, at="2026-01-01T00:00:00Z")
    wrong = review_of(CASE, "gold_wrong", answer, gold="SELECT 5", at="2026-01-02T00:00:00Z")
    judged = Verdict(outcome="incorrect", reason="other rows")
    assert outcome(answer, confirmed, wrong, judged=judged) == "incorrect"
    again = review_of(CASE, "confirm", answer, outcome="correct", at="2026-01-03T00:00:00Z")
    assert outcome(answer, wrong, again, judged=judged) == "correct"


@pytest.mark.parametrize("given", [{"result": GivenResult.of([(1,)])}, {"decision": "decline"}, {}])
def test_answers_without_a_query_can_be_reviewed(given: dict[str, Any]) -> None:
    answer = replace(evidence_of(CASE, None), prediction=Prediction(case_id="q1", **given))
    review = review_of(CASE, "accept", answer)
    assert outcome(answer, review) == "correct"
    assert outcome(evidence_of(CASE, "SELECT 2"), review) is None
    assert decided(CASE, [review]).accepted == ()


def test_times_are_compared_as_moments() -> None:
    answer = evidence_of(CASE, "SELECT 2")
    early = review_of(CASE, "accept", answer, reviewer="Ana", at="2026-01-01T12:00:00+09:00")
    late = review_of(CASE, "confirm", answer, reviewer="Ben", at="2026-01-01T04:00:00Z")
    unknown = review_of(CASE, "accept", answer, reviewer="Cem", at="last Friday")
    assert outcome(answer, late, early, unknown) == "incorrect"


def test_accepted_query_answers_a_question_that_was_said_to_have_no_answer() -> None:
    declined = case_of((), expects="decline")
    answer = evidence_of(declined, "SELECT 2")
    found = decided(declined, [review_of(declined, "accept", answer)])
    assert reviewed_case(declined, found) == replace(declined, golds=("SELECT 2",), expects="answer")
    assert needs_execution(evidence_of(declined, None, "correct"), found) is not None


@pytest.mark.parametrize(("decision", "right"), [("unanswerable", "decline"), ("ambiguous", "clarify")])
def test_question_that_must_not_be_answered_needs_nothing_executed(decision: str, right: str) -> None:
    found = decided(CASE, [review_of(CASE, decision)])
    for did in ("decline", "clarify", None):
        prediction = Prediction(case_id="q1", query="SELECT 2" if did is None else None, decision=did)  # type: ignore[arg-type]
        result = reviewed(replace(evidence_of(CASE, None), prediction=prediction), found)
        assert (result.outcome, result.pending) == ("correct" if did == right else "incorrect", False)


def test_answer_that_was_seen_beside_the_corrected_gold_is_not_pending() -> None:
    answer = evidence_of(CASE, "SELECT 2", result="h1")
    found = decided(CASE, [review_of(CASE, "gold_wrong", answer, gold="SELECT 5", outcome="incorrect")])
    answers = (answer, evidence_of(CASE, "SELECT 1 + 1", result="h1"), evidence_of(CASE, "SELECT 3"))
    seen, *others = (reviewed(one, found) for one in answers)
    outcomes = [(one.outcome, one.pending) for one in (seen, *others)]
    assert outcomes == [("incorrect", False), ("incorrect", False), ("unscored", True)]
    assert seen.judged is None  # the next run scores it all the same


@given(
    decision=st.sampled_from(["accept", "reject", "confirm"]),
    corrected=st.sampled_from(["correct", "incorrect"]),
    by_text=st.booleans(),
    reviewers=st.lists(st.sampled_from(["Ana", "Ben"]), min_size=2, max_size=2),
    later=st.booleans(),
)
def test_who_corrects_the_question_later_prevails_for_an_equal_answer(
    decision: str, corrected: str, by_text: bool, reviewers: list[str], later: bool
) -> None:
    """What the person was told when they decided is what the answer is from then on."""
    first = evidence_of(CASE, "SELECT 2", result="h1")
    equal = evidence_of(CASE, "select  2;" if by_text else "SELECT 1 + 1", result="h1")
    about = review_of(CASE, decision, first, reviewer=reviewers[0], at="2026-01-02T00:00:00Z")
    at = "2026-01-03T00:00:00Z" if later else "2026-01-01T00:00:00Z"
    question = review_of(CASE, "gold_wrong", equal, gold="SELECT 5", outcome=corrected, reviewer=reviewers[1], at=at)
    by_decision = {"accept": "correct", "reject": "incorrect", "confirm": "incorrect"}[decision]
    expected = corrected if later else by_decision
    for answer in (first, equal):
        judged = Verdict(outcome=corrected, reason="by the corrected gold query")  # type: ignore[arg-type]
        assert outcome(answer, about, question, judged=judged) == expected
