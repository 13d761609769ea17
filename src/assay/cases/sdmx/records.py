"""Read the records of SDMX case files and prediction files: YAML, JSON, JSON Lines; predictions also in tables.

Scalars are texts as written: ``NO`` and ``1.10`` in YAML, and the numbers of JSON. A value that is invalid raises
`Misread` with its place in the record, for which the record knows line and column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from assay.cases.fields import columns_of, did_you_mean, listed, normal
from assay.cases.records import InvalidCell, Table, kind_of
from assay.cases.text.decoding import lines_of, read_text
from assay.cases.text.json import json_lines_table, parse_json
from assay.errors import CaseFileError, InputError
from assay.model import FieldNames
from assay.platform.shell import quoted
from assay.platform.surface import on_command_line
from assay.sdmx.errors import dotted

YAML = frozenset({".yaml", ".yml"})
LINES = frozenset({".jsonl", ".ndjson"})
WRAPPER = "cases"
"""The key under which a YAML document may keep its list of records."""


Keys: TypeAlias = tuple[str | int, ...]
"""The path to a value from its record: keys of mappings, zero-based positions in lists."""


class Record(Struct, frozen=True, kw_only=True):
    """One record of a file. Unquoted scalars are texts as written, or Null."""

    value: object
    place: str
    alone: bool
    """Whether the record is a whole document, and not an entry of a list."""
    node: Any = None
    """The YAML node of the record, which knows the line and column of each value."""

    def place_of(self, keys: Keys, *, at_key: bool) -> str:
        """The place of a value of this record: line and column, if known."""
        from assay.cases.text.yaml import location_of

        return self.place if self.node is None else location_of(self.node, keys, of_key=at_key)


def records_of(path: Path) -> Iterator[Record]:
    """The records of a file. Raises CaseFileError with line and column, and InputError for an unknown suffix."""
    suffix = path.suffix.lower()
    if suffix in LINES:
        return _of_json_lines(path)
    if suffix == ".json":
        return _of_json(path)
    if suffix in YAML:
        return _of_yaml(path)
    raise InputError(
        f'{path}: has the suffix "{path.suffix}": SDMX cases are .yaml, .yml, .json or .jsonl files; for questions '
        f"with gold queries, {of_queries(path)}"
    )


def records_of_table(path: Path, fields: FieldNames, answer_columns: Sequence[str]) -> Iterator[Record] | None:
    """The rows of a CSV, Excel or Parquet file of predictions; None for any other file.

    Raises CaseFileError with the cell, and if no column is named like an answer or one of ``answer_columns``.
    """
    from assay.cases.tables.formats import CsvFormat, ExcelFormat, ParquetFormat

    for format in (CsvFormat(), ExcelFormat(), ParquetFormat()):
        if format.recognises(path):
            return _of_table(format.records(path, fields, ("prediction",)), fields, answer_columns)
    return None


def _of_table(table: Table, fields: FieldNames, answer_columns: Sequence[str]) -> Iterator[Record]:
    usual = {normal(name) for name in answer_columns}
    if not columns_of("prediction", fields.prediction, table.columns, path=str(table.path)) and not any(
        normal(column) in usual for column in table.columns
    ):
        raise CaseFileError(
            f"no column found for the answer; the columns are {listed(table.columns) or 'missing'}. Name one of them "
            f"{listed(answer_columns)}",
            path=str(table.path),
        )
    for row in table.records:
        values = {column: _plain_cell(cell) for column, cell in row.values.items()}
        if invalid := next((cell for cell in values.values() if isinstance(cell, InvalidCell)), None):
            raise CaseFileError(f"contains {invalid}", path=str(table.path), place=row.place)
        yield Record(value=values, place=row.place, alone=False)


def _plain_cell(cell: object) -> object:
    """A cell as JSON has it: a whole number that Excel keeps as a float is an integer."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def of_queries(path: Path) -> str:
    """What evaluates a question set of queries."""
    return f"write  assay run {quoted(str(path))} --db URL" if on_command_line() else "call assay.evaluate"


