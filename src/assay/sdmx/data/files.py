"""Data from files: SDMX-CSV and SDMX-ML, one file or a folder of them, plain, gzipped or zipped."""

from __future__ import annotations

import codecs
import io
import zipfile
import zlib
from collections.abc import Iterator
from difflib import get_close_matches
from gzip import GzipFile
from pathlib import Path
from typing import IO

from assay.errors import InputError
from assay.sdmx.data.csv import add_csv, is_sdmx_csv
from assay.sdmx.data.observations import DataTables
from assay.sdmx.data.xml import NoMessage, add_xml
from assay.sdmx.structures.known import Structures

_PLAIN = (".csv", ".tsv", ".xml", ".sdmx")
_ENDINGS = (*_PLAIN, ".gz", ".zip")
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
MOST_UNPACKED = 1 << 30
"""The maximum of bytes unpacked from one file: as much as the stored observations take as text."""
_EXPECTED = "expected SDMX-CSV (1.0 or 2.0) or an SDMX-ML data message (2.1 or 3.0)"


def load_data(source: str, *, structures: Structures | None) -> DataTables:
    """The observations of a file, or of each CSV and XML file in a folder and below it.

    The folder may also contain structure messages and other CSV files. Raises InputError for a source that is absent,
    unreadable or without any observation, and MissingDependency for XML without lxml.
    """
    path = Path(source)
    tables = DataTables(name=f'"{path}"', structures=structures)
    files = list(_files(path))
    for file in files:
        _add_file(tables, file, structures, alone=file == path)
    if not tables.tables:
        lacking = f" ({tables.without_values} without the column OBS_VALUE)" if tables.without_values else ""
        raise InputError(
            f'"{path}" has no observations in {len(files)} file{"s" * (len(files) != 1)}{lacking}: {_EXPECTED}'
        )
    return tables


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        folder = path.parent
        names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
        near = get_close_matches(path.name, names, n=1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise InputError(f'"{path}" does not exist{hint}: give a file or folder of data, or the URL of a service')
    if not path.is_dir():
        yield path
        return
    found = sorted(one for one in path.rglob("*") if one.suffix.lower() in _ENDINGS and one.is_file())
    if not found:
        raise InputError(
            f'the folder "{path}" has no data: there is no file of {", ".join(_ENDINGS)} in it or below it'
        )
    yield from found


def _add_file(tables: DataTables, path: Path, structures: Structures | None, *, alone: bool) -> None:
    where = f'"{path}"'
    try:
        with path.open("rb") as file:
            beginning = file.read(4)
            file.seek(0)
            if beginning == _ZIP:
                _add_archive(tables, file, where, structures, alone=alone)
            elif beginning.startswith(_GZIP):
                _add_stream(tables, _Unpacked(GzipFile(fileobj=file), where), where, structures, alone=alone)
            else:
                _add_stream(tables, file, where, structures, alone=alone)
    except (EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(f"{where} cannot be unpacked: {error}. Fetch or save it again") from None
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror or error}") from error


def _add_archive(
    tables: DataTables, file: IO[bytes], where: str, structures: Structures | None, *, alone: bool
) -> None:
    with zipfile.ZipFile(file) as archive:
        named = [one for one in archive.infolist() if one.filename.lower().endswith(_PLAIN)]
        if alone and not named:
            raise InputError(f"{where} is a ZIP archive without a file of {', '.join(_PLAIN)}")
        for one in named:
            inside = f"{where}, {one.filename[:200]!r} in it,"
            try:
                member = archive.open(one)
            except (RuntimeError, NotImplementedError) as error:  # a password; an unknown compression
                raise InputError(f"{inside} cannot be unpacked: {error}") from None
            with member:
                _add_stream(tables, _Unpacked(member, inside), inside, structures, alone=False)


class _Unpacked(io.RawIOBase):
    """The content of a packed file, up to a limit."""

    def __init__(self, content: IO[bytes] | GzipFile, where: str) -> None:
        self._content = content
        self._left = MOST_UNPACKED
        self._where = where

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        part = self._content.read(len(view))
        self._left -= len(part)
        if self._left < 0:
            raise InputError(
                f"{self._where} unpacks to more than {MOST_UNPACKED >> 20:,} MiB: give only the data of the cases"
            )
        view[: len(part)] = part
        return len(part)


def _add_stream(
    tables: DataTables,
    content: IO[bytes] | io.RawIOBase,
    where: str,
    structures: Structures | None,
    *,
    alone: bool,
) -> None:
    file = content if isinstance(content, io.BufferedReader) else io.BufferedReader(content, 1 << 16)  # type: ignore[type-var]
    beginning = file.peek(4096)[:4096]
    wide = beginning.startswith(_UTF16)
    text = beginning.decode("utf-16" if wide else "utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text.startswith("<"):
        file.read(len(beginning) - len(beginning.lstrip()))  # blanks before the declaration are harmless
        try:
            is_data = add_xml(tables, file, where=where, structures=structures)
        except NoMessage:
            if alone:
                raise
            is_data = False
        if alone and not is_data:
            raise InputError(f"{where} is SDMX-ML without data: {_EXPECTED}")
    elif is_sdmx_csv(text):
        try:
            with io.TextIOWrapper(file, encoding="utf-16" if wide else "utf-8-sig", newline="") as lines:
                add_csv(tables, iter(lines), where=where, structures=structures)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{where} is not valid {error.encoding.upper()} text (byte {error.start + 1}): save it as UTF-8"
            ) from None
    elif alone:
        what = "JSON" if text[:1] in ("{", "[") else _said_of(text)
        raise InputError(f"{where} is {what}: {_EXPECTED}")


def _said_of(text: str) -> str:
    header = text.partition("\n")[0].strip()
    if not header:
        return "empty"
    if any(mark in header for mark in ",;\t") and header.isprintable():
        return f"not SDMX-CSV, as it begins with {header[:40]!r} instead of its columns DATAFLOW or STRUCTURE"
    return "in an unknown format"
