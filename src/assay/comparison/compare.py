"""Whether two results are the same answer. The core of the product: pure, exact, and never factorial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from assay.comparison.answer import Answer
from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.cells import Column, Key, cell_types, comparable_as_they_are, to_columns
from assay.comparison.greedy import greedy_mapping
from assay.comparison.near import near_misses
from assay.comparison.pairing import Pairing
from assay.comparison.reason import Finding
from assay.comparison.shapes import PivotedResult, shape_misses
from assay.comparison.sides import Mapping, NoPlaces, Side, key_rows
from assay.comparison.sizes import GREEDY_CELLS, NEAR_MISS_CELLS
from assay.comparison.tolerance import Clusters, cluster_numbers
from assay.comparison.tolerant_mapping import find_agreement
from assay.errors import plural
from assay.model import AlignedRow, Comparison, ComparisonOptions, NearMiss, Result, Row

_PORTION = 128
"""Rows that are looked up together."""
_MATCHED_SAMPLE = 5
_ALIGN_WORK = 2_000_000
"""Limit for the cells that are read to pair rows for display if tolerance leaves the pairs open."""


def compare(
    predicted: Result,
    gold: Answer | Result,
    options: ComparisonOptions | None = None,
    *,
    deadline: float | None = None,
    described: bool = True,
) -> Comparison:
    """Compare a predicted result with the gold answer.

    A plain Result as gold answer is a bag: row order does not matter. The rules are those of the verdict
    (`assay docs verdict`); nothing is converted to text or rounded. A comparison that has not ended by
    ``deadline`` (of `time.monotonic`), or within its budget of work, is not ``decided``, and its reason names the
    limit. A difference found by then stands; only near misses may be missed. ``described`` False: differing results are
    reported without describing how they differ, which takes longer than detecting it.
    """
    options = options or ComparisonOptions()
    budget = Budget(deadline=deadline)
    answer = gold if isinstance(gold, Answer) else Answer.bag(gold)
    if not answer.result.rows and not predicted.rows:
        return _both_empty(answer, predicted)
    widths_agree = answer.result.column_count == predicted.column_count
    if widths_agree and len(answer.result.rows) == len(predicted.rows):
        if _equal_as_they_are(answer, predicted, options):
            return _equal(answer, predicted, tuple(range(predicted.column_count)), options)
        try:
            mapping = _equal_mapping(answer, predicted, options, budget)
        except BudgetSpent as spent:
            return _undecided(answer, predicted, spent)
        if mapping is not None:
            return _equal(answer, predicted, mapping, options)
    if not described:
        return _different(answer, predicted)
    return _Difference(answer, predicted, options, budget).describe()


def compare_with_itself(result: Result, options: ComparisonOptions) -> Comparison | None:
    """The comparison of a result with the very same rows, as a bag; None if even these need a full comparison."""
    rows = result.rows
    if not rows or not (options.boolean_is_integer or comparable_as_they_are(cell_types(rows))):
        return None
    count = len(rows)
    return Comparison(
        equal=True,
        column_mapping=tuple(range(len(rows[0]))),
        gold_row_count=count,
        predicted_row_count=count,
        matched_rows=count,
        aligned=tuple(
            [AlignedRow(state="matched", gold=row) for row in rows[: min(_MATCHED_SAMPLE, options.sample_rows)]]
        ),
        reason=f"all {count:,} rows match" if count != 1 else "the one row matches",
    )


def _both_empty(answer: Answer, predicted: Result) -> Comparison:
    ours, theirs = answer.result.column_count, predicted.column_count
    # Some sources give no column names with an empty result: then there is nothing to compare.
    equal = ours == theirs or not (ours and theirs)
    reason = "both results are empty" if equal else f"both are empty, with {plural(theirs, 'column')} instead of {ours}"
    mapping = tuple(range(ours)) if equal else ()
    return Comparison(equal=equal, column_mapping=mapping, ordered=answer.ordered, vacuous=equal, reason=reason)


def _different(answer: Answer, predicted: Result) -> Comparison:
    return Comparison(
        equal=False,
        ordered=answer.ordered,
        gold_row_count=len(answer.result.rows),
        predicted_row_count=len(predicted.rows),
        ambiguous=answer.ambiguous,
        reason="the results differ",
    )


def _undecided(answer: Answer, predicted: Result, spent: BudgetSpent) -> Comparison:
    reason = "the columns are too symmetric to determine within the budget whether a permutation makes the rows equal"
    if spent.out_of_time:
        reason = "comparing the results took longer than its time limit"
    return Comparison(
        equal=False,
        decided=False,
        ordered=answer.ordered,
        gold_row_count=len(answer.result.rows),
        predicted_row_count=len(predicted.rows),
        ambiguous=answer.ambiguous,
        reason=reason,
    )


def _equal_mapping(answer: Answer, predicted: Result, options: ComparisonOptions, budget: Budget) -> Mapping | None:
    """The mapping of columns that makes rows equal which are not equal as they are; None if there is none."""
    budget.check_clock()
    gold, theirs = _sides(answer, predicted, options)
    takes_all = all(segment.take == len(segment.rows) for segment in answer.segments)
    return find_agreement(gold, theirs, options, budget, contained=not takes_all)


def _equal_as_they_are(answer: Answer, predicted: Result, options: ComparisonOptions) -> bool:
    """The fast path: Python compares or hashes the tuples as they are, with columns in the gold query order."""
    ours, theirs = answer.result.rows, predicted.rows
    same = ours == theirs
    if same or answer.ordered or len(ours) == 1:
        return same and (options.boolean_is_integer or comparable_as_they_are(cell_types(ours) | cell_types(theirs)))
    # Looking up one row first avoids building the set if the columns are in another order.
    if theirs[0] not in ours:
        return False
    types = set() if options.boolean_is_integer else cell_types(ours)
    if not comparable_as_they_are(types):
        return False
    try:
        distinct = set(ours)
        if len(distinct) < len(ours):
            types |= set() if options.boolean_is_integer else cell_types(theirs)
            return comparable_as_they_are(types) and dict.__eq__(Counter(ours), Counter(theirs))
        # As many predicted rows as gold rows, and no gold duplicates: if removing the predicted rows leaves nothing,
        # each gold row occurred once. In small batches, so that cells are still in the cache when their types are
        # checked after hashing.
        for start in range(0, len(theirs), _PORTION):
            portion = theirs[start : start + _PORTION]
            distinct.difference_update(portion)
            if not options.boolean_is_integer:
                types |= cell_types(portion)
    except TypeError:  # a cell that does not hash: the keys will
        return False
    return not distinct and comparable_as_they_are(types)


def _sides(answer: Answer, predicted: Result, options: ComparisonOptions) -> tuple[Side, Side]:
    rows: Sequence[Row]
    places: Sequence[int]
    their_places: Sequence[int]
    if len(answer.segments) == 1:
        rows = answer.segments[0].rows
        places, their_places = NoPlaces(len(rows)), NoPlaces(len(predicted.rows))
    else:
        rows = [row for segment in answer.segments for row in segment.rows]
        places = tuple(place for place, segment in enumerate(answer.segments) for _ in segment.rows)
        their_places = tuple(place for place, segment in enumerate(answer.segments) for _ in range(segment.take))
    boolean = options.boolean_is_integer
    width = predicted.column_count
    ours, as_they_are = to_columns(rows, width, boolean_is_integer=boolean)
    theirs, _ = to_columns(predicted.rows, width, boolean_is_integer=boolean)
    keyed = cast("Sequence[tuple[Key, ...]]", rows) if as_they_are and len(answer.segments) == 1 else None
    return Side(columns=ours, places=places, rows=keyed), Side(columns=theirs, places=their_places)


def _equal(answer: Answer, predicted: Result, mapping: Mapping, options: ComparisonOptions) -> Comparison:
    count = len(predicted.rows)
    sample = min(_MATCHED_SAMPLE, options.sample_rows)
    ambiguous = answer.ambiguous
    # For an ambiguous gold query, show the prediction's own choice of rows, in gold column order.
    shown = predicted.rows if ambiguous else answer.result.rows
    if ambiguous:
        shown = tuple(tuple(row[column] for column in mapping) for row in shown[:sample])
    order = "" if mapping == tuple(range(len(mapping))) else ", with columns in another order"
    reason = f"all {count:,} rows match{order}" if count != 1 else f"the one row matches{order}"
    return Comparison(
        equal=True,
        column_mapping=mapping,
        ordered=answer.ordered,
        gold_row_count=len(answer.result.rows),
        predicted_row_count=count,
        matched_rows=count,
        aligned=tuple(AlignedRow(state="matched", gold=row) for row in shown[:sample]),
        ambiguous=ambiguous,
        reason=reason,
    )


class _Difference(Struct, frozen=True):
    """Describes how two results differ."""

    answer: Answer
    predicted: Result
    options: ComparisonOptions
    budget: Budget

    def describe(self) -> Comparison:
        gold, predicted = self.answer.result, self.predicted
        widths = gold.column_count, predicted.column_count
        cells = len(gold.rows) * widths[0] + len(predicted.rows) * widths[1]
        boolean = self.options.boolean_is_integer
        ours, _ = to_columns(gold.rows, widths[0], boolean_is_integer=boolean)
        theirs, _ = to_columns(predicted.rows, widths[1], boolean_is_integer=boolean)
        clusters = cluster_numbers([*ours, *theirs], self.options) if cells <= GREEDY_CELLS else None
        mapping = self._by_position() if self._goes_by_position(cells) else None
        if mapping is None:
            one, two = (clusters.apply(ours), clusters.apply(theirs)) if clusters else (ours, theirs)
            mapping = greedy_mapping(one, two)
        pairs = _pairs(mapping)
        partners = self._paired(ours, theirs, pairs, clusters) if pairs else [None] * len(gold.rows)
        counts = (len(gold.rows), len(predicted.rows))
        close: tuple[NearMiss, ...] = ()
        if self.options.near_misses and cells <= NEAR_MISS_CELLS:
            places = tuple(place for place, segment in enumerate(self.answer.segments) for _ in range(segment.take))
            close = near_misses(
                Side(columns=ours, places=places if self.answer.ordered else NoPlaces(counts[0])),
                Side(columns=theirs, places=NoPlaces(counts[1])),
                options=self.options,
                ordered=self.answer.ordered,
                budget=self.budget,
            )
            shapes = PivotedResult.of(gold, ours), PivotedResult.of(predicted, theirs)
            close = (*close, *shape_misses(*shapes, self.options, self.budget))
        return self._described(mapping, partners, close)

    def _described(
        self, mapping: tuple[int | None, ...], partners: Sequence[int | None], close: tuple[NearMiss, ...]
    ) -> Comparison:
        missing, extra, aligned = self._align(mapping, partners)
        counts = (len(self.answer.result.rows), len(self.predicted.rows))
        return Comparison(
            equal=False,
            column_mapping=mapping,
            ordered=self.answer.ordered,
            gold_row_count=counts[0],
            predicted_row_count=counts[1],
            matched_rows=counts[0] - missing,
            missing_rows=missing,
            extra_rows=extra,
            aligned=aligned,
            near_misses=close,
            ambiguous=self.answer.ambiguous,
            reason=self._reason(missing, extra, mapping, aligned, close),
        )

    def _goes_by_position(self, cells: int) -> bool:
        return self.options.columns == "strict" or cells > GREEDY_CELLS

    def _by_position(self) -> tuple[int | None, ...]:
        width = self.predicted.column_count
        return tuple(column if column < width else None for column in range(self.answer.result.column_count))

    def _align(
        self, mapping: tuple[int | None, ...], partners: Sequence[int | None]
    ) -> tuple[int, int, tuple[AlignedRow, ...]]:
        """Missing and extra row counts over the mapped columns, with a sample of the rows on each side."""
        gold, predicted = self.answer.result.rows, self.predicted.rows
        missing_places = [place for place, partner in enumerate(partners) if partner is None]
        matched_places = [place for place, partner in enumerate(partners) if partner is not None]
        taken = set(partners)
        extra_places = [place for place in range(len(predicted)) if place not in taken]
        limit = self.options.sample_rows
        sampled = matched_places[: min(_MATCHED_SAMPLE, limit)]
        # Otherwise a matched row's predicted cells would only repeat the gold cells.
        shown = len(_pairs(mapping)) < self.predicted.column_count
        aligned = [
            AlignedRow(
                state="matched",
                gold=gold[place],
                predicted=self._mapped(predicted[partner], mapping) if shown and partner is not None else None,
            )
            for place in sampled
            for partner in [partners[place]]
        ]
        aligned += [AlignedRow(state="missing", gold=gold[place]) for place in missing_places[:limit]]
        aligned += [
            AlignedRow(state="extra", predicted=self._mapped(predicted[p], mapping)) for p in extra_places[:limit]
        ]
        return len(missing_places), len(extra_places), tuple(aligned)

    def _paired(
        self,
        ours: list[Column],
        theirs: list[Column],
        pairs: list[tuple[int, int]],
        clusters: Clusters | None,
    ) -> list[int | None]:
        """For each gold row, the index of a predicted row that is equal in these columns; each is used once."""
        columns, mapping = zip(*pairs, strict=True)
        if clusters is not None and clusters.loose:
            sides = [Side(columns=each, places=NoPlaces(len(each[0]))) for each in (ours, theirs)]
            try:
                pairing = Pairing(sides[0], sides[1], clusters, self.options, self.budget.part(_ALIGN_WORK))
                return pairing.partners(columns, mapping)
            except BudgetSpent:
                clusters = None  # then only identical cells are shown as equal
        if clusters is not None:
            ours, theirs = clusters.apply(ours), clusters.apply(theirs)
        return _partners(
            key_rows([ours[column] for column in columns]), key_rows([theirs[option] for option in mapping])
        )

    def _mapped(self, row: Row, mapping: tuple[int | None, ...]) -> Row:
        """The row with its columns in the gold query order, followed by those without a counterpart."""
        rest = [cell for column, cell in enumerate(row) if column not in mapping]
        return (*(row[column] for column in mapping if column is not None), *rest)

    def _reason(
        self,
        missing: int,
        extra: int,
        mapping: tuple[int | None, ...],
        aligned: Sequence[AlignedRow],
        close: Sequence[NearMiss],
    ) -> str:
        return Finding(
            gold=self.answer.result,
            predicted=self.predicted,
            ordered=self.answer.ordered,
            mapping=mapping,
            missing=missing,
            extra=extra,
            aligned=aligned,
            close=close,
            options=self.options,
        ).reason()


def _pairs(mapping: tuple[int | None, ...]) -> list[tuple[int, int]]:
    return [(column, option) for column, option in enumerate(mapping) if option is not None]


def _partners(wanted: Sequence[object], rows: Sequence[object]) -> list[int | None]:
    """For each wanted row, the index of an equal row that no earlier wanted row took."""
    places = dict(zip(rows, range(len(rows)), strict=True))
    if len(places) == len(rows):  # a list for each row would take more memory than the rows
        return [places.pop(row, None) for row in wanted]
    open_places: dict[object, list[int]] = {}
    for place in range(len(rows) - 1, -1, -1):
        open_places.setdefault(rows[place], []).append(place)
    return [found.pop() if (found := open_places.get(row)) else None for row in wanted]
