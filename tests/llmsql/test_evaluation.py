"""`assay.llmsql.evaluate`: the benchmark's own numbers, under its own keys."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from small_benchmark import GOLDS, TABLE, Benchmark, write_lines

from assay.cases.benchmarks.llmsql import Outputs
from assay.llmsql import assessment, evaluate
from assay.llmsql.assessment import AssessedRun, assess
from assay.llmsql.query_result import SHOWN_ROWS
from assay.llmsql.report import json_of, report_of
from assay.model import ComparisonOptions

Evaluated = Callable[..., dict[str, Any]]
KEYS = [
    *("total", "matches", "pred_none", "gold_none", "sql_errors"),
    *("accuracy", "mismatches", "timestamp", "input_mode"),
]
COUNTS = KEYS[:5]
OUTPUTS = [
    {"question_id": 1, "completion": 'Sure:\n```sql\nSELECT "Name" FROM "Table" WHERE "Age" > 20.0\n```'},
    {"question_id": 2, "completion": "SELECT Age FROM Table ORDER BY Age DESC"},
    {"question_id": 3, "completion": "SELECT NULL; SELECT nothing FROM Table"},
    {"question_id": 4, "completion": "SELECT Name FROM Table"},
    {"question_id": 5, "completion": "I cannot."},
    {"question_id": 6, "completion": "SELECT 1 WHERE 0"},
]


def _benchmarks() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "llmsql.py"
    spec = importlib.util.spec_from_file_location("llmsql_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _peer(benchmark: Benchmark, outputs: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """What the package's loop, restated, makes of the same outputs."""
    path = write_lines(folder / "outputs.jsonl", outputs)
    report = folder / "peer.json"
    _benchmarks().restated(str(path), str(benchmark.questions), str(benchmark.database), str(report))
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


def _missed(report: dict[str, Any]) -> set[object]:
    return {mismatch["question_id"] for mismatch in report["mismatches"]}


def test_the_report_has_the_benchmarks_keys_and_counts(evaluated: Evaluated) -> None:
    report = evaluated(OUTPUTS)
    assert list(report) == KEYS
    assert [report[key] for key in COUNTS] == [6, 4, 1, 1, 1]
    assert report["accuracy"] == pytest.approx(4 / 6)
    assert report["input_mode"] == "dict_list"
    assert _missed(report) == {4, 5}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", report["timestamp"])


def test_both_generations_of_the_format_give_the_same(evaluated: Evaluated, tmp_path: Path) -> None:
    new = evaluated(OUTPUTS)
    old = [{"question_id": str(one["question_id"]), "predicted_sql": one["completion"]} for one in OUTPUTS]
    path = write_lines(tmp_path / "outputs.jsonl", old)
    for outputs, mode in ((old, "dict_list"), (str(path), "jsonl_path"), (path, "jsonl_path")):
        report = evaluated(outputs)
        assert [report[key] for key in COUNTS] == [new[key] for key in COUNTS]
        assert report["input_mode"] == mode
        assert _missed(report) == {"4", "5"}


def test_a_mismatch_says_what_each_query_gave_and_why_others_gave_nothing(evaluated: Evaluated) -> None:
    (mismatch,) = evaluated(
        [{"question_id": 1, "completion": "SELECT Nme FROM Table; SELECT Name FROM Table WHERE Age > 40"}]
    )["mismatches"]
    assert mismatch == {
        "question_id": 1,
        "question": "question 1?",
        "gold_sql": GOLDS[1][1],
        "model_output": "SELECT Nme FROM Table; SELECT Name FROM Table WHERE Age > 40",
        "gold_results": [("Ann",), ("Cy",)],
        "prediction_results": [("Cy",)],
        "gold_error": None,
        "prediction_errors": ["no such column: Nme"],
        "gold_row_count": 2,
        "prediction_row_count": 1,
    }


@pytest.mark.parametrize(
    ("question", "completion", "matches"),
    [
        (1, "SELECT Name FROM Table WHERE Age IN (30, 41.5) ORDER BY Name DESC", True),
        (1, "SELECT Name, Age FROM Table WHERE Age > 20", False),
        (1, 'SELECT DISTINCT a.Name FROM "1-1000181-1" a, "1-1000181-1" b WHERE a.Age > 20', True),
        (1, 'SELECT a.Name FROM "1-1000181-1" a, "1-1000181-1" b WHERE a.Age > 20', False),
        (2, "SELECT CAST(Age AS INTEGER) FROM Table", False),
        (2, 'SELECT CASE Age WHEN 30 THEN 30 WHEN 7 THEN 7 ELSE Age END FROM "Table"', True),
        (2, "SELECT COALESCE(Age, 'NULL') FROM Table", False),
        (6, "SELECT Only, Only FROM Table", True),
        (3, "SELECT wrong; SELECT Age FROM Table WHERE Name = 'Bob'; SELECT wrong again", True),
    ],
)
def test_rows_are_bags_of_exact_numbers(evaluated: Evaluated, question: int, completion: str, matches: bool) -> None:
    assert evaluated([{"question_id": question, "completion": completion}])["matches"] == matches


