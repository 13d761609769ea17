"""Compare an answer's rows with those of each gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from assay.comparison import Answer, compare_with_itself
from assay.comparison.codes.shared import same_lists
from assay.model import (
    STRICT,
    Case,
    CellTypes,
    ColumnRule,
    Comparison,
    ComparisonOptions,
    Execution,
    Leniency,
    Result,
)
from assay.scoring.queries.case_databases import CaseDatabases
from assay.scoring.queries.given_rows import Read, counted, in_readings, with_counting
from assay.scoring.queries.gold_answers import GoldAnswer, GoldAnswers
from assay.scoring.queries.recording import RecordingExecutor
from assay.scoring.time_limit import OutOfTimeError, TimeLimit
from assay.sql import leaves_choice


class GoldComparer:
    """Compares with what gold answers, by the run's options and what a case and its database say themselves."""

    def __init__(
        self,
        executor: RecordingExecutor,
        keeper: TimeLimit,
        answers: GoldAnswers,
        options: ComparisonOptions,
        *,
        gold: RecordingExecutor | None = None,
    ) -> None:
        """``gold`` executes gold's queries, where that is another executor than the predictions'."""
        self._executor = executor
        self._gold = gold or executor
        self._keeper = keeper
        self._answers = answers
        self._options = options
        self._variants: dict[tuple[ColumnRule, bool, Leniency | None], ComparisonOptions] = {}

    def of_own_words(
        self, case: Case, at: CaseDatabases, golds: Sequence[Execution], predicted: Execution | None
    ) -> Comparison | None:
        """The comparison of an answer in gold's own words, which therefore has gold's own rows; else None.

        Most answers of a good system are such: nothing is to be found out about them. Where gold may choose among
        rows, its own words are compared like any others.
        """
        if at.apart or predicted is None or len(golds) != 1 or case.options.ordered is not None:
            return None
        gold = golds[0]
        if case.options.condition_columns or gold.given is not None:
            return None
        if gold.result is None or predicted.result is not gold.result or not gold.succeeded:
            return None
        if gold.query != predicted.query or self._executor.trouble is not None:
            return None
        if leaves_choice(gold.query, self._gold.dialect(at.gold)):
            return None
        return compare_with_itself(gold.result, self.options_for(case, at))

    def best(
        self, case: Case, at: CaseDatabases, golds: Sequence[Execution], predicted: Execution | None
    ) -> Compared | None:
        """The comparison with the best fitting gold; None where nothing could be compared."""
        best: Compared | None = None
        reads: dict[int, Read] = {}
        if predicted is None or predicted.result is None:
            return None
        for index, execution in enumerate(golds):
            if not execution.succeeded or execution.result is None:
                continue
            if predicted.status == "truncated" and len(predicted.result.rows) < len(execution.result.rows):
                continue  # the part that was cut off might have matched
            found = self.one(case, at, index, execution, predicted)
            if predicted.status == "truncated" and found.comparison.equal:
                told = replace(found.comparison, equal=False, reason="the prediction returns more rows than gold")
                found = replace(found, comparison=told)
            reads.update(found.reads)
            if best is None or _closeness(found.comparison) > _closeness(best.comparison):
                best = found
        return replace(best, reads=reads) if best is not None and reads else best

    def one(
        self,
        case: Case,
        at: CaseDatabases,
        index: int,
        execution: Execution,
        predicted: Execution,
        *,
        briefly: bool = False,
    ) -> Compared:
        """The comparison with one gold. ``briefly``: without saying how they differ."""
        gold, theirs = execution.result, predicted.result
        if gold is None or theirs is None:
            raise ValueError("only an execution with a result can be compared with")
        options = self.options_for(case, at)
        if briefly:
            options = replace(options, near_misses=False, sample_rows=0)
        counting = case.counting(index)
        if counting:
            options = replace(options, leniency=with_counting(options.leniency, counting))
        known = self._known(case, at, execution, gold, theirs)

        def compare(ours: GoldAnswer, rows: Result) -> Comparison:
            return counted(ours, counting).compare(rows, options, deadline=self._keeper.soon(), described=not briefly)

        cells = self._cells(at, execution, predicted)
        if cells == ("typed", "typed") and execution.given is None and predicted.given is None:
            return Compared(comparison=compare(known, theirs), index=index, known=counted(known, counting))
        comparison, known, read = in_readings(
            known,
            theirs,
            cells=cells,
            boolean_is_integer=options.boolean_is_integer,
            compare=compare,
        )
        return Compared(comparison=comparison, index=index, known=known, reads={index: read})

    def _cells(self, at: CaseDatabases, gold: Execution, predicted: Execution) -> tuple[CellTypes, CellTypes]:
        """What the cells of both results can say. An engine without dates has texts in their place, as JSON does; only
        beside a result of another origin is that to be seen."""
        if not at.apart and gold.given is None and predicted.given is None:
            return "typed", "typed"
        ours, theirs = gold.cells, predicted.cells
        if gold.given is None:
            ours = "dateless" if self._gold.dialect(at.gold) in _WITHOUT_DATES else "engine"
        if predicted.given is None:
            theirs = "dateless" if self._executor.dialect(at.predicted) in _WITHOUT_DATES else "engine"
        return ours, theirs

    def _known(
        self, case: Case, at: CaseDatabases, execution: Execution, gold: Result, predicted: Result
    ) -> GoldAnswer:
        """What this gold says the answer is."""
        if case.options.ordered is not None:
            return GoldAnswer(answer=Answer.strict(gold) if case.options.ordered else Answer.bag(gold))
        if execution.given is not None:
            return GoldAnswer(answer=Answer.bag(gold))
        if not leaves_choice(execution.query, self._gold.dialect(at.gold)) and same_lists(gold.rows, predicted.rows):
            # The same rows in the same order, and all of them: whether order counts does not matter.
            return GoldAnswer(answer=Answer.bag(gold))
        return self._answers.of(at.gold, execution, gold)

    def options_for(self, case: Case, at: CaseDatabases) -> ComparisonOptions:
        """The run's options, with what the case and its database say themselves."""
        columns = case.options.columns or self._options.columns
        declared = case.options.leniency
        # None stands for the run's own leniency, which nearly every case has: hashing one takes longer than the rest.
        leniency = None if declared == STRICT else declared.over(self._options.leniency)
        has_boolean = self._executor.has_boolean_type(at.predicted)
        if at.apart:
            has_boolean = has_boolean and self._gold.has_boolean_type(at.gold)
        key = (columns, not has_boolean, leniency)
        known = self._variants.get(key)
        if known is None:
            known = self._variants[key] = replace(
                self._options, columns=columns, boolean_is_integer=key[1], leniency=leniency or self._options.leniency
            )
        return known

    def is_right_answer(self, case: Case, at: CaseDatabases, golds: Sequence[Execution], query: str) -> bool:
        """Whether a query would be a right answer to the case."""
        found = self._executor.execute(at.predicted, query)
        if found.result is None or found.status == "truncated":
            return False
        fitting = [(index, gold) for index, gold in enumerate(golds) if gold.succeeded and gold.result is not None]
        return any(self.one(case, at, index, gold, found, briefly=True).comparison.equal for index, gold in fitting)

    def compares_itself(self, case: Case, at: CaseDatabases, golds: Sequence[Execution]) -> bool:
        """Whether a right answer could have been compared: gold's own rows, in another order of columns if any will do.

        If so, the answer itself made the comparison impossible, and must not become unscored by that.
        """
        gold = next((gold for gold in golds if gold.succeeded and gold.result is not None), None)
        if gold is None or gold.result is None:
            return False
        options = replace(self.options_for(case, at), near_misses=False, sample_rows=0)
        own = gold.result
        mirrored = own
        if options.columns == "any":
            mirrored = Result(columns=own.columns[::-1], rows=tuple([row[::-1] for row in own.rows]))
        what = ("gold beside itself", at.key, gold.query or gold.given, case.options)
        try:
            return self._keeper.hold(
                what, lambda: self._known(case, at, gold, own, mirrored).compare(mirrored, options).decided
            )
        except OutOfTimeError:
            return False


_WITHOUT_DATES = frozenset({"sqlite"})
"""Dialects of engines that have no type for dates and times."""


class Compared(Struct, frozen=True, kw_only=True):
    """An answer beside the gold that fits best."""

    comparison: Comparison
    index: int
    known: GoldAnswer
    reads: Mapping[int, Read] = field(default_factory=dict)
    """By gold, both results as they were read, where one of the two was given in place of a query."""


def _closeness(comparison: Comparison) -> tuple[bool, bool, int, int]:
    in_place = comparison.column_mapping == tuple(range(len(comparison.column_mapping)))
    return (comparison.equal, comparison.equal and in_place, len(comparison.near_misses), comparison.matched_rows)
