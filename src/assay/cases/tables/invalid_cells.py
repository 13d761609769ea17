"""Find the cells of a workbook without the value they should hold: errors, and formulas never computed.

Readers of values report these as blank cells, so the file itself is searched. This module runs in the process that
reads workbooks, and imports nothing from Assay.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any
from xml.parsers import expat

NOT_COMPUTED = "a formula without a saved value"

InvalidCells = dict[tuple[int, int], str]
"""By row and column, both counted from 0: the cell's content."""

_PORTION_BYTES = 1 << 16
_MOST_COLUMNS = 16_384
_REFERENCE = re.compile(r"([A-Za-z]+)([0-9]+)")


def invalid_cells(path: str) -> Mapping[str, InvalidCells]:
    """The invalid cells of each sheet, by its name; empty for a file that is no archive (`.xls`).

    Raises ValueError where the archive is not a workbook's.
    """
    if not zipfile.is_zipfile(path):
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {name.replace("\\", "/").lower().lstrip("/"): name for name in archive.namelist()}
            if "content.xml" in parts:
                with archive.open(parts["content.xml"]) as content:
                    return _of_open_document(content)
            found = {}
            for name, part in _sheets(archive, parts):
                read = _of_binary_sheet if part.endswith(".bin") else _of_xml_sheet
                with archive.open(parts[part]) as content:
                    found[name] = read(content)
            return found
    except (zipfile.BadZipFile, expat.ExpatError, LookupError, EOFError, NotImplementedError) as error:
        raise ValueError(f"its parts do not fit together: {error}") from error


def cell_name(row: int, column: int) -> str:
    """A cell's name in Excel: the first is A1, the 27th of its row AA1."""
    letters = ""
    column += 1
    while column:
        column, place = divmod(column - 1, 26)
        letters = chr(ord("A") + place) + letters
    return f"{letters}{row + 1}"


def _parsed(content: IO[bytes], **handlers: Callable[..., None]) -> None:
    """Parse XML with expat's handlers; names come without their prefix."""
    parser = expat.ParserCreate()
    start, end = handlers["start"], handlers["end"]
    parser.StartElementHandler = lambda name, values: start(name.rpartition(":")[2], _local(values))
    parser.EndElementHandler = lambda name: end(name.rpartition(":")[2])
    if "text" in handlers:
        parser.buffer_text = True
        parser.CharacterDataHandler = handlers["text"]
    while portion := content.read(_PORTION_BYTES):
        parser.Parse(portion)
    parser.Parse(b"", True)  # noqa: FBT003 - as expat has it


def _local(values: Mapping[str, str]) -> Mapping[str, str]:
    """Attributes without their prefix. LibreOffice marks an error as text, and as an error in its own attribute."""
    local: dict[str, str] = {}
    for name, value in values.items():
        if local.get(short := name.rpartition(":")[2]) != "error":
            local[short] = value
    return local


