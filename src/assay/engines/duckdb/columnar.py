"""Fetch a result as columns, in a tenth of the time of fetching rows of Python values.

Only columns of plain types are fetched this way. Rows made of them equal the client's own rows, and a result counts as
many bytes against its cap as if it were rows. The client streams batches of Arrow by private methods; if it lacks them,
or they have changed, results are fetched as rows.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from assay.engines.duckdb.arrow_stream import ArrowStream, ColumnPart, StreamError
from assay.engines.outcomes import Cap
from assay.model import Limits
from assay.model.results.columns import (
    BooleanCells,
    ColumnCells,
    ColumnRows,
    DateCells,
    DecimalCells,
    FloatCells,
    IntegerCells,
    TextCells,
    TimestampCells,
)
from assay.model.results.result import Rows
from assay.platform.memmap import MANY_BYTES, MemmapWriter

_BATCH_ROWS = 2_048
"""The client makes that many rows at a time anyway: a larger batch of large texts would take more memory."""
_FEW_CELLS = 20_000
"""Up to this many cells, a result is plain tuples."""
_FIXED = {"c": "i1", "s": "i2", "i": "i4", "l": "i8", "C": "u1", "S": "u2", "I": "u4", "L": "u8", "f": "f4", "g": "f8"}
_EXPECTED = {
    "boolean": "b",
    "tinyint": "c",
    "smallint": "s",
    "integer": "i",
    "bigint": "l",
    "utinyint": "C",
    "usmallint": "S",
    "uinteger": "I",
    "ubigint": "L",
    "float": "f",
    "double": "g",
    "varchar": "u",
    "date": "tdD",
    "timestamp": "tsu:",
    "hugeint": "d:38,0",
    "decimal": "d:",
}
"""The types that are fetched as columns, with the Arrow format of each, or its beginning."""
_BYTES = {
    **dict.fromkeys(("boolean", "tinyint", "smallint", "integer", "utinyint", "usmallint", "uinteger"), 28),
    **dict.fromkeys(("bigint", "ubigint"), 32),
    **dict.fromkeys(("float", "double"), 24),
    "decimal": 104,
    "timestamp": 48,
}
_LAST_DAY = 2_932_896
"""9999-12-31, counted from 1970; infinite dates are beyond it."""
_FIRST_DAY = -719_162
_DAY_US = 86_400_000_000


class NotColumnarError(Exception):
    """A value that columns cannot hold, or a broken stream: the query must be executed again, for rows.

    A stream has a message instead of a kind of exception, and fails in cases in which rows do not: a batch of texts of
    more than 2 GiB, or of less if memory is short. So the error of a query is taken from rows.
    """


class Fetched(Struct, frozen=True, kw_only=True):
    """A result under its caps."""

    names: tuple[str, ...]
    rows: Rows
    cap: Cap | None


def fetch_columns(
    connection: duckdb.DuckDBPyConnection, query: str, limits: Limits, check_clock: Callable[[], None]
) -> Fetched | None:
    """Execute one SELECT and fetch it as columns; None, without executing anything, if its columns have other types.

    Raises what `duckdb` raises for the query, what ``check_clock`` raises, and NotColumnarError.
    """
    bound = _bound(connection, query)
    if bound is None:
        return None
    names, kinds = bound
    stream = ArrowStream(connection._submit(query, None, "stream", _BATCH_ROWS).arrow_capsule())
    try:
        formats = stream.formats()
        for kind, arrow in zip(kinds, formats, strict=True):
            expected = _EXPECTED[kind]
            if not (arrow.startswith(expected) if kind == "decimal" else arrow == expected):
                raise NotColumnarError
        columns = [_Growing.of(kind, arrow) for kind, arrow in zip(kinds, formats, strict=True)]
        cap, count = _read(stream, columns, limits, check_clock)
    except (StreamError, MemoryError):
        check_clock()
        raise NotColumnarError from None
    finally:
        stream.close()
    rows = ColumnRows([column.done(count) for column in columns])
    few = count * len(columns) <= _FEW_CELLS
    return Fetched(names=names, rows=tuple(rows) if few else rows, cap=cap)


def _bound(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[tuple[str, ...], list[str]] | None:
    """The names and types of a query's columns; None if it cannot be fetched as columns."""
    try:
        connection.abort()  # the rest of a result that a cap cut would stop a stream
        names, types, parameters, *_ = connection._bind(query)
        kinds = [str(kind.id) for kind in types]
        connection._submit  # noqa: B018 - the client has it, or the query is executed in the other way
    except (duckdb.Error, RuntimeError, AttributeError, TypeError, ValueError):
        return None  # executed as rows, it reports its error
    if parameters or not kinds or not all(kind in _EXPECTED for kind in kinds):
        return None
    return tuple(names), kinds


