"""What people decide about a run's answers, as a review desk shows and writes it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

import assay
from assay.errors import InputError, UsageError
from assay.model import Evidence, Leniency, Prediction, Run, Verdict
from assay.runs.reviews.desk import UNREVIEWED, ReviewDesk
from assay.runs.reviews.file import append_reviews, read_reviews

CASES = [
    {"id": "right", "question": "How many?", "gold_sql": "SELECT 1"},
    {"id": "wrong", "question": "Which?", "gold_sql": "SELECT 2"},
    {"id": "other", "question": "What?", "gold_sql": "SELECT 3"},
]
ANSWERS = {"right": "SELECT 1", "wrong": "SELECT 9", "other": "SELECT 4"}


@pytest.fixture(scope="module")
def run() -> Run:
    return assay.evaluate(CASES, ANSWERS, databases="sqlite://", workers=1, name="first").record


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "reviews.jsonl"


@pytest.fixture
def desk(run: Run, file: Path) -> ReviewDesk:
    return ReviewDesk(run, file, name="first")


def decide(desk: ReviewDesk, place: int, decision: str, reviewer: str = "Ana", **more: object) -> None:
    evidence = desk.run.evidence[place]
    draft = desk.draft(evidence, decision, reviewer=reviewer, place=place, **more)  # type: ignore[arg-type]
    desk.write(place, desk.scored(evidence, draft, lambda *_: Verdict(outcome="correct", reason="it matches")))


def test_a_decision_is_on_the_disk_and_known_at_once(run: Run, desk: ReviewDesk, file: Path) -> None:
    assert (desk.status(1), desk.done) == (UNREVIEWED, 0)
    decide(desk, 1, "accept", note="  as good  ".strip())
    [review] = read_reviews(file)
    assert (review.case_id, review.decision, review.outcome, review.verdict) == (
        "wrong",
        "accept",
        "correct",
        "incorrect",
    )
    assert (review.query, review.note, review.reviewer, review.run) == ("SELECT 9", "as good", "Ana", "first")
    status = desk.status(1)
    assert (status.state, status.outcome, status.by, desk.done) == ("reviewed", "correct", ("Ana",), 1)
    assert ReviewDesk(run, file, name="again").status(1) == status


@pytest.mark.parametrize(
    ("place", "decision", "more", "outcome"),
    [
        (0, "confirm", {}, "correct"),
        (1, "confirm", {}, "incorrect"),
        (0, "reject", {}, "incorrect"),
        (1, "accept", {}, "correct"),
        (1, "gold_wrong", {}, "unscored"),
        (1, "gold_wrong", {"gold": "SELECT 9"}, "correct"),
        (1, "ambiguous", {"leniency": Leniency(duplicates="ignored")}, "correct"),
        (1, "unsure", {}, None),
    ],
)
def test_each_decision_says_what_the_answer_is_by_it(
    desk: ReviewDesk, file: Path, place: int, decision: str, more: dict[str, object], outcome: str | None
) -> None:
    decide(desk, place, decision, **more)
    [review] = read_reviews(file)
    assert review.outcome == outcome
    assert desk.status(place).outcome == outcome
    assert desk.status(place).state == ("unsure" if decision == "unsure" else "reviewed")


def test_who_changes_their_mind_leaves_one_decision_in_force(desk: ReviewDesk) -> None:
    for decision in ("confirm", "accept", "gold_wrong", "unanswerable", "confirm"):
        decide(desk, 1, decision)
        active = [one.review.decision for one in desk.status(1).reviews if one.holds == "in force"]
        assert active == [decision]
    assert desk.status(1).outcome == "incorrect"
    assert not desk.status(1).conflict


def test_people_who_disagree_are_a_conflict_until_one_gives_way(desk: ReviewDesk) -> None:
    decide(desk, 1, "accept", "Ana")
    decide(desk, 1, "confirm", "Ben")
    assert desk.status(1).conflict
    assert set(desk.status(1).by) == {"Ana", "Ben"}
    decide(desk, 1, "accept", "Ben")
    assert not desk.status(1).conflict


def test_a_person_takes_back_only_what_they_decided(desk: ReviewDesk, file: Path) -> None:
    decide(desk, 1, "accept", "Ana")
    with pytest.raises(InputError, match="no review by Ben"):
        desk.take_back(1, reviewer="Ben")
    own = desk.status(1).reviews[0].review.id
    with pytest.raises(InputError, match="no review by Ben"):
        desk.take_back(1, reviewer="Ben", review_id=own)
    assert desk.take_back(1, reviewer="Ana").id == own
    assert desk.status(1) == UNREVIEWED
    assert [review.decision for review in read_reviews(file)] == ["accept", "undo"]
    with pytest.raises(InputError, match="no review by Ana"):
        desk.take_back(1, reviewer="Ana")


def test_a_decision_about_another_answer_is_listed_and_does_not_count(run: Run, file: Path) -> None:
    decide(ReviewDesk(run, file, name="first"), 1, "accept")
    evidence = [
        replace(item, prediction=Prediction(case_id=item.case.id, query="SELECT 10"), result_hash="another")
        if item.case.id == "wrong"
        else item
        for item in run.evidence
    ]
    desk = ReviewDesk(replace(run, evidence=evidence), file, name="second")
    status = desk.status(1)
    assert [(one.holds, one.review.query) for one in status.reviews] == [("of another answer", "SELECT 9")]
    assert (status.state, status.by) == ("unreviewed", ())


def test_a_review_whose_gold_has_changed_is_stale(run: Run, file: Path) -> None:
    decide(ReviewDesk(run, file, name="first"), 1, "confirm")

    def changed(item: Evidence) -> Evidence:
        return replace(item, case=replace(item.case, golds=("SELECT 5",)))

    desk = ReviewDesk(replace(run, evidence=[changed(item) for item in run.evidence]), file, name="second")
    [listed] = desk.status(1).reviews
    assert (listed.holds, listed.changed, desk.status(1).state, desk.done) == ("stale", "gold", "stale", 0)


def test_the_gold_query_itself_is_no_correction(run: Run, desk: ReviewDesk, file: Path) -> None:
    with pytest.raises(InputError, match="this is already the gold query of the case"):
        desk.draft(run.evidence[1], "gold_wrong", reviewer="Ana", gold="select  2;")
    assert not file.exists()


def test_halves_of_characters_do_not_stop_a_decision(desk: ReviewDesk, file: Path) -> None:
    decide(desk, 1, "accept", "An\udce4", note="\ud800 lone, \x00 null, \x1b[31m red")
    [review] = read_reviews(file)
    assert (review.reviewer, review.note) == ("An?", "? lone, \x00 null, \x1b[31m red")


def test_what_others_append_is_seen_with_what_changed(run: Run, file: Path) -> None:
    desk, other = (ReviewDesk(run, file, name="first") for _ in range(2))
    decide(desk, 0, "confirm")
    known = desk.version
    assert desk.changed_since(known) == {}
    decide(other, 1, "accept", "Ben")
    assert desk.changed_since(known) == {}
    desk.refresh()
    assert {place: status.by for place, status in desk.changed_since(known).items()} == {1: ("Ben",)}
    other.take_back(1, reviewer="Ben")
    desk.refresh()
    assert desk.changed_since(known) == {1: desk.status(1)}
    assert desk.status(1) == UNREVIEWED


def test_decisions_of_many_threads_and_desks_are_all_kept(run: Run, file: Path) -> None:
    desks = [ReviewDesk(run, file, name="first") for _ in range(2)]

    def work(desk: ReviewDesk, reviewer: str) -> None:
        for number in range(25):
            decide(desk, number % 3, "confirm", reviewer, note=str(number))

    threads = [
        threading.Thread(target=work, args=(desk, f"{name} {number}"))
        for number, desk in enumerate(desks)
        for name in ("Ana", "Ben")
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(300)
    reviews = read_reviews(file)
    assert len({review.id for review in reviews}) == len(reviews) == 100
    for desk in desks:
        desk.refresh()
        assert desk.done == 3
        assert len(desk.status(0).by) == 4


def test_a_damaged_file_is_named_by_line_and_not_written_to(run: Run, desk: ReviewDesk, file: Path) -> None:
    decide(desk, 0, "confirm")
    before = file.read_bytes() + b'{"id": "x", "decision": "maybe"}\n'
    file.write_bytes(before)
    with pytest.raises(InputError, match=r"line 2: the decision 'maybe' is unknown"):
        decide(desk, 1, "confirm")
    with pytest.raises(InputError, match=r"line 2"):
        ReviewDesk(run, file, name="first")
    assert file.read_bytes() == before


def test_reviews_of_questions_that_the_run_lacks_are_counted(desk: ReviewDesk, file: Path) -> None:
    decide(desk, 0, "confirm")
    [review] = read_reviews(file)
    append_reviews(file, [replace(review, id="other", case_id="gone")])
    desk.refresh()
    assert [one.case_id for one in desk.unknown] == ["gone"]
    assert desk.done == 1


def test_the_person_who_settles_must_have_reviewed(run: Run, desk: ReviewDesk, file: Path) -> None:
    decide(desk, 1, "accept", "Ana")
    decide(desk, 1, "confirm", "Ben")
    assert ReviewDesk(run, file, name="first", settle="Ana").status(1).outcome == "correct"
    assert ReviewDesk(run, file, name="first", settle="Ben").status(1).outcome == "incorrect"
    with pytest.raises(UsageError, match="Cleo"):
        ReviewDesk(run, file, name="first", settle="Cleo")
