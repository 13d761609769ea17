"""The cases of a large run are spooled to temporary files, so that memory use does not depend on their number.

Each file is unlinked as soon as it is opened: no other process can open it, and the system removes it with the process.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import add, sub
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints, overload

from msgspec import defstruct, msgpack

T = TypeVar("T")

LARGE = 5_000
"""More values than this are written to a file."""
BINARY: int = getattr(os, "O_BINARY", 0)
"""Opens a file without conversion: Windows would change line ends, and stop at a Ctrl-Z."""

_BUFFER_BYTES = 1024 * 1024
"""Values that take less together stay in memory; more go to a temporary file."""
_AT_ONCE = 256
"""The number of values read from the file at once."""
_LARGEST_GAP = 4
"""Values are read together if the gaps between them are at most this many times as large as they are."""
_SMALL_GAP_BYTES = 1024
"""Otherwise consecutive values are read together, with gaps of at most this many bytes."""


class Spool(Sequence[T], Generic[T]):
    """Values of one type in a file, in the order in which they were appended. Each access decodes a value again.

    ``append`` encodes a value as MessagePack. A value that cannot be encoded (text that is not valid Unicode, integers
    beyond 64 bits) stays an object. The values are in a temporary file once they exceed ``buffer_bytes``. With ``path``
    they are in that file, at the positions that `note` gives, and can be read even after the file is unlinked. For one
    thread at a time.
    """

    _descriptor = -1

    def __init__(self, kind: Any, *, path: Path | None = None, buffer_bytes: int | None = None) -> None:
        self._kind = kind
        self._encode = msgpack.Encoder().encode
        self._decode = msgpack.Decoder(kind).decode
        self._starts, self._lengths = array("q"), array("q")
        self._objects: dict[int, T] = {}
        """Values that MessagePack cannot encode, by index."""
        self._buffer = bytearray()
        self._buffer_bytes = _BUFFER_BYTES if buffer_bytes is None else buffer_bytes
        self._written = 0
        if path is not None:
            self._descriptor = os.open(path, os.O_RDONLY | BINARY)

    def __len__(self) -> int:
        return len(self._starts)

    def append(self, value: T) -> None:
        """Add a value."""
        try:
            self.append_line(self._encode(value))
        except (UnicodeEncodeError, OverflowError):
            self._objects[len(self)] = value
            self.append_line(b"")

    def append_line(self, line: bytes) -> None:
        """Add a value in its encoded form."""
        start = len(self._buffer)
        self._starts.append(self._written + start)
        self._lengths.append(len(line))
        self._buffer += line
        if start + len(line) > self._buffer_bytes:
            self._spill()

    def note(self, start: int, length: int) -> None:
        """Add a value whose encoded form is in the file already, at this position in bytes."""
        self._starts.append(start)
        self._lengths.append(length)

    def line(self, index: int) -> bytes:
        """The encoded form of a value; empty if it has none."""
        start, length = self._starts[index], self._lengths[index]
        if (begin := start - self._written) >= 0 and self._buffer:
            return bytes(self._buffer[begin : begin + length])
        return read_at(self._descriptor, start, length)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        indices = range(len(self))[index]
        if isinstance(indices, range):
            return self if indices == range(len(self)) else spooled(map(self.__getitem__, indices), self._kind)
        if indices in self._objects:
            return self._objects[indices]
        value: T = self._decode(self.line(indices))
        return value

    def __iter__(self) -> Iterator[T]:
        return self._decoded(self._decode)

    def parts(self, *names: str) -> Iterator[Any]:
        """Objects with these fields of each value. The other fields are skipped, which is several times as fast."""
        hints = get_type_hints(self._kind)
        part = defstruct("Part", [(name, hints[name]) for name in names], gc=False)
        return self._decoded(msgpack.Decoder(part).decode)

    def lines(self, indices: Sequence[int]) -> Iterator[bytes]:
        """The encoded forms of these values. Close ones are read together."""
        if self._written:
            self._spill()
        data = bytes(self._buffer)
        for first in range(0, len(indices), _AT_ONCE):
            some = indices[first : first + _AT_ONCE]
            starts, lengths = [self._starts[index] for index in some], [self._lengths[index] for index in some]
            if self._descriptor < 0:
                for start, length in zip(starts, lengths, strict=True):
                    yield data[start : start + length]
                continue
            ends = list(map(add, starts, lengths))
            if max(ends) - min(starts) <= _LARGEST_GAP * sum(lengths):
                breaks = [len(some)]
            else:  # consecutive values are read together
                gaps = map(sub, starts[1:], ends)
                breaks = [place for place, gap in enumerate(gaps, start=1) if not 0 <= gap <= _SMALL_GAP_BYTES]
                breaks.append(len(some))
            for place, after in pairwise((0, *breaks)):
                begin = min(starts[place:after])
                data = read_at(self._descriptor, begin, max(ends[place:after]) - begin)
                for start, end in zip(starts[place:after], ends[place:after], strict=True):
                    yield data[start - begin : end - begin]

    def _decoded(self, decode: Callable[[bytes], Any]) -> Iterator[Any]:
        lines = self.lines(range(len(self)))
        if not self._objects:
            return map(decode, lines)
        return (decode(line) if line else self._objects[index] for index, line in enumerate(lines))

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        if self._descriptor >= 0:  # no name of the module: it may be gone when the interpreter ends
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()

    def _spill(self) -> None:
        if self._descriptor < 0:
            with tempfile.TemporaryFile(prefix="assay-") as file:
                self._descriptor = os.dup(file.fileno())
        os.lseek(self._descriptor, 0, os.SEEK_END)  # `read_at` may have moved the position
        data = memoryview(self._buffer)
        while data:
            data = data[os.write(self._descriptor, data) :]
        self._written += len(self._buffer)
        self._buffer = bytearray()


def read_at(descriptor: int, start: int, length: int) -> bytes:
    """Bytes of a file. Raises EOFError if the file is too short."""
    found = b""
    while len(found) < length:
        if hasattr(os, "pread"):
            part = os.pread(descriptor, length - len(found), start + len(found))
        else:  # Windows
            os.lseek(descriptor, start + len(found), os.SEEK_SET)
            part = os.read(descriptor, length - len(found))
        if not part:
            raise EOFError("the file of the run was truncated while it was read")
        found += part
    return found


def spooled(values: Iterable[T], kind: Any) -> Sequence[T]:
    """The values as a tuple, or in a file if there are more than `LARGE`."""
    few: list[T] = []
    spool: Spool[T] | None = None
    for value in values:
        if spool is None and len(few) == LARGE:
            spool = Spool(kind)
            for earlier in few:
                spool.append(earlier)
            few.clear()
        (few if spool is None else spool).append(value)
    return tuple(few) if spool is None else spool


def parts_of(values: Sequence[Any], *names: str) -> Iterable[Any]:
    """The values themselves, or objects with these fields of values in a file (`Spool.parts`)."""
    return values.parts(*names) if isinstance(values, Spool) else values
