"""Find the cells of a workbook without the value they should hold: errors, and formulas never computed.

Readers of values report these as blank cells, so the file itself is searched. This module runs in the process that
reads workbooks, and imports nothing from Assay.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO
from xml.etree import ElementTree

NOT_COMPUTED = "a formula without a saved value"

InvalidCells = dict[tuple[int, int], str]
"""By row and column, both counted from 0: the cell's content."""

_MOST_COLUMNS = 16_384
_REFERENCE = re.compile(r"([A-Za-z]+)([0-9]+)")


def invalid_cells(path: str) -> Mapping[str, InvalidCells]:
    """The invalid cells of each sheet, by its name; empty for a binary workbook (`.xls`, `.xlsb`).

    Raises ValueError if the archive is not a workbook's.
    """
    if not zipfile.is_zipfile(path):
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {name.replace("\\", "/").lower().lstrip("/"): name for name in archive.namelist()}
            if "xl/workbook.bin" in parts:
                return {}
            if "content.xml" in parts:
                with archive.open(parts["content.xml"]) as content:
                    return _of_open_document(content)
            targets: dict[str, str] = {}
            with archive.open(parts["xl/_rels/workbook.xml.rels"]) as content:
                for relation in _elements(content, "Relationship"):
                    if relation.get("Type", "").endswith("/worksheet"):
                        target = relation.attrib["Target"].replace("\\", "/").lower()
                        targets[relation.attrib["Id"]] = target.lstrip("/") if target[:1] == "/" else f"xl/{target}"
            with archive.open(parts["xl/workbook.xml"]) as content:
                sheets = [_attributes(sheet) for sheet in _elements(content, "sheet")]
            found = {}
            for sheet in sheets:
                if (target := targets.get(sheet.get("id", ""), "")) != "":
                    with archive.open(parts[target]) as content:
                        found[sheet["name"]] = _of_sheet(content)
            return found
    except (zipfile.BadZipFile, ElementTree.ParseError, LookupError, EOFError, NotImplementedError) as error:
        raise ValueError(f"its parts do not fit together: {error}") from error


def cell_name(row: int, column: int) -> str:
    """A cell's name in Excel: the first is A1, the 27th of its row AA1."""
    letters = ""
    column += 1
    while column:
        column, place = divmod(column - 1, 26)
        letters = chr(ord("A") + place) + letters
    return f"{letters}{row + 1}"


def column_number(letters: str) -> int:
    """A column's number, counted from 0: that of A is 0, that of AA is 26."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _elements(content: IO[bytes], *names: str) -> Iterator[ElementTree.Element]:
    """The elements of these names, whatever their namespace, each at its end. Each is emptied when it was used."""
    for _, element in ElementTree.iterparse(content):
        if _local(element.tag) in names:
            yield element
            element.clear()


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _attributes(element: ElementTree.Element) -> dict[str, str]:
    """Attributes without their namespace. LibreOffice marks an error as text, and as an error in its own attribute."""
    local: dict[str, str] = {}
    for name, value in element.items():
        if local.get(short := _local(name)) != "error":
            local[short] = value
    return local


def _of_sheet(content: IO[bytes]) -> InvalidCells:
    """The invalid cells of an .xlsx sheet. A cell without a reference comes right after the previous one."""
    invalid: InvalidCells = {}
    row = -1
    for element in _elements(content, "row"):
        row = int(element.get("r", row + 2)) - 1
        column = -1
        for cell in element:
            column += 1
            reference = _REFERENCE.fullmatch(cell.get("r", ""))
            if reference is not None:
                column, row = column_number(reference[1]), int(reference[2]) - 1
            kind, value = cell.get("t"), cell.findtext("{*}v") or ""
            if kind == "e":
                invalid[row, column] = f"the error {value.strip() or 'of a formula'}"
            elif kind != "str" and not value and cell.find("{*}f") is not None:  # "str": the empty text is a value
                invalid[row, column] = NOT_COMPUTED
    return invalid


def _of_open_document(content: IO[bytes]) -> Mapping[str, InvalidCells]:
    """The invalid cells of all sheets of an .ods workbook. A cell that is repeated downwards is reported once."""
    found: dict[str, InvalidCells] = {}
    invalid: InvalidCells = {}
    row = 0
    for element in _elements(content, "table-row", "table"):
        attributes = _attributes(element)
        if _local(element.tag) == "table":
            found[attributes.get("name", "")] = invalid
            invalid, row = {}, 0
            continue
        column = 0
        for cell in element:
            values = _attributes(cell)
            end = column + int(values.get("number-columns-repeated", 1))
            kind, text = values.get("value-type"), "".join(cell.itertext()).strip()
            if kind == "error" or (kind is None and "formula" in values):
                is_error = kind == "error" or text.startswith(("#", "Err:"))
                what = f"the error {text or 'of a formula'}" if is_error else NOT_COMPUTED
                invalid.update(((row, at), what) for at in range(column, min(end, _MOST_COLUMNS)))
            column = end
        row += int(attributes.get("number-rows-repeated", 1))
    return found