def test_the_loop_of_the_package_and_ours_agree_on_a_made_up_benchmark(tmp_path: Path) -> None:
    made = _benchmarks()
    outputs, questions, database = made.make_benchmark(tmp_path, questions=600, tables=60)
    saved = tmp_path / "ours.json"
    ours = evaluate(
        outputs, questions_path=questions, db_path=database, save_report=saved, show_mismatches=False, workers=2
    )
    made.restated(str(outputs), str(questions), str(database), str(tmp_path / "theirs.json"))
    theirs = json.loads((tmp_path / "theirs.json").read_text(encoding="utf-8"))
    assert 300 < ours["matches"] < 600
    assert made.differences(ours, theirs) == []
    for mine, other in zip(
        json.loads(saved.read_text(encoding="utf-8"))["mismatches"], theirs["mismatches"], strict=True
    ):
        for key in ("question_id", "question", "gold_results", "prediction_results"):
            assert mine[key] == other[key]
    if interpreter := os.environ.get("ASSAY_LLMSQL_PYTHON"):  # one that has the package itself
        report = tmp_path / "package.json"
        paths = [str(path) for path in (outputs, questions, database, report)]
        subprocess.run([interpreter, "-c", made.PACKAGE, *paths], check=True, capture_output=True, timeout=120)
        assert made.differences(ours, json.loads(report.read_text(encoding="utf-8"))) == []
        assert _without_ours(saved.read_text(encoding="utf-8")) == _without_ours(report.read_text(encoding="utf-8"))


_SPELLINGS = ("FROM Table", 'FROM "Table"', "FROM 'Table'", f'FROM "{TABLE}"')
_QUERIES = ("SELECT Name {}", "SELECT nothing {}", "SELECT MAX(Age) {} WHERE Name = 'nobody'", "SELECT gone FROM gone")


def test_spellings_of_the_placeholder_count_apart(benchmark: Benchmark, evaluated: Evaluated, tmp_path: Path) -> None:
    chance = random.Random(17)
    made = [
        "; ".join(chance.choice(_QUERIES).format(chance.choice(_SPELLINGS)) for _ in range(chance.randint(1, 14)))
        for _ in range(40)
    ]
    with benchmark.questions.open("a", encoding="utf-8") as file:
        for number in range(len(made)):
            gold = {"question_id": 100 + number, "question": "?", "table_id": TABLE, "sql": f'SELECT 1 FROM "{TABLE}"'}
            file.write(json.dumps(gold) + "\n")
    outputs = [{"question_id": 100 + number, "completion": text} for number, text in enumerate(made)]
    ours, theirs = evaluated(outputs), _peer(benchmark, outputs, tmp_path)
    assert [ours[key] for key in COUNTS] == [theirs[key] for key in COUNTS]
    assert ours["sql_errors"] > len(made)
    assert ours["pred_none"] > len(made) / 2


def _without_ours(text: str) -> str:
    """A report's text without the time and the keys that only Assay writes, which come last in each mismatch."""
    text = re.sub(r'"timestamp": "[^"]*"', "", text)
    return re.sub(r',\n {6}"gold_error": .*?(?=\n {4}\})', "", text, flags=re.DOTALL)


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
        )
    )
)
@example([(1e16,), (1e-05,), (-0.0,), (5e-324,), (1.7976931348623157e308,), (2**62,), ("\u2028\x7f\\/",)])
def test_numbers_and_text_are_written_as_python_writes_them(rows: list[tuple[object, ...]]) -> None:
    report = {"total": 1, "mismatches": [{"gold_results": rows, "prediction_results": None, "prediction_errors": []}]}
    try:
        "".join(str(row) for row in rows).encode()
    except UnicodeEncodeError:
        return  # lone surrogates are escaped
    assert json_of(report) == json.dumps(report, indent=2, ensure_ascii=False)


# Where the package is wrong: a right answer is an error there, since Python cannot sort its rows or
# the driver not read them. Gold itself is the answer, so nobody can doubt that it is right.


