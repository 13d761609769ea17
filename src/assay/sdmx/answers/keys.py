"""Series keys: values in the order of the dimensions, ``MEX.LP+NGDPD.A``.

A dot ends a position and ``+`` joins values; an empty position and ``*`` are wildcards. Answers list them as
``{"dataset_id": "IMF.RES:WEO", "series_keys": ["MEX.LP.A", …]}``, in which a key may also be an object with a value per
dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from assay.model.cases.selection import Selection
from assay.platform.surface import argument
from assay.sdmx.answers.draft import WILDCARD, SelectionDraft
from assay.sdmx.answers.targets import DATASET_KEYS, selection_of
from assay.sdmx.errors import SelectionError, described, excerpt, located, suggestion, unknown_structure
from assay.sdmx.structures.identifiers import code_of
from assay.sdmx.structures.known import DatasetStructure, Structures

Codes = tuple[str, ...] | None
"""The values of one dimension, without repeats; None: every code."""
SERIES_KEYS = (DATASET_KEYS[0], "series_keys", "time_range")


def selects_everything(key: str) -> bool:
    """Whether a key has wildcards only: ``""``, ``all``, ``*``, ``..``, ``*.*``."""
    return key == "all" or not key.strip(".*+")


def structure_for(dataset: str, structures: Structures | None, *, why: str) -> DatasetStructure:
    """The structure of a dataset. Raises SelectionError with blame ``setup`` if it is not available."""
    if structures is None:
        raise unknown_structure(
            f"{why}: the data structure definition of {dataset!r} is needed: set {argument('--structures')} to a "
            "file, a folder or the URL of a service that has it"
        )
    found = structures.dataset(dataset)
    if found is None:
        where = f" ({', '.join(structures.sources)})" if structures.sources else ""
        raise unknown_structure(
            f"{why}: the data structure definition of {dataset!r} is needed, but the given "
            f"structures{where} do not have that dataset: set {argument('--structures')} to a source that does"
        )
    if not found.has_dimensions:
        raise unknown_structure(
            f"{why}: the given structures have {dataset!r}, but not its data structure definition, "
            f"which lists its dimensions: set {argument('--structures')} to a source that does"
        )
    return found


def read_key(key: str, structure: DatasetStructure, *, dataset: str, whole: bool = False) -> dict[str, Codes]:
    """The codes of each dimension of one key, in the key's order.

    Positions missing at the end are wildcards, unless ``whole`` requires all positions.
    Raises SelectionError if the key has more positions than the dataset has dimensions.
    """
    names = [dimension.id for dimension in structure.dimensions]
    positions = [] if selects_everything(key) and key.count(".") < len(names) else key.split(".")
    if len(positions) > len(names) or (whole and positions and len(positions) < len(names)):
        raise SelectionError(
            f"the key {excerpt(key)} has {len(positions)} positions, but the dataset {dataset!r} has "
            f"{len(names)} dimensions, in this order: {'.'.join(names)}"
        )
    read = {name: position_codes(text) for name, text in zip(names, positions, strict=False)}
    return {name: read.get(name) for name in names}


def position_codes(text: str) -> Codes:
    """The values joined in one position of a key."""
    # Only short texts are cached: hostile answers must not fill the memory.
    return _remembered_codes(text) if len(text) <= 64 else _split_codes(text)


def _split_codes(text: str) -> Codes:
    parts = [part.strip() for part in text.split("+")]
    if WILDCARD in parts or not any(parts):
        return None
    return tuple(dict.fromkeys(code_of(part) for part in parts if part))


_remembered_codes = lru_cache(maxsize=65536)(_split_codes)


def union(keys: Iterable[Mapping[str, Codes]]) -> dict[str, Codes]:
    """The codes in any of the keys, dimension by dimension, in order of first appearance."""
    gathered: dict[str, dict[str, None]] = {}
    everything: set[str] = set()
    for key in keys:
        for dimension, codes in key.items():
            known = gathered.setdefault(dimension, {})
            if codes is None:
                everything.add(dimension)
            else:
                for code in codes:
                    known[code] = None
    return {name: None if name in everything else tuple(known) for name, known in gathered.items()}


def cubes_of(keys: Iterable[Mapping[str, Codes]]) -> list[dict[str, Codes]]:
    """Cubes with exactly the series of the keys: as few as can be found quickly.

    Cubes that differ in only one dimension are merged: all keys of a cross product become one cube.
    """
    cubes = [dict(key) for key in keys]
    if len(cubes) < 2:
        return cubes
    for name in dict.fromkeys(name for cube in cubes for name in cube):
        alike: dict[frozenset[tuple[str, Codes]], list[dict[str, Codes]]] = {}
        for cube in cubes:
            others = frozenset((one, codes) for one, codes in cube.items() if one != name and codes is not None)
            alike.setdefault(others, []).append(cube)
        cubes = [{**same[0], name: join(cube.get(name) for cube in same)} for same in alike.values()]
    return cubes


def join(several: Iterable[Codes]) -> Codes:
    """The codes in any of them, in order of first appearance."""
    return union({"": codes} for codes in several).get("", ())


def meet(one: Codes, other: Codes) -> Codes:
    """The codes in both, in the order of the first."""
    if one is None or other is None:
        return other if one is None else one
    kept = frozenset(other)
    return tuple(code for code in one if code in kept)


def read_series(value: Mapping[Any, object], structures: Structures | None) -> Selection:
    """The union of the series: one query for a cross product, otherwise several. Raises SelectionError."""
    for key in value:
        if key not in SERIES_KEYS:
            raise SelectionError(
                f'has an unknown key "{str(key)[:60]}"{suggestion(str(key), SERIES_KEYS)} '
                f"(known are: {', '.join(SERIES_KEYS)})"
            )
    if DATASET_KEYS[0] not in value:
        raise SelectionError(f'the key "{DATASET_KEYS[0]}" is missing: series keys are those of a dataset')
    # Dataset and time have the same form as in targets, and are read by the same code.
    framed = selection_of({key: value[key] for key in DATASET_KEYS if key in value})
    keys = value["series_keys"]
    if not isinstance(keys, list):
        raise SelectionError(f"contains {described(keys)} instead of a list of series keys", path=("series_keys",))
    (frame,) = framed.datasets
    cubes = cubes_of(_each(keys, frame.dataset, structures))
    draft = SelectionDraft()
    for cube in cubes:
        query = draft.dataset(frame.dataset)
        for one in frame.dimensions:
            query.add(one.dimension, one.terms, everything=one.everything)
        for dimension, codes in cube.items():
            query.add_codes(dimension, codes)
        query.add_time(frame.time)
    return draft.finish() if cubes else framed


def _each(keys: list[object], dataset: str, structures: Structures | None) -> Iterator[dict[str, Codes]]:
    structure: DatasetStructure | None = None
    for place, key in enumerate(keys):
        with located("series_keys", place):
            if isinstance(key, str):
                structure = structure or structure_for(dataset, structures, why="a series key lists values by position")
                codes = read_key(key, structure, dataset=dataset, whole=True)
            else:
                codes = _codes(key)
        yield codes


def _codes(key: object) -> dict[str, Codes]:
    if not isinstance(key, dict):
        raise SelectionError(f'contains {described(key)} instead of a key, for example "MEX.LP.A", or an object')
    codes: dict[str, Codes] = {}
    for dimension, value in key.items():
        if not isinstance(value, str):
            raise SelectionError(f"contains {described(value)} instead of a code", path=(str(dimension),))
        codes[str(dimension)] = position_codes(value)
    return codes
