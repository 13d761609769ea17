"""A folder of entries, each under a key and checked by a hash. Several processes may use it at once.

An entry is one file. It is written under a temporary name and then renamed, so a reader finds a complete entry or none;
what a crash, a full disk or a foreign program leaves there fails the check and counts as absent. Nothing here raises
because of the folder's content or the disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from assay.errors import InputError
from assay.platform.spool import BINARY

DEFAULT_BYTES = 2 * 1024**3
_FORMAT = "executions-2"
"""The folder within the given one. Incremented whenever older entries would be read incorrectly."""
_MAGIC = b"assay execution 1\n"
_DIGEST_BYTES = 32
_KEY_BYTES = 20
_ENTRY = re.compile(rf"[0-9a-f]{{{2 * _KEY_BYTES}}}\Z")
_UNFINISHED = re.compile(r"writing-\d+-[0-9a-f]+\Z")
_ABANDONED_S = 3600.0
"""An unfinished entry that is unchanged for this long has no writer any more."""
_SHARE = 4
"""The largest entry may take this share of the folder; a sweep leaves a quarter less than the maximum."""
_NOT_WRITABLE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT})


def key_of(*parts: object) -> bytes:
    """The key of an entry, from everything that determines its content."""
    text = "\0".join(f"{len(str(part))}:{part}" for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


class _Held(Struct, frozen=True):
    """One file of the folder."""

    used: int
    size: int
    path: str


class CacheFolder:
    """Entries of bytes, at most ``most_bytes`` after `make_room`; the least recently used are evicted first."""

    def __init__(self, path: Path, *, most_bytes: int = DEFAULT_BYTES) -> None:
        self._root = path / _FORMAT
        self._most_bytes = most_bytes
        self._step = most_bytes // _SHARE
        self._written = 0
        self._writes = True

    def shared_by(self, writers: int) -> CacheFolder:
        """The same folder for each of several processes, which make room before they write a quarter of the maximum."""
        shared = CacheFolder(self._root.parent, most_bytes=self._most_bytes)
        shared._step //= max(1, writers)
        return shared

    def get(self, key: bytes) -> bytes | None:
        """The content of a complete entry; None for any other."""
        path = self._path(key)
        try:
            # Non-blocking: there may be a pipe instead of the entry.
            waiting_not = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
            descriptor = os.open(path, os.O_RDONLY | BINARY | waiting_not)
        except (OSError, ValueError):
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > self._most_bytes:
                return None
            with open(descriptor, "rb", closefd=False) as file:
                written = file.read(status.st_size + 1)
        except (OSError, MemoryError):
            return None
        finally:
            os.close(descriptor)
        content = _checked(key, written)
        if content is not None:
            with contextlib.suppress(OSError):  # a folder that cannot be written can still be read
                os.utime(path)
        return content

    def put(self, key: bytes, content: bytes) -> None:
        """Store an entry, unless it is too large or the folder cannot be written."""
        size = len(_MAGIC) + _DIGEST_BYTES + len(content)
        if not self._writes or size > self._most_bytes // _SHARE:
            return
        self._written += size
        if self._written > self._step:
            self.make_room()
            self._written = size
        path = self._path(key)
        unfinished = path.parent / f"writing-{os.getpid()}-{os.urandom(6).hex()}"
        try:
            self._make(path.parent)
            with open(unfinished, "xb") as file:
                file.write(_MAGIC + _digest(key, content))
                file.write(content)
            os.replace(unfinished, path)
        except OSError as error:
            self._writes = error.errno not in _NOT_WRITABLE
            with contextlib.suppress(OSError):
                unfinished.unlink()

    def make_room(self) -> None:
        """If the folder exceeds its maximum size, remove the least recently used entries."""
        held = sorted(self._held(), key=lambda one: one.used)
        total = sum(one.size for one in held)
        if total <= self._most_bytes:
            return
        room = self._most_bytes - self._most_bytes // _SHARE
        for one in held:
            if total <= room:
                return
            with contextlib.suppress(OSError):
                os.unlink(one.path)
                total -= one.size

    def check(self) -> None:
        """Create the folder, and make room in it. Raises InputError if it is not a folder or cannot be created.

        A read-only folder is not an error: its entries can be used.
        """
        try:
            self._make(self._root)
            self.make_room()
        except OSError as error:
            if error.errno in _NOT_WRITABLE and self._root.parent.is_dir():
                return
            raise InputError(
                f"the cache {str(self._root.parent)!r} cannot be created ({error.strerror}): name another folder"
            ) from error

    def _make(self, path: Path) -> None:
        """Create a folder of entries for this user only: they contain data of the databases."""
        if not path.is_dir():
            os.makedirs(self._root.parent, mode=0o700, exist_ok=True)
            for folder in (self._root, path):
                folder.mkdir(mode=0o700, exist_ok=True)

    def _path(self, key: bytes) -> Path:
        name = key.hex()
        return self._root / name[:2] / name

    def _held(self) -> Iterator[_Held]:
        """The entries, including abandoned ones; files with other names are ignored."""
        abandoned = time.time() - _ABANDONED_S
        for folder in _listed(str(self._root)):
            for entry in _listed(folder.path) if folder.is_dir(follow_symlinks=False) else ():
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                unfinished = _UNFINISHED.match(entry.name) is not None
                if unfinished and status.st_mtime < abandoned:
                    with contextlib.suppress(OSError):
                        os.unlink(entry.path)
                elif unfinished or _ENTRY.match(entry.name):
                    yield _Held(status.st_mtime_ns, status.st_size, entry.path)


def _listed(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except OSError:
        return []


def _digest(key: bytes, content: bytes) -> bytes:
    """The hash includes the key: an entry under another's name is not valid."""
    digest = blake2b(key, digest_size=_DIGEST_BYTES)
    digest.update(content)
    return digest.digest()


def _checked(key: bytes, written: bytes) -> bytes | None:
    begin = len(_MAGIC) + _DIGEST_BYTES
    if len(written) < begin or not written.startswith(_MAGIC):
        return None
    content = written[begin:]
    return content if written[len(_MAGIC) : begin] == _digest(key, content) else None