@pytest.mark.parametrize("question", [2, 4, 6], ids=["NULL beside numbers", "text, bytes and NULL", "no UTF-8"])
def test_unsortable_rows_are_compared(
    benchmark: Benchmark, evaluated: Evaluated, tmp_path: Path, question: int
) -> None:
    with closing(sqlite3.connect(benchmark.database)) as connection:
        connection.execute("""INSERT INTO "2-7-7" VALUES (CAST(x'4dfc6e6368656e' AS TEXT))""")
        connection.commit()
    outputs = [{"question_id": question, "completion": GOLDS[question][1]}]
    ours, theirs = evaluated(outputs), _peer(benchmark, outputs, tmp_path)
    assert (theirs["matches"], theirs["sql_errors"]) == (0, 1)
    assert (ours["matches"], ours["sql_errors"]) == (1, 0)
    (mismatch,) = evaluated([{"question_id": 6, "completion": "SELECT 1"}])["mismatches"]
    assert mismatch["gold_results"] == [("M\udcfcnchen",)]


def test_bytes_and_infinity_are_written_in_reports(benchmark: Benchmark, evaluated: Evaluated, tmp_path: Path) -> None:
    outputs = [{"question_id": 4, "completion": "SELECT x'00ff', 9e999, 'a' || char(55296)"}]
    with pytest.raises(TypeError, match="bytes is not JSON serializable"):
        _peer(benchmark, [{"question_id": 3, "completion": "SELECT x'00ff'"}], tmp_path)
    saved = tmp_path / "report.json"
    evaluated(outputs, save_report=str(saved))
    stored = json.loads(saved.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert stored["mismatches"][0]["prediction_results"][0][:2] == ["x'00ff'", "inf"]


def test_a_semicolon_in_a_literal_ends_a_query(benchmark: Benchmark, evaluated: Evaluated, tmp_path: Path) -> None:
    outputs = [{"question_id": 5, "completion": GOLDS[5][1]}]
    ours, theirs = evaluated(outputs), _peer(benchmark, outputs, tmp_path)
    assert [ours[key] for key in COUNTS] == [theirs[key] for key in COUNTS] == [1, 0, 0, 0, 1]


def test_the_report_is_saved_under_a_new_name_or_the_one_given(evaluated: Evaluated, tmp_path: Path) -> None:
    report = evaluated(OUTPUTS)
    (path,) = tmp_path.glob("evaluation_results_*.json")
    assert re.fullmatch(r"evaluation_results_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json", path.name)
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert list(stored) == KEYS
    assert {key: stored[key] for key in KEYS if key != "mismatches"} == {
        key: report[key] for key in KEYS if key != "mismatches"
    }
    assert [one["question_id"] for one in stored["mismatches"]] == [4, 5]
    evaluated(OUTPUTS, save_report="named.json")
    assert json.loads((tmp_path / "named.json").read_text(encoding="utf-8"))["matches"] == 4


def test_as_many_mismatches_as_asked_are_printed(evaluated: Evaluated, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [{"question_id": number, "completion": "SELECT 'wrong\x1b[31m'"} for number in (6, 1, 5, 2, 3, 4)]
    evaluated(wrong)
    printed = capsys.readouterr().out
    assert re.findall(r"^mismatch: question (\d)$", printed, re.M) == ["6", "1", "5", "2", "3"]
    assert "\x1b" not in printed
    assert "wrong⟨U+001B⟩[31m" in printed
    evaluated(wrong, max_mismatches=2)
    assert capsys.readouterr().out.count("mismatch: question") == 2
    evaluated(wrong, show_mismatches=False)
    printed = capsys.readouterr().out
    assert "mismatch: question" not in printed
    assert "accuracy: 0.0 % [0.0, 39.0] (0 of 6)" in printed


def test_questions_without_an_output_are_told(evaluated: Evaluated, capsys: pytest.CaptureFixture[str]) -> None:
    report = evaluated(OUTPUTS[:2])
    assert (report["total"], report["accuracy"]) == (2, 1.0)
    assert "4 questions of 6 have no output and are not counted" in capsys.readouterr().out


@pytest.mark.parametrize("gold", ["SELECT gone FROM gone", "SELECT abs(-9223372036854775808)", "SELECT"])
def test_a_gold_query_that_fails_matches_nothing_and_is_told(
    benchmark: Benchmark, evaluated: Evaluated, capsys: pytest.CaptureFixture[str], gold: str
) -> None:
    with benchmark.questions.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"question_id": 7, "question": "?", "table_id": TABLE, "sql": gold}))
    for beside in ([], [OUTPUTS[0]]):  # also where no other runs
        report = evaluated([*beside, {"question_id": 7, "completion": gold}])
        assert [report[key] for key in COUNTS] == [1 + len(beside), len(beside), 0, 0, 1]
    assert report["mismatches"][0]["gold_error"]
    assert "1 gold query failed, so nothing can match" in capsys.readouterr().out


