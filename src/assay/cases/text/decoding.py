"""Read text files: UTF-8, the encoding of a byte order mark, or one that the user names; with any line ends."""

from __future__ import annotations

import codecs
import contextlib
import stat
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Final

from assay.errors import CaseFileError, InputError
from assay.platform.surface import option

HEAD_BYTES = 65_536
"""How many bytes of a file are read to recognise its format."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16, since the little-endian UTF-32 mark begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks: they state a file's encoding."""

_NO_TEXTS = (
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"PK\3\4", "a ZIP archive, as Excel workbooks are"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"%PDF", "a PDF document"),
)
"""The first bytes of files that are not text."""


_ALIKE: Final = 0.5
"""How much of a file's name but for its suffix must be alike: the same suffix alone makes no misspelling."""


def closest_file(path: Path) -> str | None:
    """The name in the folder of a missing file that it is probably a misspelling of."""
    stem, names = path.stem.lower(), list[str]()
    with contextlib.suppress(OSError):
        for each in sorted(path.absolute().parent.iterdir()):
            if SequenceMatcher(None, stem, each.stem.lower()).ratio() >= _ALIKE:
                names.append(each.name)
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[one] for one in get_close_matches(path.name.lower(), by_lower, n=1)), None)


def unreadable(path: Path, error: OSError) -> CaseFileError:
    """The error for a file that cannot be opened; for a missing one, with the closest name."""
    near = closest_file(path) if isinstance(error, FileNotFoundError) else None
    hint = f' (did you mean "{near}"?)' if near else ""
    return CaseFileError(f"cannot be read: {error.strerror or error}{hint}", path=str(path))


def empty(path: Path) -> CaseFileError:
    """The error for an empty file."""
    return CaseFileError("the file is empty. Was it written completely?", path=str(path))


MOST_BYTES = 512 << 20
"""The largest file that is read: its content takes several times its size in memory."""


def check_size(path: Path, most: int = MOST_BYTES, hint: str = "split it, or omit what is not needed") -> None:
    """Raise CaseFileError for a source without an end (a pipe, a device), and for a file that is too large."""
    try:
        about = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    if stat.S_ISDIR(about.st_mode):
        return  # opening the file reports this
    if not stat.S_ISREG(about.st_mode):
        raise CaseFileError("is a pipe or a device, not a file: write its output to a file", path=str(path))
    if about.st_size > most:
        raise CaseFileError(f"has {about.st_size >> 20:,} MiB; the limit is {most >> 20:,} MiB: {hint}", path=str(path))


def read_text(path: Path, encoding: str | None = None, *, hint: str | None = None) -> str:
    """A file's text, with its line ends unchanged.

    ``encoding`` None: by its byte order mark, else UTF-8; ``hint`` says what to do for another encoding. Raises
    CaseFileError if the file is empty, is not in that encoding, or begins with another one's mark; InputError for an
    unknown encoding.
    """
    check_size(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    mark, marked = _mark_of(data)
    used = _encoding(path, encoding, marked)
    data = data[len(mark) :]
    if not data or data.isspace():
        raise empty(path)
    if encoding is None and not mark and (name := _unmarked_utf16(data)):
        raise CaseFileError(f"is UTF-16 without a byte order mark, not UTF-8: {hint or _named(name)}", path=str(path))
    try:
        text = data.decode(used)
    except UnicodeDecodeError as error:
        other = next((name for magic, name in _NO_TEXTS if data.startswith(magic)), None)
        if other is not None:
            raise CaseFileError(f"is {other}, not a text", path=str(path)) from error
        before = data[: error.start].decode(used, "replace")
        raise CaseFileError(
            f"byte 0x{data[error.start]:02x} is not {used.upper()}"
            + (", perhaps Windows-1252 or Latin-1: " if used == "utf-8" else ": ")
            + (hint or _named("cp1252" if used == "utf-8" else "NAME")),
            path=str(path),
            place=f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}",
        ) from error
    if "\0" in text:
        raise _zero(path, text)
    return text


def _named(encoding: str) -> str:
    """How to name the encoding of a text."""
    cases, predictions = (option(name, encoding) for name in ("--encoding", "--prediction-encoding"))
    return f"save it as UTF-8, or name its encoding:  {cases}  (for the file of predictions:  {predictions})"


def _unmarked_utf16(data: bytes) -> str | None:
    """The kind of UTF-16 in which more than a quarter of the bytes before the last zeros are zero; None for others."""
    head = data[:HEAD_BYTES].rstrip(b"\0")
    if head.count(0) * 4 <= len(head):
        return None
    return "utf-16-be" if head[::2].count(0) > head[1::2].count(0) else "utf-16-le"


def _zero(path: Path, text: str) -> CaseFileError:
    """The error for a text with zero bytes, which no question or query contains."""
    whole = text.rstrip("\0")
    at = text.index("\0")
    place = f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"
    if at == len(whole):
        reason = f"ends in {len(text) - at:,} zero bytes, as after a crash or on a full disk: write the file again"
    else:
        reason = "contains a zero byte (NUL), which text does not have: remove it, or write the file again"
    return CaseFileError(reason, path=str(path), place=place)


def _mark_of(data: bytes) -> tuple[bytes, str | None]:
    return next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", None))


def _encoding(path: Path, named: str | None, marked: str | None) -> str:
    if named is None:
        return marked or "utf-8"
    try:
        known = codecs.lookup(named)
        # Not every text codec can read files: "idna" and "punycode" are for host names.
        if known.name in ("idna", "punycode", "undefined"):
            raise LookupError
        "".encode(known.name)
    except (LookupError, ValueError):
        raise InputError(
            f"unknown text encoding {named!r}: write for example utf-8, utf-16, latin-1 or cp1252"
        ) from None
    if marked is not None:
        if not marked.startswith(known.name.removesuffix("-sig")):
            raise CaseFileError(f"begins with the mark of {marked.upper()}, and {named} was named", path=str(path))
        return marked
    return known.name


def lines_of(text: str) -> list[str]:
    """The lines without their ends. Only ``\\n`` and ``\\r\\n`` end a line: SQL may contain other separators."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def head_of(path: Path) -> str:
    """The start of a file, to recognise its format; empty if unreadable. A cut-off last character is dropped."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            data = file.read(HEAD_BYTES)
    except OSError:
        return ""
    mark, marked = _mark_of(data)
    return data[len(mark) :].decode(marked or "utf-8", "ignore")
