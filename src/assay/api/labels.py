"""Human labels of a run's cases: whether each prediction is equivalent to gold."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct

from assay.cases.fields import columns_of, listed, missing_column, normal
from assay.cases.load import recognise
from assay.cases.records import Record, Table, kind_of
from assay.cases.tables.formats import CsvFormat, ExcelFormat, JsonFormat, JsonLinesFormat, ParquetFormat, YamlFormat
from assay.cases.values import UnusableValue, is_absent, name_of
from assay.errors import CaseFileError
from assay.model import FieldNames

_COLUMNS = ("label", "equivalent", "is_equivalent", "human", "human_label", "verdict", "correct", "answer")
_YES = frozenset(map(normal, ("yes", "y", "true", "t", "1", "1.0", "equivalent", "correct", "right", "same")))
_NO = frozenset(
    map(
        normal,
        ("no", "n", "false", "f", "0", "0.0", "not equivalent", "inequivalent", "incorrect", "wrong", "different"),
    )
)


class Labels(Struct, frozen=True, kw_only=True):
    """Labels by case id; ``blank`` counts the rows without a label."""

    by_case: dict[str, bool]
    blank: int


def read_labels(path: Path, case_ids: Collection[str]) -> Labels:
    """Read a file with a case's id and yes or no in each row: CSV, JSON Lines, JSON, Excel, Parquet or YAML.

    Raises CaseFileError with file and row for a label that is neither, an id that the run does not
    have, and an id that occurs twice.
    """
    if not path.exists():
        raise CaseFileError("does not exist", path=str(path))
    table = _table(path)
    ids = columns_of("id", None, table.columns, path=str(path))
    labels = [column for column in _COLUMNS for own in table.columns if normal(own) == normal(column)]
    own_names = {normal(own): own for own in table.columns}
    keyed = all(record.key is not None for record in table.records)
    if not ids and not keyed:
        raise missing_column("id", table.columns, path=str(path))
    column = own_names[normal(labels[0])] if labels else "prediction" if keyed else None
    if column is None:
        raise CaseFileError(
            f"no column holds the labels (such as {listed(_COLUMNS[:3])}): there is {listed(table.columns)}",
            path=str(path),
        )
    found: dict[str, bool] = {}
    blank = 0
    for record in table.records:
        if record.blank:
            continue
        case_id = _id_of(path, record, ids)
        if case_id not in case_ids:
            near = get_close_matches(case_id, case_ids, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise CaseFileError(f"{case_id!r} is no case of the run{hint}", path=str(path), place=record.place)
        if case_id in found:
            raise CaseFileError(f"the case {case_id!r} is labelled twice", path=str(path), place=record.place)
        label = _label(path, record, column)
        if label is None:
            blank += 1
        else:
            found[case_id] = label
    if not found:
        raise CaseFileError("holds no label", path=str(path))
    return Labels(by_case=found, blank=blank)


def _table(path: Path) -> Table:
    formats = [JsonLinesFormat(), JsonFormat(), CsvFormat(), ExcelFormat(), ParquetFormat(), YamlFormat()]
    chosen = recognise(path, formats)
    return next(one for one in formats if one is chosen).records(path, FieldNames(), ("id",))


def _id_of(path: Path, record: Record, columns: tuple[str, ...]) -> str:
    value = record.values.get(columns[0]) if columns else record.key
    try:
        case_id = name_of(value, "the id")
    except UnusableValue as error:
        raise CaseFileError(error.message, path=str(path), place=record.place) from error
    if case_id is None:
        raise CaseFileError("has no id of a case", path=str(path), place=record.place)
    return case_id


def _label(path: Path, record: Record, column: str) -> bool | None:
    value = record.values.get(column)
    if is_absent(value) or (isinstance(value, str) and not value.strip()):
        return None
    text = normal(str(value).strip())
    if text in _YES or text in _NO:
        return text in _YES
    shown = kind_of(value)
    raise CaseFileError(
        f'the label is {shown}: write yes or no (also 1 and 0, true and false, "equivalent" and "not equivalent")',
        path=str(path),
        place=f'{record.place}, column "{column}"',
    )