def _read(
    stream: ArrowStream, columns: Sequence[_Growing], limits: Limits, check_clock: Callable[[], None]
) -> tuple[Cap | None, int]:
    """Read up to the end or a cap: which cap, and how many rows are kept."""
    count, size, spills = 0, 0, False
    for parts in stream.batches():
        for column, part in zip(columns, parts, strict=True):
            size += column.add(part)
        count += parts[0].length
        size += parts[0].length * 8 * len(columns)
        if not spills and sum(column.held_bytes for column in columns) > MANY_BYTES:
            spills = True
            for column in columns:
                column.spill()
        if count > limits.max_rows:
            return "rows", limits.max_rows
        if size > limits.max_result_bytes:
            return "bytes", count
        check_clock()
    return None, count


class _Growing(Struct):
    """A column that is fetched batch by batch."""

    kind: str
    parts: list[NDArray[Any]] = field(default_factory=list)
    nulls: list[tuple[int, NDArray[np.bool_] | None]] = field(default_factory=list)
    held_bytes: int = 0
    """The bytes of its values, in memory or in a file."""
    file: MemmapWriter | None = None

    @classmethod
    def of(cls, kind: str, arrow: str) -> _Growing:
        if kind == "varchar":
            return _GrowingText(kind)
        if kind in ("decimal", "hugeint"):
            return _GrowingWide(kind, scale=int(arrow.split(",")[1]))
        return _Growing(kind)

    def add(self, part: ColumnPart) -> int:
        """Take one batch; return about how many bytes its cells would take as Python values."""
        nulls = part.nulls()
        self.nulls.append((part.length, nulls))
        values = self._values(part)
        if nulls is not None:
            values[nulls] = 0  # normalise these: two columns with the same cells must have the same arrays
        # Python has no value for some dates, and the client replaces some of these.
        unit = {"date": 1, "timestamp": _DAY_US}.get(self.kind)
        if unit is not None and len(values):
            least, most = _FIRST_DAY * unit, (_LAST_DAY + 1) * unit - 1
            if not (least <= int(values.min()) and int(values.max()) <= most):
                raise NotColumnarError
        self._keep(values)
        return self._size(part.length, 0 if nulls is None else int(np.count_nonzero(nulls)))

    def done(self, count: int) -> ColumnCells:
        """The first ``count`` cells. Releases the batches."""
        values, nulls = self._joined(count), self._all_nulls(count)
        match self.kind:
            case "boolean":
                return BooleanCells(values=values, nulls=nulls)
            case "float" | "double":
                return FloatCells(values=values, nulls=nulls)
            case "date":
                return DateCells(values=values, nulls=nulls)
            case "timestamp":
                return TimestampCells(values=values, nulls=nulls)
        return IntegerCells(values=values, nulls=nulls)

    def spill(self) -> None:
        """From now on, store the values in a file."""
        parts, self.parts = self.parts, []
        self.file = MemmapWriter(parts[0].dtype)
        for values in parts:
            self.file.append(values)

    def _keep(self, values: NDArray[Any]) -> None:
        self.held_bytes += values.nbytes
        if self.file is None:
            self.parts.append(values)
        else:
            self.file.append(values)

    def _values(self, part: ColumnPart) -> NDArray[Any]:
        match self.kind:
            case "boolean":
                return part.bits(1)
            case "date":
                return part.values("i4")
            case "timestamp":
                return part.values("i8")
            case "float":
                return part.values("f4").astype(np.float64)
        return part.values(_FIXED[_EXPECTED[self.kind]])

    def _size(self, count: int, null_count: int) -> int:
        if self.kind == "date":
            return (count - null_count) * 32 + null_count * 16
        return count * _BYTES[self.kind]

    def _joined(self, count: int) -> NDArray[Any]:
        if self.file is not None:
            return self.file.array(count)
        parts, self.parts = self.parts, []
        return np.concatenate(parts)[:count] if parts else np.zeros(0, dtype=np.int64)

    def _all_nulls(self, count: int) -> NDArray[np.bool_] | None:
        if all(flags is None for _, flags in self.nulls):
            return None
        found = [np.zeros(length, dtype=np.bool_) if flags is None else flags for length, flags in self.nulls]
        return np.concatenate(found)[:count]