def _sheets(archive: zipfile.ZipFile, parts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The worksheets by name, each with its part of the archive."""
    binary = "xl/workbook.bin" in parts
    targets: dict[str, str] = {}

    def relation(name: str, values: Mapping[str, str]) -> None:
        if name == "Relationship" and values.get("Type", "").endswith("/worksheet"):
            target = values["Target"].replace("\\", "/").lower()
            targets[values["Id"]] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"

    rels = parts["xl/_rels/workbook.bin.rels" if binary else "xl/_rels/workbook.xml.rels"]
    with archive.open(rels) as content:
        _parsed(content, start=relation, end=_nothing)
    sheets: list[tuple[str, str]] = []

    def sheet(name: str, values: Mapping[str, str]) -> None:
        if name == "sheet":
            sheets.append((values["name"], values.get("id", "")))

    with archive.open(parts["xl/workbook.bin" if binary else "xl/workbook.xml"]) as content:
        if binary:
            sheets += _binary_sheets(content)
        else:
            _parsed(content, start=sheet, end=_nothing)
    return ((name, targets[id_]) for name, id_ in sheets if id_ in targets)


def _nothing(_: str) -> None:
    return


class _XmlSheet:
    """Follows the cells of a sheet; a cell without a reference comes right after the previous one."""

    def __init__(self) -> None:
        self.invalid: InvalidCells = {}
        self._row = self._column = -1
        self._type = ""
        self._formula = False
        self._value: list[str] | None = None
        self._said = ""

    def start(self, name: str, values: Mapping[str, str]) -> None:
        if name == "row":
            self._row = int(values["r"]) - 1 if "r" in values else self._row + 1
            self._column = -1
        elif name == "c":
            self._column += 1
            at = _REFERENCE.fullmatch(values.get("r", ""))
            if at is not None:
                self._column, self._row = _column(at[1]), int(at[2]) - 1
            self._type, self._formula, self._value, self._said = values.get("t", "n"), False, None, ""
        elif name == "f":
            self._formula = True
        elif name == "v":
            self._value = []

    def text(self, text: str) -> None:
        if self._value is not None:
            self._value.append(text)

    def end(self, name: str) -> None:
        if name == "v":
            self._said, self._value = "".join(self._value or ()), None
        elif name == "c":
            if self._type == "e":
                self.invalid[self._row, self._column] = f"the error {self._said.strip() or 'of a formula'}"
            elif self._formula and not self._said and self._type != "str":  # a formula's value may be the empty text
                self.invalid[self._row, self._column] = NOT_COMPUTED


def _of_xml_sheet(content: IO[bytes]) -> InvalidCells:
    sheet = _XmlSheet()
    _parsed(content, start=sheet.start, end=sheet.end, text=sheet.text)
    return sheet.invalid


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


class _OpenDocument:
    """Follows the cells of all sheets. A cell that is repeated downwards is reported once."""

    def __init__(self) -> None:
        self.found: dict[str, InvalidCells] = {}
        self._sheet: InvalidCells = {}
        self._row = self._column = self._next_row = 0
        self._open: tuple[str, int] | None = None
        self._said: list[str] = []

    def start(self, name: str, values: Mapping[str, str]) -> None:
        if name == "table":
            self._sheet = self.found.setdefault(values.get("name", ""), {})
            self._next_row = 0
        elif name == "table-row":
            self._row, self._column = self._next_row, 0
            self._next_row += int(values.get("number-rows-repeated", 1))
        elif name in ("table-cell", "covered-table-cell"):
            repeated = int(values.get("number-columns-repeated", 1))
            self._said = []
            kind = values.get("value-type")
            if kind == "error":
                self._open = ("error", repeated)
            elif kind is None and "formula" in values:
                self._open = ("formula", repeated)
            else:
                self._open = None
            self._column += repeated

    def text(self, text: str) -> None:
        if self._open is not None:
            self._said.append(text)

    def end(self, name: str) -> None:
        if name not in ("table-cell", "covered-table-cell") or self._open is None:
            return
        (kind, repeated), self._open = self._open, None
        said = "".join(self._said).strip()
        what = NOT_COMPUTED if kind == "formula" else f"the error {said or 'of a formula'}"
        if kind == "formula" and said.startswith(("#", "Err:")):
            what = f"the error {said}"
        for column in range(self._column - repeated, min(self._column, _MOST_COLUMNS)):
            self._sheet[self._row, column] = what


def _of_open_document(content: IO[bytes]) -> Mapping[str, InvalidCells]:
    document = _OpenDocument()
    _parsed(content, start=document.start, end=document.end, text=document.text)
    return document.found


_ROW, _ERROR, _FORMULA_ERROR, _SHEET = 0, 3, 11, 156  # records of .xlsb ([MS-XLSB] 2.3.2)
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}


def _of_binary_sheet(content: IO[bytes]) -> InvalidCells:
    """The errors of a sheet of .xlsb, where every formula has a value."""
    invalid: InvalidCells = {}
    row = 0
    for kind, body in _records(content):
        if kind == _ROW:
            row = int.from_bytes(body[:4], "little")
        elif kind in (_ERROR, _FORMULA_ERROR):
            column = int.from_bytes(body[:4], "little")
            invalid[row, column] = f"the error {_ERRORS.get(body[8] if len(body) > 8 else -1, 'of a formula')}"
    return invalid


def _binary_sheets(content: IO[bytes]) -> Iterator[tuple[str, str]]:
    """The sheets of .xlsb: state, number, then the relation and the name, each with its length before it."""
    for kind, body in _records(content):
        if kind == _SHEET:
            texts: list[Any] = []
            at = 8
            while len(texts) < 2:
                length = int.from_bytes(body[at : at + 4], "little")
                texts.append(body[at + 4 : at + 4 + 2 * length].decode("utf-16-le", "replace"))
                at += 4 + 2 * length
            yield texts[1], texts[0]


def _records(content: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    while first := content.read(1):
        kind = first[0]
        if kind & 0x80:  # two bytes, with seven bits each
            kind = (kind & 0x7F) | (content.read(1)[0] & 0x7F) << 7
        size = 0
        for shift in range(0, 28, 7):
            part = content.read(1)[0]
            size |= (part & 0x7F) << shift
            if not part & 0x80:
                break
        yield kind, content.read(size)
