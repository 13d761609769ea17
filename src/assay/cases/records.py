"""Records: the form into which every reader turns a file, before cases or predictions are read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from assay.cases.fields import ALIASES, normal
from assay.errors import CaseFileError
from assay.sql.extraction import SEVERAL_QUERIES, are_queries, completion_of, completion_of_record

PLAIN = "prediction"
"""The column name for a bare text: in a list of texts, or in an object from ids to texts."""

_WRAPPERS = ("cases", "questions", "predictions", "results", "data", "examples", "items", "records")
"""Keys under which a document may keep its list of records, if it is an object with nothing else to read."""


class InvalidCell(Struct, frozen=True):
    """A cell of a workbook without the value it should hold: an error, or a formula that was never computed."""

    cell: str
    """Its sheet and place, as Excel writes them."""
    what: str

    def __str__(self) -> str:
        return f"{self.what} (cell {self.cell})"


class Record(Struct, frozen=True, kw_only=True):
    """One row of a file: its values by column, and its place, for example ``line 17``."""

    place: str
    values: Mapping[str, object]
    key: str | None = None
    """The record's key, if the file is an object from ids to records."""
    blank: bool = False
    """A row without any value. A question set skips it; among predictions without ids it keeps its position."""


class Table(Struct, frozen=True, kw_only=True):
    """A file as records, without blank rows at its end."""

    path: Path
    records: Sequence[Record]
    columns: tuple[str, ...]
    """Every column that the file names, in the order of first appearance."""
    repeated: frozenset[str] = frozenset()
    """Columns that the header names more than once: reading one of these would be a guess."""
    golds_in_text: bool = False
    """Whether one text may contain several gold queries, separated by a line of dashes (formats without lists)."""
    blank_is_absent: bool = False
    """Whether the format writes an absent value as a blank one (CSV)."""
    left_out: tuple[str, ...] = ()
    """Sheets with content that were not read."""
    header_hint: str = ""
    """Which row was taken for the header and how to name another, for messages; empty for formats without rows."""
    missing: tuple[str, ...] = ()
    """The ids of the questions that a log of an evaluation names, but does not contain."""
    notes: tuple[str, ...] = ()
    """Sentences that say how the evaluation of a log ended, and what is missing."""
    plain: bool = False
    """Whether no record is blank, and none has a key, so that neither needs to be checked."""

    @classmethod
    def of(cls, path: Path, records: Sequence[Record]) -> Table:
        """A table of a format without a header: its columns are those of its records."""
        columns = dict.fromkeys(name for record in records for name in record.values)
        return cls(path=path, records=tuple(records), columns=tuple(columns))


def without_end(records: list[Record]) -> tuple[Record, ...]:
    """The records without blank ones at the end."""
    while records and records[-1].blank:
        records.pop()
    return tuple(records)


_INDEX = "Unnamed: 0"
"""The name of a first column without one, as in pandas, which writes its row labels there."""


