"""Turn what a file or a system says in place of a query into a result: a value, rows, or the name of a file.

===================================================== =========================================================
``42``, ``"Porto"``, ``null``, ``{"value": 42}``      one cell
``[[1, "a"], [2, "b"]]``, ``[1, 2]``                  rows; of single values, one column
``[{"id": 1, "name": "a"}]``                          rows with names of columns
``{"columns": ["id"], "rows": [[1], [2]]}``           the same, also without any row
``"gold/q7.csv"``, ``{"file": "gold/q7.csv"}``        a file in the same folder: CSV, Parquet or Excel
``"book.xlsx#Sheet 1!A1:C9"``, ``{"file", "sheet", "range"}``  a range of a workbook
``{"any_of": [...]}``                                 several, any of them is right
===================================================== =========================================================

A text is the name of a file if it ends like one, and else a value. In a cell of CSV or Excel, a text that is a list
or an object in JSON is read as that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.cases.fields import did_you_mean, listed, normal
from assay.cases.given.files import SUFFIXES, ResultFiles, UnusableFile
from assay.cases.options import CountedColumns
from assay.cases.records import Record, kind_of
from assay.cases.values import UnusableValue, answer_of, golds_of, is_absent
from assay.errors import CaseFileError
from assay.model import CellTypes, GivenResult
from assay.model.results.given import InvalidRows, result_from_rows
from assay.sql.extraction import SEVERAL_QUERIES, are_queries, completion_of

NAMES = ("value", "rows", "columns", "file", "sheet", "range", "any_of")
_MAIN = frozenset({"value", "rows", "file", "any_of"})


def tells_result(value: object) -> bool:
    """Whether an object says a result, by its names."""
    return isinstance(value, Mapping) and bool(_MAIN & {str(name).strip().lower() for name in value})


def results_of(value: object, files: ResultFiles, *, in_text: bool = False) -> tuple[GivenResult, ...]:
    """The results that a value says; none if it is absent. ``in_text``: it comes from a cell of text.

    Raises UnusableValue if it says none.
    """
    if in_text and isinstance(value, str):
        value = _parsed(value)
    if is_absent(value) or value == "":
        return ()
    if isinstance(value, Mapping) and tells_result(value):
        told = {str(name).strip().lower(): one for name, one in value.items()}
        if "any_of" in told:
            several = told["any_of"]
            if not isinstance(several, (list, tuple)) or not several:
                raise UnusableValue(f"any_of is {kind_of(several)}: expected a list of results, any of them right")
            return tuple(result_of(one, files) for one in several)
    return (result_of(value, files, cells="text" if in_text else "json"),)


def golds_and_results(
    value: object, files: ResultFiles, *, in_text: bool
) -> tuple[tuple[str, ...], tuple[GivenResult, ...]]:
    """The accepted gold queries of a value, and the results among them: objects that say one."""
    entries = value if isinstance(value, (list, tuple)) else (value,)
    if not any(map(tells_result, entries)):
        return golds_of(value, in_text=in_text), ()
    queries = [entry for entry in entries if not tells_result(entry)]
    found = [result for entry in entries if tells_result(entry) for result in results_of(entry, files)]
    return golds_of(queries, in_text=in_text), tuple(found)


def listed_results_of(value: object, files: ResultFiles, *, in_text: bool = False) -> tuple[GivenResult, ...]:
    """As `results_of`, of a column named in the plural: the entries of its list are results, any of them is right."""
    if in_text and isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, (list, tuple)):
        return tuple(result for one in value for result in results_of(one, files))
    return results_of(value, files, in_text=in_text)


def answer_or_rows(value: object, files: ResultFiles, *, what: str) -> str | GivenResult | None:
    """A system's query or completion, or the rows that it gave in its place: an object that says a result."""
    if type(value) is str:
        return value
    if (text := completion_of(value)) is not None:
        return text
    if are_queries(value):
        raise UnusableValue(f"{what} {SEVERAL_QUERIES}")
    if tells_result(value):
        found = results_of(value, files)
        if len(found) != 1:
            raise UnusableValue("an answer is one result, and any_of gives several")
        return found[0]
    return answer_of(value, what)


def result_of(value: object, files: ResultFiles, *, cells: CellTypes = "json") -> GivenResult:
    """The one result that a value says. Raises UnusableValue if it says none."""
    if isinstance(value, Mapping):
        return _of_object(value, files, cells)
    if isinstance(value, (list, tuple)):
        return _of_rows(value, (), files, "json" if cells == "text" else cells)
    if isinstance(value, str) and (name := _file_in(value)) is not None:
        return _of_name(name, files)
    return _of_rows([[value]], (), files, cells)


