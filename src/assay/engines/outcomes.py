"""Build the Execution of a query for each way that it can end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.engines.odd_characters import odd_character
from assay.model import Blame, Execution, Failure, FailureKind, Limits, Result, Row
from assay.model.results.cells import SettledRows

Cap = Literal["rows", "bytes"]


def failed(
    query: str,
    status: Literal["error", "timeout", "refused"],
    kind: FailureKind,
    message: str,
    *,
    wall_time_s: float | None = None,
    blame: Blame = "system",
    code: str | None = None,
) -> Execution:
    """An Execution without rows. The attribution is usually ``system``: the engine's caller knows whose query it
    was. The message of a query that cannot be run names the first character that only looks like one of SQL's."""
    if kind in ("error", "no_query", "refused") and not query.isascii() and (odd := odd_character(query)) is not None:
        message = f"{message}; the query has {odd}"
    failure = Failure(stage="execute", kind=kind, blame=blame, message=message, code=code)
    return Execution(query=query, status=status, failure=failure, wall_time_s=wall_time_s)


def fetched(
    query: str,
    columns: tuple[str, ...],
    rows: Sequence[Row],
    *,
    wall_time_s: float,
    cap: Cap | None,
    limits: Limits,
    undecodable_text: bool = False,
) -> Execution:
    """An Execution with rows, complete or cut by a cap."""
    failure = None
    if cap is not None:
        limit = f"{limits.max_rows:,} rows" if cap == "rows" else f"{limits.max_result_bytes:,} bytes"
        failure = Failure(
            stage="execute",
            kind="truncated",
            blame="system",
            message=f"the result exceeds the limit of {limit}: only its first {len(rows):,} rows were read",
        )
    return Execution(
        query=query,
        status="truncated" if cap is not None else "rows" if rows else "empty",
        result=Result(columns=columns, rows=rows if isinstance(rows, SettledRows) else tuple(rows)),
        failure=failure,
        wall_time_s=wall_time_s,
        row_count=len(rows),
        columns=columns,
        undecodable_text=undecodable_text,
    )


def timed_out(query: str, limits: Limits, wall_time_s: float) -> Execution:
    """The query reached its time limit and was stopped."""
    return failed(
        query, "timeout", "timeout", f"no result within the limit of {limits.timeout_s:g} s", wall_time_s=wall_time_s
    )


def out_of_memory(query: str, limits: Limits, wall_time_s: float | None) -> Execution:
    """The query exceeded its memory limit."""
    return failed(
        query,
        "error",
        "out_of_memory",
        f"it exceeds the memory limit ({limits.max_memory_bytes:,} bytes)",
        wall_time_s=wall_time_s,
    )


def masked(query: str, *, wall_time_s: float) -> Execution:
    """The server masked values of the result: different values may look alike."""
    message = (
        "the database masked values in the result for this account, and masked values cannot be compared: use "
        "an account that may see them"
    )
    return failed(query, "error", "masked", message, wall_time_s=wall_time_s)


def unreadable_value(query: str, message: str, *, wall_time_s: float | None) -> Execution:
    """The query ran, but a value of its result cannot be read: see `assay.engines.reading`."""
    return failed(query, "error", "unreadable_value", message, wall_time_s=wall_time_s, blame="assay")


def server_lost(query: str, message: str, *, wall_time_s: float | None = None) -> Execution:
    """The server, or the connection to it, was lost while the query ran, or the engine failed.

    A second run, together with a plain query, finds the cause: see `assay.engines.pool.executor`.
    """
    return failed(
        query,
        "error",
        "unreadable_database",
        message,
        wall_time_s=wall_time_s,
        blame="engine",
        code="database server lost",
    )


def broke(query: str, message: str, wall_time_s: float | None) -> Execution:
    """The server answers other queries, but this one broke its connection, or the engine, each time it ran."""
    told = f"each time it ran, it failed ({message}), while a plain query succeeds"
    return failed(query, "error", "crashed", told, wall_time_s=wall_time_s)


def no_query(query: str) -> Execution:
    """The text contains no statement."""
    what = "the text is empty" if not query.strip() else "the text contains no statement, only comments or semicolons"
    return failed(query, "error", "no_query", f"there is no query: {what}")


def several_statements(query: str) -> Execution:
    """The text contains more than one statement."""
    return failed(
        query, "refused", "several_statements", "refused: the text contains several statements instead of one query"
    )


def unless_query(query: str, does: str, detail: str) -> Execution | None:
    """Why a text is not sent to its server; None if it is a query.

    ``does`` and ``detail`` come from the reading of the text by `assay.sql`.
    """
    match does:
        case "query":
            return None
        case "none":
            return no_query(query)
        case "several":
            return several_statements(query)
        case "write":
            return failed(query, "refused", "writes", f"refused: it writes ({detail})")
        case "prose":
            return failed(query, "refused", "no_query", f"it is not a query: it begins with {detail!r}")
        case "reaches":
            return failed(query, "refused", "refused", f"refused: {detail}")
        case "error":
            return failed(query, "error", "error", f"the query cannot be run: {detail}")
    return failed(query, "refused", "refused", f"refused: it is not a query ({detail})")


def not_text(query: str, error: UnicodeEncodeError) -> Execution:
    """The text contains lone surrogates, which are not valid characters."""
    return failed(
        query, "error", "error", f"the query is not valid text: character {error.start + 1} is a lone surrogate"
    )


def first_line(error: BaseException) -> str:
    """The first line of a driver's message, without the marker lines below it."""
    text = str(error).strip()
    return text.split("\n", 1)[0].strip() or type(error).__name__
