"""Write a question set again with some of its questions corrected, in its own layout as far as that can represent them.

Records keep all their fields, also those that Assay does not read; a file of lines keeps its other lines as they are.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from assay.cases.benchmarks.lines import SUFFIXES as LINE_SUFFIXES
from assay.cases.decisions import says_decision
from assay.cases.fields import ALIASES, normal
from assay.cases.tables.formats import CsvFormat, ExcelFormat
from assay.cases.text.decoding import lines_of, read_text
from assay.model import Case, CaseOptions, FieldNames
from assay.ports import CaseFormat, LoadedCases

REASON = "review"
"""The column with the reason of a correction."""
_DASHES = "\n---\n"
"""What separates several gold queries in one text."""
_MOST_SHEETS = 100
"""A larger number is the name of a sheet, for example a year."""
_OPTIONS = frozenset(normal(name) for tier in ALIASES["options"] for name in tier)


class Correction(Struct, frozen=True, kw_only=True):
    """What a question becomes, and why."""

    case: Case
    """The question as it is to be read again. Without a gold query, although one is expected, it is unscored."""
    reason: str


class LayoutUnsuitable(Exception):
    """The layout of a question set cannot represent a correction. The message says why."""


Corrections = Mapping[int, Correction]
"""The corrections by the places of their questions."""


class Rewriting(Struct, frozen=True, kw_only=True):
    """A question set that is written again in the layout of its own file, which ``format`` read with ``fields``."""

    source: Path
    loaded: LoadedCases
    corrections: Corrections
    format: CaseFormat
    fields: FieldNames

    def content(self) -> bytes:
        """The file with its corrections. Raises LayoutUnsuitable if the layout cannot represent them."""
        suffix = self.source.suffix.lower()
        if self.source.is_dir():
            raise LayoutUnsuitable("the question set is a folder")
        if suffix in LINE_SUFFIXES:
            return self._encoded(self._lines())
        if suffix in (".jsonl", ".ndjson"):
            return self._encoded(self._json_lines())
        if suffix == ".json":
            return self._encoded(self._json())
        if isinstance(self.format, CsvFormat | ExcelFormat):
            return self._table(self.format)
        raise LayoutUnsuitable(f"questions are not written in the format {self.format.name}")

    def _text(self) -> str:
        return read_text(self.source, self.fields.encoding)

    def _encoded(self, text: str) -> bytes:
        return text.encode(self.fields.encoding or "utf-8")

    def _correct(self, place: int, record: dict[str, Any], *, in_text: bool = False) -> None:
        columns: dict[str, list[str]] = {}
        for use in self.loaded.columns:
            columns.setdefault(use.field, []).append(use.column)
        _correct(record, self.loaded.cases[place], self.corrections[place], columns, in_text=in_text)

    def _lines(self) -> str:
        """Gold lines: SQL, a tab and the database."""
        lines = lines_of(self._text())
        for place, correction in self.corrections.items():
            case = correction.case
            if len(case.golds) != 1 or case.expects != "answer" or case.options != CaseOptions():
                raise LayoutUnsuitable("a gold line contains one query and nothing else")
            (gold,) = case.golds
            if re.search(r"[\n\r\t]", gold):
                if re.search(r"['\"`]|--|/\*", gold):
                    raise LayoutUnsuitable("a gold line contains a query on one line")
                gold = " ".join(gold.split())
            lines[place] = f"{gold}\t{case.database or ''}"
        return "\n".join(lines).rstrip("\n") + "\n"

    def _json_lines(self) -> str:
        lines = lines_of(self._text())
        places = [number for number, line in enumerate(lines) if line.strip()]
        if len(places) != len(self.loaded.cases):
            raise LayoutUnsuitable("a line is not a question")
        for place in self.corrections:
            record = _object(json.loads(lines[places[place]]))
            self._correct(place, record)
            lines[places[place]] = json.dumps(record, ensure_ascii=False)
        return "\n".join(lines).rstrip("\n") + "\n"

    def _json(self) -> str:
        text = self._text()
        document = json.loads(text)
        records = _records_in(document, len(self.loaded.cases))
        for place in self.corrections:
            self._correct(place, records[place])
        indent = re.search(r"\n( +|\t)", text)
        return json.dumps(document, ensure_ascii=False, indent=indent[1] if indent else None) + "\n"

    def _table(self, format: CsvFormat | ExcelFormat) -> bytes:
        """Rows under a header. Of a workbook only the sheet with the questions is written, without its looks."""
        table = format.records(self.source, self.fields, ("question", "gold"))
        records = [dict(record.values) for record in table.records if not record.blank]
        if len(records) != len(self.loaded.cases) or table.repeated:
            raise LayoutUnsuitable("the table does not have one row for each question")
        for place in self.corrections:
            self._correct(place, records[place], in_text=True)
        names = list(dict.fromkeys((*table.columns, *(name for record in records for name in record))))
        rows: list[list[Any]] = [list(names), *([record.get(name) for name in names] for record in records)]
        above: list[list[Any]] = [[] for _ in range(self.fields.header_row or 0)]
        if isinstance(format, ExcelFormat):
            return _workbook([*above, *rows], self.fields.sheet or "questions")
        from assay.cases.tables.delimited import delimiter_of

        written = io.StringIO(newline="")
        csv.writer(written, delimiter=delimiter_of(self.source, self._text()), lineterminator="\n").writerows(
            ["" if value is None else value for value in row] for row in [*above, *rows]
        )
        return self._encoded(written.getvalue())


def _records_in(document: Any, count: int) -> list[dict[str, Any]]:
    """The records of a document: those of a list, of an object by ids, or of a list in an object."""
    if isinstance(document, dict):
        lists = [value for value in document.values() if isinstance(value, list) and len(value) == count]
        records = lists[0] if len(lists) == 1 and len(document) != count else list(document.values())
        if count == 1 and not all(isinstance(value, dict) for value in records):
            records = [document]
    else:
        records = document
    if len(records) != count:
        raise LayoutUnsuitable("the file does not contain one record for each question")
    return [_object(record) for record in records]


def _object(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise LayoutUnsuitable("a record is not an object")
    return record


def _workbook(rows: Iterable[Sequence[Any]], sheet: str) -> bytes:
    from xlsxwriter import Workbook

    written = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with Workbook(written, options) as workbook:
        if sheet.isdecimal() and int(sheet) < _MOST_SHEETS:  # its number: as many stand before it
            for number in range(int(sheet)):
                workbook.add_worksheet(f"empty {number}")
            sheet = "questions"
        page = workbook.add_worksheet(sheet[:31])
        for place, row in enumerate(rows):
            plain = (value if value is None or isinstance(value, bool | int | float) else str(value) for value in row)
            page.write_row(place, 0, list(plain))
    return written.getvalue()


def _correct(
    record: dict[str, Any],
    before: Case,
    correction: Correction,
    columns: Mapping[str, list[str]],
    *,
    in_text: bool,
) -> None:
    """Put a correction into a record. ``in_text``: a cell holds a text, and no list or object."""
    case = correction.case
    if case.turns or case.conversation is not None:
        raise LayoutUnsuitable("a conversation is not written")
    if (case.golds, case.results) != (before.golds, before.results):
        names = columns.get("gold") or ["gold_sql"]
        replaced = case.results != before.results or case.golds[: len(before.golds)] != before.golds
        queries: list[object] = [*case.golds]
        if not replaced:
            held = record.get(names[0])
            queries = [*(held if isinstance(held, list) else [held] if held else []), *case.golds[len(before.golds) :]]
        for name in (*names, *(columns.get("result", ()) if replaced else ())):
            record[name] = None
        record[names[0]] = _told_golds(queries, in_text=in_text)
    if case.expects != before.expects:
        for name in record:
            if says_decision(name):
                record[name] = None
        record["expects"] = case.expects
    if case.options != before.options:
        name = next((name for name in record if normal(name) in _OPTIONS), "options")
        told = told_options(case)
        if in_text and "condition_columns" in told:
            if case.gold_count != 1:
                raise LayoutUnsuitable("a cell cannot say which columns of several gold queries count")
            told["condition_columns"] = " ".join(map(str, case.counting(0)))
        record[name] = "; ".join(f"{key}: {value}" for key, value in told.items()) if in_text else told
    record[REASON] = correction.reason


def _told_golds(queries: Sequence[object], *, in_text: bool) -> object:
    if not queries:
        return None
    if in_text:
        return _DASHES.join(str(query).strip("\r\n") for query in queries)
    return queries[0] if len(queries) == 1 else list(queries)


def told_options(case: Case) -> dict[str, object]:
    """The options of a case as a question set has them."""
    usual, options = CaseOptions(), case.options
    told: dict[str, object] = {name: value for name, value in asdict(options.leniency).items() if value is not None}
    told |= {
        name: value
        for name in ("columns", "ordered", "ignore_order")
        if (value := getattr(options, name)) != getattr(usual, name)
    }
    if options.condition_columns:
        told["condition_columns"] = [list(case.counting(index)) or None for index in range(case.gold_count)]
    return told


def own_lines(cases: Sequence[Case], corrections: Corrections) -> bytes:
    """A whole question set as JSON Lines under Assay's own names, with the corrections in it."""
    lines = []
    for place, before in enumerate(cases):
        correction = corrections.get(place)
        case = before if correction is None else correction.case
        # A file of gold lines has no questions, and a record needs one.
        record: dict[str, object] = {"id": case.id, "question": case.question or f"Question {case.id}"}
        optional = {
            "db_id": case.database,
            "difficulty": case.difficulty,
            "tags": list(case.tags),
            "context": case.context,
            "expects": None if case.expects == "answer" else case.expects,
            "options": told_options(case),
            REASON: None if correction is None else correction.reason,
        }
        record |= {name: value for name, value in optional.items() if value}
        given = [{"columns": list(one.columns), "rows": json.loads(one.content)} for one in case.results]
        record["gold"] = _told_golds([*case.golds, *given], in_text=False)
        lines.append(json.dumps(record, ensure_ascii=False))
    return ("\n".join(lines) + "\n").encode()
