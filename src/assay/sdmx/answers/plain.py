"""Selections in the shape of targets: ``indicator_selection``, datasets, dimensions, values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any

import msgspec

from assay.model.cases.selection import DatasetSelection, DimensionSelection, Selection, Term, TimeRange
from assay.sdmx.answers.draft import WILDCARD, DatasetDraft, SelectionDraft
from assay.sdmx.trouble import Path, SelectionError, described, suggestion

TOP_KEYS = ("indicator_selection",)
DATASET_KEYS = ("dataset_id", "dimensions", "time_range")
_DIMENSION_KEYS = ("dimension_name", "values")
_VALUE_KEYS = ("id", "name")
_RANGE_KEYS = ("start", "end")


def selection_of(value: object) -> Selection:
    """A selection from decoded JSON or YAML: ``{"indicator_selection": [...]}``, the list alone, or one dataset.

    ``values`` holds objects with ``id`` and ``name``, or bare codes; ``"*"`` is a wildcard, ``[]`` and null are
    explicitly empty. ``time_range`` is one range or a list of them; null, ``{}`` and ``[]`` are explicitly all time, an
    absent one says nothing. Repeated parts are joined. Outer spaces are ignored, and a blank name counts as absent.
    Raises SelectionError with the path of keys. Cases are read by `assay.cases.sdmx.target`, which is stricter: a
    repetition is an author's mistake in a target, but not in an answer.
    """
    draft = SelectionDraft()
    if isinstance(value, Mapping) and any(key in value for key in DATASET_KEYS):
        _dataset(draft, value, ())
        return draft.finish()
    path: Path = ()
    if isinstance(value, Mapping):
        _only(value, TOP_KEYS, ())
        if TOP_KEYS[0] not in value:
            raise SelectionError('the key "indicator_selection" is missing: give a list of datasets there')
        value, path = value[TOP_KEYS[0]], TOP_KEYS
    for place, dataset in enumerate(_list(value, path, "a list of datasets")):
        _dataset(draft, dataset, (*path, place))
    return draft.finish()


def _dataset(draft: SelectionDraft, value: object, path: Path) -> None:
    entry = _object(value, DATASET_KEYS, path, 'an object with "dataset_id" and "dimensions"')
    dataset = draft.dataset(_needed(entry, "dataset_id", path))
    dimensions_path = (*path, "dimensions")
    for place, dimension in enumerate(_list(entry.get("dimensions"), dimensions_path, "a list of dimensions")):
        _dimension(dataset, dimension, (*dimensions_path, place))
    if "time_range" in entry:
        dataset.add_time(_time(entry["time_range"], (*path, "time_range")))


def _dimension(dataset: DatasetDraft, value: object, path: Path) -> None:
    entry = _object(value, _DIMENSION_KEYS, path, 'an object with "dimension_name" and "values"')
    name = _needed(entry, "dimension_name", path)
    if "values" not in entry:
        raise SelectionError('the key "values" is missing: give the codes, or [] where none is selected', path=path)
    values = entry["values"]
    if values == WILDCARD:
        dataset.add(name, everything=True)
        return
    values_path = (*path, "values")
    listed = _list(values, values_path, 'a list of codes, or "*"')
    dataset.add(name, [_term(one, (*values_path, place)) for place, one in enumerate(listed)])


def _term(value: object, path: Path) -> Term:
    if not isinstance(value, Mapping):
        return Term(id=_text(value, path, 'a code, or an object with "id" and "name"'))
    _only(value, _VALUE_KEYS, path)
    name = value.get("name")
    written = None if name is None else _text(name, (*path, "name"), "a name", blank=True)
    return Term(id=_needed(value, "id", path), name=written or None)


def _time(value: object, path: Path) -> tuple[TimeRange, ...]:
    if value is None:
        return ()
    if isinstance(value, Mapping):
        return (_range(value, path),)
    listed = _list(value, path, 'a range {"start": …, "end": …}, or a list of them')
    return tuple(_range(one, (*path, place)) for place, one in enumerate(listed))


def _range(value: object, path: Path) -> TimeRange:
    entry = _object(value, _RANGE_KEYS, path, 'a range {"start": …, "end": …}')
    start, end = (_bound(entry.get(key), (*path, key)) for key in _RANGE_KEYS)
    return TimeRange(start=start, end=end)


def _bound(value: object, path: Path) -> str | None:
    if value is None:
        return None
    if isinstance(value, date):  # YAML reads 2015-03-01 as a date; a datetime is a date, too
        return value.isoformat()
    return _text(value, path, "a period such as 2015, 2015-Q1 or 2015-03")


def _needed(entry: Mapping[Any, object], key: str, path: Path) -> str:
    if key not in entry:
        raise SelectionError(f'the key "{key}" is missing', path=path)
    return _text(entry[key], (*path, key), "text")


def _text(value: object, path: Path, expected: str, *, blank: bool = False) -> str:
    if isinstance(value, str):
        if not blank and (not value or value.isspace()):
            raise SelectionError(f"is blank: {expected} is expected", path=path)
        return str(value).strip()
    if isinstance(value, bool | float):
        raise SelectionError(f"holds {described(value)}: put it in quotes if it is {expected}", path=path)
    if isinstance(value, int):
        return str(int(value))
    raise SelectionError(f"holds {described(value)}: {expected} is expected", path=path)


def _list(value: object, path: Path, expected: str) -> list[object]:
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return list(value)
    raise SelectionError(f"holds {described(value)}: {expected} is expected", path=path)


def _object(value: object, keys: tuple[str, ...], path: Path, expected: str) -> Mapping[Any, object]:
    if not isinstance(value, Mapping):
        raise SelectionError(f"holds {described(value)}: {expected} is expected", path=path)
    _only(value, keys, path)
    return value


def _only(value: Mapping[Any, object], keys: tuple[str, ...], path: Path) -> None:
    for key in value:
        if key not in keys:
            shown = str(key)[:60]
            raise SelectionError(
                f'has no place for the key "{shown}"{suggestion(shown, keys)} (known are: {", ".join(keys)})', path=path
            )


# The fast path: most answers are well-formed and long, so they are decoded directly into their final form.


class _FastRange(msgspec.Struct, forbid_unknown_fields=True):
    start: str | msgspec.UnsetType | None = msgspec.UNSET
    end: str | msgspec.UnsetType | None = msgspec.UNSET


class _FastDimension(msgspec.Struct, forbid_unknown_fields=True):
    dimension_name: str
    values: list[Term | str]


class _FastDataset(msgspec.Struct, forbid_unknown_fields=True):
    dataset_id: str
    dimensions: list[_FastDimension]
    time_range: _FastRange | msgspec.UnsetType = msgspec.UNSET


class _FastSelection(msgspec.Struct, forbid_unknown_fields=True):
    indicator_selection: list[_FastDataset]


@lru_cache(maxsize=1)
def _decoder() -> msgspec.json.Decoder[_FastSelection | list[_FastDataset]]:
    return msgspec.json.Decoder(_FastSelection | list[_FastDataset])


_NULL_NAME = re.compile(r'"name":\s*null')
_SPACED_COLON = re.compile(r'"\s+:')


def read_fast(raw: str) -> Selection | None:
    """The selection of a text that is ordinary JSON of this shape; None: use the careful path.

    Returns the same as `selection_of`, or None.
    """
    try:
        decoded = _decoder().decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    datasets = decoded if isinstance(decoded, list) else decoded.indicator_selection
    if not _is_all_there(raw, datasets) or len({one.dataset_id for one in datasets}) < len(datasets):
        return None
    read: list[DatasetSelection] = []
    for one in datasets:
        dimensions = [_fast_dimension(dimension) for dimension in one.dimensions]
        whole = [dimension for dimension in dimensions if dimension is not None]
        if len(whole) < len(dimensions) or len({each.dimension for each in whole}) < len(whole):
            return None
        time = None if isinstance(one.time_range, msgspec.UnsetType) else _fast_time(one.time_range)
        if not _is_trim(one.dataset_id) or (time is not None and not all(_is_bound(span) for span in time)):
            return None
        read.append(DatasetSelection(dataset=one.dataset_id, dimensions=tuple(whole), time=time))
    return Selection(datasets=tuple(read)) if len(read) < 2 else _joined(read)


def _joined(datasets: list[DatasetSelection]) -> Selection:
    draft = SelectionDraft()
    draft.add(Selection(datasets=tuple(datasets)))
    return draft.finish()


def _is_bound(span: TimeRange) -> bool:
    return all(bound is None or _is_trim(bound) for bound in (span.start, span.end))


def _is_trim(text: str) -> bool:
    return text != "" and text == text.strip()


def _fast_time(given: _FastRange) -> tuple[TimeRange, ...]:
    start, end = (None if isinstance(one, msgspec.UnsetType) else one for one in (given.start, given.end))
    return () if start is None and end is None else (TimeRange(start=start, end=end),)


def _fast_dimension(given: _FastDimension) -> DimensionSelection | None:
    terms = tuple(one if isinstance(one, Term) else Term(id=one) for one in given.values)
    ids = [term.id for term in terms]
    # One check of all ids together in place of five checks for each.
    if ":" in "".join(ids) or WILDCARD in ids or "" in ids or len(set(ids)) < len(ids):
        return None
    names = [term.name for term in terms if term.name is not None]
    if ids != list(map(str.strip, ids)) or names != list(map(str.strip, names)) or "" in names:
        return None
    if not _is_trim(given.dimension_name):
        return None
    return DimensionSelection(dimension=given.dimension_name, terms=terms)


def _is_all_there(raw: str, datasets: list[_FastDataset]) -> bool:
    """Whether the text has no keys beyond the decoded ones.

    Dataclasses accept unknown keys, and the decoder accepts repeated keys: the text then has more keys than were
    decoded, never fewer. Counting keys is much faster than checking each. A text with ``":`` within a string also has
    more, and takes the careful path, with the same result.
    """
    if _SPACED_COLON.search(raw):
        return False
    dimensions = [dimension for dataset in datasets for dimension in dataset.dimensions]
    terms = [value for dimension in dimensions for value in dimension.values if isinstance(value, Term)]
    times = [one.time_range for one in datasets if not isinstance(one.time_range, msgspec.UnsetType)]
    bounds = sum((one.start is not msgspec.UNSET) + (one.end is not msgspec.UNSET) for one in times)
    nameless = [term.name for term in terms].count(None)
    keys = 2 * len(datasets) + 2 * len(dimensions) + 2 * len(terms) - nameless + len(times) + bounds
    # Without an enclosing key, the list starts with its own bracket.
    extra = raw.count('":') - keys - (not raw.lstrip().startswith("["))
    return extra == 0 or (0 < extra <= nameless and extra == len(_NULL_NAME.findall(raw)))
