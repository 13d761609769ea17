"""Spider 2.0's layout: folders written here in it, right ones and each kind of broken one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay import registry
from assay.cases import load_predictions, load_questions
from assay.errors import CaseFileError, InputError

STANDARDS: dict[str, dict[str, Any]] = {
    "local001": {"condition_cols": [], "ignore_order": True},
    "local002": {"condition_cols": [0, 0], "ignore_order": False},
    "local003": {"condition_cols": [[0], [1, 1]], "ignore_order": True},
    "local004": {"condition_cols": [1], "ignore_order": True},
    "local005": {"condition_cols": None, "ignore_order": True, "temporal": True},
    "beyond": {"condition_cols": [5], "ignore_order": True},
    "local006": {"condition_cols": [0], "ignore_order": True},
    "surplus": {"condition_cols": [[0], [0], [1]], "ignore_order": True},
    "lacking": {"condition_cols": [[0]], "ignore_order": True},
    "missing": {"condition_cols": [], "ignore_order": True},
    "names": {"condition_cols": ["n"], "ignore_order": True},
    "no_lists": {"condition_cols": 0.5, "ignore_order": True},
    "misspelt": {"condition_col": [0], "ignore_order": True},
    "misspelt_order": {"condition_cols": [0], "ignoreorder": False},
}
GOLDS = {
    "local001.csv": "n,name\n1,a\n2,b\n",
    "local002.csv": "n,name\n1,a\n2,b\n",
    "local003_a.csv": "n,name\n1,zz\n2,zz\n",
    "local003_b.csv": "other,name\n7,a\n7,b\n",
    "local004_a.csv": "x,n\nq,1\nq,2\n",
    "local004_b.csv": "x,n\nq,5\n",
    "local005.csv": "n\n2\n",
    "beyond.csv": "n\n1\n",
    "surplus_a.csv": "n,m\n1,2\n",
    "surplus_b.csv": "n,m\n3,4,\n",
    "lacking_a.csv": "n,m\n1,2\n",
    "lacking_b.csv": "n,m\n5\n",
    "names.csv": "n\n1\n",
    "no_lists.csv": "n\n1\n",
    "missing.CSV": "n\n1\n",
    "misspelt.csv": "n\n1\n",
    "misspelt_order.csv": "n\n1\n",
}
BROKEN = {
    "beyond": "condition column 5",
    "missing": 'has no missing.csv, nor one with _a, _b and so on (did you mean "missing.CSV"?)',
    "misspelt": 'condition_cols is absent, and there is "condition_col"',
    "misspelt_order": 'ignore_order is absent, and there is "ignoreorder"',
    "names": "expected places of columns",
    "no_lists": "condition_columns",
    "unknown": "spider2lite_eval.jsonl has no line for unknown",
}
RIGHT = {
    "local001": "SELECT name, n FROM t ORDER BY n DESC",
    "local002": "SELECT n FROM t ORDER BY n",
    "local003": "SELECT name FROM t",
    "local004": "SELECT n FROM t",
    "local005": "SELECT count(*) FROM t",
    "local006": "SELECT count(*) FROM t",
    "surplus": "SELECT 1",
    "lacking": "SELECT 1",
}


@pytest.fixture
def benchmark(tmp_path: Path, make_sqlite: Callable[..., Path]) -> Path:
    folder = tmp_path / "spider2-lite"
    results = folder / "evaluation_suite" / "gold" / "exec_result"
    results.mkdir(parents=True)
    (results.parent / "sql").mkdir()
    (results.parent / "sql" / "local005.sql").write_text("SELECT count(*) + 97 FROM t")
    (results.parent / "sql" / "local006.sql").write_text("SELECT count(*) FROM t")
    for name, text in GOLDS.items():
        (results / name).write_text(text)
    lines = [json.dumps({"instance_id": name, **rules}) for name, rules in STANDARDS.items()]
    (results.parent / "spider2lite_eval.jsonl").write_text("\n".join(lines))
    asked = [{"instance_id": name, "db": "t", "question": f"What of {name}?"} for name in (*STANDARDS, "unknown")]
    (folder / "spider2-lite.jsonl").write_text("\n".join(map(json.dumps, asked)))
    make_sqlite("CREATE TABLE t (n INTEGER, name TEXT); INSERT INTO t VALUES (1, 'a'), (2, 'b')", "t.sqlite")
    return folder


def _answers(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_both_rules_score_queries_and_results_and_broken_golds_are_named(benchmark: Path, tmp_path: Path) -> None:
    queries = _answers(tmp_path / "queries", {f"{name}.sql": query for name, query in RIGHT.items()})
    tables = {"local001.csv": "name,n\nb,2.0\na,1\n", "local002.csv": "n\n2\n1\n", "local003.csv": "n,more\n2,x\n1,y\n"}
    tables |= {"local005.csv": "c\n2\n", "local006.csv": "c\n2\n", "surplus.csv": "n\n3\n", "lacking.csv": "n\n5\n"}
    tables |= {f"{name}.csv": "n\n1\n" for name in BROKEN}
    rows = _answers(tmp_path / "rows", tables)
    database = f"sqlite:///{tmp_path}/{{db_id}}.sqlite"
    metrics = ["match", "spider2_lite"]
    run = assay.evaluate(benchmark, queries, databases=database, metrics=metrics)
    told = {one.case.id: one for one in run.evidence}
    for name in RIGHT:
        assert told[name].outcome == "correct", (name, told[name].verdict.reason)
        # The script knows no gold query.
        assert told[name].score("spider2_lite").value == float(name != "local006")  # type: ignore[union-attr]
    for name, words in BROKEN.items():
        failure = told[name].verdict.failure
        assert (told[name].outcome, failure.blame) == ("unscored", "gold")
        assert words in failure.message, failure.message
        # The script scores all but what the evaluation does not name.
        assert told[name].score("spider2_lite").value == (None if name == "unknown" else 0.0)  # type: ignore[union-attr]
    run = assay.evaluate(benchmark, rows, databases=database, metrics=metrics)
    told = {one.case.id: one for one in run.evidence}
    scores = {name: (told[name].outcome, told[name].score("spider2_lite").value) for name in RIGHT}  # type: ignore[union-attr]
    assert scores == {
        "local001": ("correct", 1.0),
        "local002": ("incorrect", 0.0),  # its order counts
        "local003": ("correct", 1.0),  # more columns than count
        "local004": ("incorrect", 0.0),  # unanswered
        "local005": ("correct", 1.0),
        "local006": ("correct", 0.0),  # without a gold result
        "surplus": ("incorrect", 0.0),  # its second result cannot be read
        "lacking": ("incorrect", 0.0),  # the columns of the second result are not known
    }
    scores = {name: (told[name].outcome, told[name].score("spider2_lite").value) for name in BROKEN}  # type: ignore[union-attr]
    # A misspelt rule is none for the script, and pandas takes the place 0.5 for 0.
    taken = {"misspelt": 1.0, "misspelt_order": 1.0, "no_lists": 1.0, "unknown": None}
    assert scores == {name: ("unscored", taken.get(name, 0.0)) for name in BROKEN}
    findings = assay.lint(benchmark, databases=database).findings
    found = {finding.case_id for finding in findings if finding.rule == "unusable-result"}
    assert found == {*BROKEN, "surplus", "lacking"}
    found = {(finding.case_id, finding.gold) for finding in findings if finding.rule == "doubtful-result"}
    assert found == {("surplus", 0), ("lacking", 1)}
    (contradiction,) = [finding for finding in findings if finding.rule == "query-contradicts-result"]
    assert contradiction.case_id == "local005"
    assert "gold 2, predicted 99" in contradiction.evidence


def test_the_file_of_questions_its_folder_and_that_of_gold_name_the_same_cases(benchmark: Path) -> None:
    formats = registry.case_formats()
    gold = benchmark / "evaluation_suite" / "gold"
    ways = [benchmark, gold, gold.parent, gold / "spider2lite_eval.jsonl", benchmark / "spider2-lite.jsonl"]
    first, *others = [tuple(load_questions(way, formats=formats).cases) for way in ways]
    assert all(found == first for found in others)
    (benchmark / "spider2-lite.jsonl").unlink()
    alone = load_questions(gold, formats=formats).cases
    assert [(case.id, case.question) for case in alone] == [(name, "") for name in STANDARDS]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"local001.sql": "SELECT 1", "local002.txt": "SELECT 1"}, '"local002.txt"'),
        ({"local01.sql": "SELECT 1", "local002.sql": "SELECT 1"}, 'did you mean "local001"'),
        ({"local001.sql": "SELECT 1", "another.csv": "n\n1\n"}, '"another"'),
        ({"local001.sql": "SELECT 1", "sub.sql/x": ""}, "sub.sql: is a folder"),
        ({"local001.csv": "n\n1\n", "sub.csv/x": ""}, "sub.csv: is a folder"),
        ({"local001.csv": "n\n1\n", "a.md": "", "local002.csv/x": ""}, "local002.csv: is a folder"),
        ({"local001.txt": "SELECT 1"}, '"local001.txt"'),
        ({"sub/local001.sql": "SELECT 1"}, "The folder sub in it has such files"),
        ({"a.csv": "n\n1\n", "b.csv": "n\n1\n", "sub.csv/x": ""}, "sub.csv: is a folder"),
    ],
)
def test_other_files_in_a_folder_are_named(benchmark: Path, tmp_path: Path, files: dict[str, str], words: str) -> None:
    folder = _answers(tmp_path / "answers", files)
    with pytest.raises(InputError) as caught:
        assay.evaluate(benchmark, folder, databases=f"sqlite:///{tmp_path}/{{db_id}}.sqlite")
    assert words in str(caught.value)


def test_of_a_query_and_a_result_of_one_name_the_query_counts_and_an_empty_file_is_no_answer(tmp_path: Path) -> None:
    files = {"a.sql": "SELECT 1", "a.csv": "n\n2\n", "b.sql": "", "c.csv": "", "readme.md": "of no account"}
    folder = _answers(tmp_path / "answers", files)
    with pytest.warns(UserWarning, match=r"1 instance has a query and a result, for example a\.sql and a\.csv"):
        a, b, c = load_predictions(folder, formats=registry.case_formats()).predictions
    assert (a.query, a.result) == ("SELECT 1", None)
    assert b.failure.kind == "unanswered"
    assert c.result.failure is not None


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda gold: (gold / "spider2lite_eval.jsonl").unlink(), "found none"),
        (lambda gold: (gold / "spider2snow_eval.jsonl").write_text("{}"), "spider2snow_eval.jsonl"),
        (lambda gold: (gold / "spider2lite_eval.jsonl").write_text('{"instance": 1}'), 'did you mean "instance"'),
        (lambda gold: (gold / "spider2lite_eval.jsonl").write_text('{"instance_id": "a"}\n' * 2), "occurs twice"),
        (lambda gold: (gold.parents[1] / "spider2-snow.jsonl").write_text("{}"), "name one of"),
    ],
)
def test_a_broken_layout_names_the_file_and_what_was_expected(benchmark: Path, spoil: Any, words: str) -> None:
    spoil(benchmark / "evaluation_suite" / "gold")
    with pytest.raises(CaseFileError) as caught:
        load_questions(benchmark, formats=registry.case_formats())
    assert words in str(caught.value)


def test_questions_without_gold_beside_them_are_told_so(benchmark: Path, tmp_path: Path) -> None:
    alone = tmp_path / "moved" / "spider2-lite.jsonl"
    alone.parent.mkdir()
    alone.write_text((benchmark / "spider2-lite.jsonl").read_text())
    with pytest.raises(CaseFileError, match=r"has no gold results of Spider 2\.0 next to it"):
        load_questions(alone, formats=registry.case_formats())
