"""Accuracy without gold: labels and their draws, the method that follows, what is refused and warned of, and queues."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.runs.reviews.reviewing import draw_of

from assay.errors import InputError
from assay.model.verdicts.review import Review
from assay.runs.estimates.accuracy import estimate_accuracy
from assay.runs.estimates.difference import difference_of
from assay.runs.estimates.drawing import QueuedAnswer, draw_cases, draw_different, read_queue, write_queue
from assay.runs.estimates.frame import Answer, Frame, read_signals, strata_of, write_signals
from assay.runs.estimates.labels import Design, Label, Labels, labels_of
from many_cases import each

SIZE = 200


def frame_of(size: int = SIZE, *, signals: Sequence[str] = ("judge", "no lint finding"), text: str = "SELECT") -> Frame:
    """Answers of which every fifth is called wrong by the judge, and every seventh by the lint."""
    answers = tuple(
        Answer(case_id=f"q{place}", question_hash=f"h{place}", query=f"{text} {place}") for place in range(size)
    )
    every = {"judge": 5, "no lint finding": 7, "executes": 11}
    values = {name: [float(place % every[name] > 0) for place in range(size)] for name in signals}
    return Frame(name="answers", answers=answers, signals=values)


def is_right(place: int) -> bool:
    """The truth: the judge is wrong about some."""
    return place % 5 > 0 or place % 10 == 0


def review_of(
    line: QueuedAnswer,
    *,
    outcome: str | None = "",
    reviewer: str = "ana",
    at: str = "2026-11-26T10:00:00Z",
    **changes: object,
) -> Review:
    """A person's decision about a queued answer, by default what `is_right` says."""
    right = is_right(int(line.case_id[1:]))
    outcome = ("correct" if right else "incorrect") if outcome == "" else outcome
    made = Review(
        id=f"{line.case_id} {reviewer} {at} {line.draw.frame} {line.query}",
        case_id=line.case_id,
        decision={"correct": "accept", "incorrect": "reject", None: "unsure"}[outcome],
        outcome=outcome,
        query=line.query,
        reviewer=reviewer,
        at=at,
        question_hash=line.question_hash,
        draw=line.draw,
    )
    return replace(made, **changes) if changes else made


def queued(frame: Frame, n: int, labels: Labels | None = None) -> tuple[Frame, list[QueuedAnswer]]:
    stored, queue, _ = draw_cases(frame, labels or Labels(), n, seed=3)
    return stored, queue


def random_labels(frame: Frame, n: int, *, right: bool | None = None) -> Labels:
    """A random sample."""
    places = random.Random(7).sample(range(frame.size), n)
    drawn = {"size": frame.size, "stratum_size": frame.size, "stratum_draws": n, "probability": n / frame.size}
    draw = draw_of(frame=frame.fingerprint, **drawn)
    return Labels(
        labels=tuple(
            Label(place=place, right=is_right(place) if right is None else right, draw=replace(draw, position=position))
            for position, place in enumerate(places)
        )
    )


# ── which method ──


@each(
    ("signals", "n", "method"),
    [
        ((), 60, "labels"),
        (("judge",), 60, "cells"),
        (("judge",), 5, "labels"),
        (("judge", "no lint finding"), 40, "cells"),
        (("judge", "no lint finding"), 50, "cross_fitted"),
    ],
)
def test_the_method_follows_from_labels_and_signals(signals: Sequence[str], n: int, method: str) -> None:
    frame = frame_of(signals=signals)
    found = estimate_accuracy(frame, random_labels(frame, n))
    assert found.method == method
    assert found.interval.low < sum(map(is_right, range(SIZE))) / SIZE < found.interval.high


def test_a_signal_that_says_the_same_of_every_answer_counts_as_none() -> None:
    frame = frame_of(signals=("judge",))
    frame = replace(frame, signals={"judge": [1.0] * SIZE})
    found = estimate_accuracy(frame, random_labels(frame, 60))
    assert found.method == "labels"
    assert any("judge says the same about every answer" in note for note in found.notes)


def test_strata_that_were_drawn_from_decide_whatever_signals_there_are() -> None:
    frame, queue = queued(frame_of(), 40)
    labels = labels_of(replace(frame, signals={}), [review_of(line) for line in queue])
    found = estimate_accuracy(frame, labels)
    assert found.method == "strata"
    assert 2 <= len(found.strata) <= 4
    assert sum(one.size for one in found.strata) == SIZE
    assert found.labels == 40
    assert found.narrower > 0
    assert found.judge.says == pytest.approx(0.8)
    assert found.judge.bias == pytest.approx(0.8 - (found.value or 0))


