"""Which cases of two runs are the same, whatever they are called."""

from __future__ import annotations

from typing import Any

from assay.model import CaseOptions, ChangedCase
from assay.runs.compare.same_cases import Pairing, pair_cases
from assay.runs.store.compared_cases import CaseRecord, Content


def case(
    name: str, question: str, *, gold: str = "SELECT 1", database: str | None = "shop", query: str = "", **more: Any
) -> CaseRecord:
    content = Content(question, (gold,), database, more.get("context"), CaseOptions(ordered=more.get("ordered")))
    outcome = {"right": 1, "wrong": 0, "unscored": 0, "values": (1.0,), "reason": "", "failing": ()}
    difficulty = more.get("difficulty")
    return CaseRecord(case_id=name, content=content, difficulty=difficulty, tags=(), query=query, **outcome)


def ids(pairing: Pairing) -> list[tuple[str, str]]:
    return [(old.case_id, new.case_id) for old, new in pairing.pairs]


def test_cases_of_one_id_and_content_are_one_case_in_the_candidates_order() -> None:
    pairing = pair_cases([case("1", "a"), case("2", "b")], [case("2", "b", difficulty="hard"), case("1", "a")])
    assert ids(pairing) == [("2", "2"), ("1", "1")]
    assert pairing.matching.paired == 2
    assert not pairing.matching.renamed


def test_ids_that_moved_on_by_one_are_seen_through() -> None:
    old = [case(str(place), f"question {place}") for place in range(5)]
    new = [case(str(place - 1), f"question {place}") for place in range(1, 5)]
    pairing = pair_cases(old, new)
    assert ids(pairing) == [("1", "0"), ("2", "1"), ("3", "2"), ("4", "3")]
    assert pairing.matching.renamed == tuple(ids(pairing))
    assert pairing.matching.removed == ("0",)
    assert not pairing.matching.changed
    assert not pairing.matching.added


def test_a_changed_case_is_named_with_its_parts_and_paired_with_nothing() -> None:
    old = [case("1", "a"), case("2", "b"), case("3", "c"), case("4", "d")]
    new = [
        case("1", "a", gold="SELECT 2"),
        case("2", "b", context="in euros", ordered=True),
        case("3", "what?", database="bank"),
        case("5", "d", gold="SELECT 3"),
    ]
    pairing = pair_cases(old, new)
    assert not pairing.pairs
    assert pairing.matching.changed == (
        ChangedCase(baseline_id="1", candidate_id="1", parts=("gold",)),
        ChangedCase(baseline_id="2", candidate_id="2", parts=("context", "options")),
        ChangedCase(baseline_id="3", candidate_id="3", parts=("question", "database")),
        ChangedCase(baseline_id="4", candidate_id="5", parts=("gold",)),
    )
    assert not pairing.matching.added
    assert not pairing.matching.removed


def test_a_question_that_moved_and_changed_is_not_mistaken_for_the_one_that_has_its_id_now() -> None:
    old = [case("1", "a"), case("2", "b")]
    new = [case("0", "a", gold="SELECT 2"), case("1", "b", gold="SELECT 2")]
    assert [(one.baseline_id, one.candidate_id, one.parts) for one in pair_cases(old, new).matching.changed] == [
        ("1", "0", ("gold",)),
        ("2", "1", ("gold",)),
    ]


def test_which_of_several_equal_cases_became_which_is_not_guessed() -> None:
    pairing = pair_cases([case("1", "a"), case("2", "a")], [case("3", "a"), case("4", "a")])
    assert not pairing.pairs
    assert pairing.matching.added == ("3", "4")
    assert pairing.matching.removed == ("1", "2")


def test_equal_cases_keep_to_their_own_ids() -> None:
    old = [case("1", "a", query="one"), case("2", "a", query="two")]
    pairing = pair_cases(old, [case("2", "a"), case("1", "a"), case("3", "a")])
    assert [(old.query, new.case_id) for old, new in pairing.pairs] == [("two", "2"), ("one", "1")]
    assert pairing.matching.added == ("3",)


def test_one_question_on_two_databases_is_two_cases() -> None:
    old = [case("1", "a", database="shop"), case("2", "a", database="bank")]
    pairing = pair_cases(old, [case("x", "a", database="bank")])
    assert ids(pairing) == [("2", "x")]
    assert pairing.matching.removed == ("1",)
