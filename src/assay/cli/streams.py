"""Standard streams that a reader may close, or that were never there: neither is a failure of the command."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO


def settle_streams() -> None:
    """Make standard output and error safe to write to for the rest of this process. Called once, first of all.

    Whoever reads our output may stop (``assay report RUN | head``), and a service may have started us without
    any. What is written then goes nowhere, and the command goes on: its reports, and its exit status, are not
    the reader's to cut short.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest that is free is this one: no file that is opened later can take its place.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = _Forgiving.of(sys.stdout, 1)
    sys.stderr = _Forgiving.of(sys.stderr, 2)


def flush_streams() -> OSError | None:
    """Write out what is still held back; the trouble where the place it goes to does not take it."""
    trouble = None
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            trouble = trouble or error
            # What cannot be written would be tried again, and fail again, when the interpreter ends.
            with suppress(OSError):
                _to_nowhere(stream.fileno())
                stream.flush()
    return trouble


class _Forgiving(io.FileIO):
    """A descriptor that takes everything, also when nobody reads it any more."""

    @classmethod
    def of(cls, stream: TextIO | None, descriptor: int) -> TextIO:
        """The same stream over such a descriptor."""
        settings: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
        if stream is not None:
            with suppress(OSError):
                stream.flush()
            settings = {
                "encoding": stream.encoding,
                "errors": stream.errors,
                "line_buffering": getattr(stream, "line_buffering", False),
                "write_through": getattr(stream, "write_through", False),
            }
        raw = cls(descriptor, "w", closefd=False)
        return io.TextIOWrapper(io.BufferedWriter(raw), **settings)

    def write(self, content: Any, /) -> int:
        try:
            written = super().write(content)
        except BrokenPipeError:
            _to_nowhere(self.fileno())
            return len(content)
        return len(content) if written is None else written


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
