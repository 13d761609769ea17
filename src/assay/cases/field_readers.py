"""Read the fields of a table's records: which columns contain a field, and what a record has there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from assay.cases.extras import placed
from assay.cases.fields import POSITION, Field, columns_of, describe, is_row_number, normal
from assay.cases.given.values import tells_result
from assay.cases.paths import paths_within
from assay.cases.records import InvalidCell, Record, Table, shortened
from assay.cases.values import UnusableValue, is_absent, name_of, text_of, usable
from assay.errors import CaseFileError
from assay.model import FieldNames
from assay.sql.extraction import completion_of

T = TypeVar("T")


class FieldReader(Generic[T]):
    """Reads one field of each record of a table, from ``columns``: empty if the file lacks the field.

    ``keyed``: the field is read from the keys of the file's top-level object, and not from ``columns``.
    """

    def __init__(
        self,
        path: str,
        field: Field,
        columns: tuple[str, ...],
        convert: Callable[[object], T],
        *,
        keyed: bool = False,
    ) -> None:
        self.keyed = keyed
        self.path = path
        self.field = field
        self.columns = columns
        self.convert = convert
        self._column = columns[0] if len(columns) == 1 else None
        self._constant: list[T] = []
        """The value of a field that the file lacks, once it was asked for."""

    def read(self, record: Record) -> T:
        """The field's value. Raises CaseFileError with its location if it is unusable."""
        if self._constant:
            return self._constant[0]
        try:
            if self.keyed:
                return self.convert(record.key)
            if self._column is not None:
                value = record.values.get(self._column)
                return self.convert(usable(value) if type(value) is InvalidCell else value)
            if self.columns:
                return self.convert(self._agreed(record))
            self._constant.append(self.convert(None))
            return self._constant[0]
        except UnusableValue as error:
            raise placed(error, self.path, record, *(() if self.keyed else self.columns)) from error

    def _agreed(self, record: Record) -> object:
        found: object = None
        at = ""
        for column in self.columns:
            value = usable(record.values.get(column))
            if is_absent(value) or value == "":
                continue
            if found is None:
                found, at = value, column
            elif value != found:
                raise UnusableValue(
                    f'"{at}" and "{column}" both could contain {describe(self.field)}, and they differ here: '
                    f"name the one with {describe(self.field)}"
                )
        return found


def reader_of(
    table: Table, field: Field, named: str | None, convert: Callable[[object], T], *, without: Sequence[str] = ()
) -> FieldReader[T]:
    """The reader of a field, from the column of that name or from one with a usual name, but from none of ``without``.

    Raises CaseFileError for an unknown column, and for one that the header names twice.
    """
    path = str(table.path)
    available = table.columns
    if named is None and field in ("gold", "prediction"):
        available = tuple(column for column in available if not _holds_objects(table, column))
    columns = columns_of(field, named, available, path=path, without=without, within=paths_within(table))
    for column in columns:
        if column in table.repeated:
            raise CaseFileError(
                f'the header names the column "{column}" more than once, and it contains {describe(field)}: '
                "rename all but the right one",
                path=path,
            )
    return FieldReader(path, field, columns, convert)


def _holds_objects(table: Table, column: str) -> bool:
    """Whether a column's first filled value is an object, as Spider's ``sql`` is: not a query, result or message."""
    first = next((value for record in table.records if (value := record.values.get(column)) is not None), None)
    return isinstance(first, dict) and not tells_result(first) and completion_of(first) is None


def question_text(value: object) -> str:
    """A cell as a question. Raises UnusableValue if it is blank or not a text."""
    text = text_of(value, "the question")
    if text is None or not text.strip():
        raise UnusableValue("the question is blank: write one, or leave the row out")
    return text


def identifier_of(table: Table, fields: FieldNames, *, of_questions: bool) -> FieldReader[str] | None:
    """The reader of a record's id; None if the file has no ids, or if the position was asked for."""
    if fields.id == POSITION:
        return None
    named = fields.id
    if named is None and fields.shared_id is not None:
        same = [column for column in table.columns if normal(column) == normal(fields.shared_id)]
        named = fields.shared_id if fields.shared_id in same else same[0] if len(same) == 1 else None
    if named is None and not table.plain and any(record.key is not None for record in table.records):
        keys = FieldReader(
            str(table.path), "id", columns_of("id", None, table.columns, path=str(table.path)), _id, keyed=True
        )
        _no_other_id(table, keys)
        return keys
    reader = reader_of(table, "id", named, _id)
    if reader.columns:
        return reader
    column = row_number_of(table) if of_questions or is_row_number(fields.shared_id or "") else None
    return None if column is None else FieldReader(str(table.path), "id", (column,), _id)


def row_number_of(table: Table) -> str | None:
    """The column that numbers the rows, by its name and its values: each has a digit, and no two are equal.

    It is the id of a question set without another one. Predictions may count otherwise: theirs is the id only if it is
    the questions' id, too.
    """
    for column in table.columns:
        if not is_row_number(column) or column in table.repeated:
            continue
        numbers: set[str] = set()
        for record in table.records:
            if record.blank:
                continue
            value = record.values.get(column)
            if isinstance(value, (bool, dict, list, tuple, InvalidCell)) or is_absent(value):
                break
            number = str(name_of(value, "the id"))
            if number in numbers or _NUMBER.fullmatch(number) is None:
                break
            numbers.add(number)
        else:
            if numbers:
                return column
    return None


_NUMBER = re.compile(r"(?=.*\d)[\w.:#/-]{1,32}")
"""A number of a row: ``12``, ``Q-12``, ``3.1``."""


def _no_other_id(table: Table, keys: FieldReader[str]) -> None:
    """Raise if a record's id differs from its key: either could be meant."""
    for record in table.records if keys.columns else ():
        value = record.values.get(keys.columns[0])
        if not is_absent(value) and _loose(_id(value)) != _loose(keys.read(record)):
            raise CaseFileError(
                f'the key is {shortened(record.key or "")} and "{keys.columns[0]}" is {shortened(str(value))}: '
                f"name the column of the id, or remove it to use the keys",
                path=str(table.path),
                place=record.place,
            )


def _loose(text: str) -> str:
    return text.strip().casefold()


def _id(value: object) -> str:
    name = name_of(value, "the id")
    if name is None:
        raise UnusableValue("the id is blank, and other rows have one: write one, or take out the column")
    return name
