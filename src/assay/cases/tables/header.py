"""Which row of a table is its header, if a title stands above it."""

from __future__ import annotations

from collections.abc import Sequence

from assay.cases.fields import Field, columns_of, sheet_option
from assay.cases.records import header_of, is_query_text
from assay.errors import CaseFileError
from assay.model import FieldNames

TITLE_ROWS = 20
"""How many rows are searched for the header."""
SEARCHED_ROWS = 2 * TITLE_ROWS
"""How many rows are needed for the search, including those below the header."""
_LONGEST_NAME = 60

Row = Sequence[str]


def header_row_of(rows: Sequence[Row], fields: FieldNames, wanted: Sequence[Field], *, path: str) -> int:
    """The index of the row that is the header: the first with the wanted columns, else the one that looks like it.

    Names that the user gave are tried first, then the usual names.
    """
    searched = [(index, row) for index, row in enumerate(rows[:TITLE_ROWS]) if any(cell.strip() for cell in row)]
    for names in (fields, FieldNames()):
        for index, row in searched:
            if has_columns(header_of(row)[0], names, wanted, path=path):
                return index
    first = searched[0][0] if searched else 0
    return next((index for index, row in searched if _looks_like_header(row, rows[index + 1 :])), first)


def check_header_row(
    rows: Sequence[Row], given: int, fields: FieldNames, wanted: Sequence[Field], *, path: str, first: int = 0
) -> None:
    """Raise CaseFileError if the row that the user named is not the header, but another one is.

    ``given`` counts from the top of the sheet, ``rows`` from its row ``first``.
    """
    place = given - first
    row = rows[place] if 0 <= place < len(rows) else ()
    is_blank = not any(cell.strip() for cell in row)
    if any(has_columns(header_of(row)[0], names, wanted, path=path) for names in (fields, FieldNames())):
        return
    found = header_row_of(rows, fields, wanted, path=path)
    other = rows[found] if found < len(rows) else ()
    sure = any(has_columns(header_of(other)[0], names, wanted, path=path) for names in (fields, FieldNames()))
    if not sure and not (is_blank and any(cell.strip() for cell in other)):
        return
    what = "is blank" if is_blank else "does not name the columns"
    raise CaseFileError(
        f"row {given + 1} {what} ({sheet_option('header-row', wanted, given)}, counted from 0); row "
        f"{found + first + 1} looks like the header: write  {sheet_option('header-row', wanted, found + first)}",
        path=path,
    )


def has_columns(columns: Sequence[str], fields: FieldNames, wanted: Sequence[Field], *, path: str) -> bool:
    """Whether there is a column for each wanted field."""
    try:
        return all(columns_of(field, getattr(fields, field), columns, path=path) for field in wanted)
    except CaseFileError:  # a column that the user named is missing
        return False


def _looks_like_header(row: Row, below: Sequence[Row]) -> bool:
    """Whether a row has several different short names, with values below most of them and in no other column."""
    names = [cell.strip() for cell in row]
    filled = [index for index, name in enumerate(names) if name]
    if len(filled) < 2 or len({names[index] for index in filled}) < len(filled):
        return False
    if any(len(names[index]) > _LONGEST_NAME or is_query_text(names[index]) for index in filled):
        return False
    values = [{index for index, cell in enumerate(one) if cell.strip()} for one in below[:TITLE_ROWS] if any(one)]
    if not values:
        return False
    within = sum(len(one & {*filled}) * 2 > len(filled) and one - {0} <= {*filled} for one in values)
    return within * 2 > len(values)


def other_header(row: int, wanted: Sequence[Field]) -> str:
    """For a message: which row was taken for the header, counted from 0, and how to name another."""
    option = sheet_option("header-row", wanted, row)
    return f"Row {row + 1} was taken for the header ({option}, counted from 0): if it is another, name that"
