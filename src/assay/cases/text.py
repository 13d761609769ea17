"""Read text files: UTF-8 with or without a byte order mark, any line ends."""

from __future__ import annotations

import codecs
from pathlib import Path

from assay.errors import CaseFileError

HEAD_BYTES = 65_536
"""How much of a file is looked at to tell what it is."""

_OTHER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def unreadable(path: Path, error: OSError) -> CaseFileError:
    """The error of a file that the system does not let us read."""
    return CaseFileError(f"cannot be read: {error.strerror or error}", path=str(path))


def empty(path: Path) -> CaseFileError:
    """The error of a file that holds nothing."""
    return CaseFileError("is empty: nothing to read; was it written completely?", path=str(path))


def read_text(path: Path) -> str:
    """A file's text, line ends as they are. Raises CaseFileError where it is empty or not UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    for mark, encoding in _OTHER_MARKS:
        if data.startswith(mark):
            raise CaseFileError(f"is encoded as {encoding}: save it as UTF-8", path=str(path))
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data or data.isspace():
        raise empty(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        raise CaseFileError(
            f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8 (it may be Latin-1 or Windows-1252)",
            path=str(path),
            place=f"line {line}, column {column}",
        ) from error


def lines_of(text: str) -> list[str]:
    """The lines without their ends. Only ``\\n`` and ``\\r\\n`` end a line: SQL may hold other separators."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def head_of(path: Path) -> str:
    """The start of a file, to tell what it is; empty where it cannot be read. A last broken character is dropped."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES).removeprefix(codecs.BOM_UTF8).decode("utf-8", "ignore")
    except OSError:
        return ""
