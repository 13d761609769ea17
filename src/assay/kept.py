"""What a large run has of each case lies in a file, so that memory stays the same whatever the number of cases.

A file is nameless from the moment it is opened: nobody else can open it, and the system removes it with the process.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints, overload

T = TypeVar("T")

LARGE = 5_000
"""Runs of more cases are packed."""
BINARY: int = getattr(os, "O_BINARY", 0)
"""What opens a file as it is: Windows would turn the ends of lines into its own, and stop at a Ctrl-Z."""

_ABSENT = -1
_MOST_IN_MEMORY = 32 * 1024 * 1024
"""Bytes of lines that are kept without a file; more go to a temporary file."""
_LEAST_IN_MEMORY = 1024 * 1024
_AT_ONCE = 256
"""How many values are read from the file at once."""


class KeptLines:
    """One line for each place, in a file that is open or in memory. A later line for a place replaces the earlier one.

    ``path`` is a file in which `note` says where lines are: it is opened, so that the lines can be read after the file
    has lost its name. Without one, `keep` keeps the lines themselves, beyond ``most_in_memory`` bytes in a temporary
    file. Used by one thread at a time.
    """

    _descriptor = _ABSENT

    def __init__(self, count: int, *, path: Path | None = None, most_in_memory: int = _MOST_IN_MEMORY) -> None:
        self._starts = array("q", [_ABSENT]) * count
        self._lengths = array("q", [0]) * count
        if path is not None:
            self._descriptor = os.open(path, os.O_RDONLY | BINARY)
        self._buffer = bytearray()
        self._most_in_memory = most_in_memory
        self._written = 0

    def __len__(self) -> int:
        return len(self._starts)

    def __contains__(self, place: int) -> bool:
        return self._starts[place] != _ABSENT

    def note(self, place: int, start: int, length: int) -> None:
        """The line of a place is in the file, from ``start`` on."""
        self._starts[place], self._lengths[place] = start, length

    def keep(self, place: int, line: bytes) -> None:
        """Keep the line of a place."""
        self.note(place, self._written + len(self._buffer), len(line))
        self._buffer += line
        if len(self._buffer) > self._most_in_memory:
            self._spill()

    def append(self, line: bytes) -> None:
        """Keep the line of one more place."""
        self._starts.append(self._written + len(self._buffer))
        self._lengths.append(len(line))
        self._buffer += line
        if len(self._buffer) > self._most_in_memory:
            self._spill()

    def line(self, place: int) -> bytes:
        """The line of a place. Raises KeyError where it has none."""
        start, length = self._starts[place], self._lengths[place]
        if start == _ABSENT:
            raise KeyError(place)
        if start >= self._written and self._buffer:
            begin = start - self._written
            return bytes(self._buffer[begin : begin + length])
        return read_at(self._descriptor, start, length)

    def lines(self, first: int, end: int) -> list[bytes]:
        """The lines of these places, which were appended one after the other."""
        starts, lengths = self._starts[first:end], self._lengths[first:end]
        if not starts or starts[-1] + lengths[-1] > self._written:
            return [self.line(place) for place in range(first, end)]
        data = read_at(self._descriptor, starts[0], starts[-1] + lengths[-1] - starts[0])
        return [
            data[start - starts[0] : start - starts[0] + length] for start, length in zip(starts, lengths, strict=True)
        ]

    def close(self) -> None:
        """Release the file. Closing twice is harmless."""
        if self._descriptor >= 0:  # no name of the module: at the interpreter's end it may be gone
            os.close(self._descriptor)
            self._descriptor = _ABSENT

    def __del__(self) -> None:
        self.close()

    def _spill(self) -> None:
        if self._descriptor == _ABSENT:
            with tempfile.TemporaryFile(prefix="assay-") as file:
                self._descriptor = os.dup(file.fileno())
        data = memoryview(self._buffer)
        while data:
            data = data[os.write(self._descriptor, data) :]
        self._written += len(self._buffer)
        self._buffer = bytearray()


def read_at(descriptor: int, start: int, length: int) -> bytes:
    """Bytes of a file. Raises EOFError where the file has been cut."""
    found = b""
    while len(found) < length:
        if hasattr(os, "pread"):
            part = os.pread(descriptor, length - len(found), start + len(found))
        else:  # Windows
            os.lseek(descriptor, start + len(found), os.SEEK_SET)
            part = os.read(descriptor, length - len(found))
        if not part:
            raise EOFError("the file of the run was cut while it was read")
        found += part
    return found


class KeptValues(Sequence[T], Generic[T]):
    """Values of one type in a file, in the order in which they were appended. Each is made anew when it is asked for.

    Values without a form in MessagePack (text that is not valid Unicode, whole numbers beyond 64 bits) stay objects.
    """

    def __init__(self, kind: Any) -> None:
        from msgspec import msgpack

        self._kind = kind
        self._encode = msgpack.Encoder().encode
        self._decode = msgpack.Decoder(kind).decode
        self._lines = KeptLines(0, most_in_memory=_LEAST_IN_MEMORY)
        self._odd: dict[int, T] = {}
        self._block = (0, list[bytes]())
        """The lines that were read last, and the place of the first of them."""

    def __len__(self) -> int:
        return len(self._lines)

    def append(self, value: T) -> None:
        """Keep one more value."""
        try:
            line = self._encode(value)
        except (UnicodeEncodeError, OverflowError):
            self._odd[len(self)] = value
            line = b""
        self._lines.append(line)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            places = range(len(self))[place]
            return self if places == range(len(self)) else kept(map(self._at, places), self._kind)
        return self._at(range(len(self))[place])

    def __iter__(self) -> Iterator[T]:
        return self._decoded(self._decode)

    def parts(self, *names: str) -> Iterator[Any]:
        """Of each value an object with these fields: the rest is skipped, which is much faster than making it."""
        from msgspec import defstruct, msgpack

        hints = get_type_hints(self._kind)
        decode = msgpack.Decoder(defstruct("Part", [(name, hints[name]) for name in names], gc=False)).decode
        return self._decoded(decode)

    def _decoded(self, decode: Callable[[bytes], Any]) -> Iterator[Any]:
        for first in range(0, len(self), _AT_ONCE):
            end = min(first + _AT_ONCE, len(self))
            lines = self._lines.lines(first, end)
            if self._odd:
                for place, line in enumerate(lines, first):
                    yield self._odd[place] if place in self._odd else decode(line)
            else:
                yield from map(decode, lines)

    def _at(self, place: int) -> T:
        if place in self._odd:
            return self._odd[place]
        found: T = self._decode(self._line(place))
        return found

    def _line(self, place: int) -> bytes:
        first, lines = self._block
        if not first <= place < first + len(lines):
            first, lines = place, self._lines.lines(place, min(place + _AT_ONCE, len(self)))
            self._block = first, lines
        return lines[place - first]


def kept(values: Iterable[T], kind: Any) -> Sequence[T]:
    """The values: as a tuple, or beyond `LARGE` of them in a file."""
    few: list[T] = []
    many: KeptValues[T] | None = None
    for value in values:
        if many is None and len(few) == LARGE:
            many = KeptValues(kind)
            for one in few:
                many.append(one)
            few.clear()
        (few if many is None else many).append(value)
    return tuple(few) if many is None else many


def parts_of(values: Sequence[Any], *names: str) -> Iterable[Any]:
    """The values themselves, or of those in a file objects with these fields (`KeptValues.parts`)."""
    return values.parts(*names) if isinstance(values, KeptValues) else values
