"""Database files: check that they exist, list their siblings, and hash their content."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from assay.errors import DatabaseError
from assay.model import DatabaseUrl

MEMORY = ":memory:"
_WHOLE_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_SAMPLES = 16


class DatabaseFile:
    """Common parts of engines for database files. `MEMORY` means an empty database without a file."""

    __slots__ = ()

    kind: ClassVar[str]
    """The name of such a file in messages: ``SQLite database``."""
    magic: ClassVar[bytes]
    """The bytes that such a file has at ``magic_offset``."""
    magic_offset: ClassVar[int] = 0
    beside: ClassVar[tuple[str, ...]]
    """Suffixes, appended to the file's name, of the files that may hold a part of its content."""

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Raise DatabaseError unless the file exists and can be read."""
        check_no_parameters(url, cls.kind)
        if url.path != MEMORY:
            _check_file(url.path, kind=cls.kind, magic=cls.magic, offset=cls.magic_offset)

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the file's content, see `fingerprint_file`. Raises DatabaseError if it cannot be read."""
        if url.path == MEMORY:
            return "empty"
        cls.check(url)
        return fingerprint_file(url.path)


def check_no_parameters(url: DatabaseUrl, kind: str) -> None:
    """Raise DatabaseError for a URL of a file with parameters: none would have an effect."""
    before, mark, _ = url.text.partition("?")
    if mark:
        raise DatabaseError(
            f"{url}: a {kind} has no parameters, and is always read-only: write {before}, or %3F for a ? in a name"
        )


def _check_file(path: str, *, kind: str, magic: bytes, offset: int) -> None:
    file_path = Path(path)
    if file_path.is_dir():
        raise DatabaseError(f"{path!r} is a directory, but a {kind} is a file: name the file in it")
    if file_path.exists() and not file_path.is_file():  # reading a pipe could block forever
        raise DatabaseError(f"{path!r} is a pipe or a device, but a {kind} is a file: name a file")
    try:
        with open(file_path, "rb") as file:
            head = file.read(offset + len(magic))
    except FileNotFoundError:
        raise DatabaseError(f"there is no {kind} at {path!r}{_hint(file_path)}") from None
    except PermissionError:
        raise DatabaseError(f"the {kind} {path!r} cannot be read: permission denied") from None
    except (OSError, ValueError) as error:
        raise DatabaseError(f"the {kind} {path!r} cannot be read: {error}") from None
    if not head:
        raise DatabaseError(f"{path!r} is an empty file, not a {kind}")
    if head[offset:] != magic:
        raise DatabaseError(f"{path!r} is not a {kind}: it begins with {head[:16]!r}")


def _hint(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        return f": the folder {str(path.parent)!r} does not exist, only {str(folder)!r}"
    close = difflib.get_close_matches(path.name, sorted(os.listdir(folder)), n=1)
    return f"; did you mean {str(folder / close[0])!r}?" if close else f": {str(folder)!r} contains no such file"


def files_beside(url: DatabaseUrl, belongs: Callable[[str], bool]) -> tuple[DatabaseUrl, ...]:
    """The URLs of the other files with the database's suffix, if its folder has its name; sorted by name.

    This is the layout of Spider's test suite: ``concert_singer/concert_singer.sqlite`` with its siblings in the same
    folder. In any other folder, neighbouring files are separate databases, and the result is empty.
    """
    folder, own = os.path.split(url.path)
    if os.path.basename(os.path.abspath(folder)) != Path(own).stem:
        return ()
    return tuple(
        DatabaseUrl(text=f"{url.scheme}:///{quote(os.path.join(folder, name), safe='/: ', errors='surrogateescape')}")
        for name in sorted(os.listdir(folder or "."))
        if name != own and belongs(name)
    )


def fingerprint_file(path: str) -> str:
    """A BLAKE2b hash of a file's content.

    For a file above 256 MB, the hash covers its size, its time of change and 16 samples of 1 MB instead, and begins
    with ``sampled-``.
    """
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_size <= _WHOLE_BYTES:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
            return digest.hexdigest()
        digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
        step = (status.st_size - _CHUNK_BYTES) // (_SAMPLES - 1)
        for sample in range(_SAMPLES):
            file.seek(sample * step)
            digest.update(file.read(_CHUNK_BYTES))
    return f"sampled-{digest.hexdigest()}"