def test_probabilities_of_their_own_are_weighed() -> None:
    frame = frame_of()
    labels = random_labels(frame, 60)
    unequal = tuple(
        replace(one, draw=replace(one.draw, method="unequal", probability=0.2 if one.right else 0.4))
        for one in labels.labels
        if one.draw is not None
    )
    found = estimate_accuracy(frame, Labels(labels=unequal))
    assert found.method == "unequal"
    assert found.value > estimate_accuracy(frame, labels).right / 60


def test_future_answers_are_less_certain_than_these() -> None:
    frame = frame_of()
    labels = random_labels(frame, 100)
    these, future = (estimate_accuracy(frame, labels, target=target) for target in ("frame", "future"))
    assert these.value == future.value
    assert future.interval.high - future.interval.low > 1.2 * (these.interval.high - these.interval.low)


# ── labels ──


def test_without_labels_nothing_is_estimated() -> None:
    found = estimate_accuracy(frame_of(), Labels())
    assert (found.value, found.interval, found.judge.bias) == (None, None, None)


def test_not_sure_is_missing_and_bounds_say_what_it_could_be() -> None:
    frame, queue = queued(frame_of(), 60)
    given = [review_of(line, **({"outcome": None} if place % 6 == 0 else {})) for place, line in enumerate(queue)]
    found = estimate_accuracy(frame, labels_of(frame, given))
    assert (found.labels, found.unsure) == (50, 10)
    assert found.bounds.low < found.interval.low < found.interval.high < found.bounds.high


def test_a_review_without_a_draw_never_counts() -> None:
    frame, queue = queued(frame_of(), 40)
    drawn = [review_of(line) for line in queue]
    others = [place for place in range(SIZE) if f"q{place}" not in {line.case_id for line in queue}]
    chosen = [
        replace(
            drawn[0], id=f"c{place}", case_id=f"q{place}", question_hash=f"h{place}", query=f"SELECT {place}", draw=None
        )
        for place in others
    ]
    found = labels_of(frame, [*drawn, *chosen])
    assert len(found.known) == 40
    assert any("without a draw left out" in note for note in found.notes)
    alone = labels_of(frame, chosen)
    assert not alone.labels
    assert "--declare-random" in alone.why_none
    declared = labels_of(frame, chosen, design="random")
    assert len(declared.known) == len(chosen)
    assert "because you declare it" in declared.notes[0]


def test_labels_that_cannot_be_declared_random() -> None:
    frame = frame_of()
    _, queue = queued(frame_of(text="SELECT 1 +"), 40)
    with pytest.raises(InputError, match="another answer"):
        labels_of(frame, [replace(review_of(line), draw=None) for line in queue], design="random")
    frame, queue = queued(frame, 40)
    with pytest.raises(InputError, match="drawn from strata"):
        labels_of(frame, [review_of(line) for line in queue], design="random")


def test_a_changed_frame_is_refused() -> None:
    frame, queue = queued(frame_of(), 40)
    given = [review_of(line) for line in queue]
    answers = (replace(frame.answers[0], query="SELECT 'new'"), *frame.answers[1:])
    found = labels_of(Frame(name="answers", answers=answers), given)
    assert not found.labels
    assert "came from other answers" in found.why_none
    assert labels_of(Frame(name="other", answers=frame.answers[::-1]), given).labels


def test_a_drawn_case_that_was_reviewed_with_another_answer_is_missing() -> None:
    frame, queue = queued(frame_of(), 40)
    given = [review_of(line) for line in queue]
    given[0] = replace(given[0], query="SELECT 'another'")
    found = labels_of(frame, given)
    assert len(found.labels) == 40
    assert len(found.known) == 39
    assert any("had another answer" in note for note in found.notes)


def test_the_text_of_an_answer_may_be_written_otherwise() -> None:
    frame, queue = queued(frame_of(), 40)
    given = [review_of(line, query=f"{(line.query or '').lower()} ;") for line in queue]
    assert len(labels_of(frame, given).known) == 40


