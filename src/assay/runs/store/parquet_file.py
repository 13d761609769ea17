"""Write a Parquet file of texts, lists of texts and numbers. To import a library takes longer than to write a run.

Each column of a row group is one page, plain and compressed with gzip. The format: https://parquet.apache.org/docs/.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import IO, Any

from assay.errors import RunError

_TYPES = {"VARCHAR": 6, "VARCHAR[]": 6, "DOUBLE": 5, "BIGINT": 2, "INTEGER": 1}
"""The number of the physical type of each kind of column."""
_LETTERS = {"DOUBLE": "d", "BIGINT": "q", "INTEGER": "i"}
_LISTS = "VARCHAR[]"
_OPTIONAL, _REPEATED = 1, 2
_UTF8, _LIST, _INT_32, _INT_64 = 0, 3, 17, 18
_CONVERTED = {"VARCHAR": _UTF8, "BIGINT": _INT_64, "INTEGER": _INT_32}
_PLAIN, _RLE, _GZIP, _DATA_PAGE = 0, 3, 2, 0
_MAGIC = b"PAR1"


class ParquetFile:
    """Writes row groups, and at the end what says where they are."""

    def __init__(self, file: IO[bytes], columns: Mapping[str, str]) -> None:
        """``columns``: the name of each column and its type, as DuckDB calls it. Every value may be None."""
        self._file, self._columns = file, columns
        self._groups: list[Any] = []
        self._rows = 0
        self._size = file.write(_MAGIC)

    def write(self, columns: Iterable[Sequence[Any]]) -> None:
        """Write a row group, given by its columns. Raises RunError if a number does not fit its column."""
        chunks, begun, rows = [], self._size, 0
        for (name, kind), values in zip(self._columns.items(), columns, strict=True):
            rows = len(values)
            try:
                count, page = _page(kind, values)
            except (struct.error, OverflowError) as trouble:
                raise RunError(f"results table, column {name!r}: a number does not fit into {kind}") from trouble
            packer = zlib.compressobj(1, wbits=31)
            packed = packer.compress(page) + packer.flush()
            head = _encoded({1: _DATA_PAGE, 2: len(page), 3: len(packed), 5: {1: count, 2: _PLAIN, 3: _RLE, 4: _RLE}})
            path = [name, "list", "element"] if kind == _LISTS else [name]
            size = len(head) + len(packed)
            described = {1: _TYPES[kind], 2: [_PLAIN, _RLE], 3: path, 4: _GZIP, 5: Long(count)}
            described |= {6: Long(len(head) + len(page)), 7: Long(size), 9: Long(self._size)}
            chunks.append({2: Long(self._size), 3: described})
            self._size += self._file.write(head + packed)
        self._groups.append({1: chunks, 2: Long(self._size - begun), 3: Long(rows)})
        self._rows += rows

    def finish(self) -> None:
        """Write the end of the file."""
        schema: list[Any] = [{4: "rows", 5: len(self._columns)}]
        for name, kind in self._columns.items():
            if kind == _LISTS:
                schema.append({3: _OPTIONAL, 4: name, 5: 1, 6: _LIST})
                schema.append({3: _REPEATED, 4: "list", 5: 1})
                schema.append({1: _TYPES[kind], 3: _OPTIONAL, 4: "element", 6: _UTF8})
            else:
                leaf = {1: _TYPES[kind], 3: _OPTIONAL, 4: name}
                schema.append(leaf | ({6: _CONVERTED[kind]} if kind in _CONVERTED else {}))
        tail = _encoded({1: 1, 2: schema, 3: Long(self._rows), 4: self._groups, 6: "Assay"})
        self._file.write(tail + struct.pack("<i", len(tail)) + _MAGIC)


def _page(kind: str, values: Sequence[Any]) -> tuple[int, bytes]:
    """A page of a column: how many values it has, an empty list and None among them, and its content."""
    if kind != _LISTS:
        absent = None in values
        present = [value for value in values if value is not None] if absent else values
        content = _levels([value is not None for value in values] if absent else [1] * len(values))
        if kind == "VARCHAR":
            return len(values), content + _texts(present)
        return len(values), content + struct.pack(f"<{len(present)}{_LETTERS[kind]}", *present)
    if not any(values):  # None and empty lists
        return len(values), _levels([0] * len(values)) + _levels([int(items is not None) for items in values])
    defined = list(chain.from_iterable([0] if items is None else [3] * len(items) or [1] for items in values))
    repeated = list(chain.from_iterable([0, *[1] * (len(items or ()) - 1)] for items in values))
    texts = list(chain.from_iterable(items or () for items in values))
    return len(defined), _levels(repeated) + _levels(defined) + _texts(texts)


def _texts(texts: Sequence[str]) -> bytes:
    encoded = {text: text.encode("utf-8", "replace") for text in set(texts)}  # in many columns few texts are distinct
    sized = {text: len(data).to_bytes(4, "little") + data for text, data in encoded.items()}
    return b"".join(map(sized.__getitem__, texts))


def _levels(levels: Sequence[int]) -> bytes:
    """Levels of one byte at most, as runs of equal ones."""
    if levels and levels.count(levels[0]) == len(levels):
        runs = _varint(len(levels) << 1) + bytes([levels[0]])
    else:
        runs = b"".join(_varint(len(list(run)) << 1) + bytes([level]) for level, run in groupby(levels))
    return len(runs).to_bytes(4, "little") + runs


class Long(int):
    """An integer of 64 bits."""


def _encoded(value: Any) -> bytes:
    """A value in Thrift's compact protocol; a struct is a dict from the numbers of its fields to their values."""
    match value:
        case dict():
            content, last = b"", 0
            for field, item in value.items():
                content += bytes([(field - last) << 4 | _kind(item)]) + _encoded(item)
                last = field
            return content + b"\0"
        case list():
            kind = _kind(value[0]) if value else _THRIFT[dict]  # of empty lists, only that of the row groups is written
            head = bytes([len(value) << 4 | kind]) if len(value) < 15 else bytes([0xF0 | kind]) + _varint(len(value))
            return head + b"".join(map(_encoded, value))
        case str():
            text = value.encode("utf-8", "replace")
            return _varint(len(text)) + text
        case _:
            return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


_THRIFT = {dict: 12, list: 9, str: 8, Long: 6, int: 5}


def _kind(value: Any) -> int:
    """The number of a value's type in the protocol."""
    return next(kind for type_, kind in _THRIFT.items() if isinstance(value, type_))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
