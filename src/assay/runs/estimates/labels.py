"""Which answers of a frame people labelled, and how these came to be drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from assay.errors import InputError, plural
from assay.model.verdicts.review import Draw, Review
from assay.model.verdicts.verdict import Outcome
from assay.platform.surface import argument, flag
from assay.runs.estimates.frame import Answer, Frame
from assay.runs.reviews.deciding import outcome_of
from assay.runs.reviews.deciding import settled as settled_review
from assay.runs.reviews.file import in_force
from assay.sql.shape import same_text

Design: TypeAlias = Literal["recorded", "random"]
"""``recorded``: only labels that were drawn from this frame count. ``random``: the user declares that all labels of its
answers are a random sample."""

_NAMED = 3


class Label(Struct, frozen=True, kw_only=True):
    """What people say of one answer."""

    place: int
    """The answer's place in the frame."""
    right: bool | None
    """None: they are not sure."""
    draw: Draw | None = None


class Labels(Struct, frozen=True, kw_only=True):
    """The labels of a frame, in its order, and what was left out."""

    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    why_none: str = ""
    """Why there are none, if reviews are given and none can be used."""

    @property
    def known(self) -> tuple[Label, ...]:
        """Those that say right or wrong."""
        return tuple(one for one in self.labels if one.right is not None)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """How they were drawn."""
        return tuple(one.draw for one in self.labels if one.draw is not None)


def labels_of(
    frame: Frame, reviews: Iterable[Review], *, design: Design = "recorded", settle: str = "latest"
) -> Labels:
    """The labels of a frame's answers.

    A review without a draw never counts, unless its sample is declared random: cases that somebody chose are not a
    random sample. A review of another answer to the same question does not count either. ``settle`` says which of
    several people's decisions holds: ``latest``, ``majority``, or a reviewer's name.

    A draw is of a case, and not of one line of the file: once a case was drawn, whatever is decided about its answer
    counts, also a later correction that names no draw. A review of a database that has changed since does not count.
    """
    every = list(reviews)
    places = {answer.case_id: place for place, answer in enumerate(frame.answers)}
    about = [one for one in in_force(every) if one.case_id in places]
    if design == "random":
        return _declared(frame, about, places, settle)
    reviewed = {one.case_id for one in about}
    here = [
        one for one in every if one.case_id in reviewed and one.draw is not None and one.draw.frame == frame.fingerprint
    ]
    if not here:
        return Labels(why_none=_why_none(frame, about, places))
    _check_draws(frame, here)
    draws = {one.case_id: one.draw for one in here}
    labels, notes = [], []
    strangers: list[str] = []
    stale: list[str] = []
    for case_id, given in _by_case(one for one in about if one.case_id in draws).items():
        answer = frame.answers[places[case_id]]
        own = [one for one in given if is_about(one, answer, frame.dialect)]
        valid = [one for one in own if not is_stale(one, answer)]
        if not own:
            strangers.append(case_id)
        elif not valid:
            stale.append(case_id)
        labels.append(Label(place=places[case_id], right=settled(valid, settle), draw=draws[case_id]))
    if stale:
        notes.append(stale_note(stale))
    if strangers:
        notes.append(
            f"{plural(len(strangers), 'drawn case')} had another answer when it was reviewed ({_some(strangers)}): "
            "that decision does not count"
        )
    chosen = {one.case_id for one in about if one.draw is None} - draws.keys()
    if chosen:
        notes.append(
            f"{plural(len(chosen), 'reviewed case')} without a draw left out: chosen cases are not a random sample"
        )
    notes += _passed_over(labels)
    return Labels(labels=tuple(sorted(labels, key=lambda one: one.place)), notes=tuple(notes))


def is_about(review: Review, answer: Answer, dialect: str) -> bool:
    """Whether a review is about this answer: it has the same question, and the same text or rows."""
    if review.question_hash and review.question_hash != answer.question_hash:
        return False
    if answer.query is None or review.query is None:
        return answer.query == review.query
    return same_text(review.query, answer.query, dialect)


def is_stale(review: Review, answer: Answer) -> bool:
    """Whether the database has changed since the review, as far as its content is known."""
    return bool(review.database_hash and answer.database_hash and review.database_hash != answer.database_hash)


def stale_note(case_ids: Sequence[str]) -> str:
    """A note of cases whose labels are stale."""
    return (
        f"stale labels of {plural(len(case_ids), 'case')} left out ({_some(case_ids)}): the database has changed. "
        "Review these cases again"
    )


def settled(reviews: Sequence[Review], settle: str) -> bool | None:
    """Whether the answer is right by these reviews; None if no reviewer is sure, or there is no majority."""
    found = settled_review(reviews, _outcome, settle)
    outcome = None if found is None else _outcome(found)
    return None if outcome is None else outcome == "correct"


def _outcome(review: Review) -> Outcome | None:
    if review.decision == "unsure":
        return None
    outcome = outcome_of(review) or review.outcome
    return outcome if outcome in ("correct", "incorrect") else None


