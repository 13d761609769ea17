"""When two cells are equal within tolerance: the rule, and the clusters that allow rows to be hashed by it.

The rule is about pairs: two exact numbers (integers, decimals) are equal only if they are the same number, regardless
of other values in the results; if a float takes part, the two may differ by ``relative_tolerance`` of the larger, or
both lie within ``absolute_tolerance`` of 0. The rule is decided exactly, without rounding errors at the border.

Such a rule is not transitive, so bags cannot simply be hashed by it. All numbers of both results that have a float near
them are therefore chained into clusters of neighbours, so that numbers that are equal by the rule are in one cluster.
If every two members of a cluster are equal (nearly always), the cluster stands for one value, and comparing clusters is
comparing by the rule. Otherwise the cluster is *loose*: equal clusters are then only necessary, and rows are paired one
to one (`assay.comparison.pairing`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite
from operator import eq, itemgetter
from sys import float_info
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from msgspec import Struct

from assay.comparison.cells import Column, Key
from assay.comparison.sizes import NUMPY_NUMBERS
from assay.model import ComparisonOptions

if TYPE_CHECKING:
    from numpy import bool_, float64, int64
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[float64]
    Flags: TypeAlias = NDArray[bool_]
    Places: TypeAlias = NDArray[int64]

_NUMBERS = (int, float, Decimal)
Number: TypeAlias = int | float | Decimal

_ROUNDING = 2.0**-50
"""An upper bound, as a share of the larger number, of the error of converting two numbers to floats and subtracting."""
_LEAST = 1e-300
"""An upper bound of the error near 0, if floats lose digits."""
Chain: TypeAlias = tuple[int, int, bool]
_WORTH_EXACTNESS = 400
"""Powers of ten: a decimal beyond them is close to no float, except a tiny one to 0."""


def numbers_equal(first: Key, second: Key, options: ComparisonOptions) -> bool:
    """Whether two keys are the same value: exactly, or within tolerance if a float takes part.

    Lists and structs are equal if their members are.
    """
    if first == second:
        return True
    if is_nested(first) and is_nested(second):
        return _members_equal(first, second, options)
    if not (isinstance(first, float) or isinstance(second, float)):
        return False
    return isinstance(first, _NUMBERS) and isinstance(second, _NUMBERS) and _close(first, second, options)


def is_number(key: Key) -> TypeGuard[Number]:
    """Whether a key is a number; NaN and booleans of engines that have booleans are not."""
    return isinstance(key, _NUMBERS)


def is_nested(key: Key) -> TypeGuard[tuple[str, Iterable[Any]]]:
    """Whether a key is of a list (of members) or of a map (an unordered set of name-member pairs)."""
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


def as_float(number: Number) -> float:
    """The nearest float; an infinity for numbers beyond the range of floats."""
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _close(first: Number, second: Number, options: ComparisonOptions) -> bool:
    """The rule for two different numbers, at least one a float."""
    beside = options.absolute_tolerance
    if -beside <= first <= beside and -beside <= second <= beside:
        return True
    one, two = as_float(first), as_float(second)
    if first in (inf, -inf) or second in (inf, -inf):
        return False
    scale = max(abs(one), abs(two))
    gap, allowed = abs(one - two), options.relative_tolerance * scale
    slack = scale * _ROUNDING + _LEAST
    if isfinite(scale) and gap > allowed + slack:
        return False
    if isfinite(scale) and gap <= allowed - slack:
        return True
    return _close_exactly(first, second, options.relative_tolerance)


def _close_exactly(first: Number, second: Number, tolerance: float) -> bool:
    for number in (first, second):
        if isinstance(number, Decimal) and abs(number.adjusted()) > _WORTH_EXACTNESS:
            return False
    one, two = Fraction(first), Fraction(second)
    return abs(one - two) <= Fraction(tolerance) * max(abs(one), abs(two))


class Clusters(Struct, frozen=True, kw_only=True):
    """Clusters of numbers, each represented by one of its members."""

    representative: dict[Key, Key]
    loose: frozenset[Key]
    """The representatives of clusters whose members are not all equal to each other: `pairing` decides those."""

    def apply(self, columns: Iterable[Column]) -> list[Column]:
        """The columns with each number replaced by its cluster's representative."""
        return [self._applied(column) for column in columns]

    def _applied(self, column: Column) -> Column:
        kinds = set(map(type, column))
        if not any(issubclass(kind, (*_NUMBERS, tuple)) for kind in kinds):
            return column
        if tuple in kinds:
            return list(map(self.replace, column))
        find = self.representative.get
        return list(map(find, column, column))

    def replace(self, key: Key) -> Key:
        """The key with each number replaced by its cluster's representative, including nested ones."""
        if not is_nested(key):
            return self.representative.get(key, key)
        kind, members = key
        if kind == "list":
            return (kind, tuple(map(self.replace, members)))
        return (kind, frozenset((name, self.replace(value)) for name, value in members))


