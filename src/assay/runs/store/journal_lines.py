"""The lines of a stored run's journal, each read from the file when it is asked for."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from assay.errors import RunError
from assay.kept import BINARY, read_at

_HELD_BYTES = 4 * 1024 * 1024
"""A journal up to this size is held in memory: hundreds of such runs may be read, and then none keeps a file open."""


class LinePlaces:
    """Where contents are in a file, and their checksums: 16 bytes each, since there may be a million."""

    __slots__ = ("lengths", "starts", "sums")

    def __init__(self) -> None:
        self.starts, self.lengths, self.sums = array("Q"), array("I"), array("I")

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, start: int, content: bytes) -> int:
        """Note that this content begins at ``start``, in bytes; the number of the place, from 0."""
        self.starts.append(start)
        self.lengths.append(len(content))
        self.sums.append(crc32(content))
        return len(self) - 1

    def ordered(self, order: Sequence[int]) -> LinePlaces:
        """The noted places in another order, or some of them; each number is a place's, as they were added."""
        made = LinePlaces()
        made.starts = array("Q", map(self.starts.__getitem__, order))
        made.lengths = array("I", map(self.lengths.__getitem__, order))
        made.sums = array("I", map(self.sums.__getitem__, order))
        return made


class JournalLines:
    """Contents of a journal, in a run's order. The file may be moved or removed; what was written over is noticed."""

    def __init__(self, path: Path, places: LinePlaces) -> None:
        self.path = path
        self._places = places
        self._content: bytes | None = None
        self._descriptor = os.open(path, os.O_RDONLY | BINARY)
        size = os.fstat(self._descriptor).st_size
        if size <= _HELD_BYTES:
            self._content = read_at(self._descriptor, 0, size)
            self.close()

    def __len__(self) -> int:
        return len(self._places)

    def line(self, place: int) -> bytes:
        """The content of a place. Raises RunError where it is not what it was when its place was noted."""
        start, length = self._places.starts[place], self._places.lengths[place]
        try:
            if self._content is not None:
                content = self._content[start : start + length]
            else:
                content = read_at(self._descriptor, start, length)
        except (OSError, EOFError) as error:
            raise self._changed() from error
        if crc32(content) != self._places.sums[place]:
            raise self._changed()
        return content

    def close(self) -> None:
        """Release the file. Closing twice is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.close()

    def _changed(self) -> RunError:
        return RunError(
            f"{self.path}: was written anew while its run was being read: read the run again once it is finished"
        )
