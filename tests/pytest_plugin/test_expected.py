"""What is demanded of the whole set: a threshold, a baseline, and known failures that may not grow."""

from __future__ import annotations

import pytest

import assay

CASES = """
db: sqlite:///city.sqlite
cases:
  - {id: one, question: a, sql: SELECT 1}
  - {id: two, question: b, sql: SELECT 2}
  - {id: three, question: c, sql: SELECT 3}
  - {id: four, question: d, sql: SELECT 4}
"""
FIXTURE = """
import pytest

@pytest.fixture
def assay_predict():
    return lambda case: {answers}[case.id]
"""


@pytest.fixture
def three_of_four(project: pytest.Pytester) -> pytest.Pytester:
    """Case ``four`` is wrong."""
    project.makefile(".assay.yaml", set=CASES)
    answer(project, four=0)
    return project


def answer(project: pytest.Pytester, **wrong: int) -> None:
    answers = {"one": 1, "two": 2, "three": 3, "four": 4, **wrong}
    project.makeconftest(FIXTURE.format(answers={name: f"SELECT {value}" for name, value in answers.items()}))


def ini(project: pytest.Pytester, *lines: str) -> None:
    path = project.path / "tox.ini"
    path.write_text("\n".join([path.read_text(), *lines, ""]))


@pytest.mark.parametrize(("least", "reached"), [("0.75", True), ("75%", True), ("0.76", False)])
def test_with_a_threshold_alone_wrong_answers_fail_the_session_only_below_it(
    three_of_four: pytest.Pytester, least: str, reached: bool
) -> None:
    ini(three_of_four, f"assay_min = {least}")
    result = three_of_four.runpytest("-rx")
    result.assert_outcomes(passed=3, xfailed=1)
    assert result.ret == (pytest.ExitCode.OK if reached else pytest.ExitCode.TESTS_FAILED)
    result.stdout.fnmatch_lines(["assay: 3 of 4 correct, 75.0 %*", "XFAIL*four - wrong: *"])
    assert ("below assay_min" in result.stdout.str()) is not reached


def test_a_threshold_says_nothing_of_a_part_of_the_set(three_of_four: pytest.Pytester) -> None:
    ini(three_of_four, "assay_min = 100%")
    for arguments in (("-k", "four"), ("set.assay.yaml::four",)):
        result = three_of_four.runpytest(*arguments)
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["assay: 0 of 1 correct*", "assay: not all cases were judged*"])


def test_known_failures_may_not_grow_and_are_told_when_they_are_right(three_of_four: pytest.Pytester) -> None:
    ini(three_of_four, "assay_known_failures = known.txt")
    assert three_of_four.runpytest().ret == pytest.ExitCode.USAGE_ERROR
    result = three_of_four.runpytest("--assay-update-known-failures")
    result.stdout.fnmatch_lines(["assay: 1 known failures written to *known.txt"])
    known = (three_of_four.path / "known.txt").read_text()
    assert [line for line in known.splitlines() if not line.startswith("#")] == ["four"]
    result = three_of_four.runpytest()
    result.assert_outcomes(passed=3, xfailed=1)
    answer(three_of_four, three=0)
    result = three_of_four.runpytest()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["assay: known to be wrong, and right now: four", "FAILED*three*"])


def test_what_is_right_in_the_baseline_must_be_right(three_of_four: pytest.Pytester) -> None:
    """Also with a threshold: a known failure passes, a new one fails its test whatever the share."""
    cases = [assay.Case(id=name, question=name, golds=("SELECT 1",)) for name in ("one", "two")]
    answers = [assay.Prediction(case_id="one", query="SELECT 0"), assay.Prediction(case_id="two", query="SELECT 1")]
    database = f"sqlite:///{three_of_four.path / 'city.sqlite'}"
    folder = three_of_four.path / "main"
    assay.evaluate(cases, answers, databases=database, metrics=["match"], workers=1, output=folder)
    ini(three_of_four, "assay_baseline = main", "assay_min = 0.25")
    answer(three_of_four, one=0, two=0)
    result = three_of_four.runpytest()
    result.assert_outcomes(passed=2, xfailed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED*two*"])


@pytest.mark.parametrize(
    ("line", "arguments", "said"),
    [
        ("assay_min = 8o%", (), "assay_min is '8o%'"),
        ("assay_min = 1.5", (), "0.8 or 80%"),
        ("assay_min = nan", (), "0.8 or 80%"),
        ("assay_baseline = nowhere", (), "nowhere is no run"),
        ("", ("--assay-update-known-failures",), "assay_known_failures"),
    ],
)
def test_a_demand_that_cannot_be_read_is_told_before_anything_is_judged(
    three_of_four: pytest.Pytester, line: str, arguments: tuple[str, ...], said: str
) -> None:
    ini(three_of_four, line)
    result = three_of_four.runpytest(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{said}*"])
