"""How close a wrong answer is. Each near miss is found by removing one kind of difference.

Each claim holds by the rules of the verdict: after that one change the prediction would be the gold answer, by the same
rules for tolerance, columns and, if the gold query orders its rows, order.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation

from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.cells import Column, Key
from assay.comparison.near_numbers import look_at_factors, look_at_rounding
from assay.comparison.near_pair import Pair
from assay.comparison.sides import Mapping, Side, key_rows
from assay.comparison.tolerance import cluster_numbers
from assay.model import ComparisonOptions, NearMiss, NearMissKind

_NUMERIC_TEXT = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*", re.ASCII)
_DATE_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?", re.ASCII)


def near_misses(
    gold: Side, predicted: Side, *, options: ComparisonOptions, ordered: bool, budget: Budget
) -> tuple[NearMiss, ...]:
    """All near misses of two results that differ.

    Columns are of keys (`assay.comparison.cells`); the gold side's places are its rows' positions if their order
    matters.
    """
    pair = Pair(gold, predicted, options, ordered, budget)
    found: list[NearMiss] = []
    for look in _LOOKS:
        try:
            budget.check_clock()
            found.extend(look(pair))
        except BudgetSpent as spent:
            if spent.out_of_time:
                break
            continue
        if look is _order and found:
            break  # the rows are equal except for their order: no other change can make them more equal
    return tuple(found)


def _columns(pair: Pair) -> Iterator[NearMiss]:
    rows, others = pair.row_counts
    if rows != others or not rows:
        return
    gold, predicted = pair.gold.columns, pair.predicted.columns
    ours, theirs = len(gold), len(predicted)
    if theirs > ours and pair.agree(gold, predicted):
        yield NearMiss(kind="superset_columns", detail=_and_others(ours, "column"))
    elif 0 < theirs < ours and pair.agree(predicted, gold):
        yield NearMiss(kind="subset_columns", detail="some gold columns are missing, the others are right")
    elif ours == theirs and pair.options.columns == "strict":
        free = pair.agree(
            gold,
            predicted,
            ComparisonOptions(
                relative_tolerance=pair.options.relative_tolerance, absolute_tolerance=pair.options.absolute_tolerance
            ),
        )
        if free is not None:
            yield NearMiss(
                kind="column_order_only", detail=f"the gold columns are the predicted columns {_numbered(free)}"
            )


def _and_others(number: int, noun: str) -> str:
    """Without the numbers: the reason that quotes it has said how many there are."""
    return f"the gold {noun} and others" if number == 1 else f"all gold {noun}s and others"


def _numbered(mapping: Mapping) -> str:
    return ", ".join(str(column + 1) for column in mapping)


def _order(pair: Pair) -> Iterator[NearMiss]:
    if (
        pair.ordered
        and pair.same_shape
        and pair.agree_as_bags(pair.gold.columns, pair.predicted.columns, pair.row_counts)
    ):
        yield NearMiss(kind="order_only", detail="the same rows in another order")


def _row_sets(pair: Pair) -> Iterator[NearMiss]:
    if len(pair.gold.columns) != len(pair.predicted.columns) or not all(pair.row_counts):
        return
    gold, predicted = pair.gold.columns, pair.predicted.columns
    clusters = cluster_numbers([*gold, *predicted], pair.options)
    if clusters is not None and not clusters.loose:
        gold, predicted = clusters.apply(gold), clusters.apply(predicted)
    duplicates = _duplicates(pair, gold, predicted)
    if duplicates is not None:
        yield duplicates
        return
    rows, others = pair.row_counts
    lack = rows - others
    if lack > 0:
        mapping = pair.agree_as_bags(gold, predicted, (rows, others), contained=True)
        if mapping is not None and (not pair.ordered or _in_order(pair.gold.places, *_rows(gold, predicted, mapping))):
            yield NearMiss(kind="missing_rows", detail="some gold rows are missing, the others are right")
    elif lack < 0:
        backwards = pair.agree_as_bags(predicted, gold, (others, rows), contained=True)
        if backwards is None:
            return
        mapping = tuple(backwards.index(column) for column in range(len(gold)))
        if not pair.ordered or _holds_in_order(pair.gold.places, *_rows(gold, predicted, mapping)):
            yield NearMiss(kind="extra_rows", detail=_and_others(rows, "row"))


def _rows(gold: Sequence[Column], predicted: Sequence[Column], mapping: Mapping) -> tuple[list[_Row], list[_Row]]:
    return key_rows(gold), key_rows([predicted[column] for column in mapping])


_Row = tuple[Key, ...]


def _duplicates(pair: Pair, gold: Sequence[Column], predicted: Sequence[Column]) -> NearMiss | None:
    ours, theirs = list(dict.fromkeys(key_rows(gold))), list(dict.fromkeys(key_rows(predicted)))
    if (len(ours), len(theirs)) == pair.row_counts or len(ours) != len(theirs):
        return None
    counts = (len(ours), len(theirs))
    mapping = pair.agree_as_bags(list(zip(*ours, strict=True)), list(zip(*theirs, strict=True)), counts)
    if mapping is None:
        return None
    if pair.ordered:
        places: dict[_Row, int] = {}
        gold_rows, predicted_rows = _rows(gold, predicted, mapping)
        for row, place in zip(gold_rows, pair.gold.places, strict=True):
            if places.setdefault(row, place) != place:
                return None  # a row at several positions says nothing about order
        taken = [places.get(row, -1) for row in predicted_rows]
        if -1 in taken or taken != sorted(taken):
            return None
    return NearMiss(kind="duplicates_only", detail="the same rows, repeated differently")


def _in_order(places: Sequence[int], gold: list[_Row], predicted: list[_Row]) -> bool:
    """Whether the predicted rows can be taken from the gold rows in turn, each at the earliest position left."""
    left: dict[_Row, list[int]] = defaultdict(list)
    for row, place in zip(reversed(gold), reversed(list(places)), strict=True):
        left[row].append(place)
    reached = 0
    for row in predicted:
        waiting = left[row]
        while waiting and waiting[-1] < reached:
            waiting.pop()
        if not waiting:
            return False
        reached = waiting.pop()
    return True


def _holds_in_order(places: Sequence[int], gold: list[_Row], predicted: list[_Row]) -> bool:
    """Whether the gold rows can be taken from the predicted rows position by position, in any order within a
    position."""
    left: dict[_Row, list[int]] = defaultdict(list)
    for index in range(len(predicted) - 1, -1, -1):
        left[predicted[index]].append(index)
    reached, last, current = -1, -1, None
    for row, place in zip(gold, places, strict=True):
        if place != current:
            reached, current = last, place
        waiting = left[row]
        while waiting and waiting[-1] <= reached:
            waiting.pop()
        if not waiting:
            return False
        last = max(last, waiting.pop())
    return True


def _alike_after(
    pair: Pair, kind: NearMissKind, changed: tuple[dict[Key, Key], dict[Key, Key]], detail: str
) -> Iterator[NearMiss]:
    """A near miss if the rows are the same after this change to the gold and predicted cells."""
    if not any(changed):
        return
    gold, predicted = (
        [[find(key, key) for key in column] for column in side.columns]
        for side, find in zip((pair.gold, pair.predicted), (changed[0].get, changed[1].get), strict=True)
    )
    if pair.agree(gold, predicted):
        yield NearMiss(kind=kind, detail=detail)


def _changes(columns: Sequence[Column], change: Callable[[Key], Key]) -> dict[Key, Key]:
    distinct = {key for column in columns for key in column if isinstance(key, (str, bytes, tuple))}
    return {key: new for key in distinct if (new := change(key)) is not key}


def _types(pair: Pair) -> Iterator[NearMiss]:
    if pair.same_shape:
        changed = _changes(pair.gold.columns, _untyped), _changes(pair.predicted.columns, _untyped)
        detail = "the same values in another type, for example '7' for 7"
        yield from _alike_after(pair, "type_only", changed, detail)


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


def _letters(pair: Pair) -> Iterator[NearMiss]:
    if pair.same_shape:
        changed = _changes(pair.gold.columns, _folded), _changes(pair.predicted.columns, _folded)
        yield from _alike_after(
            pair,
            "case_or_whitespace_only",
            changed,
            "the same text except for letter case or white space",
        )


def _folded(key: Key) -> Key:
    if not isinstance(key, str):
        return key
    folded = " ".join(key.casefold().split())
    return key if folded == key else folded


_LOOKS: tuple[Callable[[Pair], Iterator[NearMiss]], ...] = (
    _order,
    _columns,
    _row_sets,
    _types,
    _letters,
    look_at_rounding,
    look_at_factors,
)
