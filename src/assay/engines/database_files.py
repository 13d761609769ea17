"""Database files: check that they exist, list their siblings, and hash their content."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
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
_HEAD_BYTES = 512
_MOST_LOOKED_AT = 1_000
_SHOWN = 3
_KINDS = (
    (0, b"SQLite format 3\0", "a SQLite database: write sqlite:/// instead"),
    (8, b"DUCK", "a DuckDB database: write duckdb:/// instead"),
    (0, b"PAR1", "a Parquet file, not a database: load it into one"),
    (0, b"PK\3\4", "a ZIP archive or an Office document: unpack it first"),
    (0, b"\x1f\x8b", "compressed by gzip: unpack it first"),
    (4, b"1AY&SY", "compressed by bzip2: unpack it first"),
    (0, b"7z\xbc\xaf", "a 7z archive: unpack it first"),
    (0, b"PGDMP", "a dump of PostgreSQL: restore it with pg_restore, and name the server's database"),
    (4, b"Standard ACE DB", "a database of Microsoft Access: convert it to SQLite first"),
    (4, b"Standard Jet DB", "a database of Microsoft Access: convert it to SQLite first"),
    (0, b"version https://git-lfs", "a pointer of Git LFS: run  git lfs pull"),
)
"""Files that are taken for a database: the place of their first bytes, these bytes, and what to do."""
_SCRIPT = re.compile(r"(?:--|/\*|create\b|insert\b|pragma\b|begin\b|drop\b|set\b)", re.IGNORECASE)
_WINDOWS = re.compile(r"/?(?P<drive>[A-Za-z]):[\\/]|\\\\")


class DatabaseFile:
    """Common parts of engines for database files. `MEMORY` means an empty database without a file."""

    __slots__ = ()

    kind: ClassVar[str]
    """The name of such a file in messages: ``SQLite database``."""
    magic: ClassVar[bytes]
    """The bytes that such a file has at ``magic_offset``."""
    magic_offset: ClassVar[int] = 0
    beside: ClassVar[tuple[str, ...]]
    """Suffixes, appended to the file's name, of the files that may contain a part of its content."""

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
        return url.digest_of_tables or fingerprint_file(url.path)


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
        raise DatabaseError(f"{path!r} is a folder, but a {kind} is a file: {_within(file_path, magic, offset)}")
    if file_path.exists() and not file_path.is_file():  # reading a pipe could block forever
        raise DatabaseError(f"{path!r} is a pipe or a device, but a {kind} is a file: name a file")
    try:
        with open(file_path, "rb") as file:
            head = file.read(offset + len(magic))
    except FileNotFoundError:
        raise DatabaseError(f"there is no {kind} at {path!r}{_hint(file_path, kind, magic, offset)}") from None
    except PermissionError:
        raise DatabaseError(f"the {kind} {path!r} cannot be read: permission denied") from None
    except (OSError, ValueError) as error:
        raise DatabaseError(f"the {kind} {path!r} cannot be read: {error}") from None
    if not head:
        raise DatabaseError(f"{path!r} is an empty file, not a {kind}")
    if head[offset:] != magic:
        raise DatabaseError(f"{path!r} is not a {kind}: it is {_kind_of(file_path)}")


def _within(folder: Path, magic: bytes, offset: int) -> str:
    """The name to write for the databases in a folder."""
    files = _files_in(folder, magic, offset)
    if not files:
        return "there is none in it"
    shown = f"write the path of the file, for example {str(files[0])!r}"
    if len(files) > 1:
        shown += f", or {str(folder / f'{{db_id}}{files[0].suffix}')!r} for the database of each case"
    return shown


def _files_in(folder: Path, magic: bytes, offset: int) -> list[Path]:
    """The databases in a folder, by their content."""
    try:
        found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))[:_MOST_LOOKED_AT]
    except OSError:
        return []
    return [path for path in found if _head(path)[offset:].startswith(magic)]


def _head(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""


def _kind_of(path: Path) -> str:
    """What a file is instead of a database, and what to do with it."""
    head = _head(path)
    for at, magic, kind in _KINDS:
        if head[at:].startswith(magic):
            return kind
    start = head.decode("utf-8", "ignore").strip()
    if b"\0" in head or not start[:1].isprintable() or not start:
        return f"a file that begins with {head[:16]!r}"
    if _SCRIPT.match(start):
        return f"a SQL script: load it first, for example  sqlite3 NAME.sqlite < {path.name}"
    return f"a text that begins with {start.splitlines()[0][:40]!r}"


def _hint(path: Path, kind: str, magic: bytes, offset: int) -> str:
    """For a missing database: the one in its folder with a similar name, or which ones are there."""
    folder = path.parent
    if os.name != "nt" and (found := _WINDOWS.match(str(path))):
        drive = (
            f", for example /mnt/{found['drive'].lower()}/… for drive {found['drive']}: in WSL"
            if found["drive"]
            else ""
        )
        return f": this is a path of Windows, and this system has others: write the file's path here{drive}"
    if not folder.is_dir():
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        return f": the folder {str(path.parent)!r} does not exist in {str(folder.absolute())!r}"
    files = {file.stem: str(file) for file in reversed(_files_in(folder, magic, offset))}
    if close := difflib.get_close_matches(path.stem, files, n=1):
        return f"; did you mean {files[close[0]]!r}?"
    if not files:
        return f": the folder {str(folder.absolute())!r} contains no {kind}"
    there = sorted(files.values())
    return f": its folder has {', '.join(map(repr, there[:_SHOWN]))}{', …' if len(there) > _SHOWN else ''}"


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
