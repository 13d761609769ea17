"""Near misses of numbers: rounded or truncated to fewer decimals, off by a factor, of the opposite sign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from math import isfinite

from assay.comparison.cells import Column, Key
from assay.comparison.greedy import greedy_mapping
from assay.comparison.near_pair import Pair
from assay.comparison.tolerance import Number, as_float, is_number, numbers_equal
from assay.model import ComparisonOptions, NearMiss

_MOST_DIGITS = 400
"""Numbers with more digits, or with digits further from the decimal point, are not rounded here."""
_EXACTLY = Context(prec=2 * _MOST_DIGITS + 2)
_ROUNDINGS = (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_DOWN)
_FACTORS = (100, 1000, 1_000_000)


def look_at_rounding(pair: Pair) -> Iterator[NearMiss]:
    """Find out whether one side's numbers are the other's, rounded or truncated to fewer decimals."""
    if not pair.same_shape or not any(isinstance(key, (float, Decimal)) for key in pair.all_keys()):
        return
    ours = list(map(_Column, pair.gold.columns))
    theirs = list(map(_Column, pair.predicted.columns))
    for mapping in _guesses(pair):
        predicted = [theirs[column] for column in mapping]
        for finer, coarser in ((ours, predicted), (predicted, ours)):
            if not any(one.is_finer_than(two) for one, two in zip(finer, coarser, strict=True)):
                continue
            fine = [column.keys for column in finer]
            for rounding in _ROUNDINGS:
                pairs = [_rounded(one, two, rounding) for one, two in zip(finer, coarser, strict=True)]
                rounded = [one for one, _ in pairs]
                changed = any(one is not two for one, two in zip(rounded, fine, strict=True))
                if changed and pair.agree_in_place([two for _, two in pairs], rounded):
                    yield NearMiss(kind="rounding_only", detail="the same numbers rounded differently")
                    return


class _Column:
    """A column and the most decimals of its numbers, computed once because several column orders are tried."""

    __slots__ = ("decimals", "finest", "keys")

    def __init__(self, keys: Column) -> None:
        self.keys = keys
        found = [(key, _decimals(key)) for key in keys if is_number(key)]
        self.decimals = max((decimals for _, decimals in found), default=None)
        """None if the column has no numbers."""
        self.finest = max((each for key, each in found if not isinstance(key, int) and each <= _MOST_DIGITS), default=0)
        """The most decimals among the numbers that can be rounded."""

    def is_finer_than(self, other: _Column) -> bool:
        return other.decimals is not None and self.finest > other.decimals


def _guesses(pair: Pair) -> Iterator[Sequence[int]]:
    """Mappings of columns by position, by common values, and by the integers before the point."""
    seen: list[Sequence[int]] = []
    whole = [[[_whole(key) for key in column] for column in side.columns] for side in (pair.gold, pair.predicted)]
    by_integers = tuple(column for column in greedy_mapping(whole[0], whole[1]) if column is not None)
    more = [by_integers] if len(by_integers) == len(whole[0]) and pair.options.columns == "any" else []
    for mapping in (*pair.mappings(), *more):
        if mapping not in seen:
            seen.append(mapping)
            yield mapping


def _whole(key: Key) -> Key:
    return int(key) if isinstance(key, (float, Decimal)) and isfinite(key) and abs(key) < 10**_MOST_DIGITS else key


def _rounded(fine: _Column, coarse: _Column, rounding: str) -> tuple[Column, Column]:
    """Both columns, the finer one rounded to the coarser one's decimals; unchanged if it has no more decimals.

    Floats become the decimals that they are written as: rounded numbers are equal exactly or not at all.
    """
    decimals = coarse.decimals
    if decimals is None or not fine.is_finer_than(coarse):
        return fine.keys, coarse.keys
    return [_round(key, decimals, rounding) for key in fine.keys], list(map(_written, coarse.keys))


def _is_finer(key: Key, decimals: int) -> bool:
    return isinstance(key, (float, Decimal)) and isfinite(key) and decimals < _decimals(key) <= _MOST_DIGITS


def _round(key: Key, decimals: int, rounding: str) -> Key:
    exact = _written(key)
    if not _is_finer(key, decimals) or not isinstance(exact, Decimal) or exact.adjusted() > _MOST_DIGITS:
        return exact
    return exact.quantize(Decimal(1).scaleb(-decimals), rounding, _EXACTLY)


def _written(key: Key) -> Key:
    return Decimal(repr(key)) if isinstance(key, float) and isfinite(key) else key


def _decimals(key: Number) -> int:
    """How many decimals the number is written with, without trailing zeros: 0 for an integer."""
    if isinstance(key, int) or not isfinite(key):
        return 0
    _, digits, exponent = (Decimal(repr(key)) if isinstance(key, float) else key).as_tuple()
    if not isinstance(exponent, int) or exponent >= 0:
        return 0
    trailing = next((place for place, digit in enumerate(reversed(digits)) if digit), len(digits))
    return max(0, -exponent - trailing) if any(digits) else 0


def look_at_factors(pair: Pair) -> Iterator[NearMiss]:
    """Whether one factor, or the opposite sign, turns some predicted columns into the gold columns, while the rest
    match."""
    if not pair.same_shape:
        return
    for mapping in pair.mappings():
        predicted = [pair.predicted.columns[column] for column in mapping]
        found = [_factor(ours, theirs, pair.options) for ours, theirs in zip(pair.gold.columns, predicted, strict=True)]
        factors = {factor for factor in found if factor != 1}
        if len(factors) != 1 or None in factors:
            continue
        factor = next(factor for factor in factors if factor is not None)
        pairs = [
            _scaled(ours, theirs, one or 1)
            for ours, theirs, one in zip(pair.gold.columns, predicted, found, strict=True)
        ]
        if pair.agree_in_place([ours for ours, _ in pairs], [theirs for _, theirs in pairs]):
            if factor == -1:
                yield NearMiss(kind="sign", detail="the same numbers with the opposite sign")
            else:
                name = f"×{factor:,}" if factor > 0 else f"÷{-factor:,}"
                yield NearMiss(kind="scaled", detail=f"the gold result is the prediction {name}")
            return


def _factor(gold: Column, predicted: Column, options: ComparisonOptions) -> int | None:
    """The factor from the predicted to the gold column, as bags: 1, -1 for the sign, 100, or -100 for ÷100."""
    if dict.__eq__(Counter(gold), Counter(predicted)):
        return 1
    for factor in (1, -1, *_FACTORS, *(-factor for factor in _FACTORS)):
        ours, theirs = (
            sorted(as_float(key) for key in column if is_number(key)) for column in _scaled(gold, predicted, factor)
        )
        if not ours or len(ours) != len(theirs):
            return None
        if all(numbers_equal(one, two, options) for one, two in zip(ours, theirs, strict=True)):
            return factor
    return None


def _scaled(gold: Column, predicted: Column, factor: int) -> tuple[Column, Column]:
    """Both columns, one multiplied by the factor: the gold column if the predicted one would be divided, to stay
    exact."""
    if factor == 1:
        return gold, predicted
    if factor < -1:
        return [_times(key, -factor) for key in gold], predicted
    return gold, [_times(key, factor) for key in predicted]


def _times(key: Key, factor: int) -> Key:
    if isinstance(key, int):
        return key * factor
    if isinstance(key, float):
        product = key * factor
        return product if isfinite(product) or not isfinite(key) else ("beyond floats", key)
    if isinstance(key, Decimal) and key.is_finite():
        sign, digits, exponent = key.as_tuple()
        moved = int(exponent) + (len(str(factor)) - 1 if factor > 0 else 0)
        return Decimal((sign if factor > 0 else 1 - sign, digits, moved))
    return key
