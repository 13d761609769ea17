"""One dataset's queries as sets of series: how many series both sides select, and whether they select the same.

A series is a key, one code of each dimension. Two sides are the same if the keys are, each over the same periods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from msgspec import Struct

from assay.model import HierarchyEquivalence, TimeRange
from assay.sdmx.dimensions import known_codes
from assay.sdmx.key_sets import ALL, MOST_STEPS, REST, Cube, Key, KeyCounts, TooIntricate, count_keys, differ
from assay.sdmx.matching import Chosen, DatasetPair, Query
from assay.sdmx.periods import compare_time, merged_days
from assay.sdmx.structures.known import DatasetStructure, DimensionStructure

_TIME = "\0time"
"""The key for time among a cube's dimensions: no dimension has this name."""


class Union(Struct, frozen=True, kw_only=True):
    """The comparison of two unions of queries on one dataset."""

    counts: KeyCounts | None
    """Their series, regardless of periods; None: they are too intricate to count."""
    same: bool | None
    """Whether both select the same series over the same periods; None: the target is too intricate to decide.

    If only the answer is too intricate, the two are not the same.
    """
    missing: str | None = None
    """A series of the target alone, in words, if both sides agree in each dimension."""
    extra: str | None = None


Swaps = Mapping[tuple[str, bool], Mapping[str, tuple[str, ...]]]
"""By dimension and side (True: the target): codes that stand for others, with their expansion by a hierarchy."""


def swaps_of(equivalences: Iterable[HierarchyEquivalence]) -> Swaps:
    """The expansions of the codes that counted as correct."""
    swaps: dict[tuple[str, bool], dict[str, tuple[str, ...]]] = {}
    for one in equivalences:
        if one.counted:
            children = tuple(child.id for child in one.children)
            swaps.setdefault((one.dimension, one.selected == "children"), {})[one.parent.id] = children
    return swaps


def compare_unions(pair: DatasetPair, swaps: Swaps) -> Union:
    """Compare the whole selections of a dataset. A side without the dataset selects none of its series."""
    structure = pair.structure
    universe = _universe(structure)
    one, other = (() if side is None else side.queries for side in (pair.target, pair.selected))
    judges_time = pair.target is not None and pair.target.time is not None
    if len(one) <= 1 and len(other) <= 1:
        counts = _count_plain(one[0], other[0], structure) if one and other and not swaps else None
        counts = counts or _count_single(one, other, structure, swaps)
        same = counts.same
        if same and judges_time and pair.target is not None:
            same = pair.selected is not None and compare_time(pair.target.time, pair.selected.time)[0] == "exact"
        return Union(counts=counts, same=same)
    target = [_cube(query, structure, swaps, is_target=True) for query in one]
    selected = [_cube(query, structure, swaps, is_target=False) for query in other]
    counted, told = _told(target, selected, universe)
    found = counted
    times = [query.time or () for query in (*one, *other)]
    if told is not False and judges_time and any(time != times[0] for time in times):
        found, told = _told_over_time(target, selected, times, universe)
    if told is None and _is_countable(target, times[: len(target)], universe):
        # As with results that cannot be compared in time: if the target is not the reason, the answer is wrong.
        told = False
    return Union(
        counts=counted,
        same=told,
        missing=None if found is None else _shown(found.missing),
        extra=None if found is None else _shown(found.extra),
    )


def _told(
    target: Sequence[Cube], selected: Sequence[Cube], universe: Mapping[str, frozenset[str]]
) -> tuple[KeyCounts | None, bool | None]:
    """The keys of both, and whether they are the same, which may be known even if they cannot be counted."""
    try:
        counts = count_keys(target, selected, universe)
    except TooIntricate:
        if {frozenset(cube.items()) for cube in target} == {frozenset(cube.items()) for cube in selected}:
            return None, True
        return None, False if differ(target, selected, universe) else None
    return counts, counts.same


def _told_over_time(
    target: Sequence[Cube],
    selected: Sequence[Cube],
    times: Sequence[tuple[TimeRange, ...]],
    universe: Mapping[str, frozenset[str]],
) -> tuple[KeyCounts | None, bool | None]:
    """As `_told`, each cube over its own periods: of the target's cubes first."""
    timed = [(frozenset(cube.items()), time) for cube, time in zip((*target, *selected), times, strict=True)]
    if set(timed[: len(target)]) == set(timed[len(target) :]):
        return None, True
    try:
        taken, every = _stretches(times)
    except TooIntricate:
        return None, None
    over = [{**cube, _TIME: own} for cube, own in zip((*target, *selected), taken, strict=True)]
    return _told(over[: len(target)], over[len(target) :], {**universe, _TIME: every})


def _is_countable(
    cubes: Sequence[Cube], times: Sequence[tuple[TimeRange, ...]], universe: Mapping[str, frozenset[str]]
) -> bool:
    """Whether a union can be compared with itself."""
    try:
        taken, every = _stretches(times)
        over = [{**cube, _TIME: own} for cube, own in zip(cubes, taken, strict=True)]
        count_keys(over, over, {**universe, _TIME: every})
    except TooIntricate:
        return False
    return True


def _universe(structure: DatasetStructure | None) -> dict[str, frozenset[str]]:
    dimensions = () if structure is None else structure.dimensions
    return {one.id: one.every_code for one in dimensions if one.every_code}


def _cube(query: Query, structure: DatasetStructure | None, swaps: Swaps, *, is_target: bool) -> Cube:
    cube: dict[str, frozenset[str]] = {}
    for name, chosen in query.dimensions.items():
        codes = _codes(chosen, None if structure is None else structure.dimension(name))
        cube[name] = _swapped(codes, swaps.get((name, is_target)))
    return cube


