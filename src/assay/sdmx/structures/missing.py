"""Report which parts of structures are missing, and what is therefore unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.sdmx.structures.known import DatasetStructure, Structures
from assay.sdmx.trouble import suggestion

_SHOWN = 20
_MOST_COMPARED = 2_000


def missing_parts(datasets: Iterable[DatasetStructure]) -> tuple[str, ...]:
    """The missing code lists and data structures that these datasets refer to, a sentence for each."""
    lists: dict[str, list[str]] = {}
    bare: list[str] = []
    partial: dict[str, None] = {}
    for dataset in datasets:
        if not dataset.has_dimensions:
            bare.append(str(dataset.id))
        for dimension in dataset.dimensions:
            if dimension.missing is not None:
                lists.setdefault(dimension.missing, []).append(f"{dimension.id} of {dataset.id}")
            elif dimension.codes is not None and not dimension.codes.whole:
                partial[str(dimension.codes.id)] = None
    said = []
    if lists:
        named = _some([f"{name} (for {_some(users, 3)})" for name, users in lists.items()], _SHOWN)
        said.append(
            f"not among the structures: {named}. Codes of these dimensions have no names, invented ones cannot be told "
            "from wrong ones, and what a wildcard takes is not known"
        )
    if partial:
        said.append(
            f"only parts of these code lists are among the structures: {_some(list(partial), _SHOWN)}. Whether a code "
            "that is not in them exists cannot be told"
        )
    if bare:
        said.append(
            f"not among the structures: the data structure of {_some(bare, _SHOWN)}. Series keys and URLs with keys "
            "cannot be read there, and no dimension or code can be checked"
        )
    return tuple(said)


def missing_datasets(wanted: Iterable[str], structures: Structures) -> tuple[str, ...]:
    """One sentence on the datasets that targets name but the structures lack; empty if there are none."""
    absent = [name for name in dict.fromkeys(wanted) if structures.dataset(name) is None]
    if not absent:
        return ()
    near = suggestion(absent[0], [str(one.id) for one in structures.datasets[:_MOST_COMPARED]])
    said = (
        f"not among the structures: the dataset{'s' * (len(absent) > 1)} {_some(absent, _SHOWN)}{near}. Nothing "
        "that is selected there can be checked, and keys cannot be read"
    )
    return (said,)


def _some(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
