"""Does a match say anything? One row of NULL and 0 that both queries computed over no rows does not."""

from __future__ import annotations

from typing import TypeAlias

from msgspec.structs import replace

from assay.model import Comparison, DatabaseUrl, Execution, Row
from assay.ports import QueryExecutor
from assay.sql import empty_input_probe

Side: TypeAlias = tuple[QueryExecutor, DatabaseUrl]
"""What executes one side's queries, and on which database."""


def see_vacuity(
    golds: Side, predictions: Side, gold: Execution, predicted: Execution, comparison: Comparison
) -> Comparison:
    """The comparison, marked vacuous where it matches one row that both queries computed over no rows.

    If only one of the queries found no rows, the match still says something. Only rows of nothing but
    NULL and 0 are checked, by executing each query once more with an indicator column; where that is
    impossible, the match counts as not vacuous.
    """
    if not comparison.equal or comparison.vacuous:
        return comparison
    if not (_over_nothing(*golds, gold) and _over_nothing(*predictions, predicted)):
        return comparison
    reason = f"{comparison.reason}; both queries computed it over no rows"
    return replace(comparison, vacuous=True, reason=reason)


def _over_nothing(executor: QueryExecutor, url: DatabaseUrl, execution: Execution) -> bool:
    row = _row_of_nothing(execution)
    if row is None or execution.given is not None:  # a given result does not say what it was computed over
        return False
    probe = empty_input_probe(execution.query, executor.dialect(url))
    if probe is None:
        return False
    seen = executor.execute(url, probe).result
    # The probe must give the query's own result, or it is a different query.
    return seen is not None and len(seen.rows) == 1 and seen.rows[0][:-1] == row and seen.rows[0][-1] == 1


def _row_of_nothing(execution: Execution) -> Row | None:
    """The only row of a result, if all of its cells are NULL or 0."""
    result = execution.result
    if result is None or len(result.rows) != 1:
        return None
    row = result.rows[0]
    return row if all(cell is None or cell == 0 for cell in row) else None
