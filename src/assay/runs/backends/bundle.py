"""The files of a database, so that another machine can tell whether it has the same ones, or gets them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import blake2b

from msgspec import Struct

from assay.engines.database_files import MEMORY, DatabaseFile, fingerprint_file
from assay.model import DatabaseUrl, Limits
from assay.ports import EngineClass

_CHUNK_BYTES = 4 * 1024 * 1024
_LOGS = ("-wal", ".wal")
"""Files next to a database's file that belong to its content."""


class BundledFile(Struct, frozen=True, kw_only=True):
    """One file of a database."""

    name: str
    size: int
    changed_ns: int
    """When it was changed; of a large file, the fingerprint depends on it."""
    fingerprint: str


class Bundle(Struct, frozen=True, kw_only=True):
    """All files of a database: its own first, then its logs, and the databases of the same schema next to it."""

    folder: str
    """The name of the folder that they are in: by it an engine knows which files are siblings."""
    files: tuple[BundledFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def digest(self) -> str:
        """A hash of the content of all files and of their names."""
        digest = blake2b(digest_size=16)
        for text in (self.folder, *(f"{file.name}\0{file.fingerprint}" for file in self.files)):
            digest.update(text.encode("utf-8", "surrogateescape") + b"\n")
        return digest.hexdigest()


def is_file(engine: EngineClass, url: DatabaseUrl) -> bool:
    """Whether a database is a file of the machine that opens it."""
    return isinstance(engine, type) and issubclass(engine, DatabaseFile) and url.path != MEMORY


def bundle_of(engine: EngineClass, url: DatabaseUrl, limits: Limits) -> Bundle:
    """The files of a database of this machine. Raises DatabaseError if they cannot be read."""
    with closing(engine.open(url, limits)) as opened:
        siblings = [sibling.path for sibling in opened.siblings()]
    logs = [log for path in (url.path, *siblings) for ending in _LOGS if os.path.isfile(log := path + ending)]
    paths = [url.path, *sorted({*logs, *siblings} - {url.path})]
    folder = os.path.basename(os.path.dirname(os.path.abspath(url.path)))
    files = [
        BundledFile(
            name=os.path.basename(path),
            size=status.st_size,
            changed_ns=status.st_mtime_ns,
            fingerprint=fingerprint_file(path),
        )
        for path in paths
        for status in (os.stat(path),)
    ]
    return Bundle(folder=folder or "databases", files=tuple(files))


def chunks_of(path: str) -> Iterator[bytes]:
    """A file's content in pieces; an empty file is one empty piece."""
    with open(path, "rb") as file:
        yield file.read(_CHUNK_BYTES)
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def is_whole(folder: str, files: Sequence[BundledFile]) -> bool:
    """Whether a folder contains exactly these files, by their fingerprints."""
    for file in files:
        path = os.path.join(folder, file.name)
        if not os.path.isfile(path) or os.stat(path).st_size != file.size:
            return False
        os.utime(path, ns=(file.changed_ns, file.changed_ns))  # a large file's fingerprint depends on it
        if fingerprint_file(path) != file.fingerprint:
            return False
    return True
