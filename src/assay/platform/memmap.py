"""Arrays above a certain size are stored in files, so that memory stays bounded even if results are not.

Each file is unlinked as soon as it is opened: no other process can open it, and the system removes it when the process
ends in any way. Data read from it is memory that the system reclaims when it needs some.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import DatabaseError

MANY_BYTES = 512 * 1024 * 1024
"""Arrays of one result that together take more than this are stored in files."""


class MemmapWriter:
    """An array that is written in pieces, and then read as a whole."""

    __slots__ = ("_dtype", "_file", "count")

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self.count = 0
        """The number of values written."""
        try:
            self._file = tempfile.TemporaryFile(prefix="assay-", buffering=0)  # noqa: SIM115 - it lives with its array
        except OSError as error:
            raise _no_room(error) from None

    def append(self, values: NDArray[Any]) -> None:
        """Write more values. Raises DatabaseError if there is no room for them."""
        left = np.ascontiguousarray(values, dtype=self._dtype).view(np.uint8).data
        self.count += len(values)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise _no_room(error) from None

    def array(self, count: int | None = None) -> NDArray[Any]:
        """The first ``count`` values, or all of them; read-only. Nothing may be written after that."""
        count = self.count if count is None else count
        with self._file:
            if not count:
                return np.zeros(0, dtype=self._dtype)
            return np.memmap(self._file, dtype=self._dtype, mode="r", shape=(count,))

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # the result was not completed
            self._file.close()


def _no_room(error: OSError) -> DatabaseError:
    return DatabaseError(
        f"no room for a result of more than {MANY_BYTES // 2**20:,} MiB in the temporary folder "
        f"{tempfile.gettempdir()!r} ({error.strerror or error}): free some space, or set TMPDIR to "
        "another folder"
    )
