"""What becomes of a case: passed, failed, in error, skipped, and how each is told."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

Write = Callable[..., Path]
LINE = "assay: 1 of 2 correct, 50.0 % [[]9.5, 90.5[]] · 1 unscored"


def test_a_right_answer_passes_a_wrong_one_fails_a_broken_gold_is_an_error_and_none_is_skipped(
    answered: pytest.Pytester,
) -> None:
    result = answered.runpytest("-rs")
    result.assert_outcomes(passed=1, failed=1, errors=1, skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([LINE, "*the case has no gold query"])


def test_a_failure_shows_reason_queries_results_and_difference_and_nothing_of_the_inside(
    answered: pytest.Pytester,
) -> None:
    result = answered.runpytest("city.assay.yaml::names")
    result.stdout.fnmatch_lines(
        [
            "*FAILURES*",
            "the prediction returns 1 row, the gold query 2*",
            "near miss: missing rows*",
            "question: Which cities are Norwegian[?]",
            "gold (2 rows in *):",
            "    SELECT name FROM city WHERE country = 'Norway'",
            "predicted (1 row in *):",
            "gold returns 2 rows:",
            "    name",
            "    Oslo",
            "the prediction returns 1 row:",
            "difference (- gold only, + prediction only):*1 missing",
            "    - Bergen",
            "assay: 0 of 1 correct, 0.0 %*",
            "FAILED city.assay.yaml::names - *the prediction returns 1 row*",
        ]
    )
    assert "runtest" not in result.stdout.str()
    assert "traceback" not in result.stdout.str().lower()


def test_a_broken_gold_is_told_at_setup_and_asks_nothing(project: pytest.Pytester, write: Write) -> None:
    write("city.assay.yaml", "cases: [{id: a, question: Q, sql: SELECT mayor FROM city}]\ndb: sqlite:///city.sqlite\n")
    project.makeconftest(
        """
        import pytest
        @pytest.fixture
        def assay_predict():
            def predict(case):
                raise AssertionError("it was asked")
            return predict
        """
    )
    result = project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["unscored: the gold query gives no answer: no such column: mayor", "assay: 0 of 0 correct · 1 unscored"]
    )
    result.stdout.no_fnmatch_line("*it was asked*")


def test_junit_xml_carries_outcome_flags_database_and_difficulty(project: pytest.Pytester, write: Write) -> None:
    case = {"id": "none", "question": "Q", "db_id": "city", "difficulty": "easy"}
    write("cases.jsonl", [case | {"sql": "SELECT name FROM city WHERE people < 0"}])
    write("answers.jsonl", {"none": "SELECT name FROM city WHERE people < -1"})
    write("city.assay.yaml", "cases: cases.jsonl\npredictions: answers.jsonl\ndb: sqlite:///{db_id}.sqlite\n")
    project.runpytest("--junitxml=out.xml").assert_outcomes(passed=1)
    tree = ElementTree.parse(project.path / "out.xml")
    found = {one.get("name"): one.get("value") for one in tree.iter("property")}
    assert found == {
        "assay.case": "none",
        "assay.database": "city",
        "assay.difficulty": "easy",
        "assay.outcome": "correct",
        "assay.flags": "vacuous",
    }


def test_junit_xml_tells_errors_from_failures(answered: pytest.Pytester) -> None:
    answered.runpytest("--junitxml=out.xml")
    (suite,) = ElementTree.parse(answered.path / "out.xml").iter("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]


def test_processes_of_xdist_give_the_same_and_one_line(
    answered: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    # Its processes know the path that Python started with, and not what was added since.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(os.path.abspath(entry) for entry in sys.path))
    result = answered.runpytest_subprocess("-n", "2")
    result.assert_outcomes(passed=1, failed=1, errors=1, skipped=1)
    result.stdout.fnmatch_lines(["difference (- gold only*", LINE])
    assert len(re.findall("^assay: ", result.stdout.str(), re.M)) == 1


def test_a_database_that_cannot_be_read_is_an_error_that_names_it(project: pytest.Pytester, write: Write) -> None:
    write("city.assay.yaml", "cases: [{id: a, question: Q, sql: SELECT 1}]\ndb: sqlite:///town.sqlite\n")
    project.makeconftest("import pytest\n@pytest.fixture\ndef assay_predictions(): return {'a': 'SELECT 1'}\n")
    result = project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["unscored: *town.sqlite*"])


def test_a_query_beyond_its_time_fails_alone(project: pytest.Pytester, write: Write) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    cases = "cases: [{id: a, question: Q, sql: SELECT 1}, {id: b, question: Q, sql: SELECT 1}]\n"
    write("city.assay.yaml", cases + "db: sqlite:///city.sqlite\npredictions: answers.jsonl\n")
    write("answers.jsonl", {"a": endless, "b": "SELECT 1"})
    for limit_s in (1, 8, 64):  # until nothing meets it but what never ends
        result = project.runpytest("-o", f"assay_timeout={limit_s}")
        if result.parseoutcomes() == {"passed": 1, "failed": 1}:
            break
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"*no result within the limit of {limit_s} s*"])


def test_the_case_file_says_how_columns_count(project: pytest.Pytester, write: Write) -> None:
    cases = "cases: [{id: a, question: Q, sql: 'SELECT name, people FROM city'}]\ndb: sqlite:///city.sqlite\n"
    write("answers.jsonl", {"a": "SELECT people, name FROM city"})
    write("free.assay.yaml", cases + "predictions: answers.jsonl\n")
    write("strict.assay.yml", cases + "predictions: answers.jsonl\ncolumns: strict\n")
    result = project.runpytest("-v")
    result.stdout.fnmatch_lines(["free.assay.yaml::a PASSED*", "strict.assay.yml::a FAILED*"])


def test_ordinary_tests_beside_it_are_not_counted(answered: pytest.Pytester) -> None:
    answered.makepyfile("def test_one(record_property): record_property('assay.outcome', 'correct')")
    result = answered.runpytest()
    result.assert_outcomes(passed=2, failed=1, errors=1, skipped=1)
    result.stdout.fnmatch_lines([LINE])


def test_no_line_where_nothing_was_judged(project: pytest.Pytester) -> None:
    project.makepyfile("def test_one(): pass")
    result = project.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("assay: *")