def test_a_large_result_is_counted_whole_and_shown_in_part(evaluated: Evaluated) -> None:
    many = 'SELECT a.Name FROM "Table" a, pragma_function_list b, pragma_function_list c'
    huge = "SELECT printf('%.*c', 300000, 'x'), zeroblob(200000) FROM \"Table\""
    (rows, cells) = evaluated([{"question_id": n, "completion": query} for n, query in ((1, many), (2, huge))])[
        "mismatches"
    ]
    assert rows["prediction_row_count"] > 10_000
    assert len(rows["prediction_results"]) == 1_000
    ((text, blob),) = cells["prediction_results"]
    assert (len(text), len(blob), cells["prediction_row_count"]) == (100_000, 100_000, 4)


@pytest.mark.parametrize("diagnose", [True, False])
def test_causes_are_looked_for_where_they_are_shown(benchmark: Benchmark, tmp_path: Path, diagnose: bool) -> None:
    outputs = write_lines(tmp_path / "outputs.jsonl", OUTPUTS)
    paths = {"questions_path": benchmark.questions, "db_path": benchmark.database}
    found = assess(outputs, **paths, workers=1, diagnose=diagnose)
    wrong = [one for one in found.run.evidence if one.outcome == "incorrect"]
    assert wrong
    assert [one.diagnosis is not None for one in wrong] == [diagnose] * len(wrong)


def test_only_outputs_that_count_for_more_than_a_match_are_decoded(benchmark: Benchmark, tmp_path: Path) -> None:
    told = [
        {"question_id": 1, "completion": GOLDS[1][1]},  # a mere match
        {"question_id": 2, "completion": f"{GOLDS[2][1]}; SELECT no"},  # a match beside an error
        {"question_id": 3, "completion": GOLDS[3][1]},  # a match of nothing but NULL
        {"question_id": 5, "completion": "SELECT 1"},  # no match
    ]
    outputs = write_lines(tmp_path / "outputs.jsonl", told)
    found = assess(outputs, questions_path=benchmark.questions, db_path=benchmark.database, workers=1, head_rows=5)
    assert [one.question_id for one in found.findings] == [2, 3, 5]
    assert (found.total, found.matches, found.pred_none, found.gold_none, found.sql_errors) == (4, 3, 1, 1, 1)


_ODD = (
    *("SELECT NULL; SELECT nothing FROM Table", "", "SELECT", 'SELECT "Name" FROM Table; SELECT "Name" FROM "Table"'),
    *("DROP TABLE x; SELECT load_extension('x')", "SELECT x'00ff', 1e999", "SELECT 'a;b' FROM Table"),
    *("SELECT printf('%.*c', 200000, 'x')", "SELECT a.* FROM Table a, pragma_function_list", "SELECT 1e-5"),
    *(gold.replace(" WHERE ", "\nWHERE ") for _, gold in GOLDS.values()),
)


def test_outputs_score_alike_without_a_run(benchmark: Benchmark, evaluated: Evaluated, tmp_path: Path) -> None:
    for odd in _ODD:
        outputs = [{"question_id": number, "completion": odd} for number in GOLDS]
        by_run = assess(
            outputs,
            **benchmark.arguments(),
            workers=1,
            head_rows=SHOWN_ROWS,
            options=ComparisonOptions(near_misses=False, sample_rows=0),
            diagnose=False,
        )
        assert {**evaluated(outputs), "timestamp": ""} == {**report_of(by_run), "timestamp": ""}, odd


def test_a_run_is_made_only_of_outputs_that_need_one(evaluated: Evaluated, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[object] = []

    def assessed(outputs: Outputs, **more: Any) -> AssessedRun:
        judged.extend(item.question_id for item in outputs.items)
        return assess(outputs, **more)

    monkeypatch.setattr(assessment, "assess", assessed)
    expected = evaluated(OUTPUTS)
    assert judged == []
    slow = {"question_id": 4, "completion": "SELECT load_extension('x')"}
    found = evaluated([*(output for output in OUTPUTS if output["question_id"] != 4), slow])
    assert judged == [4]
    assert found["matches"] == expected["matches"]
    assert [one["question_id"] for one in found["mismatches"]] == [5, 4]
