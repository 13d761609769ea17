"""Draw the cases that people label next, and keep them as a queue.

A queue is a file of JSON lines, each a `QueuedAnswer`, in the order in which they are to be looked at. It is shuffled
within strata, and the strata alternate, so that the beginning of a queue is a random sample, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy
from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError
from assay.model import Evidence
from assay.model.runs.estimate import Bounds, Drawn, StratumFigure, Target
from assay.model.verdicts.review import Draw
from assay.platform.surface import option
from assay.runs.estimates.difference import DIFFERENT, pair_frame
from assay.runs.estimates.frame import Frame, answers_of, strata_of
from assay.runs.estimates.labels import Labels
from assay.runs.reviews.queue import QueuedCase
from assay.runs.store.writing import write_whole
from assay.stats.estimates import LEAST_PER_STRATUM, Stratum, allocation, forecast

QUEUE_FILE = "queue.jsonl"
"""In a run's folder: the cases to label next."""


class QueuedAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a queue: an answer to look at, and how it was drawn. A review of it copies ``draw``."""

    case_id: str
    question_hash: str
    """As in `Review.question_hash`: the line is about this question only."""
    query: str | None = None
    """The answer: a queue of two systems has a line for each, and a run shows the line of its own answer."""
    draw: Draw


def draw_cases(
    frame: Frame, labels: Labels, more: int, *, seed: int = 0, target: Target = "frame", confidence: float = 0.95
) -> tuple[Frame, list[QueuedAnswer], Drawn]:
    """The next cases of a frame to label: the frame with its strata, the queue, and what to expect of it.

    The first round is proportional to strata of the signals, at most four; later rounds keep the strata and allocate by
    Neyman. A frame whose labels were drawn at random stays random. Raises InputError if the strata of earlier
    rounds are not known, and if all cases have been looked at.
    """
    methods = {draw.method for draw in labels.draws}
    if "unequal" in methods:
        raise InputError("the cases were drawn with their own probabilities: draw the next ones in the same way")
    strata = [""] * frame.size if methods == {"random"} else _strata(frame, labels, more)
    seen = {one.place for one in labels.labels}
    known = {one.place: bool(one.right) for one in labels.known}
    names = sorted(set(strata))
    groups = {name: [place for place, own in enumerate(strata) if own == name] for name in names}
    # Answers that were looked at without a decision can neither be drawn again nor count as labelled.
    counts = [
        Stratum(
            size=len(groups[name]) - sum(place in seen and place not in known for place in groups[name]),
            labels=sum(place in known for place in groups[name]),
            right=sum(known.get(place, False) for place in groups[name]),
        )
        for name in names
    ]
    unlabelled = sum(not one.labels and one.size > 0 for one in counts)
    if more < unlabelled:
        raise InputError(
            f"{more} more cases leave a stratum without a label, and then nothing can be estimated: {unlabelled} "
            f"strata have none yet. Give {option('--next', unlabelled)} or more. "
            f"{LEAST_PER_STRATUM} per stratum are better"
        )
    pilot = len(known) < LEAST_PER_STRATUM * len(names)
    numbers = allocation(counts, more, pilot=pilot)
    if not sum(numbers):
        raise InputError(f"all {frame.size:,} answers have been looked at: there is nothing to draw")
    round_ = 1 + max((draw.round for draw in labels.draws), default=0)
    generator = numpy.random.default_rng([seed, round_, int(frame.fingerprint[:8], 16)])
    places = _shuffled([[place for place in groups[name] if place not in seen] for name in names], numbers, generator)
    share = {
        name: number / max(1, len(groups[name]) - sum(p in seen for p in groups[name]))
        for name, number in zip(names, numbers, strict=True)
    }
    queue = [
        QueuedAnswer(
            case_id=frame.answers[place].case_id,
            question_hash=frame.answers[place].question_hash,
            query=frame.answers[place].query,
            draw=Draw(
                frame=frame.fingerprint,
                size=frame.size,
                round=round_,
                method="random" if methods == {"random"} else "strata",
                seed=seed,
                stratum=strata[place],
                stratum_size=len(groups[strata[place]]),
                stratum_draws=numbers[names.index(strata[place])],
                probability=share[strata[place]],
                position=position,
            ),
        )
        for position, place in enumerate(places)
    ]
    expected = forecast(counts, numbers, future=target == "future", confidence=confidence)
    drawn = Drawn(
        cases=len(queue),
        round=round_,
        seed=seed,
        strata=_figures(names, counts),
        more=tuple(numbers),
        expected=Bounds(low=expected.low, high=expected.high),
        assumed=pilot,
    )
    stored = frame if methods == {"random"} else replace(frame, strata=tuple(strata))
    return stored, queue, drawn


def draw_different(
    frame: Frame,
    other: Frame,
    different: Sequence[bool],
    looked_at: Iterable[int],
    more: int,
    *,
    round_: int,
    seed: int,
) -> tuple[list[QueuedAnswer], Drawn]:
    """The next questions to label of those that two systems answer differently: a line for each of both answers.

    Raises InputError if all have been looked at.
    """
    seen = set(looked_at)
    places = [place for place, differs in enumerate(different) if differs]
    left = [place for place in places if place not in seen]
    if not places:
        raise InputError(f"{frame.name} and {other.name} give the same result for every question: nothing to label")
    if not left:
        raise InputError(f"all {len(places):,} questions with different results have been looked at")
    number = min(more, len(left))
    name = pair_frame(frame, other)
    generator = numpy.random.default_rng([seed, round_, int(name[:8], 16)])
    chosen = _shuffled([left], [number], generator)
    queue = [
        QueuedAnswer(
            case_id=side.answers[place].case_id,
            question_hash=side.answers[place].question_hash,
            query=side.answers[place].query,
            draw=Draw(
                frame=name,
                size=frame.size,
                round=round_,
                method="strata",
                seed=seed,
                stratum=DIFFERENT,
                stratum_size=len(places),
                stratum_draws=number,
                probability=number / len(left),
                position=position,
            ),
        )
        for position, place in enumerate(chosen)
        for side in (frame, other)
    ]
    counts = [Stratum(size=len(places), labels=len(places) - len(left), right=0)]
    return queue, Drawn(
        cases=number, round=round_, seed=seed, strata=_figures([DIFFERENT], counts), more=(number,), expected=None
    )


def write_queue(path: Path, queue: Iterable[QueuedAnswer]) -> None:
    """Write a queue, in place of an earlier one. Raises as `check_queue`, and if it cannot be written."""
    encode = msgspec.json.encode
    check_queue(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, b"".join(encode(one) + b"\n" for one in queue))
    except OSError as error:
        raise InputError(f"{path}: the queue cannot be written ({error.strerror})") from error


def check_queue(path: Path) -> None:
    """Raises InputError if a queue would overwrite a file that is not a queue."""
    advice = f"write the queue into another file, for example {QUEUE_FILE}"
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file: {advice}")
    if not path.exists() or not path.stat().st_size:
        return
    try:
        read_queue(path)
        lines = map(msgspec.json.decode, filter(bytes.strip, path.read_bytes().split(b"\n")))
        is_queue = all(set(line) <= set(QueuedAnswer.__struct_fields__) for line in lines)
    except InputError:
        is_queue = False
    if not is_queue:  # a file of reviews or answers
        raise InputError(f"{path}: exists, and is not a queue: {advice}")


def read_queue(path: Path) -> list[QueuedAnswer]:
    """The lines of a queue, in its order. Raises InputError, naming the line, for one that is none."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(msgspec.json.decode(line, type=QueuedAnswer))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}, line {number}: not a line of a queue ({error})") from error
    if not found:
        raise InputError(f"{path}: an empty queue")
    return found


