"""The rules of docs/background/verdict.md, written plainly and tried in all ways: column orders, pairings of rows.

It shares no code with `assay.comparison` and is of use only where rows and columns are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations, product
from typing import TypeAlias

from msgspec.structs import replace

from assay.model import Cell, ComparisonOptions, Row

Segments: TypeAlias = list[tuple[list[Row], int]]
"""Rows that tie, and how many of them the answer takes."""
Same: TypeAlias = Callable[[Cell, Cell], bool]
Parts: TypeAlias = list[list[Row]]
"""Gold's rows, those that tie together."""


def same_cell(first: Cell, second: Cell, options: ComparisonOptions) -> bool:
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same_cell, first, second, [options] * len(first)))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same_cell(first[key], second[key], options) for key in first)
    if not (is_number(first) and is_number(second)):
        return type(first) is type(second) and first == second
    if first != first or second != second:  # noqa: PLR0124 - NaN
        return first != first and second != second  # noqa: PLR0124
    if not (is_finite(first) and is_finite(second)):
        return first == second
    one, two = Fraction(first), Fraction(second)
    if one == two:
        return True
    if not (isinstance(first, float) or isinstance(second, float)):
        return False
    scale = max(abs(one), abs(two))
    return (
        scale <= Fraction(options.absolute_tolerance) or abs(one - two) <= Fraction(options.relative_tolerance) * scale
    )


def is_number(cell: Cell) -> bool:
    """Numbers of any type; booleans are none."""
    return isinstance(cell, (int, float, Decimal)) and not isinstance(cell, bool)


def is_finite(number: Cell) -> bool:
    return number == number and -math.inf < number < math.inf  # noqa: PLR0124 - NaN


def same_answer(segments: Segments, predicted: Sequence[Row], options: ComparisonOptions) -> bool:
    """Whether some order of columns and, per segment, some pairing of rows makes every two cells equal."""
    rule = partial(same_cell, options=options)
    return any(
        rows_pair_up(segments, mapped, [rule] * len(predicted[0])) for mapped in column_orders(predicted, options)
    )


def column_orders(rows: Sequence[Row], options: ComparisonOptions) -> Iterable[list[Row]]:
    """The rows with their columns in every order that the options allow."""
    every = tuple(range(len(rows[0])))
    for order in permutations(every) if options.columns == "any" else [every]:
        yield [tuple(row[column] for column in order) for row in rows]


def rows_pair_up(segments: Segments, predicted: Sequence[Row], rules: Sequence[Same]) -> bool:
    """Whether the rows can be paired so that all cells are the same, by one rule for each column."""
    start = 0
    for rows, take in segments:
        theirs = predicted[start : start + take]
        start += take
        same = [
            [all(rule(a, b) for rule, a, b in zip(rules, ours, row, strict=True)) for ours in rows] for row in theirs
        ]
        if not any(
            all(same[index][place] for index, place in enumerate(chosen))
            for chosen in permutations(range(len(rows)), take)
        ):
            return False
    return True