def cluster_numbers(columns: Iterable[Column], options: ComparisonOptions) -> Clusters | None:
    """Cluster the numbers of these columns. None if no two different numbers are within tolerance."""
    floats, exact = _distinct_numbers(columns)
    if not floats or not (options.relative_tolerance or options.absolute_tolerance):
        return None
    line = _few_in_line if len(floats) + len(exact) <= NUMPY_NUMBERS else _many_in_line
    keys, chains = line(floats, exact, options)
    representative: dict[Key, Key] = {}
    loose: set[Key] = set()
    for start, stop, tight in chains:
        first = keys[start]
        if not tight:
            loose.add(first)
        representative[keys[start + 1]] = first
        if stop - start > 2:  # most chains have two members
            representative.update((keys[place], first) for place in range(start + 2, stop))
    if all(map(eq, representative.keys(), representative.values())):
        return None
    representative.update((first, first) for first in loose)
    return Clusters(representative=representative, loose=frozenset(loose))


def _few_in_line(
    floats: set[float], exact: set[int | Decimal], options: ComparisonOptions
) -> tuple[Sequence[Key], Iterable[Chain]]:
    """The numbers in order, and the chains of at least two: first, end, and whether all members are equal."""
    ordered = sorted(floats)

    def near_float(number: float) -> bool:
        place = bisect_left(ordered, number)
        return any(maybe_close(other, number, options) for other in ordered[max(place - 1, 0) : place + 1])

    members: list[tuple[float, int, Key]] = [(number, 0, number) for number in floats]
    members += [(value, _weight(key, value), key) for key in exact if near_float(value := in_range(key))]
    members.sort(key=itemgetter(0, 1))
    values = [value for value, _, _ in members]
    chains: list[Chain] = []
    start = 0
    for stop in range(1, len(members) + 1):
        if stop < len(members) and maybe_close(values[stop - 1], values[stop], options):
            continue
        if stop - start > 1:
            weight = sum(weight for _, weight, _ in members[start:stop])
            chains.append((start, stop, weight <= 1 and _all_close(values[start:stop], options)))
        start = stop
    return [key for _, _, key in members], chains


def _many_in_line(
    floats: set[float], exact: set[int | Decimal], options: ComparisonOptions
) -> tuple[Sequence[Key], Iterable[Chain]]:
    """Like `_few_in_line`, by arrays: about ten times as fast, but numpy takes a tenth of a second to load."""
    import numpy as np

    line = np.fromiter(floats, dtype=np.float64, count=len(floats))
    line.sort()
    near = _near_floats(line, exact, options)
    keys: list[Key] = line.tolist()
    weights = np.zeros(len(line) + len(near), dtype=np.int64)
    if near:
        unsorted = np.concatenate([line, [in_range(key) for key in near]])
        weights[len(line) :] = [_weight(key, in_range(key)) for key in near]
        order = np.argsort(unsorted, kind="stable")
        line, weights, keys = unsorted[order], weights[order], list(map([*keys, *near].__getitem__, order.tolist()))
    starts, stops, narrow = chains_in_line(line, options)
    weight = np.add.reduceat(weights, starts)
    chained = stops - starts > 1
    starts, stops, tight = starts[chained], stops[chained], (weight <= 1)[chained] & narrow[chained]
    return keys, zip(starts.tolist(), stops.tolist(), tight.tolist(), strict=True)


def chains_in_line(line: Floats, options: ComparisonOptions) -> tuple[Places, Places, Flags]:
    """The chains of these sorted numbers: starts, ends, and whether all numbers of each are certainly equal."""
    import numpy as np

    linked = maybe_close_each(line[:-1], line[1:], options)
    starts = np.concatenate([[0], np.flatnonzero(~linked) + 1])
    stops = np.append(starts[1:], len(line))
    first, last = line[starts], line[stops - 1]
    scale = np.maximum(np.abs(first), np.abs(last))
    with np.errstate(over="ignore"):
        narrow = last - first <= scale * (options.relative_tolerance - _ROUNDING) - _LEAST
    narrow |= scale <= options.absolute_tolerance * (1 - _ROUNDING)
    return starts, stops, narrow & (scale < float_info.max)


