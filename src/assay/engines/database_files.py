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
    """What engines of database files have in common. `MEMORY` stands for an empty database without a file."""

    __slots__ = ()

    kind: ClassVar[str]
    """What to call such a file in messages: ``SQLite database``."""
    magic: ClassVar[bytes]
    """The bytes that such a file has at ``magic_offset``."""
    magic_offset: ClassVar[int] = 0
    beside: ClassVar[tuple[str, ...]]
    """What is appended to the file's name for the files that may hold a part of its content."""

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Raise DatabaseError unless such a file is there and can be read."""
        check_no_parameters(url, cls.kind)
        if url.path != MEMORY:
            _check_file(url.path, kind=cls.kind, magic=cls.magic, offset=cls.magic_offset)

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the file's content, see `fingerprint_file`. Raises DatabaseError where it cannot be read."""
        if url.path == MEMORY:
            return "empty"
        cls.check(url)
        return fingerprint_file(url.path)


def check_no_parameters(url: DatabaseUrl, kind: str) -> None:
    """Raise DatabaseError for a URL of a file with parameters: none would have an effect."""
    before, mark, _ = url.text.partition("?")
    if mark:
        raise DatabaseError(
            f"{url}: a {kind} has no parameters, and is read-only in any case: write {before}, or %3F for a ? in a name"
        )


def _check_file(path: str, *, kind: str, magic: bytes, offset: int) -> None:
    file_path = Path(path)
    if file_path.is_dir():
        raise DatabaseError(f"{path!r} is a directory, and a {kind} is a file: name the file in it")
    if file_path.exists() and not file_path.is_file():  # reading a pipe could take for ever
        raise DatabaseError(f"{path!r} is a pipe or a device, and a {kind} is a file: name one")
    try:
        with open(file_path, "rb") as file:
            head = file.read(offset + len(magic))
    except FileNotFoundError:
        raise DatabaseError(f"there is no {kind} at {path!r}{_hint(file_path)}") from None
    except PermissionError:
        raise DatabaseError(f"the {kind} {path!r} cannot be read: this user has no permission to") from None
    except (OSError, ValueError) as error:
        raise DatabaseError(f"the {kind} {path!r} cannot be read: {error}") from None
    if not head:
        raise DatabaseError(f"{path!r} is an empty file and no {kind}: was it ever written?")
    if head[offset:] != magic:
        raise DatabaseError(f"{path!r} is no {kind}: it begins with {head[:16]!r}")


def _hint(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        return f": there is no folder {str(path.parent)!r}, only {str(folder)!r}"
    close = difflib.get_close_matches(path.name, sorted(os.listdir(folder)), n=1)
    return f"; did you mean {str(folder / close[0])!r}?" if close else f": {str(folder)!r} holds no such file"


def files_beside(url: DatabaseUrl, belongs: Callable[[str], bool]) -> tuple[DatabaseUrl, ...]:
    """The URLs of the other files whose names belong in a folder of the database's own name, sorted by name.

    Spider's test suite is laid out so: ``concert_singer/concert_singer.sqlite`` with its siblings in the same folder.
    In any other folder, neighbouring files are databases of their own, and the answer is empty.
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
