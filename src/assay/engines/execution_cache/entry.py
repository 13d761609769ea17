"""An Execution as bytes and back, every value with its type, without executable code.

Complete results only: a failure is cheap to reproduce, or depends on the machine. Values that change in a round trip
would make a wrong verdict. So values without an exact form in MessagePack are written as in stored runs
(`assay.model.results.cell_json`), and a result that does not come back exactly is not stored.
"""

from __future__ import annotations

from itertools import chain
from types import NoneType
from typing import Any

import msgspec

from assay.errors import RunError
from assay.model import Execution, Result
from assay.model.results.cell_json import cell_from_json, cell_to_json

_PLAIN = frozenset({NoneType, bool, int, float, str, bytes})


class _Written(msgspec.Struct, array_like=True, frozen=True):
    """What an entry holds. A row is a tuple once it is read."""

    columns: tuple[Any, ...]
    rows: tuple[tuple[Any, ...], ...]
    as_json: bool
    """Whether names and cells are written as in stored runs."""
    undecodable_text: bool
    took_s: float | None


def encode_execution(execution: Execution) -> bytes | None:
    """The execution as bytes; None if it is not to be stored: a failure, or a value without an exact form."""
    result = execution.result
    if not execution.succeeded or result is None or execution.columns != result.columns:
        return None
    written = _Written(
        columns=result.columns,
        rows=result.rows,
        as_json=False,
        undecodable_text=execution.undecodable_text,
        took_s=execution.took_s,
    )
    if set(map(type, chain.from_iterable(written.rows))) <= _PLAIN:
        try:
            return msgspec.msgpack.encode(written)
        except (UnicodeEncodeError, OverflowError):
            pass  # text that is not valid Unicode, an integer beyond 64 bits
    try:
        columns = tuple(map(cell_to_json, result.columns))
        rows = tuple([tuple(map(cell_to_json, row)) for row in written.rows])
        content = msgspec.msgpack.encode(msgspec.structs.replace(written, columns=columns, rows=rows, as_json=True))
    except (RecursionError, MemoryError, ValueError, TypeError, OverflowError):
        return None
    # Verify by reading it back: drivers may return values of unknown classes.
    back = decode_execution(execution.query, content)
    if back is None or back.result is None or back.result.fingerprint() != result.fingerprint():
        return None
    return content if _same_types(back.result.rows, written.rows) else None


def decode_execution(query: str, content: bytes) -> Execution | None:
    """The execution of an entry, with its original time; None if the bytes are not an entry."""
    try:
        written = msgspec.msgpack.decode(content, type=_Written)
        columns, rows = written.columns, written.rows
        if written.as_json:
            columns = tuple(map(cell_from_json, columns))
            rows = tuple([tuple(map(cell_from_json, row)) for row in rows])
        width = len(rows[0]) if rows else 0
        if any(len(row) != width for row in rows) or not all(type(name) is str for name in columns):
            return None
        return Execution(
            query=query,
            status="rows" if rows else "empty",
            result=Result(columns=columns, rows=rows),
            row_count=len(rows),
            columns=columns,
            undecodable_text=written.undecodable_text,
            earlier_time_s=written.took_s if written.took_s is not None else 0.0,
        )
    except (msgspec.MsgspecError, RunError, LookupError, TypeError, ValueError, RecursionError, MemoryError):
        return None


def _same_types(one: Any, other: Any) -> bool:
    """Whether values that are written alike have the same types, including nested ones."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return _same_types(list(one.items()), list(other.items()))
    return not isinstance(one, list | tuple) or all(map(_same_types, one, other))
