"""In which ways does a wrong answer come close? Each near miss is found by making one kind of difference vanish."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from itertools import chain

from assay.comparison.cells import Column, Key
from assay.comparison.permutation import (
    BudgetSpent,
    Mapping,
    NoPlaces,
    Side,
    find_contained_mapping,
    find_mapping,
    greedy_mapping,
    key_rows,
    same_rows,
)
from assay.comparison.tolerance import cluster_numbers, numbers_equal
from assay.model import ComparisonOptions, NearMiss, NearMissKind

_BUDGET = 2_000_000
_FACTORS = (
    (100, "×100"),
    (0.01, "÷100"),
    (1000, "×1000"),
    (0.001, "÷1000"),
    (1_000_000, "×1,000,000"),
    (1e-6, "÷1,000,000"),
)
_NUMERIC_TEXT = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")
_DATE_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")


def near_misses(
    gold: Sequence[Column],
    predicted: Sequence[Column],
    *,
    rows: tuple[int, int],
    options: ComparisonOptions,
    ordered: bool,
) -> tuple[NearMiss, ...]:
    """All near misses of two results that are not the same answer.

    Columns are of keys (`assay.comparison.cells`), ``rows`` the row counts of gold and prediction.
    Order is ignored by all but ``order_only``.
    """
    found: list[NearMiss] = []
    for look in _LOOKS:
        try:
            found.extend(look(_Pair(gold, predicted, rows, options, ordered)))
        except BudgetSpent:
            continue
        if look is _order and found:
            break  # the rows are equal but for their order: no other change makes them more so
    return tuple(found)


class _Pair:
    __slots__ = ("gold", "options", "ordered", "predicted", "rows")

    def __init__(
        self,
        gold: Sequence[Column],
        predicted: Sequence[Column],
        rows: tuple[int, int],
        options: ComparisonOptions,
        ordered: bool,  # noqa: FBT001
    ) -> None:
        self.gold = gold
        self.predicted = predicted
        self.rows = rows
        self.options = options
        self.ordered = ordered

    @property
    def same_shape(self) -> bool:
        return len(self.gold) == len(self.predicted) and self.rows[0] == self.rows[1] > 0

    def mappings(self) -> Iterator[Mapping]:
        """Where the cells themselves do not give the mapping away: by position, then by common values."""
        identity = tuple(range(len(self.gold)))
        yield identity
        greedy = greedy_mapping(self.gold, self.predicted)
        complete = tuple(column for column in greedy if column is not None)
        if len(complete) == len(self.gold) and complete != identity and self.options.columns == "any":
            yield complete


def _bag(columns: Sequence[Column], row_count: int) -> Side:
    return Side(columns=columns, places=NoPlaces(row_count))


def _equal_bags(
    gold: Sequence[Column], predicted: Sequence[Column], row_count: int, options: ComparisonOptions
) -> Mapping | None:
    """A mapping under which the rows are equal as bags, within tolerance."""
    strict = options.columns == "strict" and len(gold) == len(predicted)
    identity = tuple(range(len(gold)))

    def find(ours: Side, theirs: Side) -> Mapping | None:
        if strict:
            return identity if same_rows(ours, theirs, identity) else None
        return find_mapping(ours, theirs, budget=_BUDGET)

    mapping = find(_bag(gold, row_count), _bag(predicted, row_count))
    if mapping is None and (clusters := cluster_numbers([*gold, *predicted], options)):
        mapping = find(_bag(clusters.apply(gold), row_count), _bag(clusters.apply(predicted), row_count))
    return mapping


def _columns(pair: _Pair) -> Iterator[NearMiss]:
    if pair.rows[0] != pair.rows[1] or not pair.rows[0]:
        return
    ours, theirs = len(pair.gold), len(pair.predicted)
    if theirs > ours and _equal_bags(pair.gold, pair.predicted, pair.rows[0], pair.options):
        yield NearMiss(kind="superset_columns", detail=_and_more(ours, "column", theirs - ours))
    elif 0 < theirs < ours and _equal_bags(pair.predicted, pair.gold, pair.rows[0], pair.options):
        yield NearMiss(
            kind="subset_columns", detail=f"{ours - theirs:,} of gold's {ours:,} columns absent, the others right"
        )
    elif ours == theirs and pair.options.columns == "strict":
        free = find_mapping(_bag(pair.gold, pair.rows[0]), _bag(pair.predicted, pair.rows[1]), budget=_BUDGET)
        if free is not None and free != tuple(range(ours)):
            yield NearMiss(kind="column_order_only", detail=f"gold's columns are the predicted {_numbered(free)}")


def _and_more(number: int, noun: str, more: int) -> str:
    there = f"gold's {noun} is" if number == 1 else f"gold's {number:,} {noun}s are"
    return f"{there} there, and {more:,} more"


def _numbered(mapping: Mapping) -> str:
    return ", ".join(str(column + 1) for column in mapping)


def _order(pair: _Pair) -> Iterator[NearMiss]:
    if pair.ordered and pair.same_shape and _equal_bags(pair.gold, pair.predicted, pair.rows[0], pair.options):
        yield NearMiss(kind="order_only", detail="the same rows in another order than gold's ORDER BY gives")


def _row_sets(pair: _Pair) -> Iterator[NearMiss]:
    if len(pair.gold) != len(pair.predicted) or not all(pair.rows):
        return
    ours, theirs = list(dict.fromkeys(key_rows(pair.gold))), list(dict.fromkeys(key_rows(pair.predicted)))
    duplicated = (len(ours), len(theirs)) != pair.rows
    gold, predicted = list(zip(*ours, strict=True)), list(zip(*theirs, strict=True))
    if duplicated and len(ours) == len(theirs) and _equal_bags(gold, predicted, len(ours), pair.options):
        detail = f"the same rows, but {pair.rows[1]:,} of them where gold has {pair.rows[0]:,}"
        if pair.rows[0] == pair.rows[1]:
            detail = "the same rows, repeated differently"
        yield NearMiss(kind="duplicates_only", detail=detail)
        return
    ours_side, theirs_side = _bag(pair.gold, pair.rows[0]), _bag(pair.predicted, pair.rows[1])
    lack = pair.rows[0] - pair.rows[1]
    if lack > 0 and find_contained_mapping(ours_side, theirs_side, budget=_BUDGET) is not None:
        yield NearMiss(kind="missing_rows", detail=f"{lack:,} of gold's {pair.rows[0]:,} rows absent, the others right")
    elif lack < 0 and find_contained_mapping(theirs_side, ours_side, budget=_BUDGET) is not None:
        yield NearMiss(kind="extra_rows", detail=_and_more(pair.rows[0], "row", -lack))


def _alike_after(pair: _Pair, kind: NearMissKind, change: Callable[[Key], Key], detail: str) -> Iterator[NearMiss]:
    if not pair.same_shape:
        return
    distinct = set(_all_keys(pair))
    changed = {key: new for key in distinct if (new := change(key)) is not key}
    if not changed:
        return
    find = changed.get
    gold = [[find(key, key) for key in column] for column in pair.gold]
    predicted = [[find(key, key) for key in column] for column in pair.predicted]
    if _equal_bags(gold, predicted, pair.rows[0], pair.options):
        yield NearMiss(kind=kind, detail=detail)


def _types(pair: _Pair) -> Iterator[NearMiss]:
    return _alike_after(pair, "type_only", _untyped, "the same values written in another type, such as '7' for 7")


def _untyped(key: Key) -> Key:
    if isinstance(key, bytes):
        key = key.decode("utf-8", "replace")
    if isinstance(key, tuple) and key and key[0] == "bool":
        return int(key[1])
    if not isinstance(key, str):
        return key
    if _NUMERIC_TEXT.fullmatch(key):
        try:
            return Decimal(key.strip())
        except InvalidOperation:
            return key
    if _DATE_TEXT.fullmatch(key):
        try:
            return datetime.fromisoformat(key)
        except ValueError:
            return key
    return {"true": 1, "false": 0}.get(key.lower(), key)


def _letters(pair: _Pair) -> Iterator[NearMiss]:
    return _alike_after(pair, "case_or_whitespace_only", _folded, "the same text but for letter case or white space")


def _folded(key: Key) -> Key:
    if not isinstance(key, str):
        return key
    folded = " ".join(key.casefold().split())
    return key if folded == key else folded


def _rounding(pair: _Pair) -> Iterator[NearMiss]:
    if not pair.same_shape or not any(isinstance(key, (float, Decimal)) for key in _all_keys(pair)):
        return
    for mapping in pair.mappings():
        predicted = [pair.predicted[column] for column in mapping]
        ours = sorted(key_rows(pair.gold), key=_rounding_order)
        theirs = sorted(key_rows(predicted), key=_rounding_order)
        if all(
            a == b or _rounds_to(a, b)
            for one, two in zip(ours, theirs, strict=True)
            for a, b in zip(one, two, strict=True)
        ):
            yield NearMiss(kind="rounding_only", detail="the same numbers rounded differently")
            return


def _all_keys(pair: _Pair) -> Iterator[Key]:
    return chain.from_iterable((*pair.gold, *pair.predicted))


def _rounding_order(row: tuple[Key, ...]) -> tuple[list[str], list[float]]:
    numbers = [_as_float(key) for key in row if _is_number(key)]
    return [repr(key) for key in row if not _is_number(key)], numbers


def _is_number(key: Key) -> bool:
    return isinstance(key, (int, float, Decimal))


def _as_float(key: Key) -> float:
    try:
        return float(key)  # type: ignore[arg-type]  # callers checked that it is a number
    except OverflowError:
        return float("inf")


def _rounds_to(first: Key, second: Key) -> bool:
    """Whether one of two numbers is the other rounded, or cut, to fewer decimals."""
    if not (_is_number(first) and _is_number(second)):
        return False
    one, two = _as_float(first), _as_float(second)
    places = min(_decimals(first), _decimals(second))
    return abs(one - two) < 10.0**-places * (1 + 1e-9)


def _decimals(key: Key) -> int:
    if isinstance(key, int):
        return 0
    text = format(key if isinstance(key, Decimal) else Decimal(repr(key)), "f")
    return len(text.rstrip("0").partition(".")[2])


def _scaled(pair: _Pair) -> Iterator[NearMiss]:
    if not pair.same_shape:
        return
    for mapping in pair.mappings():
        predicted = [pair.predicted[column] for column in mapping]
        factors = [_factor(ours, theirs, pair.options) for ours, theirs in zip(pair.gold, predicted, strict=True)]
        if None in factors or all(factor == (1, "") for factor in factors):
            continue
        scaled = [
            [key * factor[0] if _is_number(key) else key for key in map(_plain, column)]  # type: ignore[operator]
            for column, factor in zip(predicted, factors, strict=True)
            if factor
        ]
        names = sorted({factor[1] for factor in factors if factor and factor[1]})
        if _equal_bags([list(map(_plain, column)) for column in pair.gold], scaled, pair.rows[0], pair.options):
            kind: NearMissKind = "sign" if names == ["sign"] else "scaled"
            detail = (
                "the same numbers with the opposite sign" if kind == "sign" else f"gold is the prediction {names[0]}"
            )
            yield NearMiss(kind=kind, detail=detail)
            return


def _plain(key: Key) -> Key:
    """Numbers as floats, so that factors and tolerance apply."""
    return _as_float(key) if _is_number(key) else key


def _factor(gold: Column, predicted: Column, options: ComparisonOptions) -> tuple[float, str] | None:
    """The factor that takes the predicted column to gold's, both taken as bags; None where there is none."""
    if dict.__eq__(Counter(gold), Counter(predicted)):
        return (1, "")
    ours = sorted(_as_float(key) for key in gold if _is_number(key))
    theirs = sorted(_as_float(key) for key in predicted if _is_number(key))
    if not ours or len(ours) != len(theirs):
        return None
    for factor, name in ((1.0, ""), (-1.0, "sign"), *_FACTORS):
        products = sorted(value * factor for value in theirs)
        if all(numbers_equal(a, b, options) for a, b in zip(ours, products, strict=True)):
            return (factor, name)
    return None


_LOOKS: tuple[Callable[[_Pair], Iterator[NearMiss]], ...] = (
    _order,
    _columns,
    _row_sets,
    _types,
    _letters,
    _rounding,
    _scaled,
)
