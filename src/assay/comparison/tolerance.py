"""Equality of floats within a tolerance, made transitive where that can be done without a lie.

"Within 1e-9" is not transitive, so bags cannot simply be hashed by it. All numbers of both results
are therefore sorted and chained into clusters of neighbours within tolerance. Where every two
members of a cluster are equal by the rule (nearly always), the cluster stands for one value, and
comparing clusters is comparing within tolerance, exactly. Else the cluster is *loose*: equal
clusters are then only necessary, and rows are matched one to one (`pair_rows`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, pairwise
from math import isfinite
from typing import Any, TypeAlias, TypeGuard

from assay.comparison.cells import Column, Key
from assay.model import ComparisonOptions

_NUMBERS = (int, float, Decimal)
Number: TypeAlias = int | float | Decimal


def numbers_equal(first: Key, second: Key, options: ComparisonOptions) -> bool:
    """Whether two keys are the same number: exactly, or within tolerance where a float takes part.

    Lists and structs are, where their members are.
    """
    if first == second:
        return True
    if _is_nested(first) and _is_nested(second):
        return _members_equal(first, second, options)
    if not (isinstance(first, float) or isinstance(second, float)):
        return False
    return isinstance(first, _NUMBERS) and isinstance(second, _NUMBERS) and _close(first, second, options)


def _is_nested(key: Key) -> TypeGuard[tuple[str, Iterable[Any]]]:
    """Whether it is the key of a list, of members, or of a map, of pairs of name and member without an order."""
    return isinstance(key, tuple) and key[0] in ("list", "map")


def _members_equal(
    first: tuple[str, Iterable[Any]], second: tuple[str, Iterable[Any]], options: ComparisonOptions
) -> bool:
    if first[0] != second[0]:
        return False
    if first[0] == "map":
        ours, theirs = dict(first[1]), dict(second[1])
        return ours.keys() == theirs.keys() and all(numbers_equal(ours[name], theirs[name], options) for name in ours)
    one, two = list(first[1]), list(second[1])
    return len(one) == len(two) and all(numbers_equal(a, b, options) for a, b in zip(one, two, strict=True))


def _close(first: Number, second: Number, options: ComparisonOptions) -> bool:
    try:
        one, two = float(first), float(second)
    except OverflowError:
        return False
    if not (isfinite(one) and isfinite(two)):
        return one == two
    scale = max(abs(one), abs(two))
    return abs(one - two) <= max(options.absolute_tolerance, options.relative_tolerance * scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Which numbers stand for which. ``loose`` keys need `pair_rows` to decide."""

    representative: dict[Key, Key]
    loose: bool

    def apply(self, columns: Iterable[Column]) -> list[Column]:
        """The columns with each number replaced by what stands for its cluster."""
        find = self.representative.get
        return [
            list(map(self.replace, column)) if any(map(_is_nested, column)) else [find(key, key) for key in column]
            for column in columns
        ]

    def replace(self, key: Key) -> Key:
        """What stands for this key, or for the numbers within it."""
        if not _is_nested(key):
            return self.representative.get(key, key)
        kind, members = key
        if kind == "list":
            return (kind, tuple(map(self.replace, members)))
        return (kind, frozenset((name, self.replace(value)) for name, value in members))


def cluster_numbers(columns: Iterable[Column], options: ComparisonOptions) -> Clusters | None:
    """Cluster all numbers of these columns. None where no two different numbers are within tolerance."""
    distinct: set[Key] = set()
    for column in columns:
        distinct.update(column)
    if nested := [key for key in distinct if _is_nested(key)]:
        distinct.update(chain.from_iterable(map(_leaves, nested)))
    numbers = [key for key in distinct if isinstance(key, _NUMBERS) and _is_finite(key)]
    if not any(isinstance(key, float) for key in numbers):
        return None
    numbers.sort()
    representative: dict[Key, Key] = {}
    loose = False
    for linked in _links(numbers, options):
        loose = loose or not _mutually_equal(linked, options)
        representative.update((member, linked[0]) for member in linked)
    return Clusters(representative=representative, loose=loose) if representative else None