def header_of(names: Sequence[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """A header's columns without outer spaces, and the columns that it names twice.

    A column without a name is not read; the first one may contain row labels, and is called ``Unnamed: 0``.
    """
    stripped = tuple(name.strip() for name in names)
    if len(stripped) > 1 and not stripped[0] and _INDEX not in stripped:
        stripped = (_INDEX, *stripped[1:])
    return stripped, frozenset(name for name in stripped if name and stripped.count(name) > 1)


def document_table(path: Path, document: object, places: Sequence[str] | Mapping[str, str] | None = None) -> Table:
    """The records of a JSON or YAML document.

    It may be a list of objects or of texts, an object from ids to objects or texts, an object that contains one such
    list under a name like ``cases`` (its other keys are not read), or a single record. ``places`` gives the place of
    each entry of the list or object, if the parser knows it.
    """
    if isinstance(document, dict):
        wrapped = [key for key in document if key in _WRAPPERS and isinstance(document[key], list)]
        if len(wrapped) == 1:
            return document_table(path, document[wrapped[0]])
        if (rows := _of_columns(document)) is not None:
            return document_table(path, rows)
        if _is_one_record(document):
            return Table.of(path, [Record(place="item 1", values=document)])
        _check_wrapper(path, document)
        records = []
        for key, value in document.items():
            place = places.get(key) if isinstance(places, Mapping) else None
            records.append(record_of(path, place or f'key "{key}"', value, key=key))
        return Table.of(path, records)
    if isinstance(document, list):
        records = []
        for number, value in enumerate(document):
            place = places[number] if isinstance(places, Sequence) else f"item {number + 1}"
            records.append(record_of(path, place, value))
        return Table.of(path, records)
    raise CaseFileError(
        f"contains {kind_of(document)}: write a list of objects, "
        '[{"id": "1", "question": "…", "gold_sql": "SELECT …"}, …], or an object from ids to objects',
        path=str(path),
    )


def _of_columns(document: Mapping[str, object]) -> list[dict[str, object]] | None:
    """The rows of a document that maps columns to cells by label, as pandas' ``to_json`` writes it; None for others."""
    known = {normal(name) for tiers in ALIASES.values() for tier in tiers for name in tier}
    columns = list(document.values())
    if len(columns) < 2 or not any(normal(name) in known for name in document):
        return None
    first = columns[0]
    if not isinstance(first, dict) or not first:
        return None
    if any(not isinstance(one, dict) or one.keys() != first.keys() for one in columns):
        return None
    if any(isinstance(cell, dict) for cell in first.values()):
        return None
    return [{name: cells[label] for name, cells in document.items()} for label in first]  # type: ignore[index]


def _check_wrapper(path: Path, document: Mapping[str, object]) -> None:
    """Raise CaseFileError for an object that holds lists of records under names that are not read."""
    lists = [
        key
        for key, value in document.items()
        if isinstance(value, list) and value and isinstance(value[0], dict) and completion_of(value) is None
    ]
    if not lists:
        return
    first, keys = lists[0], ", ".join(f'"{key}"' for key in lists[:3])
    raise CaseFileError(
        f'is an object with {"a list" if len(lists) == 1 else "lists"} of records under {keys}: name it "cases", or '
        f"save the list alone, [{{…}}, {{…}}], for example with  jq '.[{json.dumps(first)}]' {path.name} > cases.json",
        path=str(path),
    )


def record_of(path: Path, place: str, value: object, *, key: str | None = None) -> Record:
    """One record from one value of a document: an object, a bare text (null: no answer), or chat messages."""
    if isinstance(value, dict):
        text = completion_of_record(value)
        return Record(place=place, values=value if text is None else {PLAIN: text}, key=key)
    if value is None or isinstance(value, str):
        return Record(place=place, values={PLAIN: value}, key=key)
    if (text := completion_of(value)) is not None:
        return Record(place=place, values={PLAIN: text}, key=key)
    if are_queries(value):
        raise CaseFileError(SEVERAL_QUERIES, path=str(path), place=place)
    raise CaseFileError(
        f"contains {kind_of(value)}: write an object, for example "
        '{"id": "1", "question": "…", "gold_sql": "SELECT …"}; a prediction may also be its query as a text',
        path=str(path),
        place=place,
    )


def kind_of(value: object) -> str:
    """The kind of a value, for messages, in the words of files and not of Python."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, InvalidCell):
        return str(value)
    if isinstance(value, bool):
        return "the truth value " + str(value).lower()
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, str):
        return f"the text {shortened(value)}"
    if isinstance(value, (int, float)):
        return f"the number {_digits(value)}"
    return f"the value {shortened(str(value))}"


def _digits(value: int | float, *, most: int = 60) -> str:
    """A number for a message, cut if long."""
    if isinstance(value, int) and value.bit_length() > 4 * most:  # Python may refuse to write all of its digits
        return f"of more than {most} digits"
    return str(value)


def shortened(text: str, *, most: int = 60) -> str:
    """A text for a message: quoted, and cut if long."""
    return repr(text if len(text) <= most else text[: most - 1] + "…")


def _is_one_record(document: Mapping[str, object]) -> bool:
    main = {normal(name) for tier in (*ALIASES["question"][:2], *ALIASES["prediction"][:2]) for name in tier}
    return any(normal(key) in main for key in document)


_QUERY = re.compile(r"\s*(?:\(\s*)*(?:select|with)\b.*[^.?]\s*", re.IGNORECASE | re.DOTALL)
"""Begins like a query, and does not end like a sentence."""


def holds_query(value: object, depth: int = 0) -> bool:
    """Whether a value looks like a query, or contains one."""
    if isinstance(value, str):
        return _QUERY.fullmatch(value) is not None
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return depth < 10 and any(holds_query(entry, depth + 1) for entry in entries)


def is_query_text(name: str) -> bool:
    """Whether the name of a column is surely a query, unlike "With a hint" or "Select statement"."""
    return holds_query(name) and _OF_QUERIES.search(name) is not None


_OF_QUERIES = re.compile(r"\bselect\s+[\d'*]|\bfrom\b|[*=;]", re.IGNORECASE)