def _codes(chosen: Chosen | None, known: DimensionStructure | None) -> frozenset[str]:
    """The codes taken from a dimension; `ALL` if it is unrestricted, or has all codes of its list."""
    if chosen is None or chosen.everything or not chosen.codes:
        return ALL
    every = known_codes(known)
    if every and len(chosen.codes) >= len(every) and chosen.codes.keys() >= every:
        listed = known.codes.names if known is not None and known.codes is not None else every
        return ALL | {code for code in chosen.codes if code not in listed}
    return frozenset(chosen.codes)


def _swapped(codes: frozenset[str], swaps: Mapping[str, tuple[str, ...]] | None) -> frozenset[str]:
    if not swaps or swaps.keys().isdisjoint(codes):
        return codes
    return frozenset(other for code in codes for other in swaps.get(code, (code,)))


def _count_plain(target: Query, selected: Query, structure: DatasetStructure | None) -> KeyCounts | None:
    """The keys of two queries that list codes of the same dimensions, as most do; None for any others."""
    if target.dimensions.keys() != selected.dimensions.keys():
        return None
    counts = [1, 1, 1]
    for name, mine in target.dimensions.items():
        theirs = selected.dimensions[name]
        known = None if structure is None else structure.dimension(name)
        every = len(known_codes(known))
        if any(one.everything or not one.codes or len(one.codes) >= every > 0 for one in (mine, theirs)):
            return None
        shared = len(mine.codes) if mine.codes.keys() == theirs.codes.keys() else len(mine.codes.keys() & theirs.codes)
        sizes = (len(mine.codes), len(theirs.codes), shared)
        counts = [count * size for count, size in zip(counts, sizes, strict=True)]
    return KeyCounts(target=counts[0], selected=counts[1], both=counts[2])


def _count_single(
    target: Sequence[Query], selected: Sequence[Query], structure: DatasetStructure | None, swaps: Swaps
) -> KeyCounts:
    """The keys of at most one query per side: products of numbers, dimension by dimension."""
    names = dict.fromkeys(name for query in (*target, *selected) for name in query.dimensions)
    counts = [len(target), len(selected), len(target) * len(selected)]
    for name in names:
        known = None if structure is None else structure.dimension(name)
        mine, theirs = (
            _swapped(_codes(side[0].dimensions.get(name), known), swaps.get((name, is_target))) if side else frozenset()
            for side, is_target in ((target, True), (selected, False))
        )
        if REST in mine or REST in theirs:
            every = None if known is None else known.every_code or None
            own = count_keys(
                [{name: mine}] if target else [],
                [{name: theirs}] if selected else [],
                {} if every is None else {name: every},
            )
            sizes = (own.target, own.selected, own.both)
        else:
            sizes = (len(mine), len(theirs), len(mine) if mine == theirs else len(mine & theirs))
        counts = [count * size for count, size in zip(counts, sizes, strict=True)]
    return KeyCounts(target=counts[0], selected=counts[1], both=counts[2])


def unrestricted(pair: DatasetPair) -> int:
    """How many keys the dimensions named by neither side make: equal for both sides, but not for all datasets."""
    named = {
        name
        for side in (pair.target, pair.selected)
        if side is not None
        for query in side.queries
        for name in query.dimensions
    }
    product = 1
    for name, every in _universe(pair.structure).items():
        product *= 1 if name in named else len(every)
    return product


def _stretches(times: Sequence[tuple[TimeRange, ...]]) -> tuple[list[frozenset[str]], frozenset[str]]:
    """Several unions of ranges as sets of stretches of time that no range divides; and all these stretches.

    ``()`` is all of time. A range with an invalid bound is a stretch of its own, by its text. Raises
    TooIntricate.
    """
    days = (one for ranges in times for span in ranges for one in merged_days([span]) or ())
    cuts = sorted({bound for one in days for bound in one if bound is not None})
    if len(times) * len(cuts) > MOST_STEPS:
        raise TooIntricate
    names = [f"before {_day(cuts[0])}" if cuts else "", *(f"from {_day(cut)}" for cut in cuts)]
    place = {cut: number for number, cut in enumerate(cuts, start=1)}
    found = [_taken(ranges, names, place) for ranges in times]
    return found, frozenset(names).union(*found) - ALL


def _taken(ranges: tuple[TimeRange, ...], names: Sequence[str], place: Mapping[int, int]) -> frozenset[str]:
    if not ranges or merged_days(ranges) == ((None, None),):
        return ALL
    taken: set[str] = set()
    for span in ranges:
        days = merged_days([span])
        if days is None:
            taken.add(f"{span.start} to {span.end}")
        for first, after in days or ():
            taken.update(names[0 if first is None else place[first] : None if after is None else place[after]])
    return frozenset(taken)


def _day(ordinal: int) -> str:
    return date.fromordinal(ordinal).isoformat() if ordinal <= date.max.toordinal() else "the end of time"


def _shown(key: Key | None) -> str | None:
    """A key in words: ``AREA=SE, ITEM=PPI, from 2015-01-01``; dimensions with any other code are left out."""
    if key is None:
        return None
    parts = [f"{name}={code}" for name, code in sorted(key.items()) if name != _TIME and code != REST]
    others = [f"another {name}" for name, code in sorted(key.items()) if name != _TIME and code == REST]
    return ", ".join([*parts, *others, *([key[_TIME]] if key.get(_TIME, REST) != REST else [])])
