"""The answers whose accuracy is estimated, and what cheap signals say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from assay.errors import InputError
from assay.model import Evidence
from assay.runs.reviews.keys import question_hash
from assay.runs.store.writing import write_whole

SIGNALS_FILE = "signals.jsonl"
"""In a run's folder: the signals of its answers, and the strata that were made of them."""

JUDGE, GOLD, EXECUTES, NOT_EMPTY, LINT, REPEATS, CONFIDENCE = (
    "judge",
    "gold query",
    "executes",
    "not empty",
    "no lint finding",
    "repeats agree",
    "confidence",
)
AGREES = "agrees with "
"""Before the name of the other answers."""
_LEADS = (JUDGE, GOLD, AGREES, REPEATS, EXECUTES, NOT_EMPTY, LINT, CONFIDENCE)
"""The signals by how much they usually say: the first that there is makes the first cut of the strata."""
MOST_STRATA = 4


def is_asked_for(signal: str) -> bool:
    """Whether a signal is computed only if the user names its source: a folder does not keep such a signal."""
    return signal == JUDGE or signal.startswith(AGREES)


class Answer(Struct, frozen=True, kw_only=True):
    """One answer of a frame."""

    case_id: str
    question_hash: str
    query: str | None
    """None: the system gave rows, or nothing."""
    result: str = ""
    """A hash of the rows that it gave in place of a query."""
    database_hash: str = ""
    """As in `Review.database_hash`; empty if the content is not known. It does not belong to the fingerprint."""


class Frame(Struct, frozen=True, kw_only=True):
    """Answers with their signals, in the run's order. A signal is 1 for right, 0 for wrong, None for no opinion."""

    name: str
    answers: tuple[Answer, ...]
    signals: Mapping[str, Sequence[float | None]] = {}
    strata: tuple[str, ...] = ()
    """The stratum of each answer, once cases were drawn; empty: none was."""
    dialect: str = ""
    fingerprint: str = ""
    """A hash of the questions and answers, in any order; made with the frame."""

    def __post_init__(self) -> None:
        if not self.fingerprint:
            force_setattr(self, "fingerprint", fingerprint_of(self.answers))

    @property
    def size(self) -> int:
        """The number of answers."""
        return len(self.answers)

    @property
    def speaking(self) -> Mapping[str, Sequence[float | None]]:
        """The signals that do not say the same of every answer."""
        return {name: values for name, values in self.signals.items() if len(set(values)) > 1}


def fingerprint_of(answers: Iterable[Answer]) -> str:
    """A hash of questions and answers, in any order."""
    lines = sorted(msgspec.json.encode([one.case_id, one.question_hash, one.query, one.result]) for one in answers)
    return blake2b(b"\n".join(lines), digest_size=12).hexdigest()


def answers_of(
    evidence: Iterable[Evidence], database_hash_of: Callable[[str | None], str] = lambda _: ""
) -> tuple[Answer, ...]:
    """The answers of a run, the first of several to one question. ``database_hash_of``: by the database's name."""
    return tuple(
        Answer(
            case_id=one.case.id,
            question_hash=question_hash(one.case),
            query=one.prediction.query,
            result=""
            if one.prediction.result is None
            else blake2b(msgspec.json.encode(one.prediction.result), digest_size=12).hexdigest(),
            database_hash=database_hash_of(one.case.database),
        )
        for one in evidence
        if not one.prediction.repeat
    )