def _links(numbers: Sequence[Number], options: ComparisonOptions) -> Iterator[list[Number]]:
    """Runs of at least two sorted numbers of which each is within tolerance of the next."""
    linked: list[Number] = []
    for place in _close_places(numbers, options):
        if linked and linked[-1] is not numbers[place]:
            yield linked
            linked = []
        linked = linked or [numbers[place]]
        linked.append(numbers[place + 1])
    if linked:
        yield linked


def _close_places(numbers: Sequence[Number], options: ComparisonOptions) -> Iterable[int]:
    """Places of the sorted numbers that are within tolerance of the one that follows."""
    pairs = enumerate(pairwise(numbers))
    relative, absolute = options.relative_tolerance, options.absolute_tolerance
    try:
        # In one go, with a margin for rounding; what it lets through is looked at again.
        near = [
            place
            for place, (one, two) in pairs
            if (gap := two - one) <= 2 * absolute or gap <= 2 * relative * max(two, -one)  # type: ignore[operator]
        ]
    except (TypeError, OverflowError):  # decimals beside floats, integers beyond the range of floats
        near = list(range(len(numbers) - 1))
    return [place for place in near if _close(numbers[place], numbers[place + 1], options)]


def _leaves(key: Key) -> Iterator[Key]:
    """What a list or struct holds, however deep."""
    if not _is_nested(key):
        yield key
        return
    for member in key[1]:
        yield from _leaves(member[1] if key[0] == "map" else member)


def _is_finite(number: Number) -> bool:
    return number.is_finite() if isinstance(number, Decimal) else not isinstance(number, float) or isfinite(number)


def _mutually_equal(linked: Sequence[Number], options: ComparisonOptions) -> bool:
    exact = sum(not isinstance(number, float) for number in linked)
    return exact <= 1 and _close(linked[0], linked[-1], options)


def pair_rows(
    gold: Sequence[tuple[Key, ...]],
    predicted: Sequence[tuple[Key, ...]],
    clusters: Clusters,
    options: ComparisonOptions,
) -> bool:
    """Whether the rows can be paired one to one with every pair equal within tolerance.

    Rows can only pair inside the group of rows with equal clusters, so each group is matched on
    its own by augmenting paths (Kuhn's algorithm).
    """
    groups: dict[tuple[Key, ...], tuple[list[tuple[Key, ...]], list[tuple[Key, ...]]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((gold, predicted)):
        for row in rows:
            groups[tuple(map(clusters.replace, row))][side].append(row)
    return all(_group_pairs(ours, theirs, options) for ours, theirs in groups.values())


def _group_pairs(gold: list[tuple[Key, ...]], predicted: list[tuple[Key, ...]], options: ComparisonOptions) -> bool:
    if len(gold) != len(predicted):
        return False
    partners = [
        [
            index
            for index, theirs in enumerate(predicted)
            if all(numbers_equal(a, b, options) for a, b in zip(ours, theirs, strict=True))
        ]
        for ours in gold
    ]
    taken: dict[int, int] = {}
    return all(_augment(row, partners, taken) for row in range(len(gold)))


def _augment(start: int, partners: list[list[int]], taken: dict[int, int]) -> bool:
    """Find a partner for one more gold row, moving earlier ones where needed (iterative: no recursion limit)."""
    came_from: dict[int, int] = {}
    queue = [start]
    while queue:
        row = queue.pop()
        for candidate in partners[row]:
            if candidate in came_from:
                continue
            came_from[candidate] = row
            owner = taken.get(candidate)
            if owner is not None:
                queue.append(owner)
                continue
            _reassign(candidate, start, came_from, taken)
            return True
    return False


def _reassign(candidate: int, start: int, came_from: dict[int, int], taken: dict[int, int]) -> None:
    held = {row: column for column, row in taken.items()}
    while True:
        row = came_from[candidate]
        previous = held.get(row)
        taken[candidate] = row
        if row == start or previous is None:
            return
        candidate = previous
