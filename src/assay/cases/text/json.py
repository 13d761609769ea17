"""Parse JSON and JSON Lines, with the place of what is wrong."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from assay.cases.records import Record, Table, document_table, record_of
from assay.cases.text.decoding import check_size, lines_of, read_text
from assay.errors import CaseFileError
from assay.platform.spool import Spool

_LARGE_BYTES = 512 * 1024
"""From this size on a file of lines is read line by line."""


_decode_fast = msgspec.json.Decoder().decode


class _RepeatedKey(ValueError):
    """One object names a key twice: the parser would keep the last and lose the others."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise _RepeatedKey(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return values


def json_table(path: Path, *, encoding: str | None = None) -> Table:
    """The records of a JSON file. Raises CaseFileError with line and column."""
    return document_table(path, parse_json(path, read_text(path, encoding)))


def parse_json(path: Path, text: str, *, number_of: Callable[[str], object] | None = None) -> object:
    """The document of a JSON text; ``number_of`` converts its numbers. Raises CaseFileError with line and column."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=number_of, parse_float=number_of)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and _is_lines(text):
            raise CaseFileError(
                "contains one JSON object per line: give the format jsonl, or name the file .jsonl", path=str(path)
            ) from error
        raise _malformed(path, error, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise _unusable(path, text, error, line=None) from error


def json_lines_table(
    path: Path, *, number_of: Callable[[str], object] | None = None, encoding: str | None = None
) -> Table:
    """The records of a JSON Lines file, without blank lines; ``number_of`` converts its numbers.

    Raises CaseFileError with line and column.
    """
    if number_of is None and (found := _large_table(path, encoding)) is not None:
        return found
    text = read_text(path, encoding)
    decode = json.JSONDecoder(object_pairs_hook=_object, parse_int=number_of, parse_float=number_of).decode
    records: list[Record] = []
    for number, line in enumerate(lines_of(text), start=1):
        if not line or line.isspace():
            continue
        try:
            value = decode(line)
        except json.JSONDecodeError as error:
            if not records and _is_document(text):
                raise _whole_document(path) from error
            raise _malformed(path, error, line=number) from error
        except (ValueError, RecursionError) as error:
            raise _unusable(path, line, error, line=number) from error
        if isinstance(value, list) and not records and _is_document(text):
            raise _whole_document(path)
        records.append(record_of(path, f"line {number}", value))
    return Table.of(path, records)


def _large_table(path: Path, encoding: str | None) -> Table | None:
    """The records of a large file, line by line, so that it is never in memory as a whole.

    None for a file that is not large, and for one with anything unusual: that is read as a whole, with its errors.
    """
    check_size(path)
    if encoding is not None or not path.is_file() or path.stat().st_size < _LARGE_BYTES:
        return None
    decode = json.JSONDecoder(object_pairs_hook=_object).decode
    records = Spool[Record](Record)
    columns: dict[str, None] = {}
    try:
        with path.open("rb", buffering=1 << 20) as file:
            for number, data in enumerate(file, start=1):
                values = _plain_object(data)
                if values is None:
                    line = data.decode("utf-8")
                    if not line or line.isspace():
                        continue
                    values = decode(line)
                    if not isinstance(values, dict) or "\0" in line:
                        return None
                records.append(Record(place=f"line {number}", values=values))
                columns.update(dict.fromkeys(values))
    except (OSError, ValueError, RecursionError):
        return None
    return Table(path=path, records=records, columns=tuple(columns), plain=True) if records else None


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _plain_object(line: bytes) -> dict[str, object] | None:
    """The object of a line, several times as fast as `json`; None for a line whose objects might name a key twice.

    They do not if each value is a single one, and the line has as many quotes as the keys and texts that were read.
    """
    try:
        values = _decode_fast(line)
    except (ValueError, RecursionError):
        return None
    if type(values) is not dict:
        return None
    kinds = list(map(type, values.values()))
    quotes = line.count(b'"')
    if b"\\" in line:
        if b"\\\\" in line:
            return None
        quotes -= line.count(b'\\"')
    return values if _PLAIN.issuperset(kinds) and quotes == 2 * (len(kinds) + kinds.count(str)) else None


def _is_lines(text: str) -> bool:
    first = text.lstrip().split("\n", 1)[0]
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _is_document(text: str) -> bool:
    try:
        return isinstance(json.loads(text), (list, dict))
    except (ValueError, RecursionError):
        return False


def _whole_document(path: Path) -> CaseFileError:
    return CaseFileError(
        "contains one JSON document, not one object per line: give the format json, or name the file .json",
        path=str(path),
    )


def _malformed(path: Path, error: json.JSONDecodeError, *, line: int) -> CaseFileError:
    seen = error.doc[error.pos : error.pos + 40].split("\n", 1)[0]
    saw = f"found {seen!r}" if seen else "found the end of the line" if error.pos < len(error.doc) else "found the end"
    reason = error.msg[:1].lower() + error.msg[1:]
    return CaseFileError(
        f"is not valid JSON: {reason}, {saw}{_advice(error, seen)}",
        path=str(path),
        place=f"line {line}, column {error.colno}",
    )


def _advice(error: json.JSONDecodeError, seen: str) -> str:
    """What to do about a frequent mistake; empty for others."""
    before = error.doc[: error.pos].rstrip()
    if seen.startswith(("'", "\u201c", "\u201d", "\u2018", "\u2019")):
        return '. JSON has straight double quotes: write "id"'
    if (word := re.match(r"(?:None|True|False|undefined)\b", seen)) is not None:
        right = {"None": "null", "undefined": "null"}.get(word[0], word[0].lower())
        return f". Write {right} instead of {word[0]}"
    # Python 3.13 stops at the comma, earlier versions at the bracket.
    if (before.endswith(",") and seen.startswith(("}", "]"))) or re.match(r",\s*[}\]]", seen):
        return ". Remove the comma before the bracket"
    if seen.startswith(("//", "/*", "#")):
        return ". JSON has no comments: remove it"
    if not seen or error.msg.startswith("Unterminated"):
        return ". Was the file written completely?"
    return ""


def _unusable(path: Path, text: str, error: ValueError | RecursionError, *, line: int | None) -> CaseFileError:
    place = f"line {line}" if line else None
    if isinstance(error, _RepeatedKey):
        written = re.escape(json.dumps(error.key))
        if line is None:
            at = [str(text.count("\n", 0, match.start()) + 1) for match in re.finditer(written + r"\s*:", text)]
            place = f"lines {at[0]} and {at[1]}" if len(at) == 2 else None
        return CaseFileError(
            f"one object has the key {json.dumps(error.key)} more than once: only one of them could count; "
            "take out or rename the others",
            path=str(path),
            place=place,
        )
    if isinstance(error, RecursionError):
        return CaseFileError("is nested too deeply to be read", path=str(path), place=place)
    return CaseFileError(f"contains a number that cannot be read: {error}", path=str(path), place=place)
