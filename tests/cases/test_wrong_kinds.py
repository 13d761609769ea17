"""Files of a wrong kind: recognised by their content, whatever they are called, and told what to save them as."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from assay import registry
from assay.cases import load_cases, load_predictions
from assay.cases.fields import ALIASES, option_of
from assay.errors import CaseFileError
from assay.settings.columns import CASE_COLUMNS, PREDICTION_COLUMNS
from many_cases import each


def archive(**entries: str) -> bytes:
    """A ZIP archive; ``__`` in a name stands for a slash and ``_dot_`` for a dot."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, text in entries.items():
            file.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return data.getvalue()


OLE = bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600
RECORDS = [{"id": "1", "question": "One?", "gold_sql": "SELECT 1"}]
BINARY = {
    "docx": (
        archive(word__document_dot_xml="<w/>"),
        "a text document (Word or Writer): save its table as .xlsx or .csv",
    ),
    "pptx": (archive(ppt__presentation_dot_xml="<p/>"), "a presentation: save its table as .xlsx or .csv"),
    "odt": (archive(mimetype="application/vnd.oasis.opendocument.text"), "a text document"),
    "numbers": (archive(Index__Document_dot_iwa="x"), "Numbers or Pages: export it (File > Export To > Excel)"),
    "zip": (archive(cases_dot_json="[]"), "a ZIP archive (cases.json): unpack it, and name the file in it"),
    "pdf": (b"%PDF-1.7\n\xe2\xe3", "a PDF document: save its table as .xlsx or .csv"),
    "rtf": (b"{\\rtf1 hello}", "Rich Text Format: save its table as .xlsx or .csv"),
    "doc": (OLE + "WordDocument".encode("utf-16-le"), "a Word document: save its table as .xlsx or .csv"),
    "locked": (OLE + "EncryptedPackage".encode("utf-16-le"), "a workbook with a password: remove the password"),
    "gz": (b"\x1f\x8b\x08" + b"\0" * 20, "compressed by gzip: unpack it"),
    "xz": (b"\xfd7zXZ\0\0\4", "compressed by xz: unpack it"),
    "zst": (b"\x28\xb5\x2f\xfd\0", "compressed by zstd: unpack it"),
    "7z": (b"7z\xbc\xaf\x27\x1c\0", "a 7z archive: unpack it"),
    "tar": (b"x" * 257 + b"ustar\0", "a TAR archive: unpack it"),
    "sqlite": (b"SQLite format 3\0" + b"\0" * 99, "an SQLite database: name it with --db"),
    "duckdb": (b"\0" * 8 + b"DUCK" + b"\0" * 9, "a DuckDB database: name it with --db"),
    "arrow": (b"ARROW1\0\0", "an Arrow file: save it as .parquet"),
    "pickle": (b"\x80\x04\x95\0", "a Python pickle, which Assay does not read"),
    "png": (b"\x89PNG\r\n\x1a\n", "an image"),
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\n",
        "a pointer of Git LFS, not its content: run",
    ),
    "html": (b"<!DOCTYPE html>\n<html><body><table></table></body></html>", "a web page (HTML)"),
    "bare": (b"  <table><tr><td>Question</td></tr></table>", "a web page (HTML)"),
    "xml": (b"<?xml version='1.0'?><a/>", "an XML document"),
    "xml2003": (
        b"<?xml version='1.0'?><Workbook xmlns='urn:schemas-microsoft-com:office:spreadsheet'/>",
        "the XML of Excel 2003: save it as .xlsx",
    ),
}
TEXTS = {
    "json": (json.dumps(RECORDS).encode(), "JSON: name it .json"),
    "jsonl": ("\n".join(map(json.dumps, RECORDS * 2)).encode(), "JSON Lines: name it .jsonl"),
}


