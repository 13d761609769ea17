"""Read Excel files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.cases.records import Record, Table, header_of, without_end
from assay.cases.text import empty, unreadable
from assay.errors import CaseFileError


def excel_table(path: Path) -> Table:
    """The records of an Excel file's first visible sheet that is not empty.

    The first row that is not blank names the columns. Formulas give the value that was saved with
    them. Raises CaseFileError.
    """
    rows = _rows(path)
    start = next((number for number, row in enumerate(rows) if not _is_blank(row)), None)
    if start is None:
        raise CaseFileError("holds no filled cell in any visible sheet", path=str(path))
    columns, repeated = header_of(["" if cell is None else str(cell) for cell in rows[start]])
    records = [
        Record(
            place=f"row {number}",
            blank=_is_blank(row),
            values={name: None if cell == "" else cell for name, cell in zip(columns, row, strict=True) if name},
        )
        for number, row in enumerate(rows[start + 1 :], start=start + 2)
    ]
    return Table(
        path=path,
        records=without_end(records),
        columns=tuple(dict.fromkeys(name for name in columns if name)),
        repeated=repeated,
        golds_in_text=True,
        blank_is_absent=True,
    )


def _rows(path: Path) -> Sequence[Sequence[object]]:
    """The rows of the sheet, from its first on, so that their numbers are those that Excel shows."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    # Opened here first: calamine says of a file that it may not read only that it knows no such format.
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise empty(path)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        with CalamineWorkbook.from_path(path) as workbook:
            for sheet in workbook.sheets_metadata:
                if sheet.visible is not SheetVisibleEnum.Visible or sheet.typ is not SheetTypeEnum.WorkSheet:
                    continue
                rows = workbook.get_sheet_by_name(sheet.name).to_python(skip_empty_area=False)
                if any(not _is_blank(row) for row in rows):
                    return rows
    except CalamineError as error:
        raise CaseFileError(
            f"is no Excel file that can be read ({error}): save it as .xlsx, or give its format", path=str(path)
        ) from error
    return []


def _is_blank(row: Sequence[object]) -> bool:
    return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in row)