def test_decisions_are_settled_and_taken_back() -> None:
    frame, queue = queued(frame_of(), 40)
    line = queue[0]
    first = review_of(line, outcome="correct", at="2026-11-26T10:00:00Z")
    second = review_of(line, outcome="incorrect", reviewer="bo", at="2026-11-26T11:00:00Z")
    third = review_of(line, outcome="incorrect", reviewer="cy", at="2026-11-26T09:00:00Z")
    unsure = review_of(line, outcome=None, reviewer="dee", at="2026-11-26T12:00:00Z")
    undo = replace(second, id="u", decision="undo", undoes=second.id)

    def right(*reviews: Review, settle: str = "latest") -> bool | None:
        return labels_of(frame, reviews, settle=settle).labels[0].right

    assert right(first, second) is False
    assert right(first, second, undo) is True
    assert right(first, second, unsure) is False
    assert right(unsure) is None
    assert right(first, second, settle="ana") is True
    assert right(first, second, settle="majority") is None
    assert right(first, second, third, settle="majority") is False


@each("seed", range(20))
def test_the_draw_belongs_to_the_case_and_the_latest_decision_counts(seed: int) -> None:
    """Corrections count, whether or not their line names the draw, and whoever was taken back."""
    generator = random.Random(seed)
    frame, queue = queued(frame_of(), 40)
    reviews: list[Review] = []
    latest: dict[str, dict[str, bool | None]] = {line.case_id: {} for line in queue}
    with_draw = {line.case_id: generator.randrange(3) for line in queue}
    for number in range(3):
        for line in queue:
            reviewer = generator.choice(["ana", "bo"])
            right = generator.choice([True, False, None])
            outcome = {True: "correct", False: "incorrect", None: None}[right]
            at = f"2026-11-26T1{number}:00:00Z"
            draw = line.draw if with_draw[line.case_id] == number else None
            reviews.append(review_of(line, outcome=outcome, reviewer=reviewer, at=at, draw=draw))
            latest[line.case_id].pop(reviewer, None)
            latest[line.case_id][reviewer] = right
    found = {frame.answers[one.place].case_id: one for one in labels_of(frame, reviews).labels}
    assert len(found) == 40
    for case_id, said in latest.items():
        assert found[case_id].right is next((one for one in reversed(said.values()) if one is not None), None)
        assert found[case_id].draw is not None
    # What was drawn stays drawn, also after the review that says so was taken back.
    drawn = [one for one in reviews if one.draw is not None]
    undone = [replace(one, id=f"u {one.id}", decision="undo", undoes=one.id, draw=None) for one in drawn]
    assert len(labels_of(frame, [*reviews, *undone]).labels) == 40


@each("design", ["recorded", "random"])
def test_labels_of_a_changed_database_do_not_count(design: Design) -> None:
    frame, queue = queued(frame_of(), 40)
    now = tuple(replace(one, database_hash="new" if place % 2 else "") for place, one in enumerate(frame.answers))
    frame = replace(frame, answers=now)
    hashes = ("old", "new", "")
    given = [review_of(line, database_hash=hashes[n % 3]) for n, line in enumerate(queue)]
    if design == "random":
        given = [replace(one, draw=None) for one in given]
    stale = [one.case_id for one in given if one.database_hash == "old" and int(one.case_id[1:]) % 2]
    assert stale
    found = labels_of(frame, given, design=design)
    assert len(found.known) == 40 - len(stale)
    assert any(f"stale labels of {len(stale)} case" in note for note in found.notes)
    again = [replace(one, id=f"again {one.id}", database_hash="new", draw=None) for one in given]
    assert len(labels_of(frame, [*given, *again], design=design).known) == 40
    other = replace(frame_of(text="SELECT 1 +"), answers=tuple(replace(one, database_hash="new") for one in now))
    both, _ = draw_different(frame, other, [True] * SIZE, (), 40, round_=1, seed=1)
    pairs = difference_of(frame, other, [True] * SIZE, [review_of(line, database_hash="old") for line in both])
    assert (pairs.labels, pairs.unsure) == (0, 40)
    assert any("stale labels of 40 cases" in note for note in pairs.notes)


def test_a_draw_that_leaves_a_stratum_without_labels_says_what_to_ask_for() -> None:
    frame, queue = queued(frame_of(), 40)
    strata = set(frame.strata)
    assert len(strata) > 2
    for labelled in range(len(strata)):
        names = sorted(strata)[:labelled]
        labels = labels_of(frame, [review_of(line) for line in queue if line.draw.stratum in names])
        least = len(strata) - labelled
        if least > 1:
            with pytest.raises(InputError, match=f"--next {least} or more"):
                draw_cases(frame, labels, least - 1)
        _, more, _ = draw_cases(frame, labels, least)
        assert {line.draw.stratum for line in more} | set(names) == strata


