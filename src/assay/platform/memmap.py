"""Arrays beyond a size lie in files, so that memory stays bounded where results do not.

A file is nameless from the moment it is opened: nobody else can open it, and the system removes it with the process,
however that ends. What is read of it is memory that the system takes back when it needs some.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import DatabaseError

MANY_BYTES = 512 * 1024 * 1024
"""Arrays of one result that take more than this together lie in files."""


class MemmapWriter:
    """An array that is written part by part, and then read as a whole."""

    __slots__ = ("_dtype", "_file", "count")

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self.count = 0
        """How many values were written."""
        try:
            self._file = tempfile.TemporaryFile(prefix="assay-", buffering=0)  # noqa: SIM115 - it lives with its array
        except OSError as error:
            raise _no_room(error) from None

    def append(self, values: NDArray[Any]) -> None:
        """Write more values. Raises DatabaseError where there is no room for them."""
        left = np.ascontiguousarray(values, dtype=self._dtype).view(np.uint8).data
        self.count += len(values)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise _no_room(error) from None

    def array(self, count: int | None = None) -> NDArray[Any]:
        """The first ``count`` values, or all of them; not to be changed. Nothing is written after that."""
        count = self.count if count is None else count
        with self._file:
            if not count:
                return np.zeros(0, dtype=self._dtype)
            return np.memmap(self._file, dtype=self._dtype, mode="r", shape=(count,))

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # of a result that came to nothing
            self._file.close()


def _no_room(error: OSError) -> DatabaseError:
    return DatabaseError(
        f"a result of more than {MANY_BYTES // 2**20:,} MiB has no room in the temporary folder"
        f" {tempfile.gettempdir()!r} ({error.strerror or error}): free some, or name another folder by TMPDIR"
    )
