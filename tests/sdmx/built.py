"""Selections and structures, built briefly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.model import DatasetSelection, DimensionSelection, Selection, Term, TimeRange
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact
from assay.sdmx.structures.known import CodeList, DatasetStructure, DimensionStructure


def span(start: object = None, end: object = None) -> TimeRange:
    return TimeRange(start=None if start is None else str(start), end=None if end is None else str(end))


def query_of(dataset: str, /, *, time: Iterable[TimeRange] | None = None, **dimensions: Any) -> DatasetSelection:
    """A query with these codes (texts or terms) by dimension, or ``*``."""
    return DatasetSelection(
        dataset=dataset,
        dimensions=tuple(
            DimensionSelection(dimension=name, everything=True)
            if codes == "*"
            else DimensionSelection(dimension=name, terms=tuple(map(_term, codes)))
            for name, codes in dimensions.items()
        ),
        time=None if time is None else tuple(time),
    )


def _term(code: object) -> Term:
    return code if isinstance(code, Term) else Term(id=str(code))


def union_of(*parts: Selection) -> Selection:
    """All their queries."""
    return Selection(datasets=tuple(query for part in parts for query in part.datasets))


def structure_of(dataset: str, /, *, definition: str | None = None, **dimensions: Any) -> DatasetStructure:
    """A dataset with the names by code (or codes, or a code list) of each dimension; None if it is not coded."""
    return DatasetStructure(
        id=parse_artefact(dataset),
        dimensions=tuple(DimensionStructure(id=name, codes=_codes(name, of)) for name, of in dimensions.items()),
        time_dimension="TIME_PERIOD",
        definition=None if definition is None else parse_artefact(definition),
    )


def _codes(dimension: str, codes: Any) -> CodeList | None:
    if codes is None or isinstance(codes, CodeList):
        return codes
    return CodeList(id=ArtefactId(id=dimension), names=codes if isinstance(codes, Mapping) else dict.fromkeys(codes))