def _declared(frame: Frame, about: Sequence[Review], places: Mapping[str, int], settle: str) -> Labels:
    labels: list[Label] = []
    carried: list[str] = []
    stale: list[str] = []
    refuse_drawn(about, {frame.fingerprint})
    for case_id, given in _by_case(about).items():
        answer = frame.answers[places[case_id]]
        own = [one for one in given if is_about(one, answer, frame.dialect)]
        valid = [one for one in own if not is_stale(one, answer)]
        if valid:
            labels.append(Label(place=places[case_id], right=settled(valid, settle)))
        else:
            (stale if own else carried).append(case_id)
    notes = ["the labels count as a random sample because you declare it; chosen cases are not one"]
    if stale:
        notes.append(stale_note(stale))
    if carried:
        raise InputError(
            f"{len(carried)} of {len(carried) + len(stale) + len(labels)} reviewed cases ({_some(carried)}) were "
            "reviewed with another answer than this one. Labels that hold only if two systems agree are not a "
            "random sample, and overestimate accuracy. Give a file with the labels of these answers alone "
            f"({argument('--reviews')}), or draw cases with {argument('--next')}"
        )
    return Labels(
        labels=tuple(sorted(labels, key=lambda one: one.place)),
        why_none="" if labels else notes[-1] if stale else "no review is about one of these answers",
        notes=tuple(notes),
    )


def refuse_drawn(reviews: Iterable[Review], frames: Collection[str]) -> None:
    """Raise if reviews are declared a random sample that were drawn otherwise, and whose draws say how."""
    for one in reviews:
        if one.draw is not None and one.draw.frame in frames and one.draw.method != "random":
            raise InputError(
                f"the case {one.case_id} was drawn from strata or with a probability of its own, and not at random: "
                f"leave {flag('--declare-random')} out"
            )


def _why_none(frame: Frame, about: Sequence[Review], places: Mapping[str, int]) -> str:
    """Why no review can be used, and what to do."""
    drawn = [one for one in about if one.draw is not None]
    if drawn:
        draw = drawn[-1].draw
        assert draw is not None
        unchanged = [one for one in drawn if is_about(one, frame.answers[places[one.case_id]], frame.dialect)]
        return (
            f"the {plural(len({one.case_id for one in drawn}), 'drawn case')} came from other answers than these "
            f"({draw.size:,} then, {frame.size:,} now, and {len(unchanged)} of the reviewed answers are unchanged). "
            "Labels of a frame say nothing certain of a changed one: estimate the answers as they were, or draw new "
            f"cases with {argument('--next')}"
        )
    if about:
        return (
            f"{plural(len({one.case_id for one in about}), 'reviewed case')} without a recorded draw. Cases that "
            f"somebody chose are not a random sample: draw cases with {argument('--next')}, or declare that these are "
            f"a random sample ({flag('--declare-random')})"
        )
    return f"no review is about one of these questions: draw cases to label with {argument('--next')}"


def _check_draws(frame: Frame, reviews: Sequence[Review]) -> None:
    """Raise for draws that contradict each other or the frame: the file was edited, or two queues were mixed."""
    sizes: dict[str, set[int]] = defaultdict(set)
    methods = set()
    for one in reviews:
        draw = one.draw
        assert draw is not None
        if draw.size != frame.size or not 0.0 < draw.probability <= 1.0 or draw.stratum_size > draw.size:
            raise InputError(f"the draw of the review {one.id} cannot be: it names {draw.size} answers of {frame.size}")
        sizes[draw.stratum].add(draw.stratum_size)
        methods.add(draw.method)
    if len(methods) > 1:
        raise InputError(
            f"the cases were drawn in different ways ({', '.join(sorted(methods))}), which cannot be combined: give "
            f"the reviews of one way ({argument('--reviews')})"
        )
    for name, found in sizes.items():
        if len(found) > 1:
            raise InputError(
                f"the stratum {name!r} has {' and '.join(map(str, sorted(found)))} answers in different draws: later "
                f"rounds keep the strata. Give the reviews of one queue ({argument('--reviews')})"
            )
    if methods == {"strata"} and sum(min(found) for found in sizes.values()) > frame.size:
        raise InputError("the strata of the draws have more answers together than the frame: draws of different strata")


def _passed_over(labels: Sequence[Label]) -> list[str]:
    """A note if cases before the last labelled one of a queue have no review: those that were skipped may be hard."""
    queues: dict[tuple[int, int], set[int]] = defaultdict(set)
    for one in labels:
        if one.draw is not None:
            queues[one.draw.round, one.draw.seed].add(one.draw.position)
    skipped = sum(max(positions) + 1 - len(positions) for positions in queues.values())
    if not skipped:
        return []
    what = "skipped cases may be the hard ones. Label them, or say that you are not sure"
    return [f"{plural(skipped, 'case')} of the queue passed over: {what}"]


def _by_case(reviews: Iterable[Review]) -> dict[str, list[Review]]:
    found: dict[str, list[Review]] = defaultdict(list)
    for one in reviews:
        found[one.case_id].append(one)
    return found


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more
