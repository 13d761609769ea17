"""Standard streams that a reader closes or that never existed: neither makes the command fail."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TextIO


def settle_streams() -> None:
    """Make standard output and error safe to write to for the rest of this process. Call it once, before all else.

    The reader of our output may stop (``assay report RUN | head``), and a service may have started us without
    streams. Output is then discarded and the command goes on, so that its reports and its exit status do not
    depend on the reader.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # os.open takes the lowest free descriptor, this one, so no file opened later can take its place.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = _Forgiving.of(sys.stdout, 1)
    sys.stderr = _Forgiving.of(sys.stderr, 2)


def flush_streams() -> OSError | None:
    """Flush both streams; returns the error if one of them cannot be written."""
    trouble = None
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            trouble = trouble or error
            # The interpreter would try again at its end to write the rest, and fail again.
            with suppress(OSError):
                _to_nowhere(stream.fileno())
                stream.flush()
    return trouble


def print_bytes(pieces: Iterable[bytes]) -> None:
    """Print bytes unchanged, as long as somebody reads them: reports are UTF-8 whatever the terminal's encoding."""
    sys.stdout.flush()
    for piece in pieces:
        # Whether the reader of a stream is known to be gone, so that no more need be made for it.
        raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
        if isinstance(raw, _Forgiving) and raw.abandoned:
            return
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


class _Forgiving(io.FileIO):
    """A descriptor that accepts every write, even after its reader is gone."""

    abandoned = False

    @classmethod
    def of(cls, stream: TextIO | None, descriptor: int) -> TextIO:
        """The stream over a descriptor that accepts every write."""
        settings: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
        if stream is not None:
            with suppress(OSError):
                stream.flush()
            if os.name == "nt" and stream.isatty():
                return stream  # a console takes text, and bytes only in an encoding of its own
            settings = {
                "encoding": stream.encoding,
                # A pipe or a file in an encoding such as Windows' own has no ≥: shown as an escape, it ends nothing.
                "errors": "backslashreplace" if stream.errors == "strict" else stream.errors,
                "line_buffering": getattr(stream, "line_buffering", False),
                "write_through": getattr(stream, "write_through", False),
            }
        raw = cls(descriptor, "w", closefd=False)
        return io.TextIOWrapper(io.BufferedWriter(raw), **settings)

    def write(self, content: Any, /) -> int:
        try:
            written = super().write(content)
        except BrokenPipeError:
            self.abandoned = True
            _to_nowhere(self.fileno())
            return len(content)
        return len(content) if written is None else written


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
