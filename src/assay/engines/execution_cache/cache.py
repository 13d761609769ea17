"""Earlier results of engines, in this run or another, if it is certain that the engines would return them again."""

from __future__ import annotations

import os
import platform
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from assay._version import __version__
from assay.engines.database_files import MEMORY
from assay.engines.execution_cache.entry import decode_execution, encode_execution
from assay.engines.execution_cache.folder import CacheFolder, key_of
from assay.model import DatabaseUrl, Execution, Limits
from assay.ports import Engine, EngineClass


class ExecutionCache:
    """The executions of databases whose content can be identified: files of SQLite and DuckDB.

    Call `watch` before a connection is opened, and `get` and `put` with that connection. Nothing is found or stored if
    the file has changed since `watch`, because it is unknown what the connection then reads.
    """

    def __init__(self, folder: CacheFolder, limits: Limits) -> None:
        self._folder = folder
        self._limits = (limits.timeout_s, limits.max_rows, limits.max_result_bytes, limits.max_memory_bytes)
        self._files: dict[str, WatchedFile] = {}
        self._sessions: dict[str, str] = {}
        """By URL, what determines results besides content and query."""

    def watch(self, url: DatabaseUrl, engine_class: EngineClass) -> None:
        """Note which file is about to be opened."""
        beside = getattr(engine_class, "beside", None)
        tells = all(callable(getattr(engine_class, name, None)) for name in ("session", "repeats"))
        self._files.pop(url.text, None)
        self._sessions.pop(url.text, None)
        if tells and isinstance(beside, tuple) and url.path != MEMORY:
            self._files[url.text] = WatchedFile(url.path, beside)

    def get(self, url: DatabaseUrl, engine: Engine, query: str) -> Execution | None:
        """The engine's result for this query on this content; None if unknown."""
        try:
            key = self._key(url, engine, query)
            content = None if key is None else self._folder.get(key)
            return None if content is None else decode_execution(query, content)
        except MemoryError:  # the query is not the cause
            return None

    def put(self, url: DatabaseUrl, engine: Any, query: str, execution: Execution) -> None:
        """Store the engine's last result, if the engine would return it again."""
        with suppress(MemoryError):  # the query has what it needs
            file = self._files.get(url.text)
            if not execution.succeeded or file is None or not file.unchanged() or not engine.repeats(query):
                return
            # After `repeats`, which uses what the engine noticed last: reading the session may run queries, too.
            key = self._key(url, engine, query)
            content = None if key is None else encode_execution(execution)
            if key is not None and content is not None and file.unchanged():
                self._folder.put(key, content)

    def _key(self, url: DatabaseUrl, engine: Any, query: str) -> bytes | None:
        file = self._files.get(url.text)
        digest = None if file is None else file.digest(self._folder)
        if digest is None:
            return None
        session = self._sessions.get(url.text)
        if session is None:
            settings = engine.session()
            if settings is None:
                return None
            session = self._sessions[url.text] = key_of(settings, *_machine()).hex()
        return key_of("execution", engine.name, type(engine).version(), session, digest.hex(), *self._limits, query)


