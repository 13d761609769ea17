"""Evidence that stays in lines of JSON until somebody reads it."""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import overload

from assay.model import Evidence
from assay.runs.store.facts import Judged

_ABSENT = -1
_MOST_IN_MEMORY = 32 * 1024 * 1024
"""Bytes of lines that are kept without a file; more go to a temporary file."""
_MOST_DECODED = 5_000
"""A run of at most this many answers is decoded once and stays decoded; of a larger one, no evidence is kept."""


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
            self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
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

    def line(self, place: int) -> bytes:
        """The line of a place. Raises KeyError where it has none."""
        start, length = self._starts[place], self._lengths[place]
        if start == _ABSENT:
            raise KeyError(place)
        if start >= self._written and self._buffer:
            begin = start - self._written
            return bytes(self._buffer[begin : begin + length])
        return read_at(self._descriptor, start, length)

    def close(self) -> None:
        """Release the file. Closing twice is harmless."""
        if self._descriptor != _ABSENT:
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


class LazyEvidence(Sequence[Evidence]):
    """A run's evidence, in the run's order: each is decoded when somebody reads it.

    ``decode`` gives the evidence of a place. A small run is decoded once; of a large one, whoever needs an evidence
    twice decodes it twice, so that reading it takes no memory. Equal to any sequence of equal evidence; pickled whole.
    """

    __slots__ = ("_count", "_decode", "_kept", "facts", "line")

    def __init__(
        self,
        count: int,
        decode: Callable[[int], Evidence],
        *,
        facts: Sequence[Judged] | None = None,
        line: Callable[[int], bytes] | None = None,
    ) -> None:
        self.facts = facts
        """The facts of each answer, in the same order, where they are at hand."""
        self.line = line
        """The line of a place as it is kept: in it, without decoding, one may look for what few evidences have."""
        self._count = count
        self._decode = decode
        self._kept: list[Evidence | None] | None = [None] * count if count <= _MOST_DECODED else None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Evidence: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Evidence, ...]: ...
    def __getitem__(self, place: int | slice) -> Evidence | tuple[Evidence, ...]:
        if isinstance(place, slice):
            return tuple(map(self._at, range(self._count)[place]))
        return self._at(range(self._count)[place])

    def __iter__(self) -> Iterator[Evidence]:
        return map(self._at, range(self._count))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<evidence of {self._count:,} answers>"

    def __reduce__(self) -> tuple[type[tuple[Evidence, ...]], tuple[list[Evidence]]]:
        return tuple, (list(self),)

    def _at(self, place: int) -> Evidence:
        kept = self._kept
        if kept is None:
            return self._decode(place)
        found = kept[place]
        if found is None:
            found = kept[place] = self._decode(place)
        return found
