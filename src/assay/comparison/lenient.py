"""Compare leniently: remove the differences that a case or a run allows, then compare strictly.

Text is folded, the predicted columns that correspond to the gold columns are chosen, duplicates are dropped; the rest
is compared by the verdict's own rules. So a leniency never accepts more than it declares, and this module makes no
decision about cells, rows or order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from math import isfinite

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.answer import Answer, Segment
from assay.comparison.budget import Budget
from assay.comparison.cells import Column, Key, to_columns
from assay.comparison.compare import compare
from assay.comparison.shapes import PivotedResult, shape_misses
from assay.comparison.tolerance import cluster_numbers
from assay.model import STRICT, AlignedRow, Cell, Comparison, ComparisonOptions, Leniency, Result, Row

Compare = Callable[[Result, Answer, ComparisonOptions], Comparison]

_WORK = 20_000_000
"""Limit for the cells that are read to find the gold columns among more predicted ones."""
_SAMPLE = 5


class _TooMuch(Exception):
    """Choosing columns exceeded its budget."""


def compare_leniently(
    predicted: Result, answer: Answer, options: ComparisonOptions, *, strictly: Compare = compare
) -> Comparison:
    """Like `compare`, but with ``options.leniency`` applied. A match that needs the leniency is flagged ``lenient``.

    A difference is described as without leniency. ``strictly`` compares the results that remain.
    """
    declared = options.leniency
    base, loose = _tolerances(options)
    found = strictly(predicted, answer, base)
    if found.equal or declared == STRICT:
        return found
    if declared.shape == "any" and (reshaped := _reshaped(found, predicted, answer, loose)) is not None:
        return reshaped
    wider = predicted.column_count - answer.result.column_count
    if wider < 0 or not answer.result.column_count or (wider > 0 and declared.extra_columns != "allowed"):
        return found
    pair = _Pair(predicted, answer, loose).folded() if declared.case == "ignored" else _Pair(predicted, answer, loose)
    try:
        lenient = _first_match(pair, strictly)
    except _TooMuch:
        # An answer must not become unscored by returning columns that make the gold columns hard to find.
        reason = "which predicted columns correspond to the gold columns could not be determined within the budget"
        return replace(found, reason=f"{found.reason}; {reason}")
    if lenient is None:
        return found
    return _as_matched(lenient, predicted, answer, declared)


def _reshaped(found: Comparison, predicted: Result, answer: Answer, options: ComparisonOptions) -> Comparison | None:
    """The match of an answer in another shape; None if there is none, or if gold rows are ordered or ambiguous."""
    gold = answer.result
    if answer.ordered or answer.ambiguous:
        return None
    boolean = options.boolean_is_integer
    ours, _ = to_columns(gold.rows, gold.column_count, boolean_is_integer=boolean)
    theirs, _ = to_columns(predicted.rows, predicted.column_count, boolean_is_integer=boolean)
    strictly = replace(options, leniency=STRICT)
    for miss in shape_misses(PivotedResult.of(gold, ours), PivotedResult.of(predicted, theirs), strictly, Budget()):
        rows = len(gold.rows)
        return replace(
            found,
            equal=True,
            decided=True,
            provoked=False,
            column_mapping=(),
            matched_rows=rows,
            missing_rows=0,
            extra_rows=0,
            aligned=tuple(AlignedRow(state="matched", gold=row) for row in gold.rows[:_SAMPLE]),
            near_misses=(),
            lenient=True,
            reason=f"{miss.detail}; lenient: {options.leniency.said}",
        )
    return None


def _tolerances(options: ComparisonOptions) -> tuple[ComparisonOptions, ComparisonOptions]:
    """The options without leniency, and those with the declared tolerance in them."""
    if options.leniency == STRICT:
        return options, options
    base = replace(options, leniency=STRICT)
    tolerance = options.leniency.tolerance
    if tolerance is None:
        return base, options
    # A declared tolerance may be tighter than the default one: then it applies from the start.
    tight = replace(base, relative_tolerance=min(base.relative_tolerance, tolerance))
    return tight, replace(base, relative_tolerance=tolerance, leniency=options.leniency)


def _first_match(pair: _Pair, strictly: Compare) -> Comparison | None:
    ignoring = pair.options.leniency.duplicates == "ignored"
    undecided = False
    for mapping in pair.mappings():
        chosen = pair.projected(mapping)
        left = chosen.without_duplicates() if ignoring else chosen
        # Choosing columns also fixes their order: it must not be free again.
        rule = pair.options.columns if pair.wider == 0 else "strict"
        settings = replace(pair.options, leniency=STRICT, columns=rule, near_misses=False)
        found = strictly(left.predicted, left.answer, settings)
        if found.equal:
            places = [mapping[place] for place in found.column_mapping if place is not None]
            return replace(found, column_mapping=tuple(places))
        undecided = undecided or not found.decided
    if undecided:
        raise _TooMuch
    return None


def _as_matched(found: Comparison, predicted: Result, answer: Answer, declared: Leniency) -> Comparison:
    shown = answer.result.rows[:_SAMPLE] if not answer.ambiguous else ()
    return replace(
        found,
        gold_row_count=len(answer.result.rows),
        predicted_row_count=len(predicted.rows),
        aligned=tuple(AlignedRow(state="matched", gold=row) for row in shown),
        lenient=True,
        reason=f"{found.reason}; lenient: {declared.said}",
    )


class _Pair(Struct, frozen=True):
    """A prediction and the gold answer."""

    predicted: Result
    answer: Answer
    options: ComparisonOptions

    @property
    def wider(self) -> int:
        """How many more columns than the gold answer the prediction has."""
        return self.predicted.column_count - self.answer.result.column_count

    def folded(self) -> _Pair:
        """Both sides with all text folded."""

        def fold(rows: Sequence[Row]) -> tuple[Row, ...]:
            return tuple(tuple(map(_folded, row)) for row in rows)

        predicted = replace(self.predicted, rows=fold(self.predicted.rows))
        return replace(self, predicted=predicted, answer=self.answer.with_rows(fold))

    def projected(self, mapping: Sequence[int]) -> _Pair:
        """The prediction with only the chosen columns, in the gold query order."""
        if self.wider == 0:
            return self
        names = self.predicted.columns
        chosen = Result(
            columns=tuple(names[column] for column in mapping),
            rows=tuple(tuple(row[column] for column in mapping) for row in self.predicted.rows),
        )
        return replace(self, predicted=chosen)

    def without_duplicates(self) -> _Pair:
        """Both sides with only the first occurrence of each row. Rows that are equal within tolerance are one row."""
        offered = [row for segment in self.answer.segments for row in segment.rows]
        boolean, width = self.options.boolean_is_integer, self.predicted.column_count
        ours, _ = to_columns(offered, width, boolean_is_integer=boolean)
        theirs, _ = to_columns(self.predicted.rows, width, boolean_is_integer=boolean)
        if clusters := cluster_numbers([*ours, *theirs], self.options):
            ours, theirs = clusters.apply(ours), clusters.apply(theirs)
        their_rows = _once(self.predicted.rows, _rows(theirs, len(self.predicted.rows)), set())
        keys = iter(_rows(ours, len(offered)))
        seen: set[tuple[Key, ...]] = set()
        segments: list[Segment] = []
        for segment in self.answer.segments:
            rows = _once(segment.rows, [next(keys) for _ in segment.rows], seen)
            take = len(rows)
            if segment.take < len(segment.rows):
                # A cut tie may contain a varying number of distinct rows: use the prediction's number.
                still = len(their_rows) - sum(each.take for each in segments)
                take = max(0, min(still, take, segment.take))
            segments.append(Segment(rows=rows, take=take))
        kept = tuple(row for segment in segments for row in segment.rows[: segment.take])
        result = replace(self.answer.result, rows=kept)
        answer = replace(self.answer, result=result, segments=tuple(segments))
        return replace(self, predicted=replace(self.predicted, rows=their_rows), answer=answer)

    def mappings(self) -> Iterator[tuple[int, ...]]:
        """The choices of predicted columns for the gold columns that are worth comparing: each column once."""
        if self.wider == 0:
            yield tuple(range(self.predicted.column_count))
            return
        yield from _Choice.of(self).complete(())


class _Choice:
    """Finds the gold columns among more predicted ones, column by column; it drops impossible choices early."""

    def __init__(self, gold: list[Column], predicted: list[Column], pair: _Pair) -> None:
        self._gold = gold
        self._predicted = predicted
        self._pair = pair
        self._cut = any(segment.take < len(segment.rows) for segment in pair.answer.segments)
        self._as_sets = self._cut or pair.options.leniency.duplicates == "ignored"
        self._left = _WORK
        # If a float takes part, equal values may have different keys.
        self._inexact = [[_is_inexact(column) for column in side] for side in (gold, predicted)]
        self._options = [
            [place for place, theirs in enumerate(predicted) if self._may_stand_for(ours, theirs)] for ours in gold
        ]

    @classmethod
    def of(cls, pair: _Pair) -> _Choice:
        """The choice for a pair whose prediction has more columns than the gold query."""
        boolean = pair.options.boolean_is_integer
        offered = [row for segment in pair.answer.segments for row in segment.rows]
        gold, _ = to_columns(offered, pair.answer.result.column_count, boolean_is_integer=boolean)
        predicted, _ = to_columns(pair.predicted.rows, pair.predicted.column_count, boolean_is_integer=boolean)
        return cls(gold, predicted, pair)

    def complete(self, chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """All complete choices that begin with this one."""
        if len(chosen) == len(self._gold):
            self._spend(len(self._gold) * (len(self._pair.predicted.rows) + 1))
            yield chosen
            return
        for option in self._options[len(chosen)]:
            if option in chosen or (self._pair.options.columns == "strict" and chosen and option < chosen[-1]):
                continue
            longer = (*chosen, option)
            if self._rows_may_match(longer):
                yield from self.complete(longer)

    def _rows_may_match(self, chosen: tuple[int, ...]) -> bool:
        """Whether the rows agree in the columns chosen so far, without those that hold floats."""
        pairs = [
            (self._gold[column], self._predicted[option])
            for column, option in enumerate(chosen)
            if not (self._inexact[0][column] or self._inexact[1][option])
        ]
        if len(pairs) < 2:
            return True  # each single column has been checked already
        self._spend(len(pairs) * (len(pairs[0][0]) + len(pairs[0][1])))
        ours, theirs = zip(*(one for one, _ in pairs), strict=True), zip(*(two for _, two in pairs), strict=True)
        if not self._as_sets:
            return Counter(ours) == Counter(theirs)
        one, two = set(ours), set(theirs)
        return two <= one if self._cut else one == two

    def _may_stand_for(self, ours: Column, theirs: Column) -> bool:
        """Whether two columns may hold the same values: a necessary condition."""
        self._spend(len(ours) + len(theirs))
        if not (_is_inexact(ours) or _is_inexact(theirs)):
            one, two = set(ours), set(theirs)
            return two <= one if self._cut else one == two
        return self._near(theirs, ours) and (self._cut or self._near(ours, theirs))

    def _near(self, wanted: Column, there: Column) -> bool:
        """Whether each number of one column has a number of the other within twice the tolerance."""
        numbers = sorted(value for key in there if (value := _finite(key)) is not None)
        for key in set(wanted):
            value = _finite(key)
            if value is None:
                continue
            place = bisect_left(numbers, value)
            if not any(self._is_near(value, other) for other in numbers[max(0, place - 1) : place + 1]):
                return False
        return True

    def _is_near(self, one: float, two: float) -> bool:
        options = self._pair.options
        return abs(one - two) <= 2 * max(
            options.absolute_tolerance, options.relative_tolerance * max(abs(one), abs(two))
        )

    def _spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise _TooMuch


def _folded(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return cell.casefold()
    if isinstance(cell, (list, tuple)):
        return type(cell)(map(_folded, cell))
    return cell


def _rows(columns: Sequence[Column], count: int) -> list[tuple[Key, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * count


def _once(rows: Sequence[Row], keys: Sequence[tuple[Key, ...]], seen: set[tuple[Key, ...]]) -> tuple[Row, ...]:
    """The rows whose key is not in ``seen`` yet; adds the keys to it."""
    kept: list[Row] = []
    for row, key in zip(rows, keys, strict=True):
        if key not in seen:
            seen.add(key)
            kept.append(row)
    return tuple(kept)


def _is_inexact(column: Column) -> bool:
    return any(isinstance(key, (float, tuple)) for key in column)


def _finite(key: Key) -> float | None:
    if not isinstance(key, (int, float, Decimal)):
        return None
    try:
        value = float(key)
    except OverflowError:
        return None
    return value if isfinite(value) else None
