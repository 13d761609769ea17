"""Is a right answer right by chance? Its query leaves open what the gold query asks for, and happened to be right this
time.

A match by chance is a flag and does not change it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.answer import Answer
from assay.comparison.compare import compare
from assay.model import Comparison, ComparisonOptions, Flag, Result, Row
from assay.scoring.queries.any_row_choices import RowTexts, choices, other_results, with_rows
from assay.scoring.queries.comparing import Compared
from assay.scoring.queries.context import CaseContext, ExecutionContext
from assay.scoring.queries.gold_answers import GoldAnswer, gold_answer
from assay.scoring.queries.tie_detection import answers_with_ties
from assay.sql import OuterClauses, may_be_cut, read_shape, same_text, takes_any_row, visible_keys

_MOST_STRANGE = 4
"""At most this many rows are tried that the gold query does not have, but for what the comparison may not count."""


def chance_flags(context: CaseContext, compared: Compared) -> frozenset[Flag]:
    """``order_by_chance`` and ``tie_by_chance``, if they hold of a prediction that matches."""
    execution, predicted = context.golds[compared.index], context.execution
    gold = execution.result
    if gold is None or predicted is None or predicted.result is None:
        return frozenset()
    if execution.given is not None or predicted.given is not None:
        return frozenset()  # only queries leave something open
    dialects = context.gold.dialect, context.predicted.dialect
    # What rarely needs parsing is checked first.
    if not may_be_cut(predicted.query) and not (
        len(gold.rows) > 1 and read_shape(execution.query, dialects[0]).ordered
    ):
        return frozenset()
    if dialects[0] == dialects[1] and same_text(execution.query, predicted.query, dialects[0]):
        return frozenset()  # a prediction that is the gold query's own text leaves nothing open
    own = gold_answer(context.gold, execution, gold)
    return _detector(context, compared, own, predicted.query, predicted.result).flags()


def storage_order_flag(context: CaseContext, compared: Compared | None) -> frozenset[Flag]:
    """``storage_order``, if the prediction's result depends on the order in which rows are stored."""
    predicted = context.execution
    if compared is None or predicted is None or predicted.result is None or predicted.given is not None:
        return frozenset()
    dialect, gold = context.predicted.dialect, context.golds[compared.index]
    if not context.apart and same_text(gold.query, predicted.query, dialect):
        return frozenset()  # one query: whatever the order, it matches
    if not takes_any_row(predicted.query, dialect) and not context.predicted.merging_places(predicted.query):
        return frozenset()
    known = compared.known
    asks_order = context.case.options.ordered is None and gold.given is None
    if asks_order and not known.answer.ordered and gold.result is not None:
        # Rows that match in the gold query's own order are compared without asking whether their order counts.
        known = replace(known, answer=gold_answer(context.gold, gold, gold.result).answer)
    detector = _detector(context, compared, known, predicted.query, predicted.result)
    return frozenset({"storage_order"}) if detector.reads_other_rows() else frozenset()


def _detector(
    context: CaseContext, compared: Compared, known: GoldAnswer, query: str, result: Result
) -> ChanceMatchDetector:
    """The detector that knows what is right by the gold query that was matched, or by any other."""
    others = list(known.others)
    for index, gold in enumerate(context.golds):
        if index != compared.index and gold.succeeded and gold.given is None and gold.result is not None:
            answer = gold_answer(context.gold, gold, gold.result)
            others += [answer.answer, *answer.others]
    return ChanceMatchDetector(
        probes=context.predicted.with_budget(None if context.execution is None else context.execution.took_s),
        known=replace(known, others=tuple(others)),
        comparison=compared.comparison,
        options=context.brief_options,
        query=query,
        result=result,
    )