@cache
def _machine() -> tuple[object, ...]:
    """What an engine takes from its process: time zone, locale, the C library's arithmetic."""
    return (
        __version__,
        sys.version,
        platform.machine(),
        *platform.libc_ver(),
        *time.tzname,
        *[os.environ.get(name) for name in ("TZ", "LANG", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_NUMERIC", "LC_TIME")],
        os.path.realpath("/etc/localtime"),
    )


_WHOLE_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_HEAD_BYTES = 64 * 1024
_SAMPLES = 64
_SAMPLE_BYTES = 4096
_TICK_S = 0.1
"""Longer than the tick of any clock that gives file times their fractions of a second."""
_WHOLE_SECONDS_S = 2.5
"""The same if times have no fractions."""
_SECOND_NS = 1_000_000_000


class FileState(Struct, frozen=True):
    """A file and its companion files at one moment."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: str, beside: Sequence[str]) -> FileState | None:
        """The current state; None if it identifies nothing: not a plain file, or a non-empty companion file."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        if os.name != "posix" or not stat.S_ISREG(status.st_mode):
            return None
        for other in beside:
            try:
                if os.stat(other).st_size:
                    return None
            except FileNotFoundError:
                continue
            except OSError:
                return None
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class WatchedFile:
    """A database file from the moment before it is opened. Create it before, and query it after opening.

    Its content is a hash. A file is read completely once. After that, it is identified by device, inode, size and the
    times of modification and change. A program can set back the time of modification, but not that of change; a file
    that replaced another has another inode. For what the times cannot show:

    - two changes within one tick of the file system's clock: a file is only read once its last change is older;
    - a file with companion files (a write-ahead log, a journal): its content is unknown while they are not empty;
    - a writer that the times do not show, for example through a memory map of the file: files up to 16 MiB are read
      completely for every connection, and of larger ones the first bytes, in which SQLite and DuckDB count changes,
      and 64 samples.

    If the system has no time of change (Windows), no content is identified.
    """

    __slots__ = ("_beside", "_digest", "_path", "_state")

    def __init__(self, path: str, beside: Sequence[str]) -> None:
        # Do not follow a link now: it may lead elsewhere when the file is opened, and then the state differs.
        self._path = os.path.abspath(path)
        self._beside = tuple(place + suffix for place in {self._path, os.path.realpath(path)} for suffix in beside)
        self._state = self._settled()
        self._digest: bytes | None = None

    def digest(self, folder: CacheFolder) -> bytes | None:
        """The hash of the content; None if it cannot be determined, or the file changed since it was first read.

        The folder stores the hashes of large files between runs.
        """
        if self._digest is None and self.unchanged():
            self._digest = self._read(folder)
        return self._digest if self.unchanged() else None

    def unchanged(self) -> bool:
        """Whether the file is unchanged since it was first read. Once it is not, this stays False."""
        if self._state is not None and FileState.of(self._path, self._beside) != self._state:
            self._state = None
        return self._state is not None

    def _settled(self) -> FileState | None:
        """The state, once a further change would show; waits a moment for a file that has just changed."""
        state = FileState.of(self._path, self._beside)
        if state is None:
            return None
        tick_s = _TICK_S if state.changed_ns % _SECOND_NS else _WHOLE_SECONDS_S
        age_s = time.time() - state.changed_ns / _SECOND_NS
        if age_s < 0:  # the clocks disagree
            return None
        if age_s < tick_s:
            time.sleep(tick_s - age_s)
        return state if FileState.of(self._path, self._beside) == state else None

    def _read(self, folder: CacheFolder) -> bytes | None:
        state = self._state
        try:
            with open(self._path, "rb") as file:
                status = os.fstat(file.fileno())
                if state is None or (status.st_dev, status.st_ino) != (state.device, state.inode):
                    return None
                if state.size <= _WHOLE_BYTES:
                    return _hash_whole(file.fileno())
                key = key_of("content", self._path, state, _hash_samples(file.fileno(), state.size).hex())
                if (known := folder.get(key)) is not None:
                    return known
                digest = _hash_whole(file.fileno())
        except OSError:
            return None
        if self.unchanged():
            folder.put(key, digest)
        return digest


def _hash_whole(descriptor: int) -> bytes:
    digest = blake2b(digest_size=32)
    position = 0
    while chunk := os.pread(descriptor, _CHUNK_BYTES, position):
        digest.update(chunk)
        position += len(chunk)
    return digest.digest()


def _hash_samples(descriptor: int, size: int) -> bytes:
    digest = blake2b(os.pread(descriptor, _HEAD_BYTES, 0), digest_size=16)
    for sample in range(_SAMPLES):
        digest.update(os.pread(descriptor, _SAMPLE_BYTES, (size - _SAMPLE_BYTES) * sample // (_SAMPLES - 1)))
    return digest.digest()
