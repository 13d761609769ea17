"""What cannot be used is said with its place and what to do, before anything is judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_benchmark import Benchmark

from assay.errors import AssayError, CaseFileError, DatabaseError, InputError, UsageError
from assay.llmsql import evaluate
from assay.llmsql.assessment import assess

Evaluated = Callable[..., dict[str, Any]]
GOOD = '{"question_id": 1, "completion": "SELECT 1"}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "outputs.jsonl: the file is empty"),
        ("\n \n", "outputs.jsonl: the file is empty"),
        (f'{GOOD}\n{{"question_id": 2, "completion": \n', "outputs.jsonl, line 2, column 34: is not valid JSON"),
        (f"{GOOD}\n\n[1]\n", "line 3"),
        (
            f'{GOOD}\n{{"question_id": 1.0, "predicted_sql": "x"}}',
            "line 2: the question_id 1.0 occurs twice, first in line 1",
        ),
        ('{"question_id": 1, "complation": "x"}', 'only "complation": rename "complation" to "completion"'),
        ('{"question_id": 1, "response": "x"}', 'rename "response" to "completion"'),
        ('{"question_id": 1, "x": "y"}', 'only "x": an output is {"question_id": 1, "completion": "SELECT …"}'),
        ('{"id": 1, "completion": "x"}', 'has no "question_id", only "id", "completion": rename "id" to "question_id"'),
        ('{"question_id": true, "completion": "x"}', '"question_id" is True: it must be a whole number or a text'),
        ('{"question_id": 1, "completion": 5}', "\"completion\" is '5', no text"),
        ('{"question_id": 1, "completion": "a", "predicted_sql": "b"}', "they differ"),
        (
            '{"question_id": 1, "completion": "x", "question": "Nobody asked?"}',
            "line 1: its question is 'Nobody asked?'",
        ),
        ('{"question_id": 77, "completion": "x"}', "question_id 77 of 1 outputs not in"),
        (f"[{GOOD}]", "outputs.jsonl: is a JSON list: write one object per line, for example"),
        ("SQLite format 3\0\udcff", "outputs.jsonl: is an SQLite database, not a text"),
        ("\udcff", "line 1, column 1: byte 0xff is not UTF-8, perhaps Windows-1252 or Latin-1: save it as UTF-8"),
    ],
)
def test_an_unusable_file_says_where_and_why(evaluated: Evaluated, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(InputError) as raised:
        evaluated(str(path))
    assert "--" not in str(raised.value)  # it names no flag that is another command's
    assert said in str(raised.value)
    assert "outputs.jsonl" in str(raised.value)
    assert not list(tmp_path.glob("evaluation_results_*"))


@pytest.mark.parametrize(
    ("outputs", "error", "said"),
    [
        ([], InputError, "it contains no outputs"),
        (7, UsageError, "outputs is a int"),
        (["SELECT 1"], UsageError, "item 1 of outputs is a str"),
        ([{"question_id": 1}], CaseFileError, 'item 1: has neither "completion"'),
        ([{"question_id": number, "completion": ""} for number in range(100, 120)], InputError, "104 and 15 more"),
        ("nowhere.jsonl", CaseFileError, "nowhere.jsonl: cannot be read"),
    ],
)
def test_outputs_of_odd_shape_fail(evaluated: Evaluated, outputs: object, error: type[AssayError], said: str) -> None:
    with pytest.raises(error) as raised:
        evaluated(outputs)
    assert said in str(raised.value)


def test_an_answer_of_null_or_nothing_is_a_mismatch(evaluated: Evaluated) -> None:
    outputs = [{"question_id": 1, "completion": None}, {"question_id": "02", "predicted_sql": ""}]
    report = evaluated(outputs)
    assert (report["total"], report["matches"], report["sql_errors"]) == (2, 0, 0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"question_id": 1, "question": "?", "sql": "SELECT 1"}', "line 2: is not a question of LLMSQL: it needs"),
        ('{"question_id": 2, "question": "?", "sql": "", "table_id": "t"}', "and question, and \"sql\" is ''"),
        ('{"question_id": 2, "question": "?", "sql": "SELECT 1", "table_id": 7}', 'and question, and "table_id" is 7'),
        ('{"id": 1, "question": "?", "sql": "SELECT 1", "table_id": "t"}', 'line 2: has no "question_id"'),
        ('{"question_id": "1", "question": "?", "sql": "SELECT 1", "table_id": "t"}', "'1' occurs twice"),
        ("{", "line 2, column 2: is not valid JSON"),
    ],
)
def test_questions_that_are_none_of_llmsqls_are_refused(benchmark: Benchmark, line: str, said: str) -> None:
    first = json.dumps({"question_id": 1, "question": "?", "sql": "SELECT 1", "table_id": "t"})
    benchmark.questions.write_text(f"{first}\n{line}\n", encoding="utf-8")
    with pytest.raises(CaseFileError) as raised:
        evaluate([{"question_id": 1, "completion": "x"}], **benchmark.arguments())
    assert said in str(raised.value)
    assert "questions.jsonl" in str(raised.value)


def test_blank_lines_among_the_questions_are_passed_over(benchmark: Benchmark, evaluated: Evaluated) -> None:
    text = benchmark.questions.read_text(encoding="utf-8")
    benchmark.questions.write_text("\n" + text.replace("\n", "\n\n"), encoding="utf-8")
    assert evaluated([{"question_id": 3, "completion": "SELECT NULL"}])["matches"] == 1


def test_a_database_that_is_none_or_another_is_refused(benchmark: Benchmark, tmp_path: Path) -> None:
    outputs = [{"question_id": 1, "completion": "SELECT 1"}]
    questions = benchmark.questions
    with pytest.raises(DatabaseError, match="there is no SQLite database at"):
        evaluate(outputs, questions_path=questions, db_path=tmp_path / "absent.db")
    with pytest.raises(DatabaseError, match="is not a SQLite database"):
        evaluate(outputs, questions_path=questions, db_path=questions)
    import sqlite3

    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(InputError, match=r"none of the 1 gold queries can run there \(no such table"):
        assess(outputs, questions_path=questions, db_path=other, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_unwritable_report_is_told_first(
    benchmark: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, said in (
        (tmp_path / "no" / "report.json", "does not exist: create it first"),
        (tmp_path, "it is a folder: use the path"),
    ):
        with pytest.raises(InputError, match=said):
            evaluate("never read", **benchmark.arguments(), save_report=path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"version": "3.0"}, "version is '3.0': use '1.0' or '2.0'"),
        ({"workdir_path": None, "db_path": None}, "without a workdir_path, db_path must be given"),
        ({"timeout_s": 0}, "the time limit is 0 s"),
        ({"workers": 0}, "workers is 0: give a whole number from 1"),
    ],
)
def test_contradicting_arguments_are_refused(evaluated: Evaluated, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        evaluated([{"question_id": 1, "completion": "SELECT 1"}], **arguments)
    assert said in str(raised.value)
