"""Ask a live system, keep every answer, and never ask a question twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

from assay.errors import RunError
from assay.model import Case, Prediction
from assay.ports import System
from assay.runs.codec import decode_value, encode_value
from assay.runs.journal import ANSWERS, Journal, JournalLine, damaged
from assay.runs.progress import Progress
from assay.systems.asking import ask_all

OnProgress: TypeAlias = Callable[[Progress], None]


def ask(
    system: System,
    cases: Sequence[Case],
    *,
    concurrency: int,
    folder: Path | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[Prediction, ...]:
    """The system's answers in the cases' order, those that ``folder`` holds already not asked for again.

    An answer is written as it arrives. A question whose asking failed (``ask_failed``) has no
    answer: that is written, too, but it is asked again when the same command runs again. Raises
    SystemUnusable where the system can answer nothing at all.
    """
    answers: dict[str, Prediction] = {}
    with _open_answers(folder) as journal:
        digests = {case.id: _digest(system, case) for case in cases}
        if journal is not None:
            held = _held(journal, digests)
            answers = {case_id: prediction for case_id, prediction in held.items() if not _asking_failed(prediction)}
        resumed = len(answers)

        def say() -> None:
            if on_progress is not None:
                progress = Progress(stage="asking", total=len(cases), finished=len(answers), resumed=resumed)
                on_progress(progress)

        def keep(prediction: Prediction) -> None:
            answers[prediction.case_id] = prediction
            if journal is not None:
                journal.append(digests[prediction.case_id], encode_value(prediction))
            say()

        say()
        ask_all(system, [case for case in cases if case.id not in answers], concurrency=concurrency, on_answer=keep)
    return tuple(answers[case.id] for case in cases)


def answers_held(system: System, cases: Sequence[Case], folder: Path) -> tuple[Prediction, ...]:
    """What ``folder`` holds of the system's answers, in the cases' order, failures to answer among them.

    Nothing is asked. Raises RunError where a case's question was never asked.
    """
    held: dict[str, Prediction] = {}
    if (folder / ANSWERS).exists():
        with Journal(folder, name=ANSWERS) as journal:
            held = _held(journal, {case.id: _digest(system, case) for case in cases})
    missing = [case for case in cases if case.id not in held]
    if missing:
        raise RunError(
            f"{folder} holds no answer to {len(missing)} of the {len(cases)} questions, such as case "
            f"{missing[0].id!r}, asked of {system.describe()}: nothing was judged again; "
            "to ask them first, run the command without rescoring"
        )
    return tuple(held[case.id] for case in cases)


def _held(journal: Journal, digests: Mapping[str, str]) -> dict[str, Prediction]:
    return {
        case_id: _taken_over(journal, journal.finished[digest])
        for case_id, digest in digests.items()
        if digest in journal.finished
    }


def _asking_failed(prediction: Prediction) -> bool:
    return prediction.failure is not None and prediction.failure.kind == "ask_failed"


def _open_answers(folder: Path | None) -> Journal | nullcontext[None]:
    if folder is None:
        return nullcontext()
    folder.mkdir(parents=True, exist_ok=True)
    return Journal(folder, name=ANSWERS)


def _taken_over(journal: Journal, line: JournalLine) -> Prediction:
    try:
        return decode_value(line.content, Prediction)
    except RunError as error:
        raise damaged(journal.path, line.number) from error


def _digest(system: System, case: Case) -> str:
    """A hash of all that a question is asked by: the system, and the case without its gold."""
    turns = tuple(replace(turn, targets=()) for turn in case.turns)
    asked = replace(case, golds=(), origin=None, difficulty=None, tags=(), name=None, comments=None, turns=turns)
    digest = blake2b(digest_size=12)
    for value in (system.describe(), asked):
        digest.update(encode_value(value))
    return digest.hexdigest()
