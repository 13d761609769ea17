"""The rules that look at several cases, or at what systems answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from golds import database, found_across, one_case

from assay.api.linting import lint
from assay.linting.apply import OtherAnswer
from assay.linting.gold import GoldDatabase


def test_one_question_with_two_answers_is_found(songs: GoldDatabase) -> None:
    first = one_case("SELECT COUNT(*) FROM singer", question="How many singers?", name="a")
    second = one_case("SELECT COUNT(age) FROM singer", question="how many  singers", name="b")
    (found,) = found_across("duplicate-question", [first, second], songs)
    assert (found.case_id, found.severity) == ("b", "error")
    assert "Case a" in found.evidence


@pytest.mark.parametrize(
    ("question", "gold", "evidence"),
    [
        ("How many singers?", "SELECT COUNT(id) FROM singer", None),  # another text, the same result
        ("How many concerts?", "SELECT COUNT(age) FROM singer", None),
        ("How many singers?", "SELECT COUNT(age) FROM singer", "only those of known age count"),
        ("How many singers?", "SELECT COUNT(age) FROM singer -- assay: ignore duplicate-question", None),
    ],
)
def test_what_is_no_contradiction_is_left_alone(
    question: str, gold: str, evidence: str | None, songs: GoldDatabase
) -> None:
    first = one_case("SELECT COUNT(*) FROM singer", question="How many singers?", name="a")
    second = one_case(gold, question=question, evidence=evidence, name="b")
    assert not found_across("duplicate-question", [first, second], songs)


def test_without_a_database_texts_are_compared() -> None:
    first = one_case("SELECT COUNT(*) FROM singer", question="How many singers?", name="a")
    same = one_case("select  count(*) from singer;", question="How many singers?", name="b")
    other = one_case("SELECT COUNT(age) FROM singer", question="How many singers?", name="c")
    (found,) = found_across("duplicate-question", [first, same, other], None)
    assert (found.case_id, found.severity) == ("c", "warning")


def test_one_gold_under_different_numbers_is_found(songs: GoldDatabase) -> None:
    gold = "SELECT name FROM singer WHERE age > 30"
    cases = [
        one_case(gold, question="Singers over 30", name="a"),
        one_case(gold, question="Singers over 40", name="b"),
        one_case(gold, question="Singers of at least 31", name="c"),
        one_case(gold, question="Singers above thirty", name="d"),
    ]
    assert [found.case_id for found in found_across("same-gold", cases, songs)] == ["b"]


def test_golds_that_disagree_are_found(songs: GoldDatabase) -> None:
    rows = one_case(["SELECT COUNT(*) FROM singer", "SELECT COUNT(age) FROM singer"], name="a")
    columns = one_case(["SELECT name FROM singer", "SELECT name, age FROM singer"], name="b")
    order = one_case(["SELECT name, age FROM singer", "SELECT age, name FROM singer ORDER BY 1"], name="c")
    broken = one_case(["SELECT name FROM singer", "SELECT nam FROM singer"], name="d")
    found = found_across("golds-disagree", [rows, columns, order, broken], songs)
    assert [(one.case_id, one.gold, one.severity) for one in found] == [("a", 1, "warning"), ("b", 1, "note")]


def _others(*queries: str) -> list[OtherAnswer]:
    return [OtherAnswer(run=f"run {number}", query=query) for number, query in enumerate(queries)]


def test_systems_that_agree_against_gold_are_found(songs: GoldDatabase) -> None:
    gold, other, third = "SELECT COUNT(*) FROM singer", "SELECT COUNT(age) FROM singer", "SELECT 77"
    cases = [one_case(gold, name=name) for name in ("agree", "split", "right", "alone", "broken")]
    found = found_across(
        "systems-agree",
        cases,
        songs,
        agree=_others(other, other, gold),
        split=_others(other, third, gold),
        right=_others(gold, gold, other),
        alone=_others(other),
        broken=_others("SELECT nam FROM singer", "SELECT nam FROM singer"),
    )
    assert [one.case_id for one in found] == ["agree"]
    assert "2 of 3 runs" in found[0].evidence


def test_golds_that_another_database_parts_are_found(tmp_path: Path) -> None:
    """They agree on the data: only the worker, which can make other databases, tells them apart."""
    with database(tmp_path):
        pass  # made
    found = lint(
        [
            one_case(["SELECT name FROM singer", "SELECT DISTINCT name FROM singer"], name="luck"),
            one_case(["SELECT id FROM singer", "SELECT DISTINCT id FROM singer"], name="alike"),
            one_case(["SELECT name FROM singer", "SELECT age FROM singer"], name="apart"),
            one_case(
                ["SELECT name FROM singer", "SELECT DISTINCT name FROM singer -- assay: ignore golds-parted"],
                name="quiet",
            ),
        ],
        databases=f"sqlite:///{tmp_path / 'songs.sqlite'}",
        only=["golds-parted"],
        workers=1,
    ).findings
    assert [(one.case_id, one.gold, one.rule) for one in found] == [("luck", 1, "golds-parted")]
    assert "Gold queries 1 and 2 agree here" in found[0].evidence