def message_of(path: Path) -> str:
    messages = set()
    for load in load_cases, load_predictions:
        with pytest.raises(CaseFileError) as raised:
            load(path, formats=registry.case_formats())
        messages.add(str(raised.value))
    (message,) = messages
    assert message.startswith(f"{path}: is ")
    assert "\n" not in message
    return message


@each("kind", sorted(BINARY))
@each(
    "suffix",
    [".xlsx", ".xls", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".parquet", ".txt", ".sql", ".docx", ".old", ""],
)
def test_a_wrong_kind_is_told_by_its_content(tmp_path: Path, kind: str, suffix: str) -> None:
    content, says = BINARY[kind]
    path = tmp_path / f"cases{suffix}"
    path.write_bytes(content)
    assert says in message_of(path)


@each("kind", sorted(TEXTS))
@each("suffix", [".xlsx", ".xls", ".csv", ".tsv", ".txt", ".sql", ".old", ""])
def test_json_under_another_name_is_told_what_to_call_it(tmp_path: Path, kind: str, suffix: str) -> None:
    content, says = TEXTS[kind]
    path = tmp_path / f"cases{suffix}"
    path.write_bytes(content)
    assert message_of(path).endswith(says)


@each(
    ("name", "content", "says"),
    [
        ("in.xlsx", b"question,gold_sql\nOne?,SELECT 1\n", "a text, not a workbook: name it .csv"),
        ("in.md", b"| question | sql |\n|---|---|\n", "a table in Markdown"),
        ("in", b"id,question,gold_sql\n1,One?,SELECT 1\n", "a table of text: name it .csv"),
        ("in.dat", b"id\tquestion\tgold_sql\n1\tOne?\tSELECT 1\n", "a table of text: name it .tsv"),
        ("in.conf", b"- question: One?\n  gold_sql: SELECT 1\n", "a list in YAML: name it .yaml"),
        ("in.xlsx", OLE, "Office before 2007: open it and save its table as .xlsx"),
    ],
)
def test_a_text_under_a_wrong_name_is_told_its_own(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert says in message_of(path)


def test_a_workbook_under_any_other_name_is_told_its_own(tmp_path: Path) -> None:
    from xlsxwriter import Workbook

    with Workbook(tmp_path / "in.xlsx") as book:
        book.add_worksheet().write_row(0, 0, ["question", "gold_sql"])
    for suffix in (".csv", ".json", ".jsonl", ".yaml", ".txt", ".zip", ""):
        path = tmp_path / f"in{suffix}"
        path.write_bytes((tmp_path / "in.xlsx").read_bytes())
        assert "is a workbook: name it .xlsx" in message_of(path)


def test_a_folder_names_a_file_in_it(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match=r"the folder is empty. Is this the right path\?"):
        load_cases(tmp_path, formats=registry.case_formats())
    (tmp_path / "cases.jsonl").write_text("{}")
    with pytest.raises(CaseFileError, match=r"is a folder: name a file in it, for example .*cases\.jsonl"):
        load_cases(tmp_path, formats=registry.case_formats())


@each("key", ["entries", "rows", "shop db", 'a"b'])
def test_an_object_with_a_list_under_another_name_is_told_how_to_save_it(tmp_path: Path, key: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"version": 3, key: RECORDS}))
    message = message_of(path)
    assert f'records under "{key}"' in message
    assert f"jq '.[{json.dumps(key)}]' in.json > cases.json" in message


@each("key", ["cases", "data", "questions", "results"])
def test_an_object_with_a_list_under_a_usual_name_is_read(tmp_path: Path, key: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"version": 3, key: RECORDS}))
    assert [case.id for case in load_cases(path, formats=registry.case_formats())] == ["1"]


