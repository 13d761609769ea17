"""Open a SQLite file without creating or changing any other file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from assay.errors import DatabaseError

_VERSIONS = slice(18, 20)
_WAL = b"\x02\x02"
_MEMORY = ":memory:"


def open_read_only(path: str) -> sqlite3.Connection:
    """A connection that cannot write, every statement its own transaction.

    SQLite makes two files next to a database in WAL mode, even to read it. So one whose log is absent or empty is
    opened as immutable; one with a log that no other process has open is read from a private copy. Raises
    sqlite3.Error, OSError or DatabaseError.
    """
    if path == _MEMORY:
        return _connect(_MEMORY, uri=False)
    with open(path, "rb") as file:
        wal_mode = file.read(_VERSIONS.stop)[_VERSIONS] == _WAL
    if not wal_mode:
        return _connect(f"{_uri(path)}?mode=ro")
    log = Path(f"{path}-wal")
    if not log.exists() or log.stat().st_size == 0:
        return _connect(f"{_uri(path)}?mode=ro&immutable=1")
    if Path(f"{path}-shm").exists():
        return _connect(f"{_uri(path)}?mode=ro")  # in use: read the same content as other processes
    folder = tempfile.mkdtemp(prefix="assay-wal-")
    copy = os.path.join(folder, "database")
    try:
        shutil.copyfile(path, copy)
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        writer = sqlite3.connect(copy, isolation_level=None)
        try:
            writer.execute("PRAGMA journal_mode=DELETE").fetchall()
        finally:
            writer.close()
        connection = _connect(f"{_uri(copy)}?mode=ro&immutable=1")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.Error as error:
        raise DatabaseError(
            f"the SQLite database {path!r} has a write-ahead log that cannot be read: {error}"
        ) from None
    finally:
        # If an open file can be deleted, no copy remains even if this process is killed.
        shutil.rmtree(folder, ignore_errors=True)
    return connection


def _connect(database: str, *, uri: bool = True) -> sqlite3.Connection:
    return sqlite3.connect(database, uri=uri, isolation_level=None, timeout=5.0)


def _uri(path: str) -> str:
    return Path(path).absolute().as_uri()
