"""The same answer in another shape: a dimension across the columns, a row per measure, an additional or missing row of
totals.

A wide table has a row per key and a column per header value; the long one has a row per key and header value, with the
header value in a column of its own. They are equivalent if a bijection between the wide table's columns and the values
of that column makes every cell agree, by the verdict's rules for cells. If the columns' names have anything in common
with those values, they must spell them, and define that bijection; if they have nothing in common, any bijection will
do, since names are not part of an answer. Row order is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.cells import Column, Key
from assay.comparison.near_pair import WORK
from assay.comparison.pivot import heads_by_name
from assay.comparison.sides import NoPlaces, Side
from assay.comparison.tolerance import Number, is_number, numbers_equal
from assay.comparison.tolerant_mapping import find_agreement
from assay.comparison.totals import rows_of_totals
from assay.model import ComparisonOptions, NearMiss, Result

_Row: TypeAlias = tuple[Key, ...]

_MOST_CELLS = 20_000
"""With more cells on both sides together, shapes are not searched."""
_MOST_HEADS = 200
_MOST_TRIED = 24
"""Limit for the assignments of columns to keys, headers and values that are tried."""


class PivotedResult(Struct, frozen=True):
    """A result's columns of keys with their names; the names are empty if the source has none."""

    columns: Sequence[Column]
    names: Sequence[str]
    rows: int

    @classmethod
    def of(cls, result: Result, columns: Sequence[Column]) -> PivotedResult:
        """The shape of a result with these columns of keys. Names that only number the columns are ignored."""
        names = result.columns if len(result.columns) == len(columns) else ()
        named = any(name != f"c{place}" for place, name in enumerate(names))
        return cls(columns=columns, names=names if named else (), rows=len(result.rows))


def shape_misses(
    gold: PivotedResult, predicted: PivotedResult, options: ComparisonOptions, budget: Budget
) -> Iterator[NearMiss]:
    """The one shape in which the prediction is the gold answer, if there is one."""
    cells = len(gold.columns) * gold.rows + len(predicted.columns) * predicted.rows
    if cells > _MOST_CELLS or not (gold.rows and predicted.rows and gold.columns and predicted.columns):
        return
    try:
        yield from islice(_misses(gold, predicted, options, budget), 1)
    except BudgetSpent:
        return


def _misses(
    gold: PivotedResult, predicted: PivotedResult, options: ComparisonOptions, budget: Budget
) -> Iterator[NearMiss]:
    look = _Look(options, budget)
    if (heads := look.heads(predicted, gold)) is not None:
        words = f"the same cells, across {heads} columns instead of down the rows"
        yield NearMiss(kind="pivoted", detail=words)
    if (heads := look.heads(gold, predicted)) is not None:
        words = f"the same cells, down the rows instead of across {heads} columns"
        yield NearMiss(kind="unpivoted", detail=words)
    for more, less, said in (
        (predicted, gold, "all gold rows, and one more with their totals"),
        (gold, predicted, "all gold rows except the one with the totals"),
    ):
        if look.has_totals(more, less):
            yield NearMiss(kind="totals_row", detail=said)


