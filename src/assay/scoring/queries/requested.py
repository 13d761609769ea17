"""Execute what metrics ask for beside gold and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from assay.model import DatabaseUrl, Execution, Failure, Limits
from assay.ports import QueryRequest
from assay.scoring.queries.recording import RecordingExecutor
from assay.scoring.queries.verdicts import blame


class RequestedQueries:
    """Executes further queries; those of an answer share the time and the bytes that ``limits`` give to one query."""

    def __init__(self, executor: RecordingExecutor, limits: Limits) -> None:
        self._executor = executor
        self._limits = limits

    def executed(
        self, url: DatabaseUrl, requests: Sequence[QueryRequest], predicted: Execution | None
    ) -> dict[QueryRequest, tuple[Execution, ...]]:
        """Per request its executions, one per database that it is for."""
        found: dict[QueryRequest, tuple[Execution, ...]] = {}
        if not requests:
            return found
        answers = [] if predicted is None else [predicted]
        for request in requests:
            if request in found:
                continue
            if request.candidate:
                same = next((one for one in answers if one.query == request.query), None)
                if same is None:
                    same = self._candidate(url, request.query, answers)
                    answers.append(same)
                found[request] = (same,)
            else:
                urls = (url, *self._siblings(url)) if request.scope == "siblings" else (url,)
                # The metric knows whose query it was; here only the reason that kept it from running matters.
                found[request] = tuple(blame(self._executor.execute(each, request.query), "predicted") for each in urls)
        return found

    def _candidate(self, url: DatabaseUrl, query: str, before: Sequence[Execution]) -> Execution:
        """Execute a further query of an answer, unless earlier ones used up the answer's time or bytes."""
        limits = self._limits
        what = None
        if sum(one.took_s or 0.0 for one in before) >= limits.timeout_s:
            what = f"limit of {limits.timeout_s:g} s"
        elif sum(map(_size, before)) >= limits.max_result_bytes:
            what = f"{limits.max_result_bytes >> 20:,} MiB that results may have"
        if what is None:
            return blame(self._executor.execute(url, query), "predicted")
        message = f"not run: the queries before it used up the {what}"
        failure = Failure(stage="execute", kind="timeout", blame="system", message=message)
        return Execution(query=query, status="timeout", failure=failure)

    def _siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        known = self._executor.recall("siblings", url.text)
        if isinstance(known, tuple):
            return known
        found = self._executor.siblings(url)
        self._executor.keep(found, "siblings", url.text)
        return found


def _size(execution: Execution) -> int:
    """The approximate size of an execution's rows in bytes."""
    cells = chain.from_iterable(execution.result.rows) if execution.result is not None else ()
    return sum([len(cell) if isinstance(cell, str | bytes) else 8 for cell in cells])
