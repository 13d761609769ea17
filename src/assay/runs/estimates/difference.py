"""How much more often one of two systems is right, from labels of the questions that they answer differently."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from msgspec.structs import replace

from assay.errors import InputError
from assay.model.runs.estimate import Bounds, EstimatedDifference, Target
from assay.model.verdicts.review import Review
from assay.platform.surface import flag, options
from assay.runs.estimates.accuracy import FEW
from assay.runs.estimates.frame import Answer, Frame
from assay.runs.estimates.labels import Design, is_about, is_stale, refuse_drawn, settled, stale_note
from assay.runs.reviews.file import in_force
from assay.stats.estimates import Estimated, paired_difference

DIFFERENT = "different results"
"""The stratum from which a comparison's cases are drawn."""


def pair_frame(frame: Frame, other: Frame) -> str:
    """A hash of the questions and of both systems' answers, in either order."""
    return blake2b(" ".join(sorted((frame.fingerprint, other.fingerprint))).encode(), digest_size=12).hexdigest()


def difference_of(
    frame: Frame,
    other: Frame,
    different: Sequence[bool],
    reviews: Iterable[Review],
    *,
    design: Design = "recorded",
    settle: str = "latest",
    target: Target = "frame",
    confidence: float = 0.95,
) -> EstimatedDifference:
    """The other's accuracy minus the first's. ``different``: per question, whether the two results differ.

    A question counts if it was drawn at random, from those with different results or from all of a frame, and both
    answers have a label. Raises InputError for labels without a draw that are not declared random.
    """
    empty = EstimatedDifference(
        name=frame.name,
        other=other.name,
        frame=pair_frame(frame, other),
        size=frame.size,
        different=sum(different),
        target=target,
        confidence=confidence,
    )
    pairs, notes = paired_labels(frame, other, different, list(reviews), design=design, settle=settle)
    if not empty.different:
        return replace(empty, value=0.0, interval=Bounds(low=0.0, high=0.0), notes=(_why_same(frame, other),))
    known = [(bool(one), bool(two)) for one, two in pairs.values() if one is not None and two is not None]
    unsure = len(pairs) - len(known)
    empty = replace(empty, unsure=unsure, labels=len(known), notes=tuple(notes))
    gains = sum(two and not one for one, two in known)
    losses = sum(one and not two for one, two in known)

    def made(more: int, fewer: int, n: int) -> Estimated:
        return paired_difference(
            gains + more,
            losses + fewer,
            n,
            empty.different,
            frame.size,
            future=target == "future",
            confidence=confidence,
        )

    if len(known) < 2:
        return replace(
            empty, notes=(*notes, "fewer than two questions have labels of both answers: nothing can be said")
        )
    found = made(0, 0, len(known))
    ends = [made(unsure, 0, len(pairs)), made(0, unsure, len(pairs))] if unsure else []
    if len(known) < FEW:
        notes.append(f"{len(known)} labels: with fewer than {FEW} the interval is wide")
    if not gains and not losses:
        notes.append("no label distinguishes the two")
    return replace(
        empty,
        value=found.value,
        interval=Bounds(low=found.low, high=found.high),
        bounds=Bounds(low=min(one.low for one in (found, *ends)), high=max(one.high for one in (found, *ends)))
        if ends
        else None,
        gains=gains,
        losses=losses,
        notes=tuple(notes),
    )


def paired_labels(
    frame: Frame,
    other: Frame,
    different: Sequence[bool],
    reviews: Sequence[Review],
    *,
    design: Design = "recorded",
    settle: str = "latest",
) -> tuple[dict[int, tuple[bool | None, bool | None]], list[str]]:
    """The labels of both answers to each drawn question with different results, by its place, and notes.

    A question with a label for only one answer is unsure. Raises InputError as `difference_of` does.
    """
    places = {answer.case_id: place for place, answer in enumerate(frame.answers)}
    about = [one for one in in_force(reviews) if one.case_id in places and different[places[one.case_id]]]
    pair = pair_frame(frame, other)
    if design == "random":
        refuse_drawn(about, {frame.fingerprint, other.fingerprint})
    # A draw is of a case, and not of one line of the file.
    drawn = {one.case_id for one in about}
    if design == "recorded":
        drawn &= {one.case_id for one in reviews if _is_drawn(one, pair, frame, other)}
    notes = ["the labels count as a random sample because you declare it"] if design == "random" and drawn else []
    if about and not drawn:
        raise InputError(
            "no reviewed case was drawn at random from the questions that the two answer differently. Draw cases with "
            f"{options(('--compare', 'OTHER'), ('--next', 'N'))}, or declare that these are a random sample "
            f"({flag('--declare-random')})"
        )
    if chosen := {one.case_id for one in about} - drawn:
        notes.append(f"{len(chosen)} reviewed cases without a draw of this comparison left out")
    found: dict[int, tuple[bool | None, bool | None]] = {}
    stale: list[str] = []
    for case_id in sorted(drawn, key=places.__getitem__):
        place = places[case_id]
        own = [one for one in about if one.case_id == case_id]
        sides = [_label(own, side.answers[place], side.dialect, settle) for side in (frame, other)]
        found[place] = sides[0][0], sides[1][0]
        if any(is_stale_side for _, is_stale_side in sides):
            stale.append(case_id)
    if stale:
        notes.append(stale_note(stale))
    return found, notes


def _why_same(frame: Frame, other: Frame) -> str:
    if frame.fingerprint == other.fingerprint:
        return "both have the same answer to every question: these answers are compared with themselves"
    return "both give the same result for every question"


def _is_drawn(review: Review, pair: str, frame: Frame, other: Frame) -> bool:
    draw = review.draw
    if draw is None:
        return False
    return draw.frame == pair or (draw.method == "random" and draw.frame in (frame.fingerprint, other.fingerprint))


def _label(reviews: Sequence[Review], answer: Answer, dialect: str, settle: str) -> tuple[bool | None, bool]:
    """What people say of an answer, and whether they say nothing because all that they said is stale."""
    own = [one for one in reviews if is_about(one, answer, dialect)]
    valid = [one for one in own if not is_stale(one, answer)]
    return settled(valid, settle), bool(own) and not valid