def strata_of(signals: Mapping[str, Sequence[float | None]], size: int, *, most: int = MOST_STRATA) -> list[str]:
    """At most four parts of a frame by its signals, fixed before anything is labelled: the name of each answer's part.

    The strongest signal makes the first cut. The second is whether any other signal speaks against the answer. Without
    others, or with one part too small to be drawn from, parts are merged with their neighbours.
    """
    leads = [name for prefix in _LEADS for name in signals if name.startswith(prefix)]
    if not leads or most < 2:
        return ["all"] * size
    lead, others = leads[0], leads[1:]
    doubted = [any(_against(signals[name][place]) for name in others) for place in range(size)]
    levels = [2 * _against(value) + doubt for value, doubt in zip(signals[lead], doubted, strict=True)]
    cut = (f"{lead}: yes", f"{lead}: no")
    names = [cut[0], f"{cut[0]}, a doubt", cut[1], f"{cut[1]}, a doubt"] if others else [cut[0], "", cut[1], ""]
    groups = [[level] for level in sorted(set(levels))]
    least = max(10, size // 50)

    def count(group: list[int]) -> int:
        return sum(levels.count(level) for level in group)

    while len(groups) > 1 and (len(groups) > most or min(map(count, groups)) < least):
        smallest = min(range(len(groups)), key=lambda place: count(groups[place]))
        beside = [place for place in (smallest - 1, smallest + 1) if 0 <= place < len(groups)]
        # Within one value of the strongest signal, if there is such a neighbour.
        other = min(beside, key=lambda place: (groups[place][0] // 2 != groups[smallest][0] // 2, count(groups[place])))
        first, second = sorted((smallest, other))
        groups[first : second + 1] = [groups[first] + groups[second]]
    named = {level: _name(group, names, cut) for group in groups for level in group}
    return [named[level] for level in levels]


def _name(group: Sequence[int], names: Sequence[str], cut: tuple[str, str]) -> str:
    if len(group) == 1:
        return names[group[0]]
    if {level // 2 for level in group} == {0} or {level // 2 for level in group} == {1}:
        return cut[group[0] // 2]
    return "all" if len(group) == 4 else " or ".join(names[level] for level in group)


def _against(value: float | None) -> bool:
    return value is not None and value < 0.5


class _Head(Struct, frozen=True, kw_only=True):
    frame: str
    size: int
    signals: tuple[str, ...]


class _Line(Struct, frozen=True, kw_only=True):
    case_id: str
    signals: tuple[float | None, ...]
    stratum: str | None = None


def write_signals(folder: Path, frame: Frame) -> None:
    """Keep a frame's signals and strata in a run's folder.

    Those of a judge or of other answers are left out: which of them count does not depend on earlier calls.
    """
    names = tuple(name for name in frame.signals if not is_asked_for(name))
    encode = msgspec.json.encode
    lines = [encode(_Head(frame=frame.fingerprint, size=frame.size, signals=names))]
    for place, answer in enumerate(frame.answers):
        values = tuple(frame.signals[name][place] for name in names)
        stratum = frame.strata[place] if frame.strata else None
        lines.append(encode(_Line(case_id=answer.case_id, signals=values, stratum=stratum)))
    write_whole(folder / SIGNALS_FILE, b"\n".join(lines) + b"\n")


def read_signals(folder: Path, frame: Frame) -> Frame:
    """The frame with the signals and strata that its run's folder keeps; as it is if these are of other answers.

    Raises InputError for a file that cannot be read.
    """
    path = folder / SIGNALS_FILE
    try:
        first, *rest = path.read_bytes().splitlines()
        head = msgspec.json.decode(first, type=_Head)
        lines = [msgspec.json.decode(line, type=_Line) for line in rest]
    except FileNotFoundError:
        return frame
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise InputError(
            f"{path}: the signals cannot be read ({error}). Remove the file to compute them again"
        ) from error
    if head.frame != frame.fingerprint:
        return frame
    own = {line.case_id: line for line in lines}
    if set(own) != {answer.case_id for answer in frame.answers}:
        raise InputError(f"{path}: it is not complete. Remove the file to compute the signals again")
    ordered = [own[answer.case_id] for answer in frame.answers]
    strata = tuple(line.stratum for line in ordered if line.stratum is not None)
    signals = {name: [line.signals[place] for line in ordered] for place, name in enumerate(head.signals)}
    signals = {name: values for name, values in signals.items() if not is_asked_for(name)}
    return replace(frame, signals=signals, strata=strata if len(strata) == frame.size else ())
