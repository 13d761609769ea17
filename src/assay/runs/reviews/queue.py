"""What to look at first: the cases of a run by what a minute of a person is worth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError
from assay.model import CaseSummary, Evidence, Run
from assay.model.verdicts.review import Draw, Review
from assay.runs.reviews.applying import RunReviews
from assay.runs.reviews.collection import Reviews
from assay.runs.reviews.deciding import Decided, about_answer, reviewed
from assay.runs.reviews.file import in_force
from assay.runs.reviews.signals import Reason, Signals

_ASSUMED_S: Final = 60.0
"""The time per case while too few reviews tell it."""
_LEAST_GAPS: Final = 10
_PAUSE_S: Final = 600.0
"""A longer time between two reviews was a pause."""
_CHANGED, _IN_CONFLICT = 5.0, 5.0
"""The odds that a person finds something in a case whose reviews are out of date, or do not agree."""
_ALIKE: Final = 0.75
"""A case comes forward to a case of the same cluster whose odds are at most this much higher."""


class QueuedCase(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A case to look at, and why."""

    index: int
    """Its place in ``run.evidence``."""
    case_id: str
    repeat: int = 0
    """Which answer, where the system was asked several times: the one that most deserves a look."""
    why: tuple[str, ...] = ()
    """Sentences, the strongest reason first."""
    worth: float = 0.0
    """Roughly the chance that a person finds something: for ordering, not for a report."""
    cluster: str = ""
    """What it has in common with other cases of the queue, for example ``incorrect, distinct, duplicates only``. One
    decision can be proposed for all of them. Empty: no other case is like it."""
    draw: Draw | None = None
    """How it was drawn. None: it was chosen, and its review enters no estimate."""


class Pace(Struct, frozen=True, kw_only=True):
    """How long a person takes for a case."""

    seconds: float
    reviews: int
    """How many reviews tell it; 0: the time is assumed."""


class Progress(Struct, frozen=True, kw_only=True):
    """How far a queue is done."""

    reviewed: int
    left: int
    seconds_left: float


def review_queue(
    run: Run,
    reviews: Reviews | Iterable[Review] = (),
    *,
    others: Sequence[Run] = (),
    minutes: float | None = None,
    opinions: Mapping[str, bool | None] | None = None,
) -> tuple[QueuedCase, ...]:
    """The cases of a run that deserve a person's look, first those in which the person most likely finds something.

    A case is queued if its answer is incorrect, if something is doubtful about a match or about its gold query, if its
    reviews are out of date or do not agree. Matches without a doubt and cases with a review in force are left out.
    Cases with the same cause and difference stand together if they are worth about the same. Reads the run's
    summaries; the evidence only of cases that have reviews.

    Args:
        run: the run to review.
        reviews: what was decided before, of any run.
        others: runs of other systems on the same question set: systems that agree with one another against the gold
        query are
            the best sign that the gold query is wrong.
        minutes: how much time there is, at the `pace` of these reviews; None: all.
        opinions: what an LLM judge says of each case (`read_opinions`): whether the query is equivalent to the gold
        query.

    Raises:
        InputError: another run has none of the run's cases.
    """
    reviews = reviews if isinstance(reviews, Reviews) else Reviews(reviews)
    applied = RunReviews(reviews, run.settings, run.provenance)
    signals = Signals(run, others, opinions or {})
    best: dict[str, tuple[float, QueuedCase]] = {}
    shapes: dict[str, str] = {}
    for index, case in enumerate(run.summaries):
        earlier: list[Reason] = []
        if case.case_id in reviews.by_case:
            evidence = run.evidence[index]
            found = _earlier(evidence, applied.decided(evidence.case))
            if found is None:
                continue
            earlier = found
        odds, reasons = signals.reasons(case)
        reasons = [*earlier, *reasons]
        odds += sum(reason.odds for reason in earlier)
        if not reasons or (case.case_id in best and best[case.case_id][0] >= odds):
            continue
        queued = QueuedCase(
            index=index,
            case_id=case.case_id,
            repeat=case.repeat,
            why=tuple(reason.says for reason in reasons),
            worth=odds / (1 + odds),
        )
        best[case.case_id] = odds, queued
        shapes[case.case_id] = _shape(case, reasons)
    ordered = _clustered(sorted(best.values(), key=lambda pair: -pair[0]), shapes)
    if minutes is None:
        return tuple(ordered)
    return tuple(ordered[: max(1, int(minutes * 60 / pace(reviews.every).seconds))])