def in_range(number: Number) -> float:
    """The nearest finite float."""
    return max(-float_info.max, min(float_info.max, as_float(number)))


def _weight(number: int | Decimal, value: float) -> int:
    """How much an exact number counts: a chain of more than 1 holds two that differ.

    A number too large or too small for a float counts as two, since its float is another number.
    """
    return 2 if abs(value) == float_info.max or (value == 0) != (number == 0) else 1


def maybe_close(first: float, second: float, options: ComparisonOptions) -> bool:
    """Whether two numbers may be equal by the rule: a quick check that is never False if they are equal."""
    scale = max(abs(first), abs(second))
    if abs(first - second) <= scale * (options.relative_tolerance + _ROUNDING) + _LEAST:
        return True
    return scale <= options.absolute_tolerance * (1 + _ROUNDING)


def _all_close(values: Sequence[float], options: ComparisonOptions) -> bool:
    """Whether these sorted numbers are all equal by the rule: a quick check that is never True if they are not."""
    scale = max(abs(values[0]), abs(values[-1]))
    if scale <= options.absolute_tolerance * (1 - _ROUNDING):
        return True
    if scale == float_info.max:
        return False
    return values[-1] - values[0] <= scale * (options.relative_tolerance - _ROUNDING) - _LEAST


def _distinct_numbers(columns: Iterable[Column]) -> tuple[set[float], set[int | Decimal]]:
    """The finite floats and the exact numbers of these columns, including nested ones, distinct by value and type."""
    floats: set[float] = set()
    exact: set[int | Decimal] = set()
    for column in columns:
        kinds = set(map(type, column))
        if kinds == {float}:
            floats.update(column)  # type: ignore[arg-type]
        elif kinds == {int}:
            exact.update(column)  # type: ignore[arg-type]
        elif kinds <= {int, NoneType}:
            exact.update(key for key in set(column) if key is not None)  # type: ignore[misc]
        elif any(issubclass(kind, (*_NUMBERS, tuple)) for kind in kinds):
            leaves = [leaf for key in column for leaf in _leaves(key)] if tuple in kinds else column
            floats.update(key for key in leaves if isinstance(key, float))
            exact.update(key for key in leaves if isinstance(key, (int, Decimal)))
    infinite = [number for number in exact if isinstance(number, Decimal) and not number.is_finite()]
    return set(filter(isfinite, floats)), exact.difference(infinite)


def _leaves(key: Key) -> Iterator[Key]:
    """The innermost values of a list or struct; any other key itself."""
    if not is_nested(key):
        yield key
        return
    for member in key[1]:
        yield from _leaves(member[1] if key[0] == "map" else member)


def _near_floats(floats: Floats, exact: set[int | Decimal], options: ComparisonOptions) -> list[int | Decimal]:
    """All exact numbers that a float may be close to."""
    import numpy as np

    if not exact:
        return []
    numbers = list(exact)
    try:
        values = np.fromiter(map(float, numbers), dtype=np.float64, count=len(numbers))
    except OverflowError:
        values = np.fromiter(map(as_float, numbers), dtype=np.float64, count=len(numbers))
    values = np.clip(values, -float_info.max, float_info.max)
    places = np.searchsorted(floats, values)
    below, above = floats[np.maximum(places - 1, 0)], floats[np.minimum(places, len(floats) - 1)]
    near = maybe_close_each(below, values, options) | maybe_close_each(above, values, options)
    return [numbers[place] for place in np.flatnonzero(near).tolist()]


def maybe_close_each(first: Floats, second: Floats, options: ComparisonOptions) -> Flags:
    """For arrays: whether two numbers may be equal by the rule. It is never False if they are equal."""
    import numpy as np

    scale = np.maximum(np.abs(first), np.abs(second))
    with np.errstate(over="ignore"):
        close = np.abs(first - second) <= scale * (options.relative_tolerance + _ROUNDING) + _LEAST
    close |= scale <= options.absolute_tolerance * (1 + _ROUNDING)
    return close
