"""Read an Arrow C stream into numpy arrays, batch by batch, without pyarrow.

The C data interface is a stable binary format (https://arrow.apache.org/docs/format/CDataInterface.html). Only flat
columns are read. What is read is copied, and each batch is released before the next one is requested.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


class StreamError(Exception):
    """The engine's own message: what went wrong while it made the next batch."""


class _Schema(Structure):
    pass


class _Array(Structure):
    pass


class _Stream(Structure):
    pass


_Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(_Schema))),
    ("dictionary", POINTER(_Schema)),
    ("release", CFUNCTYPE(None, POINTER(_Schema))),
    ("private_data", c_void_p),
]
_Array._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(_Array))),
    ("dictionary", POINTER(_Array)),
    ("release", CFUNCTYPE(None, POINTER(_Array))),
    ("private_data", c_void_p),
]
_Stream._fields_ = [
    ("get_schema", CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Schema))),
    ("get_next", CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Array))),
    ("get_last_error", CFUNCTYPE(c_char_p, POINTER(_Stream))),
    ("release", CFUNCTYPE(None, POINTER(_Stream))),
    ("private_data", c_void_p),
]

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = c_void_p
_pointer_of.argtypes = [ctypes.py_object, c_char_p]


class ColumnPart:
    """One column of one batch, which is valid until the next batch is requested."""

    __slots__ = ("_array", "_parent_offset", "length")

    def __init__(self, array: Any, length: int, offset: int) -> None:
        self._array = array
        self._parent_offset = offset
        self.length: int = length

    def values(self, dtype: str, *, per_cell: int = 1) -> Array:
        """The cells of a type of fixed width, ``per_cell`` values each."""
        start = self._start * per_cell
        return self._buffer(1, dtype, start + self.length * per_cell)[start:].copy()

    def bits(self, buffer: int) -> NDArray[np.bool_]:
        """The bits of a buffer, one for each cell."""
        start = self._start
        octets = self._buffer(buffer, "u1", (start + self.length + 7) // 8)
        return np.unpackbits(octets, bitorder="little")[start : start + self.length].astype(np.bool_)

    def nulls(self) -> NDArray[np.bool_] | None:
        """Which cells are NULL; None if none is."""
        if self._array.null_count == 0 or not self._array.buffers[0]:
            return None
        found = ~self.bits(0)
        return found if found.any() else None

    def texts(self) -> tuple[Array, bytes]:
        """Where each text begins, and where the last ends; and all texts, one after the other."""
        start = self._start
        ends = self._buffer(1, "i4", start + self.length + 1)[start:].astype(np.int64)
        first, last = int(ends[0]), int(ends[-1])
        content = ctypes.string_at(self._array.buffers[2] + first, last - first) if last > first else b""
        return ends - first, content

    @property
    def _start(self) -> int:
        return int(self._array.offset) + self._parent_offset

    def _buffer(self, place: int, dtype: str, count: int) -> Array:
        address = self._array.buffers[place]
        size = count * np.dtype(dtype).itemsize
        if not address or not size:
            return np.zeros(count, dtype=dtype)
        memory = memoryview((ctypes.c_char * size).from_address(address))
        found: Array = np.frombuffer(memory, dtype=dtype, count=count)
        return found


class ArrowStream:
    """A stream of batches, taken out of a capsule of the name ``arrow_array_stream``. Must be closed."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule  # it owns the memory of the structure
        self._stream = ctypes.cast(_pointer_of(capsule, b"arrow_array_stream"), POINTER(_Stream))

    def formats(self) -> list[str]:
        """The format of each column, in Arrow's notation. Raises StreamError."""
        schema = _Schema()
        self._check(self._stream.contents.get_schema(self._stream, ctypes.byref(schema)))
        try:
            return [_format(schema.children[index].contents) for index in range(schema.n_children)]
        finally:
            schema.release(ctypes.byref(schema))

    def batches(self) -> Iterator[list[ColumnPart]]:
        """The columns of each batch, none of them empty. Raises StreamError."""
        while True:
            array = _Array()
            self._check(self._stream.contents.get_next(self._stream, ctypes.byref(array)))
            if not array.release:
                return
            try:
                if array.length:
                    parts = [array.children[index].contents for index in range(array.n_children)]
                    yield [ColumnPart(part, array.length, array.offset) for part in parts]
            finally:
                array.release(ctypes.byref(array))

    def close(self) -> None:
        """End the query. Closing twice is harmless."""
        if self._stream.contents.release:
            self._stream.contents.release(self._stream)

    def _check(self, status: int) -> None:
        if status:
            message = self._stream.contents.get_last_error(self._stream)
            raise StreamError((message or b"").decode("utf-8", "replace"))


def _format(schema: Any) -> str:
    """A column's format; for a dictionary-encoded one, a notation that no flat column has."""
    text = (schema.format or b"").decode("ascii", "replace")
    return f"dictionary of {text}" if schema.dictionary else text
