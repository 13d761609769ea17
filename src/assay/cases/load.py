"""Load question sets and predictions, and bring them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from assay.cases.fields import POSITION, closest
from assay.cases.reading import unanswered
from assay.cases.text import empty
from assay.errors import CaseFileError, InputError, UsageError
from assay.model import Case, FieldNames, Prediction
from assay.ports import CaseFormat, LoadedPredictions

_SUFFIX_ALONE = frozenset({"jsonl", "json", "csv", "xlsx", "parquet", "yaml"})
"""Formats that take any file of their suffix: asked last, so that one that looks inside comes first."""

_SHOWN = 3
"""Ids of either side that a message shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Predictions beside their cases."""

    predictions: tuple[Prediction, ...]
    """One for each case, in the cases' order, under the case's id. One without an answer says so in its failure."""
    unmatched: tuple[str, ...]
    """The ids (or positions) of predictions that fit no case, in the file's order."""


def recognise(path: str | PathLike[str], formats: Sequence[CaseFormat]) -> CaseFormat:
    """The format that a file is in. Raises CaseFileError naming the known ones where none takes it."""
    path = Path(path)
    for format in sorted(formats, key=lambda candidate: candidate.name in _SUFFIX_ALONE):
        if format.recognises(path):
            return format
    names = ", ".join(format.name for format in formats)
    if path.is_dir():
        within = sorted(entry.name for entry in path.iterdir() if any(format.recognises(entry) for format in formats))
        hint = f", such as {within[0]}" if within else ""
        raise CaseFileError(f"is a folder: name a file in it{hint}", path=str(path))
    what = f'the suffix "{path.suffix}"' if path.suffix else "a name without a suffix"
    raise CaseFileError(f"has {what}, which no format takes: give its format, one of {names}", path=str(path))


