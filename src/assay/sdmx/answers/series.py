"""Lists of series keys: ``{"dataset_id": "IMF.RES:WEO", "series_keys": ["MEX.LP.A", …]}``.

A key is a text, read by the data structure definition's positions, or an object with a value per dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.model.cases.selection import Selection
from assay.sdmx.answers.draft import SelectionDraft
from assay.sdmx.answers.keys import Codes, cubes_of, position_codes, read_key, structure_for
from assay.sdmx.answers.plain import DATASET_KEYS, selection_of
from assay.sdmx.structures.known import DatasetStructure, Structures
from assay.sdmx.trouble import SelectionError, described, suggestion

SERIES_KEYS = (DATASET_KEYS[0], "series_keys", "time_range")


def read_series(value: Mapping[Any, object], structures: Structures | None) -> Selection:
    """The union of the series: one query where they are a cross product, else several. Raises SelectionError."""
    for key in value:
        if key not in SERIES_KEYS:
            raise SelectionError(
                f'has no place for the key "{str(key)[:60]}"{suggestion(str(key), SERIES_KEYS)} '
                f"(known are: {', '.join(SERIES_KEYS)})"
            )
    if DATASET_KEYS[0] not in value:
        raise SelectionError(f'the key "{DATASET_KEYS[0]}" is missing: series keys are those of a dataset')
    # Dataset and time have the same form as in targets, and are read by the same code.
    framed = selection_of({key: value[key] for key in DATASET_KEYS if key in value})
    keys = value["series_keys"]
    if not isinstance(keys, list):
        raise SelectionError(f"holds {described(keys)}: a list of series keys is expected", path=("series_keys",))
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
        try:
            if isinstance(key, str):
                structure = structure or structure_for(dataset, structures, why="a series key lists values by position")
                yield read_key(key, structure, dataset=dataset, whole=True)
            else:
                yield _codes(key)
        except SelectionError as error:
            raise error.below("series_keys", place) from error


def _codes(key: object) -> dict[str, Codes]:
    if not isinstance(key, dict):
        raise SelectionError(f'holds {described(key)}: a key such as "MEX.LP.A", or an object, is expected')
    codes: dict[str, Codes] = {}
    for dimension, value in key.items():
        if not isinstance(value, str):
            raise SelectionError(f"holds {described(value)}: a code is expected", path=(str(dimension),))
        codes[str(dimension)] = position_codes(value)
    return codes
