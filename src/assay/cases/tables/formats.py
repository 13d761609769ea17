"""Question sets and predictions in the formats that contain any table: JSON Lines, JSON, CSV, Excel, Parquet, YAML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from assay.cases.fields import WITHOUT_GOLD, Field, sheet_option
from assay.cases.from_records import read_cases, read_predictions
from assay.cases.records import Table
from assay.errors import CaseFileError
from assay.model import FieldNames
from assay.ports import LoadedCases, LoadedPredictions


class _TableFormat:
    """A format whose files hold records, recognised by suffix. Each reads its file into a Table."""

    name: str
    by_suffix_alone: ClassVar[bool] = True
    takes_encoding: ClassVar[bool] = True
    suffixes: ClassVar[frozenset[str]]
    blank_rows = 0
    """The number of blank rows skipped between the cases of the last question set."""

    def recognises(self, path: Path) -> bool:
        """Whether the file has one of the format's suffixes."""
        return path.suffix.lower() in self.suffixes and not path.is_dir()

    def cases(self, path: Path, fields: FieldNames) -> LoadedCases:
        """Read a question set. Raises CaseFileError with file, row and column."""
        wanted: tuple[Field, ...] = ("question", "gold") if fields.prediction is None else ("gold",)
        if fields.gold == WITHOUT_GOLD:
            wanted = ("question", "prediction")
        table = self.records(path, fields, wanted)
        filled = [] if table.plain else [place for place, record in enumerate(table.records) if not record.blank]
        self.blank_rows = filled[-1] + 1 - len(filled) if filled else 0
        return read_cases(table, fields)

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read a prediction file. Raises CaseFileError with file, row and column."""
        return read_predictions(self.records(path, fields, ("prediction",)), fields)

    def records(self, path: Path, fields: FieldNames, wanted: Sequence[Field]) -> Table:
        """The file's records. ``wanted`` are the fields that they must have, which identifies the right sheet."""
        if fields.header_row is not None:
            raise CaseFileError(
                f"{sheet_option('header-row', wanted)} is for workbooks and CSV files, and this is neither: omit it",
                path=str(path),
            )
        return self.table(path, fields)

    def table(self, path: Path, fields: FieldNames) -> Table:
        """The file's records. Raises CaseFileError."""
        raise NotImplementedError


class JsonLinesFormat(_TableFormat):
    """One JSON object per line; for predictions also one text (or null) per line."""

    name = "jsonl"
    suffixes = frozenset({".jsonl", ".ndjson"})

    def table(self, path: Path, fields: FieldNames) -> Table:
        from assay.cases.text.json import json_lines_table

        return json_lines_table(path, encoding=fields.encoding)


class JsonFormat(_TableFormat):
    """One JSON document: a list of objects or an object from ids to objects; for predictions also texts."""

    name = "json"
    suffixes = frozenset({".json"})

    def table(self, path: Path, fields: FieldNames) -> Table:
        from assay.cases.text.json import json_table

        return json_table(path, encoding=fields.encoding)


class CsvFormat(_TableFormat):
    """Rows of text under a header, separated by commas, semicolons or tabs."""

    name = "csv"
    suffixes = frozenset({".csv", ".tsv"})

    def records(self, path: Path, fields: FieldNames, wanted: Sequence[Field]) -> Table:
        from assay.cases.tables.delimited import delimited_table

        return delimited_table(path, fields, wanted)


class ExcelFormat(_TableFormat):
    """A sheet of a workbook, with a header row: the named one, or the only one with the columns."""

    name = "xlsx"
    takes_encoding = False
    suffixes = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})

    def records(self, path: Path, fields: FieldNames, wanted: Sequence[Field]) -> Table:
        from assay.cases.tables.excel import excel_table

        return excel_table(path, fields, wanted)


class ParquetFormat(_TableFormat):
    """A Parquet file; lists may contain several gold queries or tags."""

    name = "parquet"
    takes_encoding = False
    suffixes = frozenset({".parquet", ".pq"})

    def table(self, path: Path, fields: FieldNames) -> Table:
        from assay.cases.tables.parquet import parquet_table

        del fields  # none of these options applies to a format with types and one table
        return parquet_table(path)


class YamlFormat(_TableFormat):
    """A YAML 1.2 document in the same shapes as JSON."""

    name = "yaml"
    suffixes = frozenset({".yaml", ".yml"})

    def table(self, path: Path, fields: FieldNames) -> Table:
        from assay.cases.text.yaml import yaml_table

        return yaml_table(path, encoding=fields.encoding)
