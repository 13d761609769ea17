"""SDMX cases and predictions that are already in memory, in the same shapes as in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.cases.sdmx.answers import PredictionReader
from assay.cases.sdmx.case import TermCache, case_of
from assay.cases.sdmx.records import Misread, Record
from assay.errors import CaseFileError
from assay.model import Case, FieldNames, Prediction, Selection, TurnAnswer
from assay.ports import LoadedPredictions
from assay.sdmx.errors import dotted


def cases_in_memory(values: Iterable[Mapping[str, Any]]) -> tuple[Case, ...]:
    """Cases from mappings in the shape of the YAML files. Raises CaseFileError with the wrong item and key."""
    cache = TermCache()
    cases = []
    for number, value in enumerate(values):
        try:
            cases.append(case_of(value, origin=f"item {number}", cache=cache))
        except Misread as error:
            where = f"item {number}, {dotted(error.keys)}" if error.keys else f"item {number}"
            raise CaseFileError(str(error), path="the cases in memory", place=where) from error
    return tuple(cases)


def predictions_in_memory(values: Mapping[str, Any] | Iterable[Any]) -> LoadedPredictions:
    """Predictions from a mapping from case id to answer, or from records, answers or selections in the cases' order.

    A list under an id is one answer with several queries; ``{"turns": [...]}`` contains one answer per question. Raises
    CaseFileError with the wrong item.
    """
    reader = PredictionReader(FieldNames())
    name = Path("the predictions in memory")
    by_id = isinstance(values, Mapping)
    items = list(values.items()) if isinstance(values, Mapping) else list(enumerate(values))
    found: list[Prediction] = []
    for key, value in items:
        turns = _selected(value)
        if turns is not None:
            found.append(Prediction(case_id=str(key), turns=turns))
            continue
        record = Record(value={str(key): value} if by_id else value, place=f"item {key}", alone=by_id)
        try:
            found.extend(reader.read(name, "the predictions in memory", record))
        except Misread as error:
            raise CaseFileError(str(error), path=str(name), place=f"item {key}") from error
    loaded = reader.loaded(name, found)
    whole = not by_id and all(_selected(value) is not None for _, value in items)
    return LoadedPredictions(
        predictions=loaded.predictions,
        by_position=whole or (loaded.by_position and not by_id),
        stated=not by_id,  # a list is in the cases' order, as the docstring says
    )


def _selected(value: Any) -> tuple[TurnAnswer, ...] | None:
    """The answers if they are already selections; None if they must be read."""
    if isinstance(value, Selection):
        return (TurnAnswer(selection=value),)
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, Selection) for one in value):
        return tuple(TurnAnswer(selection=one) for one in value)
    return None
