"""The journal: one line a finished case, written as it finishes, read to resume."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from assay.errors import RunError

_LINE = re.compile(rb'\{"digest":"([0-9a-f]{24})","(?:evidence|prediction)":(\{.*\})\}\n', re.DOTALL)


class Journal:
    """Appends finished cases to ``RUN/journal.jsonl``, each line ``{"digest": ..., "evidence": ...}``.

    With the name ``answers.jsonl`` and the content ``prediction`` it keeps a live system's answers.

    A line is written with one call, so that a killed process leaves at most one torn line, the last:
    opening cuts it off. Only one process may write a folder's journal at a time. ``finished`` maps
    the digest of every case that an earlier run finished to its line of evidence.
    """

    def __init__(self, folder: Path, *, name: str = "journal.jsonl", content: str = "evidence") -> None:
        self.path = folder / name
        self._content = content.encode("ascii")
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock(self._descriptor, folder)
            self.finished = dict(_read(self.path, self._descriptor))
        except BaseException:
            os.close(self._descriptor)
            raise

    def append(self, digest: str, content: bytes) -> None:
        """Write one finished case. Raises RunError where the disk does not take it."""
        line = b'{"digest":"%s","%s":%s}\n' % (digest.encode("ascii"), self._content, content)
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot write the finished case ({error.strerror}); what was finished before is kept: "
                "make room and run the same command again"
            ) from error

    def clear(self) -> None:
        """Forget every finished case."""
        os.ftruncate(self._descriptor, 0)
        self.finished = {}

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _lock(descriptor: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no flock: there two runs in one folder are not noticed
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise RunError(f"{folder}: another process is writing this run; wait for it, or choose another -o") from error


def _read(path: Path, descriptor: int) -> Iterator[tuple[str, bytes]]:
    """The finished cases; a torn last line is cut off the file."""
    whole = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            found = _LINE.fullmatch(line)
            if found is None:
                raise RunError(f"{path}, line {number}: damaged; remove that line, or choose another -o")
            yield found[1].decode("ascii"), found[2]
    os.ftruncate(descriptor, whole)