def _earlier(evidence: Evidence, known: Decided) -> list[Reason] | None:
    """What earlier reviews say for a look at an answer; None: they have decided about it."""
    found = []
    for conflict in known.conflicts:
        names = " and ".join(dict.fromkeys(review.reviewer for review in conflict))
        found.append(Reason(says=f"{names} do not agree.", odds=_IN_CONFLICT))
    verdict = reviewed(evidence, known)
    if not found and verdict is not None:
        # A person who accepts another answer has not looked at this one.
        if known.question is not None or verdict.outcome == "correct" or about_answer(evidence, known):
            return None
        names = " and ".join(dict.fromkeys(review.reviewer for review in known.accepted))
        found.append(Reason(says=f"{names} accepted another answer to the question."))
    for review, changed in known.stale:
        found.append(Reason(says=f"The {changed} changed since {review.reviewer}'s review.", odds=_CHANGED))
    for review in known.unsure:
        note = f": {review.note}" if review.note else "."
        found.append(Reason(says=f"{review.reviewer} was not sure{note}"))
    return found


def _shape(case: CaseSummary, reasons: Sequence[Reason]) -> str:
    """What is wrong with an answer, and how its result differs; of a match, what is doubtful about it."""
    parts = [case.outcome, case.cause or "", *case.near_misses, *sorted(case.flags)]
    if case.outcome != "incorrect":
        parts += [case.strength] if case.strength in ("refuted", "conditional") else []
        parts += [reason.cause for reason in reasons]
    return ", ".join(part.replace("_", " ") for part in parts if part)


def _clustered(ordered: Sequence[tuple[float, QueuedCase]], shapes: Mapping[str, str]) -> list[QueuedCase]:
    """The queue with cases of the same shape side by side, if they are worth nearly the same."""
    sizes = Counter(shapes[queued.case_id] for _, queued in ordered)
    waiting: defaultdict[str, list[tuple[float, QueuedCase]]] = defaultdict(list)
    for odds, queued in reversed(ordered):
        waiting[shapes[queued.case_id]].append((odds, queued))
    placed: list[QueuedCase] = []
    done: set[str] = set()
    for odds, queued in ordered:
        if queued.case_id in done:
            continue
        shape = shapes[queued.case_id]
        group = waiting[shape]
        while group and group[-1][0] >= _ALIKE * odds:
            _, alike = group.pop()
            done.add(alike.case_id)
            placed.append(replace(alike, cluster=shape) if sizes[shape] > 1 else alike)
    return placed


def pace(reviews: Iterable[Review]) -> Pace:
    """How long a person takes for a case, by the times between the reviews; assumed while there are too few of them."""
    by_reviewer: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for review in reviews:
        with suppress(ValueError):  # a time that somebody typed
            by_reviewer[review.reviewer].append((datetime.fromisoformat(review.at).timestamp(), review.case_id))
    gaps: list[float] = []
    for own in by_reviewer.values():
        # Several decisions in a row about one case, or one that is taken back, are the time of one case.
        ends = [list(group)[-1][0] for _, group in groupby(sorted(own), key=lambda pair: pair[1])]
        gaps += [gap for before, after in pairwise(ends) if (gap := after - before) <= _PAUSE_S]
    if len(gaps) < _LEAST_GAPS:
        return Pace(seconds=_ASSUMED_S, reviews=0)
    return Pace(seconds=max(1.0, sum(gaps) / len(gaps)), reviews=len(gaps) + 1)


def progress(queue: Sequence[QueuedCase], since: Iterable[Review], *, seconds: float = _ASSUMED_S) -> Progress:
    """How much of a queue is reviewed, by the reviews ``since`` it was made, and how long the rest takes."""
    reviewed_cases = {review.case_id for review in in_force(since) if review.decision != "unsure"}
    left = sum(queued.case_id not in reviewed_cases for queued in queue)
    return Progress(reviewed=len(queue) - left, left=left, seconds_left=left * seconds)


class _Opinion(Struct, frozen=True):
    case_id: str
    equivalent: bool | None
    repeat: int = 1


def read_opinions(path: Path) -> dict[str, bool | None]:
    """What ``assay judge -o`` wrote: per case whether the judge calls its query equivalent to the gold query.

    Of several answers to a question it is the opinion on the first. Raises InputError, naming the line.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            opinion = msgspec.json.decode(line, type=_Opinion)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}, line {number}: not an opinion of `assay judge -o` ({error})") from error
        if opinion.repeat == 1:
            found[opinion.case_id] = opinion.equivalent
    return found
