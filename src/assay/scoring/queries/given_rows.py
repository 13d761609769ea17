"""Results that are given in place of queries: what they say the answer is, and how their cells are read.

A given result fixes no order unless its case says so. `assay.comparison.readings` says what cells of CSV and the like
may mean next to the other result; the first reading under which both are equal counts, else the likeliest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.answer import Answer
from assay.comparison.readings import normalised, readings
from assay.errors import plural
from assay.model import CellTypes, Comparison, Execution, Failure, Leniency, Result, Row
from assay.scoring.queries.gold_answers import GoldAnswer

_MOST = 16
"""Number of pairs of readings that are compared."""


class Read(Struct, frozen=True, kw_only=True):
    """Two results as they were read together."""

    gold: Result
    predicted: Result


def checked_gold(execution: Execution, counting: Sequence[int]) -> Execution:
    """The gold query's execution; a failure of the gold query's if the columns that are to count point past its
    table."""
    result = execution.result
    if result is None or not execution.succeeded or not counting:
        return execution
    width = result.column_count
    beyond = [column for column in counting if not 0 <= column < width]
    if not beyond or not width:
        return execution
    named = ", ".join(map(str, beyond))
    what = f"condition column {named}" if len(beyond) == 1 else f"condition columns {named}"
    has = f"which has {plural(width, 'column')}"
    message = f"the {what} (counted from 0) would be past the end of the gold query's table, {has}"
    failure = Failure(stage="load", kind="unusable_gold", blame="gold", message=message)
    return remade_execution(execution, failure)


def remade_execution(execution: Execution, failure: Failure) -> Execution:
    """The execution as one that failed."""
    return replace(execution, status="error", result=None, failure=failure, row_count=None)


def counted(known: GoldAnswer, counting: Sequence[int]) -> GoldAnswer:
    """The gold query's answer with only the columns that count."""
    if not counting:
        return known

    def project(rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple([tuple([row[column] for column in counting]) for row in rows])

    def narrowed(answer: Answer) -> Answer:
        answer = answer.with_rows(project)
        names = answer.result.columns
        columns = tuple(names[column] for column in counting) if names else ()
        return replace(answer, result=replace(answer.result, columns=columns))

    return replace(known, answer=narrowed(known.answer), others=tuple(map(narrowed, known.others)))


def with_counting(leniency: Leniency, counting: Sequence[int]) -> Leniency:
    """If only some of the gold query's columns count, a prediction may have others."""
    return replace(leniency, extra_columns="allowed") if counting else leniency


def in_readings(
    known: GoldAnswer,
    predicted: Result,
    *,
    cells: tuple[CellTypes, CellTypes],
    boolean_is_integer: bool,
    compare: Callable[[GoldAnswer, Result], Comparison],
) -> tuple[Comparison, GoldAnswer, Read]:
    """The comparison under the first reading that makes both equal, else under the likeliest one.

    ``cells``: what the cells of the gold query and of the prediction can say.
    """
    first: tuple[Comparison, GoldAnswer, Read] | None = None
    for ours, theirs in islice(_pairs(known, predicted, cells, boolean_is_integer=boolean_is_integer), _MOST):
        found = compare(ours, theirs), ours, Read(gold=ours.answer.result, predicted=theirs)
        if found[0].equal:
            return found
        first = first or found
    assert first is not None
    return first


def _pairs(
    known: GoldAnswer, predicted: Result, cells: tuple[CellTypes, CellTypes], *, boolean_is_integer: bool
) -> Iterator[tuple[GoldAnswer, Result]]:
    gold_cells, predicted_cells = cells
    poorest: CellTypes = next((one for one in ("text", "sheet", "json") if one in cells), "typed")
    alike = partial(normalised, cells=poorest)
    known = replace(
        known,
        answer=known.answer.with_rows(alike),
        others=tuple(other.with_rows(alike) for other in known.others),
    )
    predicted = replace(predicted, rows=alike(predicted.rows))
    gold = known.answer.result
    for ours in readings(gold, gold_cells, predicted, predicted_cells, boolean_is_integer=boolean_is_integer):
        told = replace(
            known,
            answer=known.answer.with_rows(ours),
            others=tuple(other.with_rows(ours) for other in known.others),
        )
        seen = told.answer.result
        for theirs in readings(predicted, predicted_cells, seen, gold_cells, boolean_is_integer=boolean_is_integer):
            yield told, replace(predicted, rows=theirs(predicted.rows))


def read_executions(
    golds: Sequence[Execution], predicted: Execution | None, reads: Mapping[int, Read], best: int | None
) -> tuple[tuple[Execution, ...], Execution | None]:
    """The executions with the results as they were read, for metrics: a given answer as it was read with the
    ``best`` gold query."""
    if not reads:
        return tuple(golds), predicted
    shown = [
        gold if gold.given is None or index not in reads else replace(gold, result=reads[index].gold)
        for index, gold in enumerate(golds)
    ]
    if predicted is not None and predicted.given is not None and best is not None and best in reads:
        predicted = replace(predicted, result=reads[best].predicted)
    return tuple(shown), predicted
