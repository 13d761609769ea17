"""Small files that stand for gigabytes, and files without an end: a message each, before anything is unpacked."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from assay import registry
from assay.cases import load_cases
from assay.cases.tables import delimited
from assay.cases.text import decoding as text
from assay.cases.text import yaml as yaml_text
from assay.errors import CaseFileError
from assay.settings import is_run_file
from many_cases import each


def load(path: Path) -> object:
    return load_cases(path, formats=registry.case_formats())


def parquet(path: Path, query: str) -> Path:
    duckdb.sql(query).write_parquet(str(path), compression="zstd")
    return path


@each(
    ("query", "said"),
    [
        ("SELECT 'a' id, 'q' question, 'SELECT 1' gold FROM range(1000001)", "has 1,000,001 rows"),
        ("SELECT i id, repeat('q', 1048576) question, 'SELECT 1' gold FROM range(600) t(i)", "has 600 MiB of text"),
        ("SELECT i id, 'q' question, [repeat('x', 1048576)] gold FROM range(600) t(i)", "has 600 MiB of text"),
        ("SELECT " + ", ".join(f"1 AS c{n}" for n in range(5000)), "has 5,000 columns"),
    ],
    ids=["rows", "texts", "nested", "columns"],
)
def test_a_parquet_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, query: str, said: str) -> None:
    with pytest.raises(CaseFileError, match=said):
        load(parquet(tmp_path / "cases.parquet", query))


@each("suffix", [".csv", ".json", ".jsonl", ".yaml", ".sql", ".parquet", ".xlsx"])
def test_what_has_no_end_is_not_opened(tmp_path: Path, suffix: str) -> None:
    pipe, device = tmp_path / f"pipe{suffix}", tmp_path / f"device{suffix}"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (pipe, device):
        with pytest.raises(CaseFileError, match="a pipe or a device"):
            load(path)


@each(
    ("data", "said"),
    [
        (b"id,question,gold\na,q,SELECT 1\n" + b"\0" * 9, "line 3, column 1: ends in 9 zero bytes"),
        (b"id,question,gold\na,q,SELECT 1" + b"\0" * 99, "line 2, column 13: ends in 99 zero bytes"),
        (b"id,question,gold\na,q,SEL\0ECT 1\n", "line 2, column 8: contains a zero byte"),
        ("id,question,gold\na,q,SELECT 1\n".encode("utf-16-le"), "UTF-16 without a byte order mark"),
    ],
)
@each("suffix", [".csv", ".jsonl", ".yaml"])
def test_zero_bytes_are_no_part_of_a_text(tmp_path: Path, data: bytes, said: str, suffix: str) -> None:
    path = tmp_path / f"cases{suffix}"
    path.write_bytes(data)
    with pytest.raises(CaseFileError, match=said):
        load(path)


def test_too_many_columns_or_rows_or_bytes_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("," * 20_000 + "\n")
    with pytest.raises(CaseFileError, match="has more than 16,384 columns"):
        load(path)
    monkeypatch.setattr(delimited, "_MOST_ROWS", 5)
    path.write_text("id,question,gold\n" + "a,q,SELECT 1\n" * 9)
    with pytest.raises(CaseFileError, match="has more than 5 rows"):
        load(path)
    with path.open("wb") as file:
        file.truncate(text.MOST_BYTES + 1)
    with pytest.raises(CaseFileError, match="has 512 MiB; the limit is 512 MiB"):
        load(path)


def test_yaml_that_merges_itself_again_and_again_is_refused_wherever_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = "".join(f"- &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}], id: c{n}}}\n" for n in range(1, 12))
    path = tmp_path / "cases.yaml"
    path.write_text("- &m0 {id: c0, question: q, gold: SELECT 1}\n" + merged)
    assert not is_run_file(path)
    with pytest.raises(CaseFileError, match="what its anchors stand for"):
        load(path)
    monkeypatch.setattr(yaml_text, "MOST_CHARACTERS", 100)
    with pytest.raises(CaseFileError, match="Write it as JSON Lines"):
        load(path)
