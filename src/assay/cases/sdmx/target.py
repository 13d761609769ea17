"""Read a target in the shape of the method's test cases: datasets, dimensions, terms, ranges of time."""

from __future__ import annotations

from collections.abc import Callable

from assay.cases.sdmx.values import Keys, Misread, entries, filled, is_null, mapping, text
from assay.model import DatasetSelection, DimensionSelection, Selection, Term, TimeRange

WILDCARD = "*"
_LIKE_SELECTION = "a mapping with indicator_selection"
_LIKE_DATASET = "a mapping with dataset_id, dimensions and time_range"
_LIKE_DIMENSION = "a mapping with dimension_name and values"
_LIKE_VALUES = "a list of terms (id and name), [] for none at all, or '*' for every code"
_LIKE_RANGE = "a mapping with start and end"


class TermCache:
    """Creates each term once and shares it: within one load, the same code and name give the same object."""

    def __init__(self) -> None:
        self._terms: dict[tuple[str, str | None], Term] = {}

    def term(self, id_: str, name: str | None) -> Term:
        """The term of this code and name."""
        key = (id_, name)
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = Term(id=id_, name=name)
        return found

    def terms(self, values: list[object], of: Callable[[object, int], Term]) -> list[Term]:
        """The terms of a list; ``of`` makes those that are new."""
        known = self._terms
        found = []
        for number, value in enumerate(values):
            try:
                # Where this succeeds, both are plain texts: only such pairs are kept.
                term = known[value["id"], value["name"]] if len(value) == 2 else of(value, number)  # type: ignore
            except (KeyError, TypeError):
                term = of(value, number)
            found.append(term)
        return found


def selection_of(value: object, *, keys: Keys = (), cache: TermCache | None = None) -> Selection:
    """The selection in a decoded value: ``{indicator_selection: [...]}``. A dataset named twice is a union.

    Scalars are texts as written, or Null. A dataset's ``time_range`` of null, ``{}`` or ``[]`` is explicitly all of
    time, and an absent one says nothing; ``values`` of ``[]`` is explicitly nothing, and ``'*'`` everything. Raises
    Misread with the path to the wrong value.
    """
    cache = cache or TermCache()
    held = mapping(value, keys, ("indicator_selection",), like=_LIKE_SELECTION)
    if "indicator_selection" not in held:
        raise Misread("has no indicator_selection: write a list of datasets, [] where nothing is to be selected", keys)
    keys = (*keys, "indicator_selection")
    listed = entries(held["indicator_selection"], keys, like="a list of datasets, [] where nothing is to be selected")
    datasets = tuple(_dataset(one, (*keys, number), cache) for number, one in enumerate(listed))
    return Selection(datasets=datasets)


def _dataset(value: object, keys: Keys, cache: TermCache) -> DatasetSelection:
    held = mapping(value, keys, ("dataset_id", "dimensions", "time_range"), like=_LIKE_DATASET)
    if "dataset_id" not in held:
        raise Misread("has no dataset_id", keys)
    below = (*keys, "dimensions")
    listed = entries(held.get("dimensions", []), below, like="a list of dimensions, [] where none is restricted")
    dimensions = tuple(_dimension(one, (*below, number), cache) for number, one in enumerate(listed))
    _none_twice([one.dimension for one in dimensions], "dimension", "dimension_name", below)
    return DatasetSelection(
        dataset=filled(held["dataset_id"], (*keys, "dataset_id")),
        dimensions=dimensions,
        time=_time(held["time_range"], (*keys, "time_range")) if "time_range" in held else None,
    )


def _none_twice(names: list[str], what: str, key: str, keys: Keys) -> None:
    seen: dict[str, int] = {}
    for number, name in enumerate(names):
        if seen.setdefault(name, number) != number:
            raise Misread(
                f'the {what} "{name}" occurs twice, first at [{seen[name]}]: join the two', (*keys, number, key)
            )


def _dimension(value: object, keys: Keys, cache: TermCache) -> DimensionSelection:
    held = mapping(value, keys, ("dimension_name", "values"), like=_LIKE_DIMENSION)
    if "dimension_name" not in held:
        raise Misread("has no dimension_name", keys)
    if "values" not in held:
        raise Misread(f"has no values: write {_LIKE_VALUES}", keys)
    name = filled(held["dimension_name"], (*keys, "dimension_name"))
    keys = (*keys, "values")
    values = held["values"]
    if values == WILDCARD:
        return DimensionSelection(dimension=name, everything=True)
    listed = entries(values, keys, like=_LIKE_VALUES)
    if len(listed) == 1 and listed[0] == WILDCARD:
        return DimensionSelection(dimension=name, everything=True)
    terms = cache.terms(list(listed), lambda one, number: _term(one, (*keys, number), cache))
    return DimensionSelection(dimension=name, terms=_without_repeats(terms))


def _without_repeats(terms: list[Term]) -> tuple[Term, ...]:
    """Terms of one cache without repeats: equal terms are the same object, so identity is enough."""
    if len(set(map(id, terms))) == len(terms):
        return tuple(terms)
    return tuple({id(term): term for term in terms}.values())


def _term(value: object, keys: Keys, cache: TermCache) -> Term:
    if not isinstance(value, dict):
        code = filled(value, keys)
        if code == WILDCARD:
            raise Misread(f"{WILDCARD!r} stands beside codes: write values: '{WILDCARD}' alone for every code", keys)
        return cache.term(code, None)
    held = mapping(value, keys, ("id", "name"), like="a code, or a mapping with id and name")
    if "id" not in held:
        raise Misread("has no id: a term is its code and its name", keys)
    name = held.get("name")
    written = None if is_null(name) else text(name, (*keys, "name")).strip()
    return cache.term(filled(held["id"], (*keys, "id")), written or None)


def _time(value: object, keys: Keys) -> tuple[TimeRange, ...]:
    if is_null(value) or value == {}:
        return ()
    if isinstance(value, list):
        return tuple(_range(one, (*keys, number)) for number, one in enumerate(value))
    return (_range(value, keys),)


def _range(value: object, keys: Keys) -> TimeRange:
    held = mapping(value, keys, ("start", "end"), like=_LIKE_RANGE)
    ends = {end: None if is_null(held.get(end)) else filled(held[end], (*keys, end)) for end in ("start", "end")}
    if not any(ends.values()):
        raise Misread("has neither start nor end: leave time_range null for all of time", keys)
    return TimeRange(start=ends["start"], end=ends["end"])
