"""Read text files: UTF-8, what a byte order mark says, or an encoding that the user names; any line ends."""

from __future__ import annotations

import codecs
from pathlib import Path

from assay.errors import CaseFileError, InputError

HEAD_BYTES = 65_536
"""How much of a file is looked at to tell what it is."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16, whose mark the little-endian one begins with.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks: where a file begins with one, there is nothing to guess."""

_SAY_SO = "name its encoding (--encoding, of predictions --prediction-encoding), or save it as UTF-8"


def unreadable(path: Path, error: OSError) -> CaseFileError:
    """The error of a file that the system does not let us read."""
    return CaseFileError(f"cannot be read: {error.strerror or error}", path=str(path))


def empty(path: Path) -> CaseFileError:
    """The error of a file that holds nothing."""
    return CaseFileError("is empty: nothing to read; was it written completely?", path=str(path))


def read_text(path: Path, encoding: str | None = None) -> str:
    """A file's text, line ends as they are.

    ``encoding`` None: what its byte order mark says, else UTF-8. Raises CaseFileError where it is empty, is not in
    that encoding, or begins with the mark of another; InputError for an encoding that there is not.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    mark, marked = _mark_of(data)
    used = _encoding(path, encoding, marked)
    data = data[len(mark) :]
    if not data or data.isspace():
        raise empty(path)
    try:
        text = data.decode(used)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(used, "replace")
        raise CaseFileError(
            f"byte 0x{data[error.start]:02x} is not {used.upper()}: {_SAY_SO}"
            + (" (it may be Latin-1 or Windows-1252)" if used == "utf-8" else ""),
            path=str(path),
            place=f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}",
        ) from error
    if encoding is None and not mark and text.count("\0") * 4 > len(text):
        raise CaseFileError(
            f"is no UTF-8: every other byte is zero, as in UTF-16 without a mark: {_SAY_SO}", path=str(path)
        )
    return text


def _mark_of(data: bytes) -> tuple[bytes, str | None]:
    return next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", None))


def _encoding(path: Path, named: str | None, marked: str | None) -> str:
    if named is None:
        return marked or "utf-8"
    try:
        known = codecs.lookup(named)
        # Not every codec of texts reads files: "idna" and "punycode" write host names.
        if known.name in ("idna", "punycode", "undefined"):
            raise LookupError
        "".encode(known.name)
    except (LookupError, ValueError):
        raise InputError(
            f"no encoding of text is called {named!r}: write utf-8, utf-16, latin-1, cp1252 or such"
        ) from None
    if marked is not None:
        if not marked.startswith(known.name.removesuffix("-sig")):
            raise CaseFileError(f"begins with the mark of {marked.upper()}, and {named} was named", path=str(path))
        return marked
    return known.name


def lines_of(text: str) -> list[str]:
    """The lines without their ends. Only ``\\n`` and ``\\r\\n`` end a line: SQL may hold other separators."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def head_of(path: Path) -> str:
    """The start of a file, to tell what it is; empty where it cannot be read. A last broken character is dropped."""
    try:
        with path.open("rb") as file:
            data = file.read(HEAD_BYTES)
    except OSError:
        return ""
    mark, marked = _mark_of(data)
    return data[len(mark) :].decode(marked or "utf-8", "ignore")
