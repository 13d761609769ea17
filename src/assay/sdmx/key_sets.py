"""Sets of keys as unions of cubes: how many keys two of them have and share, and whether they are the same.

A cube takes some codes of each dimension, and has every key that these make. A union of cubes is not merged by
dimension, which would add keys that were not selected. Nor is it enumerated: cubes of 200 codes in six dimensions have
64 million million keys. Codes that the same cubes take form one class, weighted by their number. The count goes from
dimension to dimension: each class leaves some of the cubes, and paths that leave the same cubes are merged into one. At
the end, the weights of the paths are the numbers of keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random

from msgspec import Struct

REST = "*"
"""In a set of codes: all codes of the dimension. In a key: any code that no cube names."""
ALL = frozenset({REST})
Cube = Mapping[str, frozenset[str]]
"""Codes by dimension; an absent dimension has all its codes. `REST` among codes: all codes, and the others listed."""
Universe = Mapping[str, frozenset[str]]
"""All codes per dimension, if known. Otherwise all codes are the named ones, and one for all others."""
Key = Mapping[str, str]
"""A code by dimension."""

MOST_STEPS = 2_000_000
"""The maximum number of counting steps (some seconds): for the worst unions they double with each cube."""
_SAMPLES = 2_000
_WIDEST = 8


class KeyCounts(Struct, frozen=True, kw_only=True):
    """The number of keys of two unions, and of their common keys."""

    target: int
    selected: int
    both: int
    missing: Key | None = None
    """A key that only the target has; None if there is none, or none was searched for."""
    extra: Key | None = None
    """A key that only the selection has."""

    @property
    def same(self) -> bool:
        """Whether both unions have the same keys."""
        return self.target == self.both == self.selected


class TooIntricate(Exception):
    """Two unions cannot be counted within `MOST_STEPS`. Not raised outside this package."""


Left = tuple[int, ...]
"""The cubes left on a path, by number: the target's, then the selection's."""


def count_keys(target: Sequence[Cube], selected: Sequence[Cube], universe: Universe) -> KeyCounts:
    """Count the keys of two unions, over the dimensions that any of their cubes restricts.

    A named code that is not among all codes of its dimension counts as a code, but a cube with all codes does not
    include it. Raises TooIntricate.
    """
    return _Counting(target, selected, universe).counts()


class _Counting:
    """The paths through the dimensions of two unions."""

    def __init__(self, target: Sequence[Cube], selected: Sequence[Cube], universe: Universe) -> None:
        named: dict[str, set[str]] = {}
        for cube in (*target, *selected):
            for name, codes in cube.items():
                named.setdefault(name, set()).update(codes)
        target, selected = (_without_absorbed(_in_order(side), universe) for side in (target, selected))
        cubes = (*target, *selected)
        tables = [
            _Table(name, [cube.get(name, ALL) for cube in cubes], universe.get(name), sorted(codes))
            for name, codes in named.items()
        ]
        self._tables = sorted(tables, key=lambda table: (len(table.weights), table.name))
        self._first_selected = len(target)
        self._twins = _twins(self._tables, len(target), len(cubes))
        self._sizes = _sizes(self._tables, len(cubes))
        self._found: dict[tuple[bool, bool], tuple[int, Left]] = {}
        """The first path that ended in the target alone, the selection alone, or both: index and remaining cubes."""
        self._came_from: list[dict[Left, tuple[Left, int]]] = []
        self._steps = 0

    def counts(self) -> KeyCounts:
        counts = [0, 0, 0]
        ways: dict[Left, int] = {tuple(sorted(set(self._twins[0]))): 1}
        for place in range(len(self._tables) + 1):
            open_ways: dict[Left, int] = {}
            for left, number in ways.items():
                if place < len(self._tables) and len(left) > 1:
                    open_ways[left] = number
                    continue
                if not left:
                    continue
                keys = number * self._sizes[place][left[0]]
                sides = left[0] < self._first_selected, left[-1] >= self._first_selected
                if keys:
                    self._found.setdefault(sides, (place, left))
                for which, is_in in enumerate((*sides, all(sides))):
                    counts[which] += keys * is_in
            if open_ways:
                ways = self._further(place, open_ways)
            else:
                break
        missing, extra = (self._example(sides) for sides in ((True, False), (False, True)))
        return KeyCounts(target=counts[0], selected=counts[1], both=counts[2], missing=missing, extra=extra)

    def _further(self, place: int, ways: Mapping[Left, int]) -> dict[Left, int]:
        """The paths, extended by one dimension."""
        table, twins = self._tables[place], self._twins[place + 1]
        further: dict[Left, int] = {}
        came_from: dict[Left, tuple[Left, int]] = {}
        for left, number in ways.items():
            # Skip the cube with the most classes: many of its classes belong to no other cube.
            widest = max(left, key=lambda cube: len(table.classes[cube]))
            taken: dict[int, list[int]] = {}
            for cube in left:
                if cube != widest:
                    self._steps += len(table.classes[cube])
                    for one in table.classes[cube]:
                        taken.setdefault(one, []).append(cube)
            if self._steps > MOST_STEPS:
                raise TooIntricate
            own = table.members[widest]
            alone = table.size(widest)
            for one, cubes in taken.items():
                if one in own:
                    cubes.append(widest)
                    alone -= table.weights[one]
                # Cubes that are the same from here on are represented by one of them.
                rest = (cubes[0],) if len(cubes) == 1 else tuple(sorted({twins[cube] for cube in cubes}))
                if rest in further:
                    further[rest] += number * table.weights[one]
                else:
                    further[rest] = number * table.weights[one]
                    came_from[rest] = (left, one)
            if alone:
                if (widest,) not in further:
                    came_from[widest,] = (left, next(one for one in table.classes[widest] if one not in taken))
                further[widest,] = further.get((widest,), 0) + number * alone
        self._came_from.append(came_from)
        return further

    def _example(self, sides: tuple[bool, bool]) -> Key | None:
        """A key on the path that ended with these sides: if a single cube was left, any rest of its keys will do."""
        if sides not in self._found:
            return None
        place, left = self._found[sides]
        key = {table.name: table.codes[table.classes[left[0]][0]] for table in self._tables[place:]}
        while place:
            place -= 1
            left, one = self._came_from[place][left]
            key[self._tables[place].name] = self._tables[place].codes[one]
        return key


class _Table:
    """One dimension: classes of codes that the same cubes take."""

    def __init__(
        self, name: str, sets: Sequence[frozenset[str]], every: frozenset[str] | None, named_codes: Iterable[str]
    ) -> None:
        self.name = name
        takers: dict[str, list[int]] = {code: [] for code in named_codes if code != REST}
        all_takers: list[int] = []
        for cube, codes in enumerate(sets):
            if REST in codes:
                all_takers.append(cube)
            for code in codes:
                if code != REST:
                    takers.setdefault(code, []).append(cube)
        known: dict[Left, list[str]] = {}
        named = 0
        for code, cubes in takers.items():
            own = every is None or code in every
            named += own
            together = tuple(sorted({*cubes, *all_takers})) if own and all_takers else tuple(cubes)
            if together:
                known.setdefault(together, []).append(code)
        weights = {cubes: len(codes) for cubes, codes in known.items()}
        rest = 1 if every is None else len(every) - named
        if all_takers and rest > 0:
            known.setdefault(tuple(all_takers), []).append(REST)
            weights[tuple(all_takers)] = weights.get(tuple(all_takers), 0) + rest
        self.weights = list(weights.values())
        self.codes = [min(codes) if codes[0] != REST else REST for codes in known.values()]
        """One of the codes of each class."""
        self.classes: list[list[int]] = [[] for _ in sets]
        for number, together in enumerate(known):
            for cube in together:
                self.classes[cube].append(number)
        self.members = [frozenset(classes) for classes in self.classes]
        self._sizes: dict[int, int] = {}

    def size(self, cube: int) -> int:
        """The number of codes that a cube takes."""
        if cube not in self._sizes:
            self._sizes[cube] = sum(self.weights[one] for one in self.classes[cube])
        return self._sizes[cube]


def _in_order(cubes: Iterable[Cube]) -> list[Cube]:
    """The cubes in an order that depends on their content alone, so that counts and examples do, too."""
    return sorted(cubes, key=lambda cube: sorted((name, sorted(codes)) for name, codes in cube.items()))


def _without_absorbed(cubes: Sequence[Cube], universe: Universe) -> Sequence[Cube]:
    """The cubes without those contained in one of the widest few: they only add steps."""
    names = dict.fromkeys(name for cube in cubes for name in cube)
    kept = list({frozenset(cube.items()): cube for cube in cubes}.values())
    for wide in sorted(kept, key=lambda cube: _width(cube, names), reverse=True)[:_WIDEST]:
        if any(one is wide for one in kept):
            kept = [one for one in kept if one is wide or not _lies_within(one, wide, names, universe)]
    return kept


def _width(cube: Cube, names: Iterable[str]) -> int:
    return sum(1_000_000 if REST in codes else len(codes) for codes in (cube.get(name, ALL) for name in names))


def _lies_within(cube: Cube, other: Cube, names: Iterable[str], universe: Universe) -> bool:
    for name in names:
        codes, others, every = cube.get(name, ALL), other.get(name, ALL), universe.get(name)
        if not codes <= others and not (REST in others and (every is None or codes - others <= every)):
            return False
    return True


def _sizes(tables: Sequence[_Table], cubes: int) -> list[list[int]]:
    """For each index of a dimension and each cube, the number of its partial keys from there on."""
    sizes = [[1] * cubes]
    for table in reversed(tables):
        own = map(table.size, range(cubes))
        sizes.append([one * after for one, after in zip(own, sizes[-1], strict=True)])
    return sizes[::-1]


def _twins(tables: Sequence[_Table], first_selected: int, cubes: int) -> list[list[int]]:
    """For each index of a dimension and each cube, the first cube of its side that is the same from there on."""
    twins: list[list[int]] = [[0] * first_selected + [first_selected] * (cubes - first_selected)]
    for table in reversed(tables):
        first: dict[tuple[int, Left], int] = {}
        after = twins[-1]
        twins.append([first.setdefault((after[cube], tuple(table.classes[cube])), cube) for cube in range(cubes)])
    return twins[::-1]


def differ(target: Sequence[Cube], selected: Sequence[Cube], universe: Universe) -> bool:
    """Whether any of a few thousand keys, drawn from either union, is missing in the other: then the unions differ."""
    chance = Random(0)
    target, selected = _in_order(target), _in_order(selected)
    names = sorted({name for cube in (*target, *selected) for name in cube})
    every = {name: _named(name, (*target, *selected), universe.get(name)) for name in names}
    sides = [
        [{name: _taken(cube.get(name, ALL), every[name]) for name in names} for cube in side]
        for side in (target, selected)
    ]
    for here, there in (sides, sides[::-1]):
        listed = [{name: sorted(codes) for name, codes in cube.items()} for cube in here if all(cube.values())]
        for _ in range(_SAMPLES if listed else 0):
            key = {name: chance.choice(codes) for name, codes in chance.choice(listed).items()}
            if not any(all(code in other[name] for name, code in key.items()) for other in there):
                return True
    return False


def _named(name: str, cubes: Sequence[Cube], every: frozenset[str] | None) -> frozenset[str]:
    """The codes of a dimension that cubes name, and `REST` if there are others."""
    named = frozenset().union(*(cube.get(name, ALL) for cube in cubes)) - ALL
    if every is None:
        return named | ALL
    own = named & every
    return own | ALL if len(own) < len(every) else own


def _taken(codes: frozenset[str], every: frozenset[str]) -> frozenset[str]:
    return (codes - ALL) | every if REST in codes else codes