@each(
    ("line", "says"),
    [
        ("{'id': 1}", 'JSON has straight double quotes: write "id"'),
        ("{\u201cid\u201d: 1}", "JSON has straight double quotes"),
        ('{"id": None}', "Write null instead of None"),
        ('{"id": True}', "Write true instead of True"),
        ('{"id": 1,}', "Remove the comma before the bracket"),
        ('{"id": 1} // one', ""),
        ('{"id": "1", "question": "How', "Was the file written completely?"),
        ('{"id": "1", "question": ', "Was the file written completely?"),
    ],
)
def test_a_broken_line_is_told_with_its_place_and_what_to_write(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(f"{json.dumps(RECORDS[0])}\n{line}\n")
    with pytest.raises(CaseFileError) as raised:
        load_cases(path, formats=registry.case_formats())
    assert str(raised.value).startswith(f"{path}, line 2, column ")
    assert says in str(raised.value)


@each("encoding", ["utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@each("name", ["in.csv", "in.jsonl", "in.yaml"])
def test_another_encoding_is_read_or_named(tmp_path: Path, encoding: str, name: str) -> None:
    path = tmp_path / name
    text = {
        "in.csv": "id,question,gold_sql\n1,Größe?,SELECT 1\n",
        "in.jsonl": '{"id": 1, "question": "Größe?", "gold_sql": "SELECT 1"}\n',
        "in.yaml": "- {id: 1, question: Größe?, gold_sql: SELECT 1}\n",
    }[name]
    path.write_bytes(text.encode(encoding))
    from assay.model import FieldNames

    formats = registry.case_formats()
    if encoding != "utf-16":
        with pytest.raises(CaseFileError, match=f"--encoding {encoding}  "):
            load_cases(path, formats=formats)
    (case,) = load_cases(path, formats=formats, fields=FieldNames(encoding=None if encoding == "utf-16" else encoding))
    assert case.question == "Größe?"


@each("repeats", [2, 3, 9])
def test_ids_that_occur_again_are_named_with_their_rows_and_the_options(tmp_path: Path, repeats: int) -> None:
    path = tmp_path / "in.csv"
    rows = [f"a,k{number},One {number}?,SELECT 1,SELECT 1" for number in range(repeats)]
    path.write_text("\n".join(["id,key,question,gold_sql,prediction", *rows, *(["b,x,Q,SELECT 1,SELECT 1"] * 2)]))
    with pytest.raises(CaseFileError) as raised:
        load_cases(path, formats=registry.case_formats())
    message = str(raised.value)
    assert f'the id "a" occurs {"twice" if repeats == 2 else f"{repeats} times"}: in in.csv, line 2' in message
    assert "and in in.csv, line 3" in message or repeats > 2
    assert 'so does "b"' in message
    assert "--id-column @position" in message
    with pytest.raises(CaseFileError, match=rf"--prediction-id-column @position.*--repeat {repeats} "):
        load_predictions(path, formats=registry.case_formats())


def test_another_column_of_ids_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,key,question,gold_sql\na,k1,One?,SELECT 1\na,k2,Two?,SELECT 1\n")
    with pytest.raises(CaseFileError, match=r"for example  --id-column key;"):
        load_cases(path, formats=registry.case_formats())


def test_messages_name_the_options_that_there_are() -> None:
    declared = {name: setting.option for name, setting in (CASE_COLUMNS | PREDICTION_COLUMNS).items()}
    declared |= {name: setting.option for name, setting in CASE_COLUMNS.items()}
    named = set(ALIASES) & set(declared)
    assert {"question", "gold", "database", "prediction", "tags"} <= named
    assert {field: option_of(field) for field in ALIASES if field in named} == {
        field: declared[field] for field in named
    }


@each("word", ["DUCK", "PAR1", "BZh9", "Obj", "ARROW1", "Rar!"])
def test_a_text_that_begins_like_another_kind_is_read(tmp_path: Path, word: str) -> None:
    path = tmp_path / "in.csv"
    path.write_text(f"id,name\n{word},x\n".replace("name", "base") if word == "DUCK" else f"{word}_x,base\na,x\n")
    with pytest.raises(CaseFileError, match=r"no column found for the question"):
        load_cases(path, formats=registry.case_formats())
