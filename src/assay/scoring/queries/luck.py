"""Is a right answer right by luck? Its query leaves open what gold asks for, and happened to be right this time.

Luck is a flag beside the verdict and does not change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.comparison import Answer
from assay.model import Comparison, ComparisonOptions, DatabaseUrl, Flag, Result, Row
from assay.ports import QueryExecutor
from assay.scoring.queries.any_row_choices import other_results
from assay.scoring.queries.gold_answers import GoldAnswer
from assay.sql import QueryShape, read_shape, same_text, visible_keys


def leaves_room(gold: str, prediction: str, rows: int, dialects: tuple[str, str]) -> bool:
    """Whether the texts, in the dialects of gold and of the prediction, leave room for luck.

    A prediction that is gold's own text leaves none.
    """
    golds, dialect = dialects
    shape = read_shape(prediction, dialect)
    if not shape.limited and not (rows > 1 and read_shape(gold, golds).ordered):
        return False  # checked first, since it rarely needs parsing
    return golds != dialect or not same_text(gold, prediction, dialect)


class Luck:
    """Looks for luck in answers that match. Executes a prediction's probe only where its shape leaves room for luck."""

    def __init__(self, executor: QueryExecutor, url: DatabaseUrl) -> None:
        self._executor = executor
        self._url = url
        self._dialect = executor.dialect(url)

    def flags(self, known: GoldAnswer, comparison: Comparison, prediction: str, result: Result) -> frozenset[Flag]:
        """``order_by_chance`` and ``tie_by_chance``, where they hold of a prediction that matches ``known``."""
        if known.others or known.strict_order or not result.rows:
            return frozenset()
        shape = read_shape(prediction, self._dialect)
        if not shape.parsed:
            return frozenset()
        gold = known.answer
        needs_order = gold.ordered and sum(segment.take > 0 for segment in gold.segments) > 1
        cut = shape.limited and (shape.most_rows is None or shape.most_rows <= len(result.rows))
        if not cut and not needs_order:
            return frozenset()
        blocks, own = self._blocks(prediction, result, shape, cut=cut)
        found: set[Flag] = set()
        if needs_order and blocks is not None and _reaches_over(blocks, gold, result.rows):
            found.add("order_by_chance")
        if cut and own is not None and own.ambiguous and not _all_right(own, gold, comparison):
            found.add("tie_by_chance")
        return frozenset(found)

    def storage_order(
        self, known: GoldAnswer, comparison: Comparison, prediction: str, result: Result, options: ComparisonOptions
    ) -> frozenset[Flag]:
        """``storage_order``, where the prediction reads any row of several and another row gives another result.

        Of a match, only a result that does not match counts. Of a mismatch any does: the row that would make it match
        need not be among those that are tried.
        """
        in_order = known.answer.ordered and read_shape(prediction, self._dialect).ordered
        own = Answer.strict(result) if in_order else Answer.bag(result)
        others = other_results(self._executor, self._url, prediction, own)
        if in_order and not comparison.equal:
            # Of results that only have other rows first, the one counts that would be right.
            cells = _written(result.rows)
            others = (
                other
                for other in others
                if _written(other.rows) != cells or known.compare(other, options, described=False).equal
            )
        if comparison.equal:
            # Both may read any of hundreds of rows: a result with the very cells of a right one is found, not compared.
            right = {_written(answer.result.rows) for answer in (known.answer, *known.others) if not answer.ordered}
            mapping = comparison.column_mapping
            others = (
                other
                for other in others
                if _written(_mapped(other, mapping)) not in right
                and not known.compare(other, options, described=False).equal
            )
        return frozenset({"storage_order"}) if next(others, None) is not None else frozenset()

    def _blocks(
        self, prediction: str, result: Result, shape: QueryShape, *, cut: bool
    ) -> tuple[list[int] | None, Answer | None]:
        """The sizes of the prediction's ties, in order, and the answers that its text allows, where they were probed.

        Each is None where it cannot be found out.
        """
        if shape.written:
            return None, None
        if not cut and not shape.ordered:
            return [len(result.rows)], None
        keys = None if cut else visible_keys(prediction, self._dialect)
        if keys is not None:
            return _runs(tuple(row[key] for key in keys) for row in result.rows), None
        from assay.scoring.queries.tie_seeing import answer_with_ties

        own = answer_with_ties(self._executor, self._url, prediction, result, limited=cut)
        if own is None:
            return None, None
        return [segment.take for segment in own.segments], own


def _mapped(result: Result, mapping: Sequence[int | None]) -> Iterable[Row]:
    """The rows with their columns in gold's order; unchanged if not all columns have one."""
    places = [place for place in mapping if place is not None]
    if sorted(places) != list(range(result.column_count)):
        return result.rows
    return (tuple([row[place] for place in places]) for row in result.rows)


def _written(rows: Iterable[Row]) -> str:
    """A text that is the same for the same rows in any order, and differs for other rows or types of cells."""
    return repr(sorted(map(repr, map(tuple, rows))))


def _runs(keys: Iterable[object]) -> list[int]:
    """The lengths of the runs of equal keys."""
    runs: list[int] = []
    before: object = None
    for key in keys:
        if runs and key == before:
            runs[-1] += 1
        else:
            runs.append(1)
        before = key
    return runs


def _reaches_over(blocks: Sequence[int], gold: Answer, rows: Sequence[Row]) -> bool:
    """Whether rows that tie in the prediction have different places in gold's order."""
    segment_of = [number for number, segment in enumerate(gold.segments) for _ in range(segment.take)]
    start = 0
    for size in blocks:
        tied = rows[start : start + size]
        if size > 1 and segment_of[start] != segment_of[start + size - 1] and any(row != tied[0] for row in tied):
            return True
        start += size
    return False


def _all_right(own: Answer, gold: Answer, comparison: Comparison) -> bool:
    """Whether gold allows every row that the prediction's LIMIT might have taken instead."""
    allowed = {
        repr(_plain(row)) for segment in gold.segments if segment.take < len(segment.rows) for row in segment.rows
    }
    offered = (row for segment in own.segments if segment.take < len(segment.rows) for row in segment.rows)
    mapping = [column for column in comparison.column_mapping if column is not None]
    return all(repr(_plain([row[column] for column in mapping])) in allowed for row in offered)


def _plain(row: Iterable[object]) -> list[object]:
    """The row with whole numbers in one form, whatever their type."""
    return [float(cell) if isinstance(cell, int) and abs(cell) < 2**53 else cell for cell in row]
