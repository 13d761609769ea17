"""Bad input: each message opens with the file and the place, and says what is wrong and what to do."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from refusing import assert_refused

from assay.cases import load_cases, load_predictions
from assay.cases.sdmx.format import SdmxFormat
from assay.errors import CaseFileError, InputError
from assay.model import FieldNames
from assay.ports import CaseFormat
from many_cases import each

GOOD = '{"id": 1, "question": "a", "gold": "SELECT 1"}\n'

BAD_CASES = [
    # file name, content, place, what the message says
    ("set.jsonl", GOOD + '{"id": 2, "question" "b"}\n', "line 2, column 22", ["delimiter", "found '\"b\"}'"]),
    ("set.jsonl", GOOD + '{"id": 2, "question": "b\n', "line 2, column 23", ["nterminated string"]),
    ("set.jsonl", GOOD + "{", "line 2, column 2", ["found the end"]),
    ("set.jsonl", GOOD + "[1, 2]\n", "line 2", ["contains a list", "write an object"]),
    ("set.jsonl", GOOD + GOOD, None, ['id "1" occurs twice', "set.jsonl, line 1", "set.jsonl, line 2"]),
    ("set.jsonl", GOOD + '{"id": 2, "id": 3}\n', "line 2", ['key "id" more than once']),
    ("set.jsonl", GOOD + '{"id": 2, "question": "b", "gold": 5}\n', 'line 2, column "gold"', ["number 5", "text"]),
    ("set.jsonl", GOOD + '{"id": 2, "question": "b", "gold": ["x", {}]}\n', 'line 2, column "gold"', ["an object"]),
    ("set.jsonl", GOOD + '{"id": 2, "question": 7, "gold": "x"}\n', 'line 2, column "question"', ["number 7"]),
    ("set.jsonl", GOOD + '{"id": 2, "gold": "x"}\n', 'line 2, column "question"', ["blank"]),
    ("set.jsonl", GOOD + '{"id": 2, "question": " ", "gold": "x"}\n', 'line 2, column "question"', ["blank"]),
    ("set.jsonl", GOOD + '{"question": "b", "gold": "x"}\n', 'line 2, column "id"', ["blank", "other rows"]),
    ("set.jsonl", GOOD + '{"id": true, "question": "b"}\n', 'line 2, column "id"', ["truth value true"]),
    ("set.jsonl", GOOD + '{"id": 2, "question": "\\ud800"}\n', 'line 2, column "question"', ["surrogate"]),
    ("set.jsonl", GOOD + '{"id": ' + "9" * 5000 + "}\n", "line 2", ["number that cannot be read"]),
    ("set.jsonl", GOOD + "[" * 100_000 + "\n", "line 2", ["nested too deeply"]),
    ("set.jsonl", "[\n" + GOOD + "]\n", None, ["one JSON document", "format json"]),
    ("set.jsonl", "[" + GOOD.strip() + "]", None, ["one JSON document", "format json"]),
    ("set.json", GOOD + GOOD, None, ["one JSON object per line", "format jsonl"]),
    ("set.json", '[\n{"id": 1,\n "question": }]', "line 3, column 14", ["not valid JSON", "found '}]'"]),
    ("set.json", "[" + GOOD + ", 5]", "item 2", ["the number 5"]),
    ("set.json", '{"a": {"question": "q"},\n\n"a": 1}', "lines 1 and 3", ['key "a" more than once']),
    ("set.json", "null", None, ["contains nothing (null)", "write a list of objects"]),
    ("set.json", "[]", None, ["no row", "contains no row"]),
    ("set.json", "", None, ["is empty"]),
    ("set.csv", " \r\n\n", None, ["is empty"]),
    ("set.csv", "question,gold\n", None, ["no row with the question"]),
    ("set.csv", "question,gold\na,SELECT 1, 2\n", "line 2", ["3 fields", "header has 2", "' 2'", "double quotes"]),
    ("set.csv", 'question,gold\n"a\nb",x\nc\n', "line 4", ["1 field", 'field of "gold" is missing']),
    ("set.csv", 'question,gold\na,x\n"b,y\nc,z\n', "line 3", ["never closed", "twice"]),
    ("set.csv", 'question,gold\na,x\n"SELECT "a", b FROM t",y\n', "line 3", ["cannot be read", "twice"]),
    ("set.csv", b"question,gold\nab\xe9,x\n", "line 2, column 3", ["0xe9", "UTF-8"]),
    ("set.csv", "question,gold\na,x\n".encode("utf-16-le"), None, ["UTF-16", "save it as UTF-8", "--encoding"]),
    ("set.csv", "id,question,gold\n01,a,x\n 01 ,b,y\n", None, ['id "01" occurs twice', "line 2", "line 3"]),
    ("set.xlsx", b"question,gold\n", None, ["a text, not a workbook: name it .csv"]),
    ("set.xlsx", b"", None, ["is empty"]),
    ("set.parquet", b"question,gold\n", None, ["not a readable Parquet file"]),
    ("set.parquet", b"", None, ["is empty"]),
    ("set.yaml", "- question: a\n  gold: [x\n", "line 2, column 9", ["not valid YAML", "expected ',' or ']'"]),
    ("set.yaml", "- question: a\n  gold: x\n  gold: y\n", "line 3, column 3", ['key "gold" more than once']),
    ("set.yaml", "- question: a\n  gold: 5\n", 'line 1, column "gold"', ["the number 5"]),
    ("set.yaml", "- question: a\n  gold: true\n", 'line 1, column "gold"', ["the truth value true"]),
    ("set.yaml", "- &a\n  question: *a\n", "line 1, column 3", ["contains itself"]),
    ("set.yaml", "- ? [a]\n  : b\n", "line 1, column 5", ["a key is a list"]),
    ("set.yaml", "# nothing\n", None, ["no row"]),
    ("set.yaml", "a: \x01", None, ["not valid YAML"]),
    ("gold.sql", "SELECT 1\tshop\nSELECT 2\n", "line 2", ["no tab", "db_id"]),
    ("gold.sql", "SELECT 1\tshop\n\nSELECT 2\tshop\n", "line 2", ["is blank"]),
    ("gold.sql", "\tshop\n", "line 1", ["no query before the tab"]),
    ("gold.sql", "\n\n", None, ["is empty"]),
    ("set.xml", "<a/>", None, ['".xml"', "one of jsonl, json, csv"]),
    ("set", "a", None, ["without a suffix"]),
]


@pytest.mark.parametrize("bad", BAD_CASES)
def test_unusable_question_set(bad, formats, write):
    name, content, place, says = bad
    error = assert_refused(lambda path: load_cases(path, formats=formats), write(name, content), place, says)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    "bad",
    [
        ("p.jsonl", '{"id": 1, "pred": 5}', 'line 1, column "pred"', ["the number 5"]),
        ("p.jsonl", '{"id": 1, "pred": ["a", "b"]}', 'line 1, column "pred"', ["a list"]),
        ("p.jsonl", '{"id": 1, "pred": "a"}\n{"id": "1", "pred": "b"}', None, ['id "1" occurs twice', "line 2"]),
        ("p.json", '{"1": "a",\n"1": "b"}', "lines 1 and 2", ['key "1" more than once']),
        ("p.json", '{"1": ["a"]}', 'key "1"', ["a list", "write an object"]),
        ("p.json", '{" ": "SELECT 1"}', 'key " "', ["the id is blank"]),
        ("p.json", "{}", None, ["no row with the predicted query"]),
        ("p.csv", "id,pred,llm_time\n1,a,fast\n", 'line 2, column "llm_time"', ["'fast'", "expected a number"]),
        ("p.csv", "id,pred,latency_s\n1,a,-1\n", 'line 2, column "latency_s"', ["from 0 to"]),
        ("p.csv", "id,pred,cost_usd\n1,a,inf\n", 'line 2, column "cost_usd"', ["from 0 to"]),
        ("p.csv", "id,pred,total_tokens\n1,a,1.5\n", 'line 2, column "total_tokens"', ["whole number"]),
        ("p.json", '{"a": "SELECT 1\\t----- bird -----\\tx"}', None, ['key "a" is not a position', "question_id"]),
        ("p.txt", "\n \n", None, ["is empty"]),
    ],
)
def test_unusable_prediction_file(bad, formats, write):
    name, content, place, says = bad
    assert_refused(lambda path: load_predictions(path, formats=formats), write(name, content), place, says)


@each(("missing", "near"), [("case.jsonl", "cases.jsonl"), ("nosuch.jsonl", None), ("d.csv", None)])
@each("load", [load_cases, load_predictions])
def test_only_a_likely_misspelling_is_offered_for_a_missing_file(missing, near, load, formats, tmp_path):
    for name in ("c.json", "cases.jsonl", "shop.csv"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(CaseFileError, match="does not exist in the folder") as caught:
        load(tmp_path / missing, formats=formats)
    assert str(caught.value).partition("; did you mean ")[2] == (f'"{near}"?' if near else "")
    with pytest.raises(CaseFileError, match=r"does not exist, nor does its folder"):
        load(tmp_path / "nowhere" / missing, formats=formats)


@pytest.mark.parametrize("format", [None, "jsonl", "csv", "xlsx", "parquet", "yaml", "bird", "spider"])
def test_a_folder_is_no_file(format, formats, write, tmp_path):
    write("dev.jsonl", GOOD)
    with pytest.raises(CaseFileError, match=r"is a folder: name a file in it|is a directory|Is a directory"):
        load_cases(tmp_path, formats=formats, format=format)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read any file")
def test_a_file_that_may_not_be_read(formats, write):
    path = write("dev.jsonl", GOOD)
    path.chmod(0)
    with pytest.raises(CaseFileError, match="cannot be read: Permission denied"):
        load_cases(path, formats=formats)


def test_a_table_in_excel_without_any_cell(formats, tmp_path):
    import xlsxwriter

    xlsxwriter.Workbook(tmp_path / "set.xlsx").close()
    with pytest.raises(CaseFileError, match="no visible sheet has content"):
        load_cases(tmp_path / "set.xlsx", formats=formats)


def test_fields_named_for_a_list_of_plain_texts(formats, write):
    with pytest.raises(CaseFileError, match=r'unknown column "sql"'):
        load_predictions(write("p.json", '["a"]'), formats=formats, fields=FieldNames(prediction="sql"))


@pytest.mark.parametrize("shape", ["- id: a\n  predicted_sql: x\n  more:\n{}", "{}- id: a\n", "answer:\n{}"])
def test_yaml_anchors_that_stand_for_billions_of_values_are_an_error(
    tmp_path: Path, formats: list[CaseFormat], shape: str
) -> None:
    lines = ["    z0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"    z{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 11)]
    path = tmp_path / "bomb.yaml"
    path.write_text(shape.format("\n".join(lines) + "\n"), encoding="utf-8")
    with pytest.raises(CaseFileError):
        load_predictions(path, formats=formats)
    with pytest.raises(CaseFileError):
        load_predictions(path, formats=[SdmxFormat()])


@each("name", ["idna", "punycode", "undefined", "rot13", "zlib", "hex", "utf-99", ""])
def test_an_encoding_that_no_file_has_is_an_error(tmp_path: Path, formats: list[CaseFormat], name: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes('{"id": "a", "predicted_sql": "é"}'.encode("cp1252"))
    with pytest.raises(InputError):
        load_predictions(path, formats=formats, fields=FieldNames(encoding=name))