def load_cases(
    path: str | PathLike[str],
    *,
    formats: Sequence[CaseFormat],
    format: str | None = None,
    fields: FieldNames = FieldNames(),  # noqa: B008 (frozen)
    limit: int | None = None,
) -> tuple[Case, ...]:
    """Load a question set, in the file's order; ``limit`` keeps the first that many.

    ``format`` names one of ``formats``; None: the one that recognises the file. Raises
    CaseFileError with file, row and column where the file cannot be used as it is, also for an id
    that two cases have; InputError for an unknown format; UsageError for a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}: ask for at least 1 case")
    path = Path(path)
    chosen = _format(path, formats, format)
    cases = tuple(chosen.cases(path, fields))
    if not cases:
        raise CaseFileError("holds no question", path=str(path))
    _no_id_twice(path, ((case.id, case.origin) for case in cases))
    return cases[:limit]


def load_predictions(
    path: str | PathLike[str],
    *,
    formats: Sequence[CaseFormat],
    format: str | None = None,
    fields: FieldNames = FieldNames(),  # noqa: B008 (frozen)
) -> LoadedPredictions:
    """Load a prediction file, in its order. Raises as `load_cases` does."""
    path = Path(path)
    chosen = _format(path, formats, format)
    loaded = chosen.predictions(path, fields)
    if not loaded.predictions:
        raise CaseFileError("holds no prediction", path=str(path))
    _no_id_twice(path, ((prediction.case_id, prediction.origin) for prediction in loaded.predictions))
    return loaded


def join(cases: Sequence[Case], loaded: LoadedPredictions) -> Joined:
    """Bring each case its prediction: by id, or by position where the file had no ids.

    A case that no prediction answers gets one without a query, whose failure says so. Raises
    InputError where no prediction at all fits: that is the wrong file, or the wrong column of ids.
    """
    if loaded.by_position:
        _no_ids_as_positions(cases, loaded)
        given = {int(prediction.case_id): prediction for prediction in loaded.predictions}
        found = [given.pop(position, None) for position in range(len(cases))]
        unmatched = tuple(str(position) for position in given)
    else:
        by_id = {prediction.case_id: prediction for prediction in loaded.predictions}
        found = [by_id.pop(case.id, None) for case in cases]
        unmatched = tuple(by_id)
    if cases and loaded.predictions and not any(found):
        raise InputError(_no_fit(cases, loaded))
    return Joined(
        predictions=tuple(_under(case, prediction) for case, prediction in zip(cases, found, strict=True)),
        unmatched=unmatched,
    )


def _no_ids_as_positions(cases: Sequence[Case], loaded: LoadedPredictions) -> None:
    """Raise where what was taken for positions is plainly ids: some fit no position, and all are ids of cases.

    Those that happen to be small would answer the wrong questions without a word.
    """
    numbers = [prediction.case_id for prediction in loaded.predictions]
    beyond = next((number for number in numbers if int(number) >= len(cases)), None)
    if beyond is not None and {case.id for case in cases}.issuperset(numbers):
        raise InputError(
            f"the predictions are read by position, but their keys are the cases' ids: {beyond} is beyond the last "
            f"of {len(cases)} cases and is the id of one. Name the id's column for the predictions (BIRD: question_id)"
        )


def _under(case: Case, prediction: Prediction | None) -> Prediction:
    if prediction is None:
        return Prediction(case_id=case.id, failure=unanswered("no prediction in the file answers this case"))
    return prediction if prediction.case_id == case.id else replace(prediction, case_id=case.id)


def _no_fit(cases: Sequence[Case], loaded: LoadedPredictions) -> str:
    wanted = _some([case.id for case in cases])
    given = _some([prediction.case_id for prediction in loaded.predictions])
    if loaded.by_position:
        return (
            f"no prediction fits a case: there are {len(cases)} cases, at positions from 0 to {len(cases) - 1}, "
            f"and the predictions are for the positions {given}. Where these are ids, name the column of the id "
            "(BIRD: question_id)"
        )
    message = (
        f"no prediction fits a case: the cases' ids are {wanted}, the predictions' {given}. "
        "Name the columns that hold the same ids on both sides"
    )
    if len(cases) == len(loaded.predictions):
        message += (
            f'; or, if both files hold the same {len(cases)} in the same order, give "{POSITION}" as the name of the '
            "predictions' id to join them by position"
        )
    return message


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(f'"{id_}"' for id_ in ids[:_SHOWN])
    return shown + (", ..." if len(ids) > _SHOWN else "")


def _format(path: Path, formats: Sequence[CaseFormat], name: str | None) -> CaseFormat:
    chosen = None
    if name is not None:
        chosen = next((format for format in formats if format.name == name), None)
        if chosen is None:
            names = [format.name for format in formats]
            near = closest(name, names)
            hint = f' (did you mean "{near}"?)' if near else ""
            raise InputError(f'no case format is called "{name}"{hint}: there is {", ".join(names)}')
    _check(path)
    return chosen or recognise(path, formats)


def _check(path: Path) -> None:
    """Raise for a file that is not there, with the closest name in its folder, and for an empty one."""
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise CaseFileError(f'does not exist: there is no folder "{folder}"', path=str(path))
        near = closest(path.name, sorted(entry.name for entry in folder.iterdir()))
        hint = f'; did you mean "{near}"?' if near else ""
        raise CaseFileError(f'does not exist in the folder "{folder}"{hint}', path=str(path))
    if path.is_file() and path.stat().st_size == 0:
        raise empty(path)


def _no_id_twice(path: Path, ids: Iterable[tuple[str, str | None]]) -> None:
    first: dict[str, str | None] = {}
    for id_, origin in ids:
        if id_ in first:
            raise CaseFileError(
                f'the id "{id_}" occurs twice: at {first[id_]} and at {origin}. Give each its own; '
                f'to use row numbers instead, give "{POSITION}" as the name of the id',
                path=str(path),
            )
        first[id_] = origin