class ChanceMatchDetector(Struct, frozen=True, kw_only=True):
    """Finds out what else a prediction may return, and compares that with the gold query.

    Executes probes only if the prediction's shape leaves something open. Few choices among tied rows are all
    compared with the gold query, of many some.
    """

    probes: ExecutionContext
    known: GoldAnswer
    """What is right."""
    comparison: Comparison
    """The comparison of ``result`` with the gold query."""
    options: ComparisonOptions
    query: str
    result: Result
    """What the predicted query returned."""

    def flags(self) -> frozenset[Flag]:
        """``order_by_chance`` and ``tie_by_chance``, of a prediction that matches."""
        shape, rows = self._shape(self.query), self.result.rows
        if self.known.strict_order or not shape.parsed:
            return frozenset()
        gold = self.known.answer
        needs_order = gold.ordered and sum(segment.take > 0 for segment in gold.segments) > 1 and not shape.written
        may_cut = shape.skips_rows or shape.most_rows is None or shape.most_rows <= len(rows)
        cut = shape.limited and may_cut and len(rows) > 0
        own = self._possible(self.query, self.result) if cut or (needs_order and not shape.ordered) else None
        flags: set[Flag] = set()
        if needs_order:
            blocks = self._blocks(own)
            if blocks is not None and self._orders_wrongly(blocks):
                flags.add("order_by_chance")
        if (cut and own is not None and self._may_be_wrong(own)) or self._chooses_wrongly_inside():
            flags.add("tie_by_chance")
        return frozenset(flags)

    def reads_other_rows(self) -> bool:
        """Whether the prediction reads any row of several and another row gives another result.

        For a match, only a result that does not match counts. For a mismatch any does: the row that would make it match
        need not be among those that are tried.
        """
        result, shape = self.result, self._shape(self.query)
        in_order = self.known.answer.ordered and shape.ordered
        own = Answer.strict(result) if in_order else Answer.bag(result)
        others = other_results(self.probes, self.query, own)
        if shape.limited and shape.ordered and result.rows:
            # What results from ties alone does not result from another row.
            tied = self._possible(self.query, result)
            others = (other for other in others if tied is None or not compare(other, tied, self.options).equal)
        texts = RowTexts()
        if in_order and not self.comparison.equal:
            # Results that only have other rows first count if they would be right.
            cells = texts.in_order(result.rows)
            others = (other for other in others if texts.in_order(other.rows) != cells or self._is_right(other))
        if self.comparison.equal:
            # Both may read any of hundreds of rows: a result with the very cells of a right one is found, not compared.
            answers = (self.known.answer, *self.known.others)
            right = {texts.in_order(answer.result.rows) for answer in answers if not answer.ordered}
            mapping = self.comparison.column_mapping
            others = (
                other
                for other in others
                if texts.in_order(_mapped(other, mapping)) not in right and not self._is_right(other)
            )
        return next(others, None) is not None

    def _shape(self, query: str) -> OuterClauses:
        return read_shape(query, self.probes.dialect)

    def _is_right(self, result: Result) -> bool:
        return self.known.compare(result, self.options, described=False).equal

    def _possible(self, query: str, result: Result) -> Answer | None:
        """The answers that the outermost level of a query allows; None if they cannot be found out."""
        shape = self._shape(query)
        if not shape.limited and not shape.ordered:
            return Answer.bag(result)
        return answers_with_ties(self.probes, query, result, limited=shape.limited)

    def _blocks(self, own: Answer | None) -> list[int] | None:
        """The sizes of the prediction's ties, in order; None if they cannot be found out."""
        if own is None and (keys := visible_keys(self.query, self.probes.dialect)) is not None:
            return _runs(tuple(row[key] for key in keys) for row in self.result.rows)
        if own is None:
            own = self._possible(self.query, self.result)
        return None if own is None else [segment.take for segment in own.segments]

    def _orders_wrongly(self, blocks: Sequence[int]) -> bool:
        """Whether rows that tie in the prediction may come in an order that is not right."""
        rows = self.result.rows
        if self.known.others:
            turned: list[Row] = []
            for size in blocks:
                turned += rows[len(turned) : len(turned) + size][::-1]
            return self.comparison.equal and not self._is_right(replace(self.result, rows=tuple(turned)))
        # Whether they have different positions in the gold query's order.
        segment_of = [number for number, segment in enumerate(self.known.answer.segments) for _ in range(segment.take)]
        start = 0
        for size in blocks:
            tied = rows[start : start + size]
            if size > 1 and segment_of[start] != segment_of[start + size - 1] and any(row != tied[0] for row in tied):
                return True
            start += size
        return False

    def _chooses_wrongly_inside(self) -> bool:
        """Whether an inner part of the prediction may choose tied rows that make its result wrong."""
        if not may_be_cut(self.query):
            return False
        from assay.scoring.queries.subquery_ties import inner_choices

        inner = inner_choices(self.probes, self.query, self.result)
        if inner is None:
            return False
        if any(self._may_be_wrong(Answer.bag(other)) for other in inner.results):
            return True
        shape = self._shape(self.query)
        for text in inner.queries:
            other = self.probes.execute(text).result
            if other is None or other.rows == self.result.rows:
                continue
            own = Answer.bag(other)
            if shape.ordered or (shape.limited and other.rows):
                own = self._possible(text, other) or Answer.strict(other)
            if self._may_be_wrong(own):
                return True
        return False

    def _may_be_wrong(self, own: Answer) -> bool:
        """Whether some choice of rows is not right, in whatever order rows come that tie."""
        gold = self.known.answer
        positions: dict[str, list[int]] = {}
        for position, segment in enumerate(gold.segments):
            for row in segment.rows:
                positions.setdefault(self._key(row), []).append(position)
        strange = (
            (number, row)
            for number, segment in enumerate(own.segments)
            if segment.take < len(segment.rows)
            for row in segment.rows
            if self._key(row) not in positions
        )
        for _, (number, row) in zip(range(_MOST_STRANGE), strange, strict=False):
            if not self._is_right_choice(with_rows(own.segments, number, [row]), own, positions):
                return True
        if self._segments(own) == self._segments(gold):
            return False
        return any(not self._is_right_choice(choice, own, positions) for choice in choices(own.segments))

    def _is_right_choice(self, choice: Sequence[Sequence[Row]], own: Answer, positions: dict[str, list[int]]) -> bool:
        if not self.known.answer.ordered:
            rows = [row for part in choice for row in part]
        else:  # rows that tie are put into the gold query's order
            seen: Counter[str] = Counter()

            def position(row: Row) -> int:
                key = self._key(row)
                seen[key] += 1
                return positions.get(key, [0])[: seen[key]][-1]

            rows = [row for part in choice for row in sorted(part, key=position)]
        return self._is_right(replace(own.result, rows=tuple(rows)))

    def _key(self, row: Row) -> str:
        """The row as a text with the gold query's columns, where they are known, and whole numbers alike, whatever
        their type."""
        mapping = [column for column in self.comparison.column_mapping if column is not None]
        cells = [row[column] for column in mapping] if len(mapping) == len(row) else row
        return repr([float(cell) if isinstance(cell, int) and abs(cell) < 2**53 else cell for cell in cells])

    def _segments(self, answer: Answer) -> list[tuple[int, Counter[str]]]:
        return [(segment.take, Counter(map(self._key, segment.rows))) for segment in answer.segments]


def _mapped(result: Result, mapping: Sequence[int | None]) -> Iterable[Row]:
    """The rows with their columns in the gold query's order; unchanged if not all columns have one."""
    columns = [column for column in mapping if column is not None]
    if sorted(columns) != list(range(result.column_count)):
        return result.rows
    return (tuple([row[column] for column in columns]) for row in result.rows)


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
