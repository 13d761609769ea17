"""A judge's answers, cached on disk: the same question to the same model is paid for once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from types import TracebackType

import msgspec

from assay.errors import InputError
from assay.ports import ChatMessage, Completion

_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID"


class AnswerCache:
    """A file of answers by key, used by any number of threads and processes.

    Only complete answers are cached, never a failure. Raises InputError if the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        problem = f"{path}: cannot cache the judge's answers there"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, check_same_thread=False, timeout=30.0, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"{problem} ({error}): use another file") from error
        try:
            self._connection.execute(_SCHEMA)
        except sqlite3.Error as error:
            self._connection.close()
            raise InputError(f"{problem} ({error}): use another file") from error

    def get(self, key: bytes) -> Completion | None:
        """The answer cached under that key; None if there is none, or it cannot be read."""
        with self._lock:
            try:
                row = self._connection.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
            except sqlite3.Error as error:
                raise InputError(f"{self._path}: cannot read the judge's answers ({error})") from error
        if row is None:
            return None
        try:
            return msgspec.json.decode(row[0], type=Completion)
        except msgspec.MsgspecError:
            return None

    def put(self, key: bytes, answer: Completion) -> None:
        """Cache an answer."""
        content = msgspec.json.encode(answer)
        with self._lock:
            try:
                self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, content))
            except sqlite3.Error as error:
                raise InputError(f"{self._path}: cannot cache the judge's answer ({error})") from error

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> AnswerCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def cache_key(model: str, settings: object, messages: Sequence[ChatMessage], sample: int) -> bytes:
    """The key of an answer: a hash of the model's description, the settings, the whole prompt and the sample number."""
    said = [model, settings, [(message.role, message.content) for message in messages], sample]
    content = json.dumps(said, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=16).digest()