class _Look:
    """Searches for one shape in another, within a budget."""

    def __init__(self, options: ComparisonOptions, budget: Budget) -> None:
        self._options = replace(options, columns="strict")
        self._free = options
        self._budget = budget

    def heads(self, wide: PivotedResult, long: PivotedResult) -> int | None:
        """How many columns of the wide table stand for values of the long one; None if they are not the same answer."""
        keys = len(long.columns) - 2
        heads = len(wide.columns) - max(keys, 0)
        if not 2 <= heads <= _MOST_HEADS or long.rows > wide.rows * heads:
            return None
        if keys == -1:
            return heads if wide.rows == 1 and self._is_one_row(wide, long) else None
        for roles in islice(_roles(wide, long, heads), _MOST_TRIED):
            self._budget.check_clock()
            if self._agrees(wide, long, roles):
                return heads
        return None

    def _is_one_row(self, wide: PivotedResult, long: PivotedResult) -> bool:
        """Whether the one column of the long table has the cells of the wide one's only row."""
        cells = [column[0] for column in wide.columns]
        return len(cells) == long.rows and self._same([cells], [list(long.columns[0])])

    def _agrees(self, wide: PivotedResult, long: PivotedResult, roles: _Roles) -> bool:
        """Whether the wide table, unpivoted, is the long one."""
        spread = [place for place in range(len(wide.columns)) if place not in roles.theirs]
        heads = list(dict.fromkeys(long.columns[roles.head]))
        if len(heads) != len(spread):
            return False
        found = heads_by_name([wide.names[place] for place in spread], heads) if wide.names else True
        if isinstance(found, bool):
            by_cells = self._by_cells(wide, long, roles, spread, heads) if found else None
            if by_cells is None:
                return False
            found = by_cells
        apart = [
            (*(wide.columns[key][at] for key in roles.theirs), name, wide.columns[place][at])
            for at in range(wide.rows)
            for place, name in zip(spread, found, strict=True)
        ]
        turned = list(zip(*(long.columns[place] for place in (*roles.own, roles.head, roles.value)), strict=True))
        return self._same_but_for_nulls(apart, turned)

    def _same_but_for_nulls(self, wide: Sequence[_Row], long: Sequence[_Row]) -> bool:
        """Whether both have the same rows with a value; without one, the wide table may have more of them."""
        ours, theirs = ([row for row in rows if row[-1] is not None] for rows in (wide, long))
        empty, there = ([row for row in rows if row[-1] is None] for rows in (wide, long))
        if len(ours) != len(theirs) or len(empty) < len(there):
            return False
        return all(
            not two or self._same(_columns(one), _columns(two), contained=contained)
            for one, two, contained in ((ours, theirs, False), (empty, there, True))
        )

    def _by_cells(
        self, wide: PivotedResult, long: PivotedResult, roles: _Roles, spread: Sequence[int], heads: Sequence[Key]
    ) -> list[Key] | None:
        """The header of each spread column by the values in it; None if no bijection makes the cells agree."""
        under: dict[Key, dict[_Row, list[Key]]] = {name: {} for name in heads}
        for at in range(long.rows):
            key = tuple(long.columns[place][at] for place in roles.own)
            under[long.columns[roles.head][at]].setdefault(key, []).append(long.columns[roles.value][at])
        keys = [tuple(wide.columns[place][at] for place in roles.theirs) for at in range(wide.rows)]
        fitting = []
        for place in spread:
            self._budget.check_clock()
            cells: dict[_Row, list[Key]] = {}
            for key, cell in zip(keys, wide.columns[place], strict=True):
                cells.setdefault(key, []).append(cell)
            fits = [all(self._fit(each, under[name].get(key, ())) for key, each in cells.items()) for name in heads]
            fitting.append([number for number, fit in enumerate(fits) if fit])
        matched = _matching(fitting, len(heads))
        return None if matched is None else [heads[number] for number in matched]

    def has_totals(self, more: PivotedResult, less: PivotedResult) -> bool:
        """Whether a table is another one and a row with the totals of the others."""
        if more.rows != less.rows + 1 or less.rows < 2 or len(more.columns) != len(less.columns):
            return False
        for row in rows_of_totals(more.columns, more.names, self._options):
            self._budget.check_clock()
            rest = [[cell for at, cell in enumerate(column) if at != row] for column in more.columns]
            if self._same(rest, less.columns, free=True):
                return True
        return False

    def _fit(self, wide: Sequence[Key], long: Sequence[Key]) -> bool:
        """Whether the cells of a key may be the values of that key and a header; the wide table may have more NULLs."""
        if len(wide) == len(long) == 1:
            return self._alike(wide[0], long[0])
        ours, theirs = (sorted((key for key in each if key is not None), key=_in_order) for each in (wide, long))
        return len(ours) == len(theirs) and len(long) <= len(wide) and all(map(self._alike, ours, theirs))

    def _alike(self, one: Key, two: Key) -> bool:
        if one == two:
            return True
        return is_number(one) and is_number(two) and numbers_equal(one, two, self._options)

    def _same(
        self, one: Sequence[Column], two: Sequence[Column], *, free: bool = False, contained: bool = False
    ) -> bool:
        """Whether two tables have the same rows, in any order; with ``contained`` the first may have more."""
        sides = [Side(columns=list(each), places=NoPlaces(len(each[0]))) for each in (one, two)]
        options = self._free if free else self._options
        found = find_agreement(sides[0], sides[1], options, self._budget.part(WORK), contained=contained)
        return found is not None


class _Roles(Struct, frozen=True):
    """Which column of the long table is the header and which the value, and the columns of the keys in both."""

    head: int
    value: int
    own: Sequence[int]
    theirs: Sequence[int]


def _roles(wide: PivotedResult, long: PivotedResult, heads: int) -> Iterator[_Roles]:
    """The roles that the columns may have: a key has no more values in the long table than in the wide one."""
    distinct = [set(column) for column in long.columns]
    there = [set(column) for column in wide.columns]
    for head in range(len(long.columns)):
        if len(distinct[head]) != heads:
            continue
        for value in reversed(range(len(long.columns))):
            if value == head:
                continue
            own = [place for place in range(len(long.columns)) if place not in (head, value)]
            for theirs in _keys([distinct[place] for place in own], there, ()):
                yield _Roles(head, value, own, theirs)


def _keys(wanted: Sequence[set[Key]], there: Sequence[set[Key]], taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The choices of a column for each key, those with the same values first."""
    if len(taken) == len(wanted):
        yield taken
        return
    keys = wanted[len(taken)]
    fitting = [at for at, found in enumerate(there) if at not in taken and found >= keys]
    for at in sorted(fitting, key=lambda at: len(there[at])):
        yield from _keys(wanted, there, (*taken, at))


def _columns(rows: Sequence[_Row]) -> list[Column]:
    return list(zip(*rows, strict=True))


def _in_order(key: Key) -> tuple[bool, Number]:
    """A sort key for any cell: numbers by size, so that those within tolerance are neighbours, and equal ones
    together."""
    return (True, key) if is_number(key) else (False, hash(key))


def _matching(fitting: Sequence[Sequence[int]], count: int) -> list[int] | None:
    """A choice of a different number from each list; None if there is none."""
    taken: list[int | None] = [None] * count

    def place(at: int, seen: set[int]) -> bool:
        for number in fitting[at]:
            if number in seen:
                continue
            seen.add(number)
            other = taken[number]
            if other is None or place(other, seen):
                taken[number] = at
                return True
        return False

    if not all(place(at, set()) for at in range(len(fitting))):
        return None
    found = {at: number for number, at in enumerate(taken) if at is not None}
    return [found[at] for at in range(len(fitting))]
