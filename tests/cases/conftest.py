"""Every built-in format, writers for real files in each of them, and the shared data where it is at hand."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from assay.cases.benchmarks.bird import BirdFormat
from assay.cases.benchmarks.spider import SpiderFormat
from assay.cases.tables.formats import CsvFormat, ExcelFormat, JsonFormat, JsonLinesFormat, ParquetFormat, YamlFormat
from assay.ports import CaseFormat

sys.path.insert(0, str(Path(__file__).parent))

Rows = Sequence[Mapping[str, object]]
Writer = Callable[[Path, Rows], Path]


@pytest.fixture(scope="session")
def formats() -> list[CaseFormat]:
    # The generic ones first: the order in which they are registered must not matter.
    tables = (JsonLinesFormat, JsonFormat, CsvFormat, ExcelFormat, ParquetFormat, YamlFormat)
    return [format() for format in (*tables, SpiderFormat, BirdFormat)]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file of this name and content into a fresh folder."""

    def writer(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer


def columns_of(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def write_jsonl(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_json(path: Path, rows: Rows) -> Path:
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def in_one_text(value: object) -> object:
    return "\n---\n".join(value) if isinstance(value, list) else value


def write_csv(path: Path, rows: Rows) -> Path:
    text = io.StringIO(newline="")
    names = columns_of(rows)
    writer = csv.writer(text, delimiter="\t" if path.suffix == ".tsv" else ",")
    writer.writerow(names)
    writer.writerows([in_one_text(row.get(name)) for name in names] for row in rows)
    path.write_bytes(text.getvalue().encode())
    return path


def write_xlsx(path: Path, rows: Rows) -> Path:
    import xlsxwriter

    names = columns_of(rows)
    with xlsxwriter.Workbook(path) as workbook:
        sheet = workbook.add_worksheet()
        for number, row in enumerate([dict(zip(names, names, strict=True)), *rows]):
            for column, name in enumerate(names):
                value = in_one_text(row.get(name))
                if isinstance(value, str):
                    sheet.write_string(number, column, value)
                elif value is not None:
                    sheet.write(number, column, value)
    return path


def write_parquet(path: Path, rows: Rows) -> Path:
    import duckdb

    names = columns_of(rows)
    with duckdb.connect() as connection:
        types = []
        for name in names:
            values = [row.get(name) for row in rows]
            kind = "BIGINT" if any(isinstance(value, int) for value in values) else "VARCHAR"
            types.append(f'"{name}" {kind}' + ("[]" if any(isinstance(value, list) for value in values) else ""))
        connection.execute(f"CREATE TABLE t ({', '.join(types)})")
        lists = [name for name, kind in zip(names, types, strict=True) if kind.endswith("[]")]
        for row in rows:
            values = [
                [row[name]] if name in lists and isinstance(row.get(name), str) else row.get(name) for name in names
            ]
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", values)
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    return path


def write_yaml(path: Path, rows: Rows) -> Path:
    """A block sequence of mappings, values as JSON has them, which YAML reads as it is.

    Not by ruamel's own writer: its folded lines, and texts such as ``?0`` that it leaves unquoted, read differently.
    """
    lines: list[str] = []
    for row in rows:
        pairs = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in row.items()]
        lines += [f"{'-' if number == 0 else ' '} {pair}" for number, pair in enumerate(pairs)]
    # JSON leaves these as they are, and YAML takes them for line breaks or for no characters at all.
    text = "".join(_escaped(character) for character in "\n".join(lines) + "\n")
    path.write_text(text, encoding="utf-8")
    return path


def _escaped(character: str) -> str:
    unsafe = character in "\x7f\x85\u2028\u2029\ufeff" or "\x80" <= character <= "\x9f" or character in "\ufffe\uffff"
    return f"\\u{ord(character):04x}" if unsafe else character


WRITERS: Mapping[str, Writer] = {
    ".jsonl": write_jsonl,
    ".json": write_json,
    ".csv": write_csv,
    ".tsv": write_csv,
    ".xlsx": write_xlsx,
    ".parquet": write_parquet,
    ".yaml": write_yaml,
}


@pytest.fixture
def writers() -> Mapping[str, Writer]:
    return WRITERS
