"""Cases that give the expected result, and answers that are rows: through the whole of an evaluation."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import xlsxwriter

import assay
from assay.cases.from_records import read_cases, read_predictions
from assay.cases.given.files import ResultFiles, of_gold
from assay.cases.records import Record, Table
from assay.errors import CaseFileError
from assay.model import Case, FieldNames, GivenResult
from many_cases import each

ROWS = [(1, "Ana", 2.5), (2, "Ivo", None)]
METRICS = ["match", "bird_ex", "spider2_lite", "ves", "spider_ex"]


@pytest.fixture
def database(make_sqlite: Callable[..., Path]) -> str:
    rows = "INSERT INTO t VALUES (1, 'Ana', 2.5), (2, 'Ivo', NULL)"
    return f"sqlite:///{make_sqlite(f'CREATE TABLE t (id INTEGER, name TEXT, x REAL); {rows}')}"


def _files(folder: Path) -> None:
    """The same rows in each kind of file, and files that hold none."""
    with (folder / "r.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "name", "x"), *ROWS])
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (id INTEGER, name TEXT, x DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
        connection.execute(f"COPY t TO '{folder / 'r.parquet'}' (FORMAT parquet)")
    with xlsxwriter.Workbook(str(folder / "r.xlsx")) as book:
        sheet = book.add_worksheet("first one")
        for place, row in enumerate([("id", "name", "x"), *ROWS]):
            sheet.write_row(place + 2, 1, ["" if cell is None else cell for cell in row])
        sheet.write(0, 0, "A title")
        book.add_worksheet("second").write(0, 0, "alone")
    (folder / "empty.csv").write_text("")
    (folder / "ragged.csv").write_text("a,b\n1\n")
    (folder / "broken.parquet").write_text("PAR1 and no more")
    (folder / "broken.xlsx").write_text("no workbook")
    (folder / "folder.csv").mkdir()


SAID: dict[str, Any] = {
    "rows": [list(row) for row in ROWS],
    "objects": [dict(zip(("id", "name", "x"), row, strict=True)) for row in ROWS],
    "object": {"columns": ["id", "name", "x"], "rows": [list(row) for row in ROWS]},
    "csv": "r.csv",
    "parquet": {"file": "r.parquet"},
    "range": "r.xlsx#first one!B3:D5",
    "sheet and range": {"file": "r.xlsx", "sheet": "first one", "range": "$B$3:$D$5"},
    "any of": {"any_of": [[[9]], "r.csv"]},
}
BROKEN = {
    "rr.csv": 'this file does not exist (did you mean "',
    "no/where.csv": "this folder does not exist",
    "folder.csv": "is a folder",
    "empty.csv": "is empty",
    "ragged.csv": "line 2 has 1 cells, but the header has 2",
    "broken.parquet": "is not a readable Parquet file",
    "broken.xlsx": "is not a readable Excel file",
    "r.xlsx": "has several sheets",
    "r.xlsx#secnd": '(did you mean "second"?)',
    "r.xlsx#second!C3:A1": "ends before it begins",
    "r.csv#A1:B2": "only a workbook",
}


def test_each_way_to_say_a_result_is_gold_and_is_an_answer(tmp_path: Path, database: str) -> None:
    _files(tmp_path)
    cases = [{"id": f"gold {name}", "question": "?", "gold_result": said} for name, said in SAID.items()]
    cases += [{"id": f"answer {name}", "question": "?", "gold_sql": "SELECT * FROM t"} for name in SAID]
    cases += [{"id": f"wrong {name}", "question": "?", "gold_result": said} for name, said in SAID.items()]
    answers: list[dict[str, Any]] = [{"id": f"gold {name}", "sql": "SELECT name, x, id FROM t"} for name in SAID]
    for name, said in SAID.items():
        only = said["any_of"][1] if name == "any of" else said
        answers.append({"id": f"answer {name}", "predicted_result": only})
        answers.append({"id": f"wrong {name}", "sql": "SELECT name, x, 3 - id FROM t"})
    for name, records in (("cases.json", cases), ("answers.json", answers)):
        (tmp_path / name).write_text(json.dumps(records))
    run = assay.evaluate(tmp_path / "cases.json", tmp_path / "answers.json", databases=database, metrics=METRICS)
    told = {one.case.id: one for one in run.evidence}
    for name in SAID:
        assert told[f"gold {name}"].outcome == "correct", (name, told[f"gold {name}"].verdict.reason)
        assert told[f"answer {name}"].outcome == "correct", (name, told[f"answer {name}"].verdict.reason)
        assert told[f"wrong {name}"].outcome == "incorrect", name
        assert told[f"wrong {name}"].diagnosis is not None
    assert told["gold any of"].verdict.gold_index == 1
    for one in run.evidence:
        for metric in ("ves", "spider_ex"):
            score = one.score(metric)
            assert score.value is None
            assert "does not apply" in score.failure.message
        assert {one.score(name).value for name in ("bird_ex", "spider2_lite")} <= {0.0, 1.0}  # type: ignore[union-attr]
    assert told["gold csv"].score("bird_ex").value == 0.0  # type: ignore[union-attr] # its columns are in another order
    assert told["answer csv"].score("bird_ex").value == 1.0  # type: ignore[union-attr] # as the types of gold need it


def test_a_file_that_holds_no_result_is_golds_failure_by_name_and_a_finding(tmp_path: Path, database: str) -> None:
    _files(tmp_path)
    cases = [{"id": name, "question": f"What is in {name}?", "gold_result": name} for name in BROKEN]
    cases.append({"id": "beyond", "question": "?", "gold_result": "r.csv", "options": {"condition_columns": [1, 7]}})
    cases.append({"id": "one is fine", "question": "!", "gold_result": {"any_of": ["rr.csv", "r.csv"]}})
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))
    run = assay.evaluate(path, lambda _: "SELECT * FROM t", databases=database, metrics=["match"])
    told = {one.case.id: one.verdict for one in run.evidence}
    for name, words in {**BROKEN, "beyond": "condition column 7"}.items():
        failure = told[name].failure
        assert told[name].outcome == "unscored"
        assert (failure.kind, failure.blame) == ("unusable_gold", "gold")
        assert words in failure.message, failure.message
    assert told["one is fine"].outcome == "correct"
    report = assay.lint(path)
    assert {finding.case_id for finding in report.findings if finding.rule == "unusable-result"} == {
        *BROKEN,
        "beyond",
        "one is fine",
    }


def test_an_answer_whose_file_holds_no_result_is_the_systems_failure(tmp_path: Path, database: str) -> None:
    _files(tmp_path)
    answers = [{"id": name, "predicted_result": name} for name in BROKEN]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    cases = [Case(id=name, question="?", golds=("SELECT * FROM t",)) for name in BROKEN]
    run = assay.evaluate(cases, tmp_path / "answers.json", databases=database, metrics=["match"])
    for one in run.evidence:
        assert one.outcome == "incorrect"
        assert one.verdict.failure.blame == "system"
        assert BROKEN[one.case.id] in one.verdict.reason


def test_columns_that_count_and_order_are_a_cases_own(database: str) -> None:
    gold = {"columns": ["id", "name"], "rows": [[1, "zz"], [2, "zz"]]}
    cases = [
        {"id": "by name", "question": "?", "gold_result": gold, "options": {"condition_columns": ["id"]}},
        {"id": "by place", "question": "?", "gold_result": gold, "options": {"condition_columns": [[0]]}},
        {"id": "more", "question": "?", "gold_result": gold, "options": {"condition_columns": [0]}},
        {"id": "all", "question": "?", "gold_result": gold},
        {"id": "ordered", "question": "?", "gold_result": [1, 2], "options": {"ordered": True}},
        {"id": "any order", "question": "?", "gold_result": [1, 2]},
    ]
    answers = {
        "by name": "SELECT id FROM t",
        "by place": "SELECT id FROM t",
        "more": "SELECT x, id FROM t",
        "all": "SELECT id FROM t",
        "ordered": "SELECT id FROM t ORDER BY id DESC",
        "any order": "SELECT id FROM t ORDER BY id DESC",
    }
    run = assay.evaluate(cases, answers, databases=database, metrics=["match"])
    outcomes = {one.case.id: one.outcome for one in run.evidence}
    assert outcomes == {
        "by name": "correct",
        "by place": "correct",
        "more": "correct",
        "all": "incorrect",
        "ordered": "incorrect",
        "any order": "correct",
    }
    assert "lenient" in run.evidence[2].verdict.flags
    assert "lenient" not in run.evidence[0].verdict.flags


@each(
    ("said", "columns", "words"),
    [
        ([[1, 2], [3]], None, "row 2"),
        ([[1], {"a": 1}], None, "row 2"),
        ([{"a": 1}, {"b": 1}], None, "the columns b"),
        ({"row": [[1]], "rows": [[1]]}, None, 'did you mean "rows"'),
        ({"rows": 5}, None, "rows is the number 5"),
        ({"rows": [[1]], "columns": "ab"}, None, "columns is"),
        ({"rows": [[1]], "value": 1}, None, "one of"),
        ({"file": " "}, None, "blank"),
        ({"file": 3}, None, "file is the number 3"),
        ({"any_of": []}, None, "any_of is"),
        ([["\ud800"]], None, "surrogate"),
        ([{"name": 1}], ["nam"], 'did you mean "name"'),
        ([{"name": 1}], [[0], [1], [0]], "3 lists, and the case has 1"),
        ([{"name": 1}], [-1], "-1"),
        ([{"name": 1}], [[0.5]], "0.5"),
    ],
)
def test_unusable_results_and_columns_name_their_place(said: object, columns: object, words: str) -> None:
    values = {"question": "?", "gold_result": said} | ({"options": {"condition_columns": columns}} if columns else {})
    place = "line 7" if columns else 'line 7, column "gold_result"'
    with pytest.raises(CaseFileError, match=rf"q\.jsonl.*{place}") as caught:
        read_cases(Table.of(Path("q.jsonl"), [Record(place="line 7", values=values)]), FieldNames())
    assert words in str(caught.value)


def test_cells_of_a_table_may_hold_json_or_the_name_of_a_file_or_a_value() -> None:
    values = ['[[1, "a"], [2, "b"]]', "42", "no.csv", "plain words", ""]
    records = [Record(place=f"line {n}", values={"question": "?", "expected_result": v}) for n, v in enumerate(values)]
    table = Table(path=Path("q.csv"), records=records, columns=("question", "expected_result"), golds_in_text=True)
    found = [case.results for case in read_cases(table, FieldNames()).cases]
    assert [len(results) for results in found] == [1, 1, 1, 1, 0]
    assert found[0][0].result().rows == ((1, "a"), (2, "b"))
    assert (found[1][0].result().rows, found[1][0].cells) == ((("42",),), "text")
    assert found[2][0].failure is not None
    assert found[3][0].result().rows == (("plain words",),)


@each(
    ("text", "rows"),
    [
        ("a,b\n,\n", [("", "")]),
        ("a,b\n\n1,2\n\n", [("1", "2")]),
        ("a,b\n1,2\n,\n\n", [("1", "2"), ("", "")]),
        ('a,b\n1,2\n"",""', [("1", "2"), ("", "")]),
        ("\n\na\n1", [("1",)]),
        ("a\n\n1\n\n", [(None,), ("1",), (None,)]),
        ("a\r\n1\r\n\r\n\r\n", [("1",), (None,), (None,)]),
        ("a\n\n", [(None,)]),
        ('a\n""\n\n', [("",), (None,)]),
        ('a\n1\n""\n', [("1",), ("",)]),
        ("a\n", []),
        ("\ufeffa;b\r\n1;2\r\n", [("1", "2")]),
        ('a\n"x\ny"\n', [("x\ny",)]),
    ],
)
def test_lines_of_csv_that_say_something(tmp_path: Path, text: str, rows: list[tuple[str | None, ...]]) -> None:
    (tmp_path / "r.csv").write_text(text, encoding="utf-8", newline="")
    found = ResultFiles(tmp_path, of_gold).read("r.csv")
    assert found.failure is None
    assert list(found.result().rows) == rows


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("a,b\n1,2\n,\n", "SELECT 1, 2 UNION ALL SELECT NULL, NULL"),
        ("a,b\n,\n,\n", "SELECT NULL, NULL UNION ALL SELECT NULL, NULL"),
        ("a\n1\n\n", "SELECT 1 UNION ALL SELECT NULL"),
        ("a\n\n\n", "SELECT NULL UNION ALL SELECT NULL"),
    ],
)
def test_rows_of_nulls_at_the_end_count_on_either_side(tmp_path: Path, database: str, text: str, query: str) -> None:
    (tmp_path / "r.csv").write_text(text)
    rows = ResultFiles(tmp_path, of_gold).read("r.csv")
    without = f"SELECT * FROM ({query}) LIMIT 1"
    for given, outcome in ((query, "correct"), (without, "incorrect")):
        assert assay.check(given, rows, database=database).outcome == outcome
        assert assay.check(rows, given, database=database).outcome == outcome


def test_what_is_no_file_is_told_as_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    (tmp_path / "link.csv").symlink_to("gone.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "right.csv").write_text("a\n1\n")
    files = ResultFiles(tmp_path, of_gold)
    told = {name: files.read(f"{name}.csv").failure for name in ("pipe", "device", "link", "folder", "rihgt")}
    words = {
        "pipe": "is a pipe or a device, not a file",
        "device": "is a pipe or a device, not a file",
        "link": "is a link to gone.csv, and this file does not exist",
        "folder": "is a folder",
        "rihgt": 'did you mean "right.csv"?',
    }
    for name, failure in told.items():
        assert words[name] in failure.message


def test_a_query_counts_where_an_answer_has_rows_too_and_rows_where_it_has_none() -> None:
    records = [
        Record(place="line 1", values={"id": 1, "sql": "SELECT 1", "rows": [[2]]}),
        Record(place="line 2", values={"id": 2, "sql": None, "rows": [[2]]}),
        Record(place="line 3", values={"id": 3, "sql": {"rows": [[3]]}, "rows": None}),
        Record(place="line 4", values={"id": 4, "sql": None, "rows": None}),
    ]
    one, two, three, four = read_predictions(Table.of(Path("p.jsonl"), records), FieldNames()).predictions
    assert (one.query, one.result) == ("SELECT 1", None)
    assert two.result is not None
    assert three.result.result().rows == ((3,),)
    assert four.failure is not None


def test_rows_are_an_answer_in_memory_from_a_callable_and_as_one_side_of_a_pair(database: str) -> None:
    cases = [Case(id="a", question="?", golds=("SELECT id FROM t",))]
    for given in ([(2,), (1,)], {"rows": [[1], [2]]}):
        assert assay.evaluate(cases, lambda _, given=given: given, databases=database).evidence[0].outcome == "correct"
    assert assay.evaluate(cases, {"a": [[1], [3]]}, databases=database).evidence[0].outcome == "incorrect"
    rows = GivenResult.of([(1,), (2,)])
    assert assay.check("SELECT id FROM t", rows, database=database).outcome == "correct"
    assert assay.check(rows, "SELECT id FROM t ORDER BY id", database=database).outcome == "correct"
    assert assay.check("SELECT id FROM t", ["SELECT 5", rows], database=database).gold_index == 1
