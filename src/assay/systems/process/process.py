"""One run of a command, limited in time and memory."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from threading import Thread
from time import monotonic
from typing import IO

from msgspec import Struct

from assay.platform.safeguards import has_process_groups

_MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_KEPT_ERROR_BYTES = 64 * 1024
_PORTION_BYTES = 64 * 1024
_REAP_S = 2.0


class Done(Struct, frozen=True, kw_only=True):
    """How a command ended. ``trouble`` says why it had to be killed; None where it ended by itself."""

    status: int
    """The exit status; negative: minus the signal's number."""
    output: bytes
    errors: bytes
    """The end of standard error."""
    trouble: str | None = None


class Process:
    """A started command, in its own process group. Raises OSError and ValueError as Popen does."""

    def __init__(self, words: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=has_process_groups(),
        )
        self._output = bytearray()
        self._errors = bytearray()
        self._trouble: str | None = None

    def communicate(self, given: bytes, *, timeout_s: float) -> Done:
        """Write ``given`` to standard input, read all output, and wait; kill the command where it takes too long."""
        deadline = monotonic() + timeout_s
        threads = [
            Thread(target=self._write, args=(given,), daemon=True),
            Thread(target=self._read_output, daemon=True),
            Thread(target=self._read_errors, daemon=True),
        ]
        for thread in threads:
            thread.start()
        # Wait for the end of the output, not of the command: a child that it left behind may still be writing.
        for thread in threads[1:]:
            thread.join(max(0.0, deadline - monotonic()))
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - monotonic()))
        if self._process.returncode is None or any(thread.is_alive() for thread in threads[1:]):
            self._trouble = self._trouble or f"did not end within {timeout_s:g} s and was killed"
            self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_S)
        for thread in threads:
            thread.join(_REAP_S)
        status = self._process.returncode
        return Done(
            status=-int(signal.SIGTERM) if status is None else status,
            output=bytes(self._output),
            errors=bytes(self._errors),
            trouble=self._trouble,
        )

    def kill(self) -> None:
        """Kill the command and all processes in its group. Harmless where it has ended."""
        if has_process_groups():
            # Children may outlive their leader, so the group is tried whether or not the leader has ended.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        elif self._process.poll() is None:
            self._process.kill()

    def _write(self, given: bytes) -> None:
        stream = _stream(self._process.stdin)
        # A command need not read its input.
        with contextlib.suppress(OSError), stream:
            stream.write(given)

    def _read_output(self) -> None:
        with _stream(self._process.stdout) as stream:
            while portion := stream.read1(_PORTION_BYTES):  # type: ignore[attr-defined]
                self._output += portion
                if len(self._output) > _MAX_OUTPUT_BYTES:
                    self._trouble = f"wrote more than {_MAX_OUTPUT_BYTES // 2**20} MiB and was killed"
                    self._output.clear()
                    self.kill()
                    return

    def _read_errors(self) -> None:
        with _stream(self._process.stderr) as stream:
            while portion := stream.read1(_PORTION_BYTES):  # type: ignore[attr-defined]
                self._errors += portion
                del self._errors[:-_KEPT_ERROR_BYTES]


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("the process was started with pipes")
    return stream
