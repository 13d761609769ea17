"""Is a right answer right by luck? Its query leaves open what gold asks for, and happened to be right this time.

Luck is a flag beside the verdict and does not change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from assay.comparison import Answer, compare
from assay.model import Comparison, ComparisonOptions, DatabaseUrl, Flag, Result, Row
from assay.ports import QueryExecutor
from assay.scoring.queries.any_row_choices import other_results
from assay.scoring.queries.compared_choices import Choices
from assay.scoring.queries.gold_answers import GoldAnswer
from assay.sql import OuterClauses, may_be_cut, read_shape, same_text, visible_keys


def may_match_by_chance(gold: str, prediction: str, rows: int, dialects: tuple[str, str]) -> bool:
    """Whether the texts, in the dialects of gold and of the prediction, leave room for luck.

    A prediction that is gold's own text leaves none.
    """
    golds, dialect = dialects
    if not may_be_cut(prediction) and not (rows > 1 and read_shape(gold, golds).ordered):
        return False  # checked first, since it rarely needs parsing
    return golds != dialect or not same_text(gold, prediction, dialect)


class ChanceMatchDetector:
    """Looks for luck in answers that match. Executes a prediction's probe only where its shape leaves room for luck."""

    def __init__(self, executor: QueryExecutor, url: DatabaseUrl) -> None:
        self._executor = executor
        self._url = url
        self._dialect = executor.dialect(url)

    def flags(
        self,
        known: GoldAnswer,
        comparison: Comparison,
        prediction: str,
        result: Result,
        options: ComparisonOptions,
    ) -> frozenset[Flag]:
        """``order_by_chance`` and ``tie_by_chance``, where they hold of a prediction that matches ``known``."""
        shape = read_shape(prediction, self._dialect)
        if known.strict_order or not shape.parsed:
            return frozenset()
        gold = known.answer
        needs_order = gold.ordered and sum(segment.take > 0 for segment in gold.segments) > 1 and not shape.written
        may_cut = shape.skips_rows or shape.most_rows is None or shape.most_rows <= len(result.rows)
        cut = shape.limited and may_cut and len(result.rows) > 0
        own = self._possible(prediction, result, shape) if cut or (needs_order and not shape.ordered) else None
        found: set[Flag] = set()
        if needs_order:
            blocks = self._blocks(prediction, result, own)
            if blocks is not None and self._orders_wrongly(known, blocks, comparison, result, options):
                found.add("order_by_chance")
        choices = Choices(known, comparison, options)
        wrong = cut and own is not None and choices.may_be_wrong(own)
        if wrong or self._chooses_wrongly_inside(choices, prediction, result, shape):
            found.add("tie_by_chance")
        return frozenset(found)

    def storage_order(
        self, known: GoldAnswer, comparison: Comparison, prediction: str, result: Result, options: ComparisonOptions
    ) -> frozenset[Flag]:
        """``storage_order``, where the prediction reads any row of several and another row gives another result.

        Of a match, only a result that does not match counts. Of a mismatch any does: the row that would make it match
        need not be among those that are tried.
        """
        shape = read_shape(prediction, self._dialect)
        in_order = known.answer.ordered and shape.ordered
        own = Answer.strict(result) if in_order else Answer.bag(result)
        others = other_results(self._executor, self._url, prediction, own)
        if shape.limited and shape.ordered and result.rows:
            # What comes of ties alone comes of no other row.
            tied = self._possible(prediction, result, shape)
            others = (other for other in others if tied is None or not compare(other, tied, options).equal)
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

    def _possible(self, query: str, result: Result, shape: OuterClauses) -> Answer | None:
        """The answers that the outermost level of a query allows; None where they cannot be found out."""
        if not shape.limited and not shape.ordered:
            return Answer.bag(result)
        from assay.scoring.queries.tie_detection import answers_with_ties

        return answers_with_ties(self._executor, self._url, query, result, limited=shape.limited)

    def _blocks(self, prediction: str, result: Result, own: Answer | None) -> list[int] | None:
        """The sizes of the prediction's ties, in order; None where they cannot be found out."""
        if own is None and (keys := visible_keys(prediction, self._dialect)) is not None:
            return _runs(tuple(row[key] for key in keys) for row in result.rows)
        if own is None:
            own = self._possible(prediction, result, read_shape(prediction, self._dialect))
        return None if own is None else [segment.take for segment in own.segments]

    @staticmethod
    def _orders_wrongly(
        known: GoldAnswer, blocks: Sequence[int], comparison: Comparison, result: Result, options: ComparisonOptions
    ) -> bool:
        """Whether rows that tie in the prediction may come in an order that is not right."""
        if not known.others:
            return _reaches_over(blocks, known.answer, result.rows)
        turned: list[Row] = []
        for size in blocks:
            turned += result.rows[len(turned) : len(turned) + size][::-1]
        other = replace(result, rows=tuple(turned))
        return comparison.equal and not known.compare(other, options, described=False).equal

    def _chooses_wrongly_inside(self, choices: Choices, prediction: str, result: Result, shape: OuterClauses) -> bool:
        """Whether an inner part of the prediction may choose tied rows that make its result wrong."""
        if not may_be_cut(prediction):
            return False
        from assay.scoring.queries.subquery_ties import inner_choices

        inner = inner_choices(self._executor, self._url, prediction, result)
        if inner is None:
            return False
        if any(choices.may_be_wrong(Answer.bag(other)) for other in inner.results):
            return True
        for text in inner.queries:
            other = self._executor.execute(self._url, text).result
            if other is None or other.rows == result.rows:
                continue
            own = Answer.bag(other)
            if shape.ordered or (shape.limited and other.rows):
                own = self._possible(text, other, read_shape(text, self._dialect)) or Answer.strict(other)
            if choices.may_be_wrong(own):
                return True
        return False


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