def _parsed(text: str) -> object:
    """What a cell of text says: JSON if it is a list or an object, else the text."""
    stripped = text.strip()
    if not stripped.startswith(("[", "{")):
        return stripped
    try:
        return json.loads(stripped)
    except ValueError:
        return stripped


def _file_in(text: str) -> str | None:
    """The text if it names a file of a result, perhaps with a range behind a hash."""
    name = text.strip()
    path = name.partition("#")[0]
    dot = path.rfind(".")
    return name if "\n" not in name and dot > 0 and path[dot:].lower() in SUFFIXES else None


def _of_name(name: str, files: ResultFiles) -> GivenResult:
    path, _, place = name.partition("#")
    sheet, mark, cells = place.rpartition("!")
    if place and not mark:
        sheet, cells = place, ""
    return files.read(path, sheet=sheet.strip("'") or None, cells=cells or None)


def _of_object(value: Mapping[Any, Any], files: ResultFiles, cells: CellTypes) -> GivenResult:
    told = {str(name).strip().lower(): one for name, one in value.items()}
    for name in told:
        if name not in NAMES:
            hint = did_you_mean(name, NAMES)
            raise UnusableValue(f'unknown key "{name}" in a result{hint}; the keys are {", ".join(NAMES)}')
    given = [name for name in ("value", "rows", "file") if name in told]
    if len(given) != 1:
        raise UnusableValue('a result has one of "value", "rows" and "file"' + (f", and not {given}" if given else ""))
    if "file" in told:
        return _of_file(told, files)
    if "value" in told:
        if isinstance(told["value"], (list, tuple, Mapping)):
            raise UnusableValue(f"the value is {kind_of(told['value'])}: give rows in place of a value")
        return _of_rows([[told["value"]]], (), files, cells)
    columns = told.get("columns") or ()
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise UnusableValue(f"columns is {kind_of(columns)}: expected a list of names")
    if not isinstance(told["rows"], (list, tuple)):
        raise UnusableValue(f"rows is {kind_of(told['rows'])}: expected a list of rows")
    return _of_rows(told["rows"], tuple(columns), files, "json" if cells == "text" else cells)


def _of_file(told: Mapping[str, Any], files: ResultFiles) -> GivenResult:
    texts = {name: told.get(name) for name in ("file", "sheet", "range")}
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise UnusableValue(f"{name} is {kind_of(text)}: expected text")
    file = (texts["file"] or "").strip()
    if not file:
        raise UnusableValue("the name of the file is blank")
    if texts["sheet"] is None and texts["range"] is None:
        return _of_name(file, files)
    return files.read(file, sheet=texts["sheet"], cells=texts["range"])


def _of_rows(rows: Sequence[object], columns: tuple[str, ...], files: ResultFiles, cells: CellTypes) -> GivenResult:
    try:
        return files.kept(result_from_rows(rows, columns, cells=cells))
    except (InvalidRows, UnusableFile) as error:
        raise UnusableValue(f"the result {error}") from error


def counted_places(
    columns: CountedColumns, queries: int, results: Sequence[GivenResult], path: Path, record: Record
) -> tuple[tuple[int, ...], ...]:
    """The positions of the columns that count, per gold result. Raises CaseFileError for an unknown column."""
    golds = queries + len(results)
    groups = columns.groups * golds if columns.for_all else columns.groups
    if len(groups) != golds and not columns.for_all:
        raise CaseFileError(
            f"condition_columns has {len(groups)} lists, and the case has {golds} gold queries: give one list each, or "
            "one list of columns for all",
            path=str(path),
            place=record.place,
        )
    found = []
    for place, group in enumerate(groups):
        names = results[place - queries].columns if place >= queries else ()
        known = {normal(name): at for at, name in reversed(list(enumerate(names)))}
        chosen: list[int] = []
        for one in group:
            at = one if isinstance(one, int) else known.get(normal(one))
            if at is None:
                hint = did_you_mean(str(one), names)
                there = (
                    f"the columns are {listed(names)}" if names else "the result has no names: give its index, from 0"
                )
                raise CaseFileError(
                    f'condition_columns has an unknown column "{one}"{hint}; {there}',
                    path=str(path),
                    place=record.place,
                )
            chosen.append(at)
        found.append(tuple(chosen))
    return tuple(found)