def queued_cases(evidence: Iterable[Evidence], queue: Iterable[QueuedAnswer]) -> tuple[QueuedCase, ...]:
    """A queue as `assay review` shows it: its answers among those of a run, in its order; those of others are left out.

    Raises InputError if none is of this run.
    """
    places = {
        (answer.case_id, answer.question_hash, answer.query): place
        for place, one in enumerate(evidence)
        for answer in answers_of([one])
    }
    keys = ((line, (line.case_id, line.question_hash, line.query)) for line in queue)
    found = tuple(
        QueuedCase(index=places[key], case_id=line.case_id, why=("drawn to estimate accuracy",), draw=line.draw)
        for line, key in keys
        if key in places
    )
    if not found:
        raise InputError("the queue was drawn from other answers than those of this run")
    return found


def _strata(frame: Frame, labels: Labels, more: int) -> list[str]:
    """The strata that were drawn from before, or new ones."""
    if frame.strata:
        strata = list(frame.strata)
    else:
        strata = strata_of(frame.speaking, frame.size, most=max(1, min(4, more // LEAST_PER_STRATUM)))
    drawn = {draw.stratum: draw.stratum_size for draw in labels.draws}
    places = {one.place: one.draw.stratum for one in labels.labels if one.draw is not None}
    moved = [place for place, name in places.items() if strata[place] != name]
    if moved or any(strata.count(name) != size for name, size in drawn.items()):
        raise InputError(
            "the strata of the earlier rounds are not known here, and later rounds keep them: name the run's folder in "
            "which they are kept (signals.jsonl), or give no reviews to start over"
        )
    return strata


def _shuffled(groups: Sequence[Sequence[int]], numbers: Sequence[int], generator: numpy.random.Generator) -> list[int]:
    """So many of each group, shuffled within it, and the groups taking turns by their numbers."""
    keyed: list[tuple[float, int]] = []
    for group, number in zip(groups, numbers, strict=True):
        chosen = generator.permutation(numpy.array(group, dtype=int))[:number]
        turns = (numpy.arange(number) + generator.random()) / max(1, number)
        keyed += zip(turns.tolist(), chosen.tolist(), strict=True)
    return [place for _, place in sorted(keyed)]


def _figures(names: Sequence[str], counts: Sequence[Stratum]) -> tuple[StratumFigure, ...]:
    return tuple(
        StratumFigure(name=name, size=one.size, labels=one.labels, right=int(one.right))
        for name, one in zip(names, counts, strict=True)
    )