class _GrowingWide(_Growing):
    """128-bit decimals and integers whose values fit into 64 bits."""

    scale: int = 0

    def done(self, count: int) -> ColumnCells:
        """The first ``count`` cells. Releases the batches."""
        values, nulls = self._joined(count), self._all_nulls(count)
        if self.kind == "hugeint":
            return IntegerCells(values=values, nulls=nulls)
        return DecimalCells(values=values, nulls=nulls, scale=self.scale)

    def _values(self, part: ColumnPart) -> NDArray[Any]:
        halves = part.values("i8", per_cell=2).reshape(-1, 2)
        low, high = halves[:, 0].copy(), halves[:, 1].copy()
        if (nulls := self.nulls[-1][1]) is not None:
            low[nulls], high[nulls] = 0, 0
        if not np.array_equal(low >> np.int64(63), high):
            raise NotColumnarError
        return low

    def _size(self, count: int, null_count: int) -> int:
        if self.kind == "decimal":
            return count * _BYTES["decimal"]
        return (count - null_count) * 32 + null_count * 16


class _GrowingText(_Growing):
    """Texts."""

    content: bytearray = field(default_factory=bytearray)
    content_file: MemmapWriter | None = None
    content_bytes: int = 0

    def spill(self) -> None:
        """From now on, store the texts in one file, and the end of each in another."""
        _Growing.spill(self)
        self.content_file = MemmapWriter(np.uint8)
        self.content_file.append(np.frombuffer(self.content, dtype=np.uint8))
        self.content = bytearray()

    def add(self, part: ColumnPart) -> int:
        """Take one batch; return about how many bytes its cells would take as Python values."""
        nulls = part.nulls()
        self.nulls.append((part.length, nulls))
        starts, content = part.texts()
        self._keep(starts[1:] + self.content_bytes)
        self.content_bytes += len(content)
        self.held_bytes += len(content)
        if self.content_file is None:
            self.content += content
        else:
            self.content_file.append(np.frombuffer(content, dtype=np.uint8))
        null_count = 0 if nulls is None else int(np.count_nonzero(nulls))
        size = null_count * sys.getsizeof(None)
        if content.isascii():
            return size + (part.length - null_count) * sys.getsizeof("") + len(content)
        ends = starts.tolist()
        texts = (content[one:two].decode() for one, two in itertools.pairwise(ends))
        return size - null_count * sys.getsizeof("") + sum(map(sys.getsizeof, texts))

    def done(self, count: int) -> ColumnCells:
        """The first ``count`` cells. Releases the batches."""
        ends, nulls = self._joined(count), self._all_nulls(count)
        last = int(ends[-1]) if count else 0
        if self.content_file is not None:
            return TextCells(values=ends, nulls=nulls, content=self.content_file.array(last))
        del self.content[last:]
        return TextCells(values=ends, nulls=nulls, content=self.content)