def test_cases_that_were_passed_over_are_warned_of() -> None:
    frame, queue = queued(frame_of(), 40)
    done = [review_of(line) for line in queue[:20]]
    assert not labels_of(frame, done).notes
    assert "2 cases of the queue passed over" in labels_of(frame, [*done[:5], *done[7:]]).notes[0]


@each(
    "change",
    [
        {"size": SIZE - 1},
        {"stratum_size": SIZE + 1},
        {"probability": 0.0},
        {"method": "random"},
        {"stratum_size": 17},
    ],
)
def test_draws_that_contradict_each_other_are_refused(change: dict[str, object]) -> None:
    frame, queue = queued(frame_of(), 40)
    given = [review_of(line) for line in queue]
    assert given[0].draw is not None
    given[0] = replace(given[0], draw=replace(given[0].draw, **change))
    with pytest.raises(InputError):
        labels_of(frame, given)


# ── refused and warned of ──


def test_a_stratum_without_labels_is_refused_or_bounded_or_merged() -> None:
    frame, queue = queued(frame_of(), 60)
    name = queue[0].draw.stratum
    given = [review_of(line) for line in queue if line.draw.stratum != name]
    labels = labels_of(frame, given)
    with pytest.raises(InputError, match="stratum without labels"):
        estimate_accuracy(frame, labels)
    share = queue[0].draw.stratum_size / SIZE
    bounded = estimate_accuracy(frame, labels, unlabelled="bounds")
    merged = estimate_accuracy(frame, labels, unlabelled="merge")
    assert bounded.interval.low == pytest.approx(merged.interval.low * (1 - share))
    assert bounded.interval.high == pytest.approx(merged.interval.high * (1 - share) + share)
    assert any("have no label in their stratum" in note for note in bounded.notes)


def test_few_labels_equal_labels_and_a_judge_without_information_are_warned_of() -> None:
    frame = frame_of(signals=("judge",))
    notes = " ".join(estimate_accuracy(frame, random_labels(frame, 20, right=True)).notes)
    assert "20 labels: with fewer than 30" in notes
    assert "all 20 labels say right" in notes
    coin = random.Random(2)
    useless = replace(frame, signals={"judge": [float(coin.random() < 0.5) for _ in range(SIZE)]})
    notes = " ".join(estimate_accuracy(useless, random_labels(frame, 100)).notes)
    assert "the judge has no information" in notes
    assert "R² below 0.05" in notes


def test_a_stratum_with_few_labels_is_warned_of() -> None:
    frame, queue = queued(frame_of(), 60)
    name = queue[0].draw.stratum
    given = [review_of(line) for line in queue if line.draw.stratum != name] + [review_of(queue[0])]
    notes = estimate_accuracy(frame, labels_of(frame, given)).notes
    assert any(f"{name!r} has 1 labels" in note for note in notes)


# ── drawing ──


