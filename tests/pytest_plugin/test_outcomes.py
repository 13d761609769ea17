"""What becomes of a case: passed, failed, in error, skipped, and how each is told."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.pytest_plugin.sources import item_names, marker_name
from many_cases import each

Write = Callable[..., Path]
LINE = "assay: 1 of 2 correct, 50.0 % [[]9.5, 90.5[]] · 1 unscored"


def test_right_passes_wrong_fails_a_broken_gold_is_an_error_and_none_skipped(
    answered: pytest.Pytester,
) -> None:
    result = answered.runpytest("-rs")
    result.assert_outcomes(passed=1, failed=1, errors=1, skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([LINE, "*the case has no gold query"])


def test_a_failure_shows_reason_queries_results_and_difference(
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


def test_processes_of_xdist_give_the_same_line(answered: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
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
    result = answered.runpytest("test_ordinary_tests_beside_it_are_not_counted.py")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("assay: *")


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (["-k", "names"], ["names"]),
        (["-k", "norwegian"], ["names"]),
        (["-k", "easy and not mayor"], ["count"]),
        (["-m", "counting"], ["count"]),
        (["-m", "assay and not counting and not text"], ["broken", "open"]),
        (["city.assay.yaml::broken"], ["broken"]),
        ([], ["count", "names", "broken", "open"]),
    ],
)
def test_cases_are_found_by_what_they_are(answered: pytest.Pytester, chosen: list[str], names: list[str]) -> None:
    result = answered.runpytest("--collect-only", "-q", *chosen)
    assert [line for line in result.outlines if "::" in line] == [f"city.assay.yaml::{name}" for name in names]


def test_a_database_chooses_too(project: pytest.Pytester, write: Write) -> None:
    cases = [{"id": number, "question": "Q", "sql": "SELECT 1", "db_id": name} for number, name in enumerate("xy")]
    write("cases.jsonl", [case | {"db_id": f"base_{case['db_id']}"} for case in cases])
    write("a.assay.yaml", "cases: cases.jsonl\npredictions: answers.jsonl\ndb: sqlite:///{db_id}.sqlite\n")
    write("answers.jsonl", {"0": "SELECT 1", "1": "SELECT 1"})
    result = project.runpytest("--collect-only", "-q", "-k", "base_y")
    result.stdout.fnmatch_lines(["a.assay.yaml::1", "1/2 tests collected*"])


def test_odd_ids_and_tags_run_under_strict_markers(project: pytest.Pytester, write: Write) -> None:
    ids = ["a::b", "a:b", "x[1]", "two\nlines", "\u202etxt", "ünï", "/etc/passwd", "and", "é" * 500]
    tags = ["skip", "two words", "2024", "ünï", "—", "parametrize", "timeout", "class"]
    write("odd.jsonl", [{"id": one, "question": "Q", "sql": "SELECT 1", "tags": tags} for one in ids])
    write("odd.assay.yaml", "cases: odd.jsonl\ndb: sqlite:///city.sqlite\n")
    project.makeconftest("import pytest\n@pytest.fixture\ndef assay_predict(): return lambda case: 'SELECT 1'\n")
    result = project.runpytest("-m", "two_words and tag_2024 and ünï and tag_skip and tag_class", "--junitxml=out.xml")
    result.assert_outcomes(passed=len(ids))
    names = item_names(ids)
    assert len(set(names)) == len(ids)
    for name in names[:4]:
        project.runpytest(f"odd.assay.yaml::{name}", "--collect-only", "-q").stdout.fnmatch_lines(["1 test collected*"])


@each(
    ("ids", "names"),
    [
        (["a", "b"], ["a", "b"]),
        (["a::b", "a:b"], ["a:b", "a:b-2"]),
        (["a::b", "a:b", "a:b-2"], ["a:b", "a:b-3", "a:b-2"]),
        (["::"], ["case"]),
        (["two\nlines"], ["two lines"]),
        (["a[1]", "a(1)", "b [x] c"], ["a(1)", "a(1)-2", "b (x) c"]),
    ],
)
def test_names_are_visible_and_occur_once(ids: list[str], names: list[str]) -> None:
    assert item_names(ids) == names


@pytest.mark.parametrize(
    ("tag", "name"),
    [("join", "join"), ("group by", "group_by"), ("xfail", "tag_xfail"), ("3 tables", "tag_3_tables"), ("—", None)],
)
def test_tags_as_markers(tag: str, name: str | None) -> None:
    assert marker_name(tag) == name


CACHED = ("-o", "addopts=--strict-markers -p no:hypothesispytest -p no:randomly")


def test_stopping_and_running_what_failed_again(answered: pytest.Pytester, write: Write) -> None:
    answered.runpytest("-x", *CACHED).assert_outcomes(passed=1, failed=1)
    write("city.assay.yaml", "cases: odd.jsonl\ndb: sqlite:///city.sqlite\npredictions: answers.jsonl\n")
    write("odd.jsonl", [{"id": f"{n} [x] more", "question": "Q", "sql": f"SELECT {n}"} for n in (1, 2)])
    write("answers.jsonl", {f"{n} [x] more": "SELECT 1" for n in (1, 2)})
    answered.runpytest(*CACHED).assert_outcomes(passed=1, failed=1)
    answered.runpytest("--lf", *CACHED).assert_outcomes(failed=1)


def test_switched_off_it_collects_nothing(answered: pytest.Pytester) -> None:
    assert answered.runpytest("-p", "no:assay").ret == pytest.ExitCode.NO_TESTS_COLLECTED