def near_miss_holds(kind: str, gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    """Whether the two would be the same answer but for this."""
    return _NEAR_MISSES[kind](gold, predicted, options)


def _whole(gold: Parts) -> Segments:
    return [(rows, len(rows)) for rows in gold]


def _flat(gold: Parts) -> list[Row]:
    return [row for rows in gold for row in rows]


def _superset(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    ours, theirs = len(_flat(gold)[0]), len(predicted[0])
    in_place = replace(options, columns="strict")
    return theirs > ours and any(
        same_answer(_whole(gold), [tuple(row[column] for column in chosen) for row in predicted], in_place)
        for chosen in permutations(range(theirs), ours)
    )


def _subset(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    ours, theirs = len(_flat(gold)[0]), len(predicted[0])
    in_place = replace(options, columns="strict")
    return theirs < ours and any(
        same_answer(_whole([[tuple(row[c] for c in chosen) for row in rows] for rows in gold]), predicted, in_place)
        for chosen in permutations(range(ours), theirs)
    )


def _missing(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    places = range(len(gold))
    numbered = [(place, row) for place in places for row in gold[place]]
    return len(predicted) < len(numbered) and any(
        same_answer(
            _whole([[row for at, row in kept if at == place] for place in range(len(gold))]), predicted, options
        )
        for kept in combinations(numbered, len(predicted))
    )


def _extra(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    count = len(_flat(gold))
    return len(predicted) > count and any(
        same_answer(_whole(gold), kept, options) for kept in combinations(predicted, count)
    )


def _duplicates(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    """Every row stands on both sides, and the predicted rows come in an order that gold's places allow."""

    def same(ours: Row, theirs: Row) -> bool:
        return all(same_cell(a, b, options) for a, b in zip(ours, theirs, strict=True))

    for theirs in column_orders(predicted, options):
        places = [[at for at, rows in enumerate(gold) if any(same(ours, row) for ours in rows)] for row in theirs]
        covered = all(any(same(ours, row) for row in theirs) for ours in _flat(gold))
        if covered and any(list(chosen) == sorted(chosen) for chosen in product(*places)):
            return True
    return False


def _in_any_order(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    return same_answer(_whole([_flat(gold)]), predicted, options)


def _in_any_column_order(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    return options.columns == "strict" and same_answer(_whole(gold), predicted, replace(options, columns="any"))


def _by_cells(alike: Same) -> Callable[[Parts, list[Row], ComparisonOptions], bool]:
    """All cells are equal, or alike by another rule."""

    def holds(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
        rules = [lambda a, b: same_cell(a, b, options) or alike(a, b)] * len(predicted[0])
        return any(rows_pair_up(_whole(gold), mapped, rules) for mapped in column_orders(predicted, options))

    return holds


def _spells(first: Cell, second: Cell) -> bool:
    """Values that can be read as one and the same; two texts too, as '1' and '1.0' are."""
    return any(same_cell(one, two, ComparisonOptions()) for one in _readings(first) for two in _readings(second))


def _readings(cell: Cell) -> list[Cell]:
    if isinstance(cell, bool):
        return [cell, int(cell)]
    if isinstance(cell, bytes):
        return [cell, *_readings(cell.decode("utf-8", "replace"))]
    if not isinstance(cell, str):
        return [cell if type(cell).__name__ != "date" else datetime(cell.year, cell.month, cell.day)]  # noqa: DTZ001
    found: list[Cell] = [cell]
    try:
        found.append(Decimal(cell.strip()))
    except InvalidOperation:
        found += [int(cell.lower() == "true")] if cell.lower() in ("true", "false") else []
    with suppress(ValueError):
        found.append(datetime.fromisoformat(cell))
    return found


def _same_letters(first: Cell, second: Cell) -> bool:
    return isinstance(first, str) and isinstance(second, str) and first.casefold().split() == second.casefold().split()


def _one_side_is_rounded(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    rules: list[Same] = [_is_rounded, lambda a, b: _is_rounded(b, a)]
    return any(_by_cells(rule)(gold, predicted, options) for rule in rules)


def _is_rounded(fine: Cell, coarse: Cell) -> bool:
    """Whether the coarse one has fewer decimals and is the fine one rounded, or cut, to as many."""
    if not all(is_number(cell) and is_finite(cell) for cell in (fine, coarse)):
        return False
    exact, rounded = (Decimal(repr(cell)) if isinstance(cell, float) else Decimal(cell) for cell in (fine, coarse))
    # Rounding to more places than are written may end in zeros: 2.999 to two decimals is 3.
    return _decimals(rounded) < _decimals(exact) and any(
        exact.quantize(Decimal((0, (1,), -places)), rounding, Context(prec=1000)) == rounded
        for places in range(_decimals(rounded), _decimals(exact))
        for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN)
    )


def _decimals(number: Decimal) -> int:
    return len(format(number, "f").partition(".")[2].rstrip("0"))


def _times(*factors: Fraction) -> Callable[[Parts, list[Row], ComparisonOptions], bool]:
    """One factor, in some columns, makes the prediction gold."""

    def holds(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
        exactly: Same = partial(same_cell, options=options)
        return any(
            rows_pair_up(
                _whole(gold),
                mapped,
                [partial(_same_times, factor=factor, options=options) if scaled else exactly for scaled in which],
            )
            for factor in factors
            for mapped in column_orders(predicted, options)
            for which in product((False, True), repeat=len(predicted[0]))
            if any(which)
        )

    return holds


def _same_times(first: Cell, second: Cell, *, factor: Fraction, options: ComparisonOptions) -> bool:
    """Whether the first is the second times the factor, with as much leeway as multiplying a float takes."""
    if not all(is_number(cell) and is_finite(cell) for cell in (first, second)):
        return same_cell(first, second, options)
    one, two = Fraction(first), Fraction(second) * factor
    if not (isinstance(first, float) or isinstance(second, float)):
        return one == two
    # A product of a float is rounded; and where the prediction is to be divided, gold is multiplied instead.
    scale, tolerance = max(abs(one), abs(two)), Fraction(options.relative_tolerance) + Fraction(1, 2**51)
    return scale <= Fraction(options.absolute_tolerance) or abs(one - two) <= tolerance * scale


_FACTORS = [Fraction(10**power) for power in (2, 3, 6)]


def _is_spread(wide: list[Row], long: list[Row], options: ComparisonOptions) -> bool:
    """Whether some of the wide rows' columns, each under some value of a column of the long rows, are the long rows."""
    rule = partial(same_cell, options=options)
    exactly = partial(same_cell, options=replace(options, relative_tolerance=0.0, absolute_tolerance=0.0))
    width = len(long[0])
    if width == 1:
        cells: list[Row] = [(cell,) for cell in wide[0]]
        return len(wide) == 1 and len(cells) == len(long) and rows_pair_up([(cells, len(cells))], long, [rule])
    for head, value in permutations(range(width), 2):
        own = [column for column in range(width) if column not in (head, value)]
        turned: list[Row] = [(*(row[column] for column in own), row[head], row[value]) for row in long]
        heads: list[Cell] = []
        for row in long:
            if not any(exactly(row[head], known) for known in heads):
                heads.append(row[head])
        for keys in permutations(range(len(wide[0])), len(own)):
            spread = [column for column in range(len(wide[0])) if column not in keys]
            if len(spread) != len(heads):
                continue
            for named in permutations(heads):
                apart: list[Row] = [
                    (*(row[key] for key in keys), name, row[column])
                    for row in wide
                    for column, name in zip(spread, named, strict=True)
                ]
                if _same_but_for_nulls(apart, turned, [rule] * width):
                    return True
    return False


def _same_but_for_nulls(wide: list[Row], long: list[Row], rules: Sequence[Same]) -> bool:
    """Whether both have the same rows with a value, and the wide one those without."""
    ours, theirs = ([row for row in rows if row[-1] is not None] for rows in (wide, long))
    empty, there = ([row for row in rows if row[-1] is None] for rows in (wide, long))
    if len(ours) != len(theirs) or len(empty) < len(there):
        return False
    return rows_pair_up([(ours, len(ours))], theirs, rules) and rows_pair_up([(empty, len(there))], there, rules)


def _adds_up(more: list[Row], less: list[Row], options: ComparisonOptions) -> bool:
    """Whether the rows are the others and one that says that it has their totals, and has them."""
    for place, total in enumerate(more):
        rest = [row for at, row in enumerate(more) if at != place]
        columns = list(zip(*rest, strict=True))
        said = [cell is None or (isinstance(cell, str) and cell.casefold() in TOTALS) for cell in total]
        news = [label and cell not in column for label, cell, column in zip(said, total, columns, strict=True)]
        follows = [
            _follows(cell, column, options)
            for label, cell, column in zip(said, total, columns, strict=True)
            if not label
        ]
        sums = "sum" in follows and None not in follows
        if any(news) and sums and same_answer([(less, len(less))], rest, options):
            return True
    return False


TOTALS = ("", "total", "grand total", "all", "sum", "overall", "subtotal", "gesamt")


def _follows(cell: Cell, column: Sequence[Cell], options: ComparisonOptions) -> str | None:
    """What a cell is of a column of numbers: their sum, but 0, or something else; None where it is nothing of them."""
    numbers = [number for number in column if number is not None]
    if not numbers or not all(is_number(number) and is_finite(number) for number in (cell, *numbers)):
        return None
    total = sum(map(Fraction, numbers))  # type: ignore[arg-type]
    exact = not any(isinstance(number, float) for number in (cell, *numbers))
    if Fraction(cell) == total or (not exact and same_cell(cell, float(total), options)):  # type: ignore[arg-type]
        return "sum" if cell else "nothing"
    return "average" if same_cell(cell, float(total / len(numbers)), options) else None


def _pivoted(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    return _is_spread(predicted, _flat(gold), options)


def _unpivoted(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    return _is_spread(_flat(gold), predicted, options)


def _totals(gold: Parts, predicted: list[Row], options: ComparisonOptions) -> bool:
    ours = _flat(gold)
    return _adds_up(predicted, ours, options) if len(predicted) > len(ours) else _adds_up(ours, predicted, options)


_NEAR_MISSES: dict[str, Callable[[Parts, list[Row], ComparisonOptions], bool]] = {
    "pivoted": _pivoted,
    "unpivoted": _unpivoted,
    "totals_row": _totals,
    "superset_columns": _superset,
    "subset_columns": _subset,
    "missing_rows": _missing,
    "extra_rows": _extra,
    "duplicates_only": _duplicates,
    "order_only": _in_any_order,
    "column_order_only": _in_any_column_order,
    "type_only": _by_cells(_spells),
    "case_or_whitespace_only": _by_cells(_same_letters),
    "rounding_only": _one_side_is_rounded,
    "scaled": _times(*_FACTORS, *(1 / factor for factor in _FACTORS)),
    "sign": _times(Fraction(-1)),
}
