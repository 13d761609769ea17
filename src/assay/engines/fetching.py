"""Fetch the rows of a result under caps."""

from __future__ import annotations

from collections.abc import Callable

from assay.engines.outcomes import Cap
from assay.model import Limits, Row

FIRST_ROWS = 64
"""How many rows an engine fetches before it calls `fetch_rest`: most results have fewer."""
_CHUNK_ROWS = 8192
_CHUNK_BYTES = 8 * 1024 * 1024


def fetch_rest(
    fetchmany: Callable[[int], list[Row]],
    rows: list[Row],
    limits: Limits,
    *,
    size_of: Callable[[list[Row]], int],
    check_clock: Callable[[], None],
) -> Cap | None:
    """Append the remaining rows to ``rows``, until the end or a cap; return the cap that was reached.

    The size of a chunk depends on the size of the rows so far. ``size_of`` estimates how many bytes rows take;
    ``check_clock`` is called before each chunk, and raises after the time limit.
    """
    size = size_of(rows)
    while rows:
        if len(rows) > limits.max_rows:
            del rows[limits.max_rows :]
            return "rows"
        if size > limits.max_result_bytes:
            return "bytes"
        check_clock()
        chunk = fetchmany(min(_CHUNK_ROWS, limits.max_rows + 1 - len(rows), _CHUNK_BYTES * len(rows) // size + 1))
        # A short chunk is not the end: some drivers return fewer rows than requested before it.
        if not chunk:
            break
        rows += chunk
        size += size_of(chunk)
    return None
