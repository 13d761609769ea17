"""Data from SDMX-CSV, 1.0 and 2.0: codes alone, or codes with labels after a colon.

1.0 opens with the column ``DATAFLOW``, 2.0 with ``STRUCTURE``, ``STRUCTURE_ID`` and ``ACTION``. Fields are separated by
commas, semicolons or tabs. Without a structure the columns up to the observation's value are its dimensions.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from assay.errors import InputError, plural
from assay.sdmx.data.observations import DataTables, described, value_of
from assay.sdmx.errors import suggestion
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact
from assay.sdmx.structures.known import Structures

_VALUE, _TIME = "OBS_VALUE", "TIME_PERIOD"
_IDS = ("DATAFLOW", "STRUCTURE_ID")
_NO_DIMENSIONS = frozenset({*_IDS, "STRUCTURE", "STRUCTURE_NAME", "ACTION", "SERIES_KEY", "OBS_KEY"})
_DELETED = frozenset({"D", "DELETE"})
_LONGEST_FIELD = 1 << 20


def is_sdmx_csv(beginning: str) -> bool:
    """Whether a text begins as SDMX-CSV does."""
    header = _header(iter(beginning.splitlines()))[0].upper()
    return header.lstrip('" ').startswith(("DATAFLOW", "STRUCTURE")) and _delimiter(header) is not None


def add_csv(tables: DataTables, lines: Iterator[str], *, where: str, structures: Structures | None) -> None:
    """Add the observations of SDMX-CSV. Raises InputError with ``where`` and the line."""
    csv.field_size_limit(_LONGEST_FIELD)
    header, before = _header(lines)
    delimiter = _delimiter(header)
    if delimiter is None:
        raise InputError(f"{where} is not SDMX-CSV: its first line has one column")
    names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
    has_labels = any(": " in name for name in names)
    columns = [name.partition(":")[0].partition("[")[0].strip() for name in names]
    twice = next((name for number, name in enumerate(names) if name and name in names[:number]), None)
    if twice is not None:
        raise InputError(f"{where} has two columns {twice[:80]!r}: rename or remove one")
    reader = _Reader(tables, columns, where=where, structures=structures, decimal_comma=delimiter == ";")
    tables.without_values += _VALUE not in columns
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise InputError(f"{where}, line {rows.line_num + before}: is not CSV ({error})") from None
        if row is None:
            return
        if row:
            codes = [cell.partition(": ")[0].strip() for cell in row] if has_labels else row
            reader.add(codes, line=rows.line_num + before)


def _header(lines: Iterator[str]) -> tuple[str, int]:
    """The header line and its number: blank lines, and Excel's ``sep=;``, may come before it."""
    number = 0
    for number, line in enumerate(lines, start=1):
        text = line.lstrip("\ufeff").strip()
        if text and not text.strip('"').lower().startswith("sep="):
            return line.lstrip("\ufeff"), number
    return "", number


def _delimiter(header: str) -> str | None:
    counts = {mark: header.count(mark) for mark in ",;\t"}
    # The first column's name may contain a sub-field separator: STRUCTURE[;]
    counts[";"] -= header.count("[;]")
    most = max(counts, key=lambda mark: counts[mark])
    return most if counts[most] else None


class _Reader:
    """Reads rows by the names of their columns."""

    def __init__(
        self,
        tables: DataTables,
        columns: Sequence[str],
        *,
        where: str,
        structures: Structures | None,
        decimal_comma: bool,
    ) -> None:
        self._tables = tables
        self._columns = columns
        self._where = where
        self._structures = structures
        self._decimal_comma = decimal_comma
        place = next((columns.index(name) for name in _IDS if name in columns), None)
        if place is None:
            raise InputError(
                f"{where} is not SDMX-CSV: it has neither the column DATAFLOW (1.0) nor STRUCTURE_ID "
                f"(2.0){suggestion(columns[0], _IDS)}"
            )
        self._id = place
        self._value = columns.index(_VALUE) if _VALUE in columns else None
        self._action = columns.index("ACTION") if "ACTION" in columns else None
        self._layouts: dict[str, tuple[ArtefactId, list[tuple[str, int]], int | None]] = {}

    def add(self, row: Sequence[str], *, line: int) -> None:
        if self._value is None:
            return  # attributes alone, without observations
        if len(row) < len(self._columns):
            raise InputError(
                f"{self._where}, line {line}: {plural(len(row), 'field')}, but the header has "
                f"{len(self._columns)}. Is it truncated?"
            )
        if len(row) > len(self._columns) and any(cell.strip() for cell in row[len(self._columns) :]):
            raise InputError(
                f"{self._where}, line {line}: {plural(len(row), 'field')}, but the header has "
                f"{len(self._columns)}: quote fields that contain a comma, for example numbers"
            )
        if self._action is not None and row[self._action].upper() in _DELETED:
            return
        dataset, dimensions, time = self._layout(row[self._id].strip(), line)
        text = row[self._value]
        self._tables.add(
            dataset,
            {name: row[place].strip() for name, place in dimensions if row[place]},
            None if time is None else row[time].strip(),
            value_of(text.replace(",", ".") if self._decimal_comma else text),
        )

    def _layout(self, named: str, line: int) -> tuple[ArtefactId, list[tuple[str, int]], int | None]:
        """The dataset, the indexes of its dimensions, and that of its time."""
        if named not in self._layouts:
            try:
                dataset = parse_artefact(named.partition(": ")[0])
            except InputError as error:
                raise InputError(f"{self._where}, line {line}: {error}") from None
            structure = described(dataset, self._structures)
            time_name = (structure.time_dimension if structure is not None else None) or _TIME
            known = [one.id for one in structure.dimensions] if structure is not None else []
            time = self._columns.index(time_name) if time_name in self._columns else None
            own = [name for name in known if name in self._columns]
            if not own:
                ends = [place for place in (self._value, time) if place is not None]
                own = [name for name in self._columns[: max(ends)] if name not in (*_NO_DIMENSIONS, _VALUE)]
            places = [(name, self._columns.index(name)) for name in own if name != time_name]
            self._layouts[named] = (dataset, places, time)
        return self._layouts[named]
