"""Ask a live system, keep every answer, and never ask a question more often than requested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

from assay.errors import RunError
from assay.model import Case, Failure, Prediction
from assay.ports import System
from assay.runs.progress import Progress, counted
from assay.runs.store.codec import decode_value, encode_value, identity_of
from assay.runs.store.journal import ANSWERS, Finished, Journal, damaged
from assay.runs.store.size import within_size
from assay.systems.concurrency import ask_all

OnProgress: TypeAlias = Callable[[Progress], None]
_Key: TypeAlias = tuple[str, int]
"""A case's id, and which of the answers to it."""


def ask(
    system: System,
    cases: Sequence[Case],
    *,
    concurrency: int,
    repeats: int = 1,
    folder: Path | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[Prediction, ...]:
    """The system's answers in the cases' order; answers that ``folder`` already holds are not asked for again.

    Each question is asked ``repeats`` times, every question once before any is repeated; its answers are
    consecutive in the result, and ``Prediction.repeat`` numbers them as they arrived. An answer is written as it
    arrives. A question whose asking failed (``ask_failed``) has no answer: the failure is written, too,
    but the question is asked again when the same command runs again. Raises SystemUnusable where the system
    can answer nothing at all.
    """
    wanted, noun = _wanted(cases, repeats), counted(repeats)
    answers: dict[_Key, Prediction] = {}
    with _open_answers(folder) as journal:
        digests = _digests(system, cases, repeats)
        if journal is not None:
            held = _held(journal, digests)
            answers = {key: prediction for key, prediction in held.items() if not _asking_failed(prediction)}
        resumed = len(answers)
        # The system is not told the repeat's number: the next answer to arrive takes the next free place.
        free = {case.id: [n for n in reversed(range(repeats)) if (case.id, n) not in answers] for case in cases}

        def say() -> None:
            if on_progress is not None:
                state = Progress(stage="asking", total=len(wanted), finished=len(answers), resumed=resumed, noun=noun)
                on_progress(state)

        def keep(prediction: Prediction) -> None:
            key = prediction.case_id, free[prediction.case_id].pop()
            answers[key] = prediction = within_size(_numbered(_of_text(prediction), key[1]))
            if journal is not None:
                journal.append(digests[key], encode_value(prediction))
            say()

        say()
        rounds = [case for repeat in range(repeats) for case in cases if (case.id, repeat) not in answers]
        ask_all(system, rounds, concurrency=concurrency, on_answer=keep)
        if journal is not None:
            journal.check_whole()
    return tuple(answers[key] for key in wanted)


def answers_held(system: System, cases: Sequence[Case], folder: Path, *, repeats: int = 1) -> tuple[Prediction, ...]:
    """What ``folder`` holds of the system's answers, in the order of `ask`, including failures to answer.

    Nothing is asked. Raises RunError where a question was asked less often than requested.
    """
    wanted = _wanted(cases, repeats)
    held: dict[_Key, Prediction] = {}
    if (folder / ANSWERS).exists():
        with Journal(folder, name=ANSWERS) as journal:
            held = _held(journal, _digests(system, cases, repeats))
    missing = [key for key in wanted if key not in held]
    if missing:
        lacks = f"holds no answer to {len(missing)} of the {len(cases)} questions, such as case"
        if repeats > 1:
            lacks = (
                f"lacks {len(missing)} of the {len(wanted)} answers ({repeats} to each question), such as one to case"
            )
        raise RunError(
            f"{folder} {lacks} {missing[0][0]!r}, asked of {system.describe()}: nothing was judged again; "
            "to ask them first, run the command without rescoring"
        )
    return tuple(held[key] for key in wanted)


def _of_text(prediction: Prediction) -> Prediction:
    """The answer, without its query if that is not valid text (half of a surrogate pair), which no file could keep."""
    try:
        (prediction.query or "").encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"the query is no valid text: character {error.start + 1} is a lone surrogate"
        failure = Failure(stage="read", kind="error", blame="system", message=message)
        return replace(prediction, query=None, failure=failure)
    return prediction


def _wanted(cases: Sequence[Case], repeats: int) -> list[_Key]:
    return [(case.id, repeat) for case in cases for repeat in range(repeats)]


def _numbered(prediction: Prediction, repeat: int) -> Prediction:
    return prediction if prediction.repeat == repeat else replace(prediction, repeat=repeat)


def _held(journal: Journal, digests: Mapping[_Key, str]) -> dict[_Key, Prediction]:
    return {
        key: _numbered(_taken_over(journal, journal.finished[digest]), key[1])
        for key, digest in digests.items()
        if digest in journal.finished
    }


def _asking_failed(prediction: Prediction) -> bool:
    return prediction.failure is not None and prediction.failure.kind == "ask_failed"


def _open_answers(folder: Path | None) -> Journal | nullcontext[None]:
    if folder is None:
        return nullcontext()
    folder.mkdir(parents=True, exist_ok=True)
    return Journal(folder, name=ANSWERS)


def _taken_over(journal: Journal, place: Finished) -> Prediction:
    try:
        return decode_value(journal.content(place), Prediction)
    except RunError as error:
        raise damaged(journal.path, place.number) from error


def _digests(system: System, cases: Sequence[Case], repeats: int) -> dict[_Key, str]:
    """For each answer, a hash of everything in its question's request, and of the repeat's number."""
    digests = {}
    for case in cases:
        first = _digest(system, case)
        for repeat in range(repeats):
            # The first answer has the same hash as in a run that asks once.
            digests[case.id, repeat] = first if repeat == 0 else _digest_of(first.encode(), str(repeat).encode())
    return digests


def _digest(system: System, case: Case) -> str:
    """A hash of everything in a question's request: the system, and the case without its gold."""
    turns = tuple(replace(turn, targets=()) for turn in case.turns)
    asked = replace(case, golds=(), origin=None, difficulty=None, tags=(), name=None, comments=None, turns=turns)
    return _digest_of(encode_value(system.describe()), identity_of(asked))


def _digest_of(*parts: bytes) -> str:
    digest = blake2b(digest_size=12)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
