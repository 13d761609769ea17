"""What engines gave before, in this run or another, if it is certain that they would give it again."""

from __future__ import annotations

import os
import platform
import sys
import time
from contextlib import suppress
from functools import cache
from typing import Any

from assay._version import __version__
from assay.engines.database_files import MEMORY
from assay.engines.execution_cache.content import WatchedFile
from assay.engines.execution_cache.entry import decode_execution, encode_execution
from assay.engines.execution_cache.folder import CacheFolder, key_of
from assay.model import DatabaseUrl, Execution, Limits
from assay.ports import Engine, EngineClass


class ExecutionCache:
    """The executions of databases whose content can be told: files of SQLite and DuckDB.

    Call `watch` before a connection is opened, and `get` and `put` with that connection. Nothing is found or kept once
    the file has changed since `watch`: what the connection then reads is known to nobody.
    """

    def __init__(self, folder: CacheFolder, limits: Limits) -> None:
        self._folder = folder
        self._limits = (limits.timeout_s, limits.max_rows, limits.max_result_bytes, limits.max_memory_bytes)
        self._files: dict[str, WatchedFile] = {}
        self._sessions: dict[str, str] = {}
        """By URL, what decides answers besides content and query."""

    def watch(self, url: DatabaseUrl, engine_class: EngineClass) -> None:
        """Note which file is about to be opened."""
        beside = getattr(engine_class, "beside", None)
        tells = all(callable(getattr(engine_class, name, None)) for name in ("session", "repeats"))
        self._files.pop(url.text, None)
        self._sessions.pop(url.text, None)
        if tells and isinstance(beside, tuple) and url.path != MEMORY:
            self._files[url.text] = WatchedFile(url.path, beside)

    def get(self, url: DatabaseUrl, engine: Engine, query: str) -> Execution | None:
        """What the engine gave to this query on this content; None if that is not known."""
        try:
            key = self._key(url, engine, query)
            content = None if key is None else self._folder.get(key)
            return None if content is None else decode_execution(query, content)
        except MemoryError:  # the query is not to blame
            return None

    def put(self, url: DatabaseUrl, engine: Any, query: str, execution: Execution) -> None:
        """Keep what the engine just gave, if it would give it again."""
        with suppress(MemoryError):  # the query has what it needs
            file = self._files.get(url.text)
            if not execution.succeeded or file is None or not file.unchanged() or not engine.repeats(query):
                return
            # After `repeats`, which asks what the engine noticed last: telling the session may run queries, too.
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
    """What an engine takes from the process around it: time zone, locale, the C library's arithmetic."""
    return (
        __version__,
        sys.version,
        platform.machine(),
        *platform.libc_ver(),
        *time.tzname,
        *[os.environ.get(name) for name in ("TZ", "LANG", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_NUMERIC", "LC_TIME")],
        os.path.realpath("/etc/localtime"),
    )
