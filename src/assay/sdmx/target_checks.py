"""Check a target before use: whether its dimensions and codes exist, and its names match the lists'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.model import DatasetSelection, DimensionSelection, Failure, Selection
from assay.sdmx.errors import excerpt, suggestion
from assay.sdmx.matching import TIME_DIMENSION, plain_name, same_name
from assay.sdmx.periods import odd_time
from assay.sdmx.structures.identifiers import code_of
from assay.sdmx.structures.known import CodeList, DatasetStructure, Structures

_MOST_COMPARED = 5_000
"""The longest list, in codes, that is searched for the nearest code: each one must be compared."""


def gold_failure(target: Selection, structures: Structures | None) -> Failure | None:
    """The error in a target itself: it names a dimension or a code that its dataset does not have.

    Only certain errors count: nothing is reported for a dataset without an available data structure, or for a dimension
    whose code list is missing or incomplete. If the target leaves the version open, one version with the code is
    enough.
    """
    if structures is None:
        return None
    for dataset in target.datasets:
        known = [one for one in structures.versions(dataset.dataset) if one.has_dimensions]
        troubles = [_trouble(dataset, one) for one in known]
        if troubles and all(troubles):
            return Failure(
                stage="load", kind="wrong_target", blame="gold", message=f"the target is wrong: {troubles[0]}"
            )
    return None


def time_failure(target: Selection) -> Failure | None:
    """The error in a target's periods: only an answer with the same text could be compared with them."""
    troubles = (odd_time(dataset.time or ()) for dataset in target.datasets)
    trouble = next((one for one in troubles if one is not None), None)
    if trouble is None:
        return None
    return Failure(stage="load", kind="wrong_target", blame="gold", message=f"the target is wrong: {trouble}")


def odd_periods(selected: Selection) -> tuple[str, ...]:
    """The unreadable periods of an answer, one sentence each: they are compared as written."""
    told = (odd_time(dataset.time or ()) for dataset in selected.datasets)
    return tuple(dict.fromkeys(one for one in told if one is not None))


def stale_names(target: Selection, selected: Selection, structures: Structures | None) -> tuple[str, ...]:
    """Names in the target that differ from the code lists, for codes that the answer selects.

    If the answer gives no name, such a term is correct, as its code is; if it gives the list's name, that differs
    from the target's. One sentence for each says how to correct the target.
    """
    if structures is None:
        return ()
    said: dict[tuple[str, str], set[str | None]] = {}
    for dataset in selected.datasets:
        for dimension in dataset.dimensions:
            for term in dimension.terms:
                said.setdefault((dimension.dimension, code_of(term.id)), set()).add(term.name)
    return tuple(dict.fromkeys(_stale(target, said, structures))) if said else ()


def _stale(target: Selection, said: Mapping[tuple[str, str], set[str | None]], structures: Structures) -> Iterator[str]:
    for dataset in target.datasets:
        known = structures.dataset(dataset.dataset)
        for dimension in dataset.dimensions if known is not None else ():
            there = known.dimension(dimension.dimension) if known is not None else None
            names = {} if there is None or there.codes is None else there.codes.names
            for term in dimension.terms:
                listed = names.get(term.id)
                key = (dimension.dimension, term.id)
                if listed is None or term.name is None or key not in said:
                    continue
                if same_name(listed, term.name):
                    continue
                if any(named is None or same_name(listed, named) for named in said[key]):
                    yield (
                        f"the target calls {term.id} of {dimension.dimension} {excerpt(term.name)}, "
                        f"but its code list {excerpt(listed)}"
                    )


def _trouble(dataset: DatasetSelection, known: DatasetStructure) -> str | None:
    """The first dimension or code in a dataset's target that the dataset does not have."""
    for dimension in dataset.dimensions:
        if dimension.dimension in (known.time_dimension, TIME_DIMENSION):
            continue
        there = known.dimension(dimension.dimension)
        if there is None:
            names = [one.id for one in known.dimensions]
            return (
                f"{known.id} has no dimension {excerpt(dimension.dimension)}{suggestion(dimension.dimension, names)} "
                f"(it has {', '.join(names)})"
            )
        if there.codes is not None and there.codes.whole:
            unknown = _unknown(dimension, there.codes)
            if unknown:
                return f"{_said(unknown)} not in the code list {there.codes.id} of {known.id}, dimension {there.id}" + (
                    _nearest(unknown[0], dimension, there.codes)
                )
    return None


def _unknown(dimension: DimensionSelection, codes: CodeList) -> list[str]:
    names = codes.names
    return [term.id for term in dimension.terms if term.id not in names and code_of(term.id) not in names]


def _said(codes: Sequence[str]) -> str:
    if len(codes) == 1:
        return f"the code {excerpt(codes[0])} is"
    more = f" and {len(codes) - 3:,} more" if len(codes) > 3 else ""
    return f"the codes {', '.join(map(excerpt, codes[:3]))}{more} are"


def _nearest(code: str, dimension: DimensionSelection, codes: CodeList) -> str:
    """``; did you mean …?`` with the code that has the target's name, otherwise the code with the most similar
    spelling."""
    name = next((term.name for term in dimension.terms if term.id == code), None)
    if name is not None:
        wanted = plain_name(name).casefold()
        for other, listed in codes.names.items():
            if listed is not None and plain_name(listed).casefold() == wanted:
                return f'; did you mean "{other}", which has that name?'
    return suggestion(code, codes.names) if len(codes.names) <= _MOST_COMPARED else ""
