"""Selections in the shape of targets: ``indicator_selection``, datasets, dimensions, values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from assay.model.cases.selection import Selection, Term, TimeRange
from assay.sdmx.answers.draft import WILDCARD, DatasetDraft, SelectionDraft
from assay.sdmx.errors import Path, SelectionError, described, suggestion

TOP_KEYS = ("indicator_selection",)
DATASET_KEYS = ("dataset_id", "dimensions", "time_range")
_DIMENSION_KEYS = ("dimension_name", "values")
_VALUE_KEYS = ("id", "name")
_RANGE_KEYS = ("start", "end")


def selection_of(value: object) -> Selection:
    """A selection from decoded JSON or YAML: ``{"indicator_selection": [...]}``, the list alone, or one dataset.

    ``values`` has objects with ``id`` and ``name``, or bare codes; ``"*"`` is a wildcard, ``[]`` and null are
    explicitly empty. ``time_range`` is one range or a list of them; null, ``{}`` and ``[]`` are explicitly all time, an
    absent one says nothing. Repeated parts are joined. Outer spaces are ignored, and a blank name counts as absent.
    Raises SelectionError with the path of keys. Cases are read by `assay.cases.sdmx.case`, which is stricter: a
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
            raise SelectionError('the key "indicator_selection" is missing: add it with a list of datasets')
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
        raise SelectionError('the key "values" is missing: give the codes, or [] for none', path=path)
    values = entry["values"]
    if values == WILDCARD:
        dataset.add(name, everything=True)
        return
    values_path = (*path, "values")
    listed = _list(values, values_path, 'a list of codes, or "*"')
    dataset.add(name, [_term(one, (*values_path, place)) for place, one in enumerate(listed)])


def _term(value: object, path: Path) -> Term:
    if type(value) is dict and len(value) == 2:  # as most are; others are read in full
        id_, name = value.get("id"), value.get("name")
        if type(id_) is str and type(name) is str and (code := id_.strip()) and (text := name.strip()):
            return Term(id=code, name=text)
    if not isinstance(value, dict | Mapping):
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
    bounds: dict[str, str] = {}
    for key, bound in entry.items():
        if isinstance(bound, date):  # YAML reads 2015-03-01 as a date; a datetime is a date, too
            bounds[key] = bound.isoformat()
        elif bound is not None:
            bounds[key] = _text(bound, (*path, key), "a period, for example 2015, 2015-Q1 or 2015-03,")
    return TimeRange(**bounds)


def _needed(entry: Mapping[Any, object], key: str, path: Path) -> str:
    if key not in entry:
        raise SelectionError(f'the key "{key}" is missing', path=path)
    return _text(entry[key], (*path, key), "text")


def _text(value: object, path: Path, expected: str, *, blank: bool = False) -> str:
    if isinstance(value, str):
        text = value.strip()
        if not text and not blank:
            raise SelectionError(f"is blank instead of {expected}", path=path)
        return text
    if isinstance(value, bool | float):
        raise SelectionError(f"contains {described(value)}: put it in quotes if it is {expected}", path=path)
    if isinstance(value, int):
        return str(int(value))
    raise SelectionError(f"contains {described(value)} instead of {expected}", path=path)


def _list(value: object, path: Path, expected: str) -> list[object]:
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return list(value)
    raise SelectionError(f"contains {described(value)} instead of {expected}", path=path)


def _object(value: object, keys: tuple[str, ...], path: Path, expected: str) -> Mapping[Any, object]:
    if not isinstance(value, Mapping):
        raise SelectionError(f"contains {described(value)} instead of {expected}", path=path)
    _only(value, keys, path)
    return value


def _only(value: Mapping[Any, object], keys: tuple[str, ...], path: Path) -> None:
    for key in value:
        if key not in keys:
            shown = str(key)[:60]
            raise SelectionError(
                f'has an unknown key "{shown}"{suggestion(shown, keys)} (known are: {", ".join(keys)})', path=path
            )
