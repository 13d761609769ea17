"""Read the records of JSON and JSON Lines files of SDMX cases; numbers are texts as written (1.10)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.cases.sdmx.record import Record
from assay.cases.text.decoding import lines_of, read_text
from assay.cases.text.json import json_lines_table, parse_json


class _Doubtful(Exception):
    """The fast decoder cannot decode a text with certainty."""


def json_records(path: Path) -> Iterator[Record]:
    """The records of a JSON document: its list's entries, or the whole. Raises CaseFileError with its place."""
    text = read_text(path)
    try:
        value = _decoded(text)
    except _Doubtful:
        value = parse_json(path, text, number_of=str)
    if not isinstance(value, list):
        yield Record(value=value, place="item 1", alone=True)
        return
    for number, entry in enumerate(value, start=1):
        yield Record(value=entry, place=f"item {number}", alone=False)


def json_lines_records(path: Path) -> Iterator[Record]:
    """The records of a JSON Lines file, without blank lines. Raises CaseFileError with line and column."""
    count = 0
    for number, line in enumerate(lines_of(read_text(path)), start=1):
        if not line or line.isspace():
            continue
        try:
            value = _decoded(line)
            if isinstance(value, list):
                raise _Doubtful  # a whole document with this suffix, or a mistake: the table reader decides
        except _Doubtful:
            # That reader raises for an error; without one, it gives the remaining records.
            for record in json_lines_table(path, number_of=str).records[count:]:
                yield Record(value=record.values, place=record.place, alone=False)
            return
        yield Record(value=value, place=f"line {number}", alone=False)
        count += 1


def _decoded(text: str) -> object:
    """The value of a JSON text. Raises _Doubtful where it may be broken, or may repeat a key in one object.

    Colons follow keys and occur in texts: encoded again, a value has fewer colons where a repeated key was lost.
    """
    import msgspec

    try:
        value = msgspec.json.Decoder(float_hook=str).decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _Doubtful from error
    if "\\u003" in text or text.count(":") != msgspec.json.encode(value).count(b":"):
        raise _Doubtful
    return value