def _of_yaml(path: Path) -> Iterator[Record]:
    """Entries of lists (also of one under ``cases``), or whole documents."""
    from assay.cases.text.yaml import Builder, is_null_node, line_of, nodes_of

    def scalar(node: Any) -> object:
        return Null(str(node.value)) if is_null_node(node) else str(node.value)

    build = Builder(path, scalar)
    for node in nodes_of(path, read_text(path)):
        listed = node
        if node.id == "mapping" and [key.value for key, _ in node.value] == [WRAPPER]:
            listed = node.value[0][1]
        if listed.id == "sequence":
            # Built in one go, so that an anchor that contains itself is always found.
            values = build.value(listed)
            assert isinstance(values, list)
            for value, entry in zip(values, listed.value, strict=True):
                yield Record(value=value, place=line_of(entry), alone=False, node=entry)
        elif not is_null_node(node):
            yield Record(value=build.value(node), place=line_of(node), alone=True, node=node)


def _of_json(path: Path) -> Iterator[Record]:
    """The entries of a document's list, or the whole document."""
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


def _of_json_lines(path: Path) -> Iterator[Record]:
    """The objects of a JSON Lines file, without blank lines."""
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


class _Doubtful(Exception):
    """The fast decoder cannot decode a text with certainty."""


def _decoded(text: str) -> object:
    """The value of a JSON text. Raises _Doubtful if it may be broken, or may repeat a key in one object.

    Colons follow keys and occur in texts: encoded again, a value has fewer colons if a repeated key was lost.
    """
    import msgspec

    try:
        value = msgspec.json.Decoder(float_hook=str).decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _Doubtful from error
    if "\\u003" in text or text.count(":") != msgspec.json.encode(value).count(b":"):
        raise _Doubtful
    return value


class Null(Struct, frozen=True):
    """An unquoted scalar that YAML reads as null, as written: ``null``, ``~``, or an empty text."""

    text: str = ""


class Misread(Exception):
    """A value that is invalid at its place. The caller adds the file and the line of ``keys``."""

    def __init__(self, message: str, keys: Keys = (), *, at_key: bool = False) -> None:
        self.message = message
        self.keys = keys
        self.at_key = at_key
        """Whether the last of ``keys`` itself is wrong, and not its value."""
        super().__init__(message, keys)

    def __str__(self) -> str:
        where = dotted(self.keys)
        return f"{where}: {self.message}" if where else self.message


def is_null(value: object) -> bool:
    """Whether a value is null, as written in YAML or JSON."""
    return value is None or type(value) is Null


def text(value: object, keys: Keys) -> str:
    """A scalar as its written text: ``NO``, ``1.10``, ``true`` and ``null`` are texts here.

    Raises Misread for a list or mapping, and for an empty value.
    """
    if type(value) is str:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Misread(f"contains {value[error.start]!r}, half of a surrogate pair: write it whole", keys) from error
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if type(value) is Null and value.text:
        return value.text
    raise Misread(f"{what_of(value)}: expected text", keys)


def filled(value: object, keys: Keys) -> str:
    """A scalar as text without outer spaces. Raises Misread for a blank one."""
    written = text(value, keys).strip()
    if not written:
        raise Misread("is blank: expected text", keys)
    return written


def mapping(value: object, keys: Keys, known: Sequence[str], *, like: str) -> Mapping[str, object]:
    """A mapping with no keys other than ``known``. Raises Misread, with the closest known key, for any other key."""
    if not isinstance(value, dict):
        raise Misread(f"{what_of(value)}: expected {like}", keys)
    for key in value:
        if key not in known:
            raise unknown_key(key, known, keys)
    return value


def unknown_key(key: str, known: Iterable[str], keys: Keys) -> Misread:
    """The error for a key that has no meaning at its place."""
    known = tuple(known)
    hint = did_you_mean(key, known, form="; {}")
    return Misread(f'unknown key "{key}"; the keys here are {", ".join(known)}{hint}', (*keys, key), at_key=True)


def entries(value: object, keys: Keys, *, like: str) -> Sequence[object]:
    """A list. Raises Misread for anything else."""
    if not isinstance(value, list):
        raise Misread(f"{what_of(value)}: expected {like}", keys)
    return value


def what_of(value: object) -> str:
    """The kind of a value, for messages: ``is a list``."""
    if type(value) is Null:
        return f"is {value.text}" if value.text else "is empty"
    return f"is {kind_of(value)}"
