"""Execute what scoring a case needs: the gold query, the prediction, and what metrics ask for besides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from msgspec.structs import replace

from assay.model import Case, Execution, Failure, Prediction
from assay.ports import QueryRequest
from assay.scoring.queries.context import ExecutionContext
from assay.scoring.queries.given_rows import checked_gold
from assay.scoring.queries.verdicts import blame


def execute_gold(gold: ExecutionContext, case: Case) -> tuple[Execution, ...]:
    """The gold queries, executed, and the gold results that are given."""
    golds = tuple([blame(gold.execute(query), "gold") for query in case.golds])
    if not case.results and not case.options.condition_columns:
        return golds
    golds += tuple([blame(result.execution(), "gold") for result in case.results])
    return tuple([checked_gold(execution, case.counting(index)) for index, execution in enumerate(golds)])


def execute_prediction(
    gold: ExecutionContext, predicted: ExecutionContext, case: Case, prediction: Prediction, golds: Sequence[Execution]
) -> Execution | None:
    """The execution of the predicted query, or the result that is given; None if there is neither."""
    query = prediction.query
    if query is None:
        return None if prediction.result is None else blame(prediction.result.execution(), "predicted")
    if gold is not predicted and gold.url == predicted.url and query in case.golds:
        # A query in the gold query's own words has run already, however long the gold query may take.
        same = golds[case.golds.index(query)]
        if same.succeeded:
            return same
    return blame(predicted.execute(query), "predicted")


def execute_requests(
    predicted: ExecutionContext,
    requests: Sequence[QueryRequest],
    execution: Execution | None,
    executed: Sequence[Execution] = (),
) -> dict[QueryRequest, tuple[Execution, ...]]:
    """Per request its executions, one per database that it is for.

    The further queries of an answer share the time and the bytes that the limits give to one query. ``executed``: what
    was executed before on the same database under the same limits.
    """
    found: dict[QueryRequest, tuple[Execution, ...]] = {}
    known = {each.query: each for each in executed if each.failure is None and each.given is None}
    answers = [] if execution is None else [execution]
    siblings = predicted.siblings() if any([request.scope == "siblings" for request in requests]) else ()  # noqa: C419 - every case passes here: a generator takes longer
    for request in requests:
        if request in found:
            continue
        if request.candidate:
            same = next((answer for answer in answers if answer.query == request.query), None)
            if same is None:
                same = _candidate(predicted, request.query, answers)
                answers.append(same)
            found[request] = (same,)
            continue
        contexts = [replace(predicted, url=url) for url in siblings] if request.scope == "siblings" else []
        # The metric knows whose query it was; here only the reason that kept it from running matters.
        own = known.get(request.query) or blame(predicted.execute(request.query), "predicted")
        found[request] = (own, *[blame(context.execute(request.query), "predicted") for context in contexts])
    return found


def _candidate(predicted: ExecutionContext, query: str, before: Sequence[Execution]) -> Execution:
    """Execute a further query of an answer, unless earlier ones used up the answer's time or bytes."""
    limits = predicted.limits
    if sum(execution.took_s or 0.0 for execution in before) >= limits.timeout_s:
        what = f"limit of {limits.timeout_s:g} s"
    elif sum(map(_size, before)) >= limits.max_result_bytes:
        what = f"{limits.max_result_bytes >> 20:,} MiB that results may have"
    else:
        return blame(predicted.execute(query), "predicted")
    message = f"not run: the queries before it used up the {what}"
    failure = Failure(stage="execute", kind="timeout", blame="system", message=message)
    return Execution(query=query, status="timeout", failure=failure)


def _size(execution: Execution) -> int:
    """The approximate size of an execution's rows in bytes."""
    cells = chain.from_iterable(execution.result.rows) if execution.result is not None else ()
    return sum([len(cell) if isinstance(cell, str | bytes) else 8 for cell in cells])
