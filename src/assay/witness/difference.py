"""Whether two queries differ on a small database: a fast check for thousands of them, a reliable one for the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from math import factorial, inf, prod
from random import Random
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.answer import Answer
from assay.comparison.compare import compare
from assay.model import Cell, Comparison, ComparisonOptions, Execution, Result, Row
from assay.ports import PossibleAnswers, ReadsAnswers, ScratchDatabase
from assay.witness.clock import Clock
from assay.witness.query_facts import PairFacts

Finding = Literal["genuine", "tie", "same", "fails"]

_UNSURE = frozenset({"inner_limit", "window", "distinct_on", "limit"})
"""Choices that trying orders of rows may not show: an index, or a ranking in a subquery, may decide them."""
_ANY_ROW = frozenset({"bare_column", "scalar_subquery"})
"""Choices for which row orders, and the other choices that are tried, may not show all results."""
_MOST_ORDERS = 60
_FEW_ORDERS = 4
_MOST_CHOSEN = 400
"""The maximum number of pairs of choices within the queries that are compared."""


class Judged(Struct, frozen=True, kw_only=True):
    """The result of a close comparison on one database."""

    finding: Finding
    first: Result | None = None
    second: Result | None = None
    comparison: Comparison | None = None
    failed: tuple[str | None, str | None] = (None, None)
    """The error of each query, if it failed."""


class _Bag(Struct, frozen=True):
    """A result that does not depend on any choice."""

    answer: Answer
    open: bool = False
    others: tuple[Result, ...] = ()

    def compare(self, other: Result, options: ComparisonOptions) -> Comparison:
        """How another result relates to it."""
        return compare(other, self.answer, options)


class Difference:
    """Compares the two queries by the verdict's own rules. The first is the gold query: its ORDER BY decides if order
    counts."""

    def __init__(
        self,
        queries: tuple[str, str],
        facts: PairFacts,
        *,
        scratch: ScratchDatabase,
        without_keys: ScratchDatabase,
        reads_answers: ReadsAnswers,
        options: ComparisonOptions,
        seed: int,
        clock: Clock,
    ) -> None:
        self._queries = queries
        self._queries_without_keys = (facts.first.by_key or queries[0], facts.second.by_key or queries[1])
        self._facts = facts
        self._scratch = scratch
        self._without_keys = without_keys
        self._reads_answers = reads_answers
        self._options = replace(options, boolean_is_integer=not scratch.has_boolean_type, sample_rows=0)
        self._quick = replace(self._options, near_misses=False)
        self._seed = seed
        self._clock = clock
        self._tried_all = False
        """Whether every order of the stored rows was tried last time."""
        self._last: tuple[Sequence[Sequence[Row]], Judged] | None = None
        """The last compared database, the object itself, and its result."""
        self._mapping: tuple[int, ...] | None = None
        """The second query's columns in the first's order, if that made them agree last time."""
        self._ordered = facts.first.ordered
        self.doubtful = bool(facts.first.doubts or facts.second.doubts)

    def seen(self, first: Sequence[Row], second: Sequence[Row]) -> Literal["none", "order", "rows"]:
        """The obvious difference of two results: none, in row order if it counts, or in their rows.

        Ties are not considered.
        """
        if len(first) != len(second):
            return "rows"
        if self._mapping is not None and second and len(second[0]) == len(self._mapping):
            second = [tuple([row[index] for index in self._mapping]) for row in second]
            if first == second:
                return "none"
        same: Literal["none", "order"] = "order" if self._ordered and len(first) > 1 else "none"
        try:
            # Python's equality takes True and 1 for equal, which the verdict distinguishes.
            if Counter(first) == Counter(second) and not any(isinstance(cell, bool) for row in first for cell in row):
                return same
        except TypeError:  # a list or a map from DuckDB
            pass
        comparison = compare(_result(second), Answer.bag(_result(first)), self._quick)
        if not comparison.equal:
            return "rows" if comparison.decided else "none"
        mapping = [place for place in comparison.column_mapping if place is not None]
        if self._mapping is None and len(mapping) == len(comparison.column_mapping) and mapping != sorted(mapping):
            self._mapping = tuple(mapping)
            return self.seen(first, second)
        if same == "order":
            moved = [tuple([row[index] for index in mapping]) for row in second]
            return "none" if moved == list(first) else "order"
        return "none"

    def judge(self, database: Sequence[Sequence[Row]]) -> Judged:
        """Compare closely: ties, rows in other orders, the scan reversed. The database is unchanged afterwards."""
        if self._last is None or self._last[0] is not database:
            self._last = database, self._judged(database)
        return self._last[1]

    def _judged(self, database: Sequence[Sequence[Row]]) -> Judged:
        scratch = self._scratch
        scratch.fill(database)
        one, two = (scratch.execute(query) for query in self._queries)
        if one.result is None or two.result is None:
            return Judged(finding="fails", failed=(_why(one), _why(two)))
        first = self._answers(self._facts.first.doubts, 0, one.result)
        comparison = first.compare(two.result, self._options)
        judged = Judged(finding="same", first=one.result, second=two.result, comparison=comparison)
        if not comparison.decided:
            return judged
        if comparison.equal:
            return replace(judged, finding="tie") if first.open else judged
        second = self._answers(self._facts.second.doubts, 1, two.result)
        if second.open and second.compare(one.result, self._quick).equal:
            return replace(judged, finding="tie")
        pairs = self._rearranged(scratch.content(), one.result, two.result)
        scratch.fill(database)
        if pairs is None and self._clock.is_over:
            return judged  # no time is left to find out
        if pairs is not None:
            pairs += _chosen(first, second, one.result, two.result)
        if pairs is None or self._is_tie(pairs, first, is_open=first.open or second.open):
            return replace(judged, finding="tie")
        return replace(judged, finding="genuine")

    def _answers(self, doubts: frozenset[str], number: int, result: Result) -> PossibleAnswers:
        ordered = self._ordered if number == 0 else self._facts.second.ordered
        if not doubts and not ordered:
            return _Bag(Answer.bag(result))
        return self._reads_answers(self._scratch, self._queries[number], result)

    def _rearranged(
        self, contents: Sequence[Sequence[Row]], first: Result, second: Result
    ) -> list[tuple[Result, Result]] | None:
        """The distinct results with the rows stored in other orders, these first; None if there are too few."""
        pairs = [(first, second)]
        seen = {repr((first.rows, second.rows))}
        tried = 0
        most = _MOST_ORDERS if self.doubtful else _FEW_ORDERS
        self._tried_all = _orders(contents) <= most
        for turned in (False, True):  # the engine prepares every statement again when it reverses: once is enough
            if turned and not self._without_keys.reverse_scan(on=True):
                continue
            try:
                for arranged in _arrangements(contents, self._seed, most):
                    if self._clock.is_over:
                        return None if tried < _FEW_ORDERS else pairs
                    self._without_keys.fill(arranged)
                    one, two = (self._without_keys.rows(query) for query in self._queries_without_keys)
                    if one is None or two is None:
                        return None  # a failure on the same rows in another order is not evidence
                    tried += 1
                    found = tuple(one), tuple(two)
                    if (written := repr(found)) not in seen:  # as a text, which distinguishes 1 from 1.0
                        seen.add(written)
                        pairs.append((replace(first, rows=found[0]), replace(second, rows=found[1])))
            finally:
                if turned:
                    self._without_keys.reverse_scan(on=False)
        return pairs

    def _is_tie(self, pairs: Sequence[tuple[Result, Result]], first: PossibleAnswers, *, is_open: bool) -> bool:
        """Whether another order of stored rows may make the results agree, or changes either of them."""
        if compare(pairs[0][1], Answer.bag(pairs[0][0]), self._quick).equal:
            # Only the order differs. The order that the first query requires is known if it keeps it itself.
            return is_open or not all(first.compare(one, self._quick).equal for one, _ in pairs)
        if any(self._agree(one, two) for one, two in pairs[1:]):
            return True
        steady = not is_open and all(_alike(one, pairs[0][0]) and _alike(two, pairs[0][1]) for one, two in pairs)
        return not steady and not self._apart(pairs)

    def _agree(self, one: Result, two: Result) -> bool:
        """Whether two results are the same bag of rows."""
        return len(one.rows) == len(two.rows) and compare(two, Answer.bag(one), self._quick).equal

    def _apart(self, pairs: Sequence[tuple[Result, Result]]) -> bool:
        """Whether no choice can make the results agree: their row counts or their columns always differ."""
        loose = [bool(_ANY_ROW & facts.doubts) for facts in (self._facts.first, self._facts.second)]
        counts = {len(one.rows) for one, _ in pairs}, {len(two.rows) for _, two in pairs}
        varies = any(len(own) > 1 and is_loose for own, is_loose in zip(counts, loose, strict=True))
        if counts[0].isdisjoint(counts[1]) and not varies:
            return True
        widths = {one.column_count for one, _ in pairs if one.rows}, {two.column_count for _, two in pairs if two.rows}
        if all(widths) and widths[0].isdisjoint(widths[1]):
            return True
        if _UNSURE & (self._facts.first.doubts | self._facts.second.doubts):
            return False
        if self.doubtful and not self._tried_all:
            return False  # an order that was not tried may make them agree
        turned = [(two, one) for one, two in pairs]
        return _steady_column_is_missing(pairs, loose[1]) or _steady_column_is_missing(turned, loose[0])


def _chosen(
    first: PossibleAnswers, second: PossibleAnswers, one: Result, two: Result
) -> Iterator[tuple[Result, Result]]:
    """The results with other choices within a query: not every choice follows from an order of stored rows."""
    ours, theirs = (one, *first.others), (two, *second.others)
    return islice(((own, other) for own in ours for other in theirs), 1, _MOST_CHOSEN)


def _steady_column_is_missing(pairs: Sequence[tuple[Result, Result]], is_loose: bool) -> bool:  # noqa: FBT001 - one caller
    """Whether a column that is the same in every order has no counterpart in any of the other results.

    ``is_loose``: the other query may choose values that no tried order shows. A varying column may then be any of its
    type.
    """
    first, second = pairs[0]
    others = [_column(two, index) for _, two in pairs for index in range(two.column_count)]
    loose: set[str] = set()
    for place in range(second.column_count if is_loose else 0):
        seen = [_column(two, place) for _, two in pairs if two.column_count > place]
        if any(one != seen[0] for one in seen):
            loose |= {_type_of(row[place]) for _, two in pairs for row in two.rows}
    for place in range(first.column_count):
        own = _column(first, place)
        if own in others or any(one.column_count <= place or _column(one, place) != own for one, _ in pairs):
            continue
        if not {_type_of(row[place]) for row in first.rows} <= loose:
            return True
    return False


def _type_of(value: Cell) -> str:
    return "number" if isinstance(value, bool | int | float) else type(value).__name__


def _column(result: Result, place: int) -> Counter[str]:
    return Counter(value_key(row[place]) for row in result.rows)


def value_key(value: Cell) -> str:
    """A value as text; equal numbers have equal texts."""
    if isinstance(value, bool | int | float):
        return str(int(value)) if 2**53 <= abs(value) < inf else f"{float(value):.9g}"
    return repr(value)


def _alike(one: Result, two: Result) -> bool:
    """Whether two results of one query have the same rows, except for errors of floating-point sums."""
    if len(one.rows) != len(two.rows):
        return False
    return Counter(tuple(map(value_key, row)) for row in one.rows) == Counter(
        tuple(map(value_key, row)) for row in two.rows
    )


def _arrangements(contents: Sequence[Sequence[Row]], seed: int, most: int) -> Iterator[list[list[Row]]]:
    """The same rows in other orders: all orders if there are few, otherwise a sample."""
    yield [list(reversed(rows)) for rows in contents]
    if _orders(contents) <= most:
        yield from _all_orders(contents)
        return
    rng = Random(seed)
    yield [sorted(rows, key=repr) for rows in contents]
    yield [sorted(rows, key=repr, reverse=True) for rows in contents]
    for _ in range(most - 3):
        shuffled = [list(rows) for rows in contents]
        for rows in shuffled:
            rng.shuffle(rows)
        yield shuffled


def _orders(contents: Sequence[Sequence[Row]]) -> int:
    """The number of orders in which the rows can be stored, as far as it is small."""
    return prod(factorial(min(len(rows), 12)) for rows in contents)


def _all_orders(contents: Sequence[Sequence[Row]]) -> Iterator[list[list[Row]]]:
    if not contents:
        yield []
        return
    for rows in permutations(contents[0]):
        for rest in _all_orders(contents[1:]):
            yield [list(rows), *rest]


def _result(rows: Sequence[Row]) -> Result:
    return Result(columns=("",) * len(rows[0]) if rows else (), rows=tuple(rows))


def _why(execution: Execution) -> str | None:
    return None if execution.failure is None else execution.failure.message
