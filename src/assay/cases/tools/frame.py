"""What the formats of other evaluators share: a list of records, under a key or not, whose fields have known names."""

from __future__ import annotations

import csv
import json
import re
from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace

from assay.cases.fields import did_you_mean, listed, normal
from assay.cases.from_records import read_cases, read_predictions
from assay.cases.paths import with_path
from assay.cases.records import Record, Table, document_table
from assay.cases.tables.delimited import delimited_table
from assay.cases.text.decoding import head_of, read_text
from assay.cases.text.json import json_lines_table, parse_json
from assay.errors import CaseFileError
from assay.model import FieldNames
from assay.ports import LoadedCases, LoadedPredictions

_LINES = frozenset({".jsonl", ".ndjson"})
_CELLS = frozenset({".csv", ".tsv"})
_LONG_BYTES = 16 << 20
_UNDER = ("samples", "testCases", "test_cases", "goldens", "events", "rows", "items", "prompts")
"""The keys under which tools keep the list of their records."""
_RUN = "testRunData"
"""The key under which DeepEval 4.3 keeps a test run."""
_LIST = re.compile(rf'"(?:{"|".join(_UNDER)})"\s*:\s*\[\s*')


class ToolFormat(ABC):
    """A format whose records are read by the names that its tool gives their fields.

    ``marks``: a file whose first record has all keys of one of these sets is of this format. ``names``: for each field
    the names or paths to look for, in this order; a field that has none of them is looked for by its usual names.
    ``in_cells``: the tool writes CSV, too, if some cells (``objects``) contain JSON.
    """

    name: str
    takes_encoding: ClassVar[bool] = True
    marks: ClassVar[tuple[frozenset[str], ...]] = ()
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    in_cells: ClassVar[bool] = False
    objects: ClassVar[tuple[str, ...]] = ()

    def recognises(self, path: Path) -> bool:
        """Whether this is a ``.json``, ``.jsonl`` or ``.csv`` file whose first record has the tool's own keys."""
        if path.suffix.lower() in _CELLS and self.in_cells:
            return any(mark <= set(_heads(path)) for mark in self.marks)
        if path.suffix.lower() not in {".json", *_LINES}:
            return False
        first = first_record(path)
        return any(mark <= first.keys() for mark in self.marks) and self.fits(first)

    def fits(self, first: Mapping[str, object]) -> bool:  # noqa: ARG002 - a hook
        """Whether a first record with the tool's keys contains what the tool writes there."""
        return True

    def cases(self, path: Path, fields: FieldNames) -> LoadedCases:
        """Read a question set. Raises CaseFileError with file, place and field."""
        whole = self.table(path, fields)
        table, fields = self.for_cases(whole, fields)
        table, named = self._named(table, fields)
        return replace(read_cases(table, named), missing=whole.missing, notes=whole.notes)

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read predictions. Raises CaseFileError with file, place and field."""
        whole = self.table(path, fields)
        table, fields = self.for_predictions(whole, fields)
        table, named = self._named(table, fields)
        return replace(read_predictions(table, named), notes=whole.notes)

    def table(self, path: Path, fields: FieldNames) -> Table:
        """The file's records, as the tool wrote them. Raises CaseFileError."""
        if path.suffix.lower() in _LINES:
            return json_lines_table(path, encoding=fields.encoding)
        if path.suffix.lower() in _CELLS:
            table = delimited_table(path, fields, ())
            table = changed(table, (_objects(record, self.objects) for record in table.records))
            return replace(table, header_hint="")
        document = _unwrapped(parse_json(path, read_text(path, fields.encoding)))
        if isinstance(document, dict) and (key := next((key for key in _UNDER if key in document), None)):
            document = document[key]
            if not isinstance(document, list):
                raise CaseFileError(f'has no list under "{key}": expected the records there', path=str(path))
        return document_table(path, document)

    def for_cases(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The records as a question set, and the names to read them by."""
        return table, fields

    def for_predictions(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The records as predictions, and the names to read them by."""
        return table, fields

    def _named(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The names of the fields that the user left open, with columns for the paths among them."""
        found: dict[str, str] = {}
        for field in FieldNames.__struct_fields__:
            if getattr(fields, field) is not None:
                continue
            for name in self.names.get(field, ()):
                table = with_path(table, name)
                if name in table.columns:
                    found[field] = name
                    break
        return table, replace(fields, **found)


def _heads(path: Path) -> list[str]:
    """The names of a CSV file's columns, as far as its start shows them."""
    try:
        return next(csv.reader(head_of(path).splitlines()[:1]), [])
    except csv.Error:
        return []


def _objects(record: Record, names: Iterable[str]) -> dict[str, object]:
    """The objects among a record's cells, which are written as JSON."""
    found = {}
    for name in names:
        text = record.values.get(name)
        if isinstance(text, str) and text.lstrip().startswith("{"):
            with suppress(ValueError, RecursionError):
                found[name] = json.loads(text)
    return found


def first_record(path: Path) -> Mapping[str, object]:
    """A file's first record, as far as its start shows it; empty if it does not."""
    try:
        about = path.stat()
    except OSError:
        return {}
    return _first_record(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=8)
def _first_record(path: Path, changed_ns: int, size: int) -> Mapping[str, object]:  # noqa: ARG001 - then another file
    text = head_of(path).lstrip()
    if text.startswith("{") and (found := _LIST.search(text)):
        text = text[found.end() :]
    elif text.startswith("["):
        text = text[1:].lstrip()
    try:
        first, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        first = _long_record(path) if size <= _LONG_BYTES else None
    return first if isinstance(first, dict) else {}


def _long_record(path: Path) -> object:
    """The first record of a file in which it is longer than the start that was looked at."""
    try:
        if path.suffix.lower() in _LINES:
            return json.loads(read_text(path).split("\n", 1)[0])
        document = _unwrapped(json.loads(read_text(path)))
    except (ValueError, RecursionError, CaseFileError):
        return None
    if isinstance(document, dict):
        document = next((document[key] for key in _UNDER if key in document), document)
    return document[0] if isinstance(document, list) and document else None


def _unwrapped(document: object) -> object:
    """The test run of a document that contains it under a key of its own; any other document unchanged."""
    return document.get(_RUN, document) if isinstance(document, dict) else document


def changed(table: Table, more: Iterable[Mapping[str, object]]) -> Table:
    """The table with further values for each record, in their order; they take the place of values of the same name."""
    records = [
        replace(record, values={**record.values, **values}) for record, values in zip(table.records, more, strict=True)
    ]
    made = Table.of(table.path, records)
    return replace(table, records=made.records, columns=made.columns, plain=False)


def chosen(path: Path, wanted: str | None, names: Sequence[str], what: str, how: str) -> str:
    """The one of several parts of a file that is meant. Raises CaseFileError that names them and says how to choose."""
    if wanted is not None and wanted in names:
        return wanted
    if wanted is None and len(names) == 1:
        return names[0]
    said = f'contains no {what} "{wanted}", only' if wanted is not None else f"contains more than one {what}:"
    raise CaseFileError(f"{said} {listed(names)}{did_you_mean(wanted, names)}. Name one: {how}", path=str(path))


def value_of(record: Record, name: str) -> object:
    """A record's value, whatever the letter case of its name."""
    if name in record.values:
        return record.values[name]
    return next((value for key, value in record.values.items() if normal(key) == normal(name)), None)


def last_said(messages: object, key: str, speaker: str) -> object:
    """The text of the last of a list of messages whose ``key`` names the speaker, else of the last one.

    Other values stay as they are.
    """
    if not isinstance(messages, list):
        return messages
    told = [message for message in messages if isinstance(message, Mapping)]
    asked = [message for message in told if message.get(key) == speaker] or told
    return text_of_message(asked[-1].get("content")) if asked else None


def text_of_message(content: object) -> object:
    """A message's text: its own, or that of its parts."""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "\n".join(part for part in parts if isinstance(part, str)) or None