@each("size", [3, 12, 40, 200, 3000])
@each("signals", [(), ("judge",), ("no lint finding", "executes"), ("judge", "no lint finding", "executes")])
def test_strata_cover_the_frame_and_none_is_tiny(size: int, signals: Sequence[str]) -> None:
    frame = frame_of(size, signals=signals)
    names = strata_of(frame.speaking, size)
    counts = {name: names.count(name) for name in names}
    assert len(names) == size
    assert 1 <= len(counts) <= 4
    assert len(counts) == 1 or min(counts.values()) >= max(10, size // 50)


def test_a_queue_is_a_draw_without_repetition_that_later_rounds_go_on_with() -> None:
    frame, queue = queued(frame_of(), 40)
    assert [line.draw.position for line in queue] == list(range(40))
    labels = labels_of(frame, [review_of(line) for line in queue])
    stored, again = queued(frame, 40, labels)
    assert stored.strata == frame.strata
    assert {line.draw.round for line in again} == {2}
    assert not {line.case_id for line in queue} & {line.case_id for line in again}
    both = labels_of(frame, [review_of(line) for line in (*queue, *again)])
    assert estimate_accuracy(frame, both).labels == 80
    assert draw_cases(frame, labels, 40, seed=3)[1] == again


def test_the_beginning_of_a_queue_has_labels_in_every_stratum() -> None:
    frame, queue = queued(frame_of(2000, signals=("judge", "no lint finding", "executes")), 60)
    assert {line.draw.stratum for line in queue[:30]} == set(frame.strata)
    labels = labels_of(frame, [review_of(line) for line in queue[:30]])
    assert estimate_accuracy(frame, labels).labels == 30


def test_every_case_can_be_drawn_and_then_none_is_left() -> None:
    frame, queue = queued(frame_of(30), 500)
    assert len(queue) == 30
    labels = labels_of(frame, [review_of(line) for line in queue])
    found = estimate_accuracy(frame, labels)
    assert found.interval.low == pytest.approx(found.interval.high)
    with pytest.raises(InputError, match="nothing to draw"):
        queued(frame, 10, labels)


def test_later_rounds_are_drawn_as_the_earlier_ones() -> None:
    frame = frame_of()
    stored, queue = queued(frame, 40, random_labels(frame, 40))
    assert not stored.strata
    assert {line.draw.method for line in queue} == {"random"}
    assert labels_of(frame, [review_of(line) for line in queue]).draws
    frame, queue = queued(frame, 40)
    labels = labels_of(frame, [review_of(line) for line in queue])
    forgotten = replace(frame, strata=(), signals=frame_of(signals=("executes",)).signals)
    with pytest.raises(InputError, match="strata of the earlier rounds"):
        queued(forgotten, 40, labels)


def test_a_queue_and_signals_are_kept_in_files(tmp_path: Path) -> None:
    frame, queue = queued(frame_of(), 40)
    write_queue(tmp_path / "queue.jsonl", queue)
    assert read_queue(tmp_path / "queue.jsonl") == queue
    write_signals(tmp_path, frame)
    bare = Frame(name="answers", answers=frame.answers)
    own = {name: values for name, values in frame.signals.items() if name != "judge"}
    assert read_signals(tmp_path, bare) == replace(frame, signals=own)
    other = frame_of(text="SELECT 1 +", signals=())
    assert read_signals(tmp_path, other) == other


@each("content", [b"", b"{}\n", b'{"case_id": 3}\n', b"\xff\n"])
def test_a_damaged_queue_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "q.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=r"q\.jsonl"):
        read_queue(tmp_path / "q.jsonl")


def test_damaged_signals_are_named(tmp_path: Path) -> None:
    frame, _ = queued(frame_of(), 40)
    write_signals(tmp_path, frame)
    path = tmp_path / "signals.jsonl"
    whole = path.read_bytes()
    for content in (b"", whole[:-30], b"".join(whole.splitlines(keepends=True)[:-1])):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"signals\.jsonl"):
            read_signals(tmp_path, Frame(name="answers", answers=frame.answers))


# ── two systems ──


def pair() -> tuple[Frame, Frame, list[bool]]:
    """Two systems that answer every third question differently."""
    return frame_of(signals=()), frame_of(signals=(), text="SELECT 1 +"), [place % 3 == 0 for place in range(SIZE)]


def test_a_difference_needs_labels_of_both_answers_to_drawn_questions() -> None:
    frame, other, different = pair()
    queue, drawn = draw_different(frame, other, different, (), 40, round_=1, seed=1)
    assert drawn.cases == 40
    assert len(queue) == 80
    first = {line.query for line in queue if line.query in {answer.query for answer in frame.answers}}
    given = [review_of(line, outcome="incorrect" if line.query in first else "correct") for line in queue]
    found = difference_of(frame, other, different, given)
    assert found.value == pytest.approx(sum(different) / SIZE)
    assert found.interval.low > 0
    assert (found.labels, found.gains, found.losses) == (40, 40, 0)
    back = difference_of(other, frame, different, given)
    assert (back.frame, back.gains, back.losses) == (found.frame, 0, 40)
    assert back.value == pytest.approx(-sum(different) / SIZE)
    half = difference_of(frame, other, different, [one for one in given if one.query in first])
    assert half.labels == 0
    assert half.value is None


def test_a_difference_refuses_labels_that_were_not_drawn() -> None:
    frame, other, different = pair()
    queue, _ = draw_different(frame, other, different, (), 40, round_=1, seed=1)
    given = [replace(review_of(line), draw=None) for line in queue]
    with pytest.raises(InputError, match="drawn at random"):
        difference_of(frame, other, different, given)
    assert difference_of(frame, other, different, given, design="random").labels == 40


def test_the_same_answers_differ_by_nothing() -> None:
    frame, other, _ = pair()
    found = difference_of(frame, other, [False] * SIZE, [])
    assert (found.value, found.interval.low, found.interval.high) == (0.0, 0.0, 0.0)
