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
def test_wrong_answers_fail_the_session_below_a_threshold(
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
        result.stdout.fnmatch_lines(
            ["assay: 0 of 1 correct*", "assay: assay_min not checked, since not all cases were evaluated"]
        )


@pytest.mark.parametrize(("most", "reached"), [("0", False), ("24.9%", False), ("25%", True), ("0.3", True)])
def test_unscored_cases_fail_the_session_above_a_share(project: pytest.Pytester, most: str, reached: bool) -> None:
    project.makefile(".assay.yaml", set=CASES.replace("SELECT 4", "SELECT absent FROM nowhere"))
    answer(project)
    ini(project, f"assay_max_unscored = {most}")
    result = project.runpytest("-rx")
    result.assert_outcomes(passed=3, xfailed=1)
    assert result.ret == (pytest.ExitCode.OK if reached else pytest.ExitCode.TESTS_FAILED)
    result.stdout.fnmatch_lines(["assay: 3 of 3 correct, 100.0 %* 1 unscored", "XFAIL*four - unscored: *"])
    assert ("assay: 25 % unscored, above assay_max_unscored" in result.stdout.str()) is not reached


def test_known_failures_may_not_grow_and_are_told_when_they_are_right(three_of_four: pytest.Pytester) -> None:
    ini(three_of_four, "assay_known_failures = known.txt")
    assert three_of_four.runpytest().ret == pytest.ExitCode.USAGE_ERROR
    result = three_of_four.runpytest("--assay-update-known-failures")
    result.stdout.fnmatch_lines(["assay: 1 known failure written to *known.txt"])
    known = (three_of_four.path / "known.txt").read_text()
    assert [line for line in known.splitlines() if not line.startswith("#")] == ["four"]
    result = three_of_four.runpytest()
    result.assert_outcomes(passed=3, xfailed=1)
    answer(three_of_four, three=0)
    result = three_of_four.runpytest()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["assay: listed as known failures, but correct now: four", "FAILED*three*"])


def baseline(project: pytest.Pytester, questions: dict[str, tuple[str, int]], **wrong: int) -> None:
    """A run in the folder ``main`` over these questions with their golds."""
    cases = [
        assay.Case(id=name, question=asked, golds=(f"SELECT {gold}",)) for name, (asked, gold) in questions.items()
    ]
    answers = {name: f"SELECT {wrong.get(name, gold)}" for name, (_, gold) in questions.items()}
    database = f"sqlite:///{project.path / 'city.sqlite'}"
    folder = project.path / "main"
    assay.evaluate(cases, answers, databases=database, metrics=["match"], workers=1, output=folder, overwrite=True)


def test_what_is_right_in_the_baseline_must_be_right(three_of_four: pytest.Pytester) -> None:
    """Also with a threshold: a known failure passes, a new one fails its test whatever the share."""
    baseline(three_of_four, {"one": ("a", 1), "two": ("b", 2)}, one=0)
    ini(three_of_four, "assay_baseline = main", "assay_min = 0.25")
    answer(three_of_four, one=0, two=0)
    result = three_of_four.runpytest()
    result.assert_outcomes(passed=2, xfailed=1, failed=1)
    result.stdout.fnmatch_lines(["assay: missing in the baseline, or different there: four, three", "FAILED*two*"])


def test_a_baseline_excuses_only_what_it_has_as_it_is(three_of_four: pytest.Pytester) -> None:
    """Another question, or another gold, under the same id is another case; a case may have another id."""
    ini(three_of_four, "assay_baseline = main")
    answer(three_of_four, one=0, two=0, three=0, four=0)
    baseline(
        three_of_four, {"one": ("else", 1), "two": ("b", 5), "3": ("c", 3), "four": ("d", 4)}, one=9, two=9, four=9
    )
    result = three_of_four.runpytest()
    result.assert_outcomes(xfailed=1, failed=3)
    result.stdout.fnmatch_lines(["assay: missing in the baseline, or different there: one, two"])
    baseline(three_of_four, {"one": ("else", 1)}, one=9)
    answer(three_of_four)
    result = three_of_four.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["assay: no case has the same content in the baseline *main"])


def test_the_list_is_brought_up_to_date_without_a_loss(project: pytest.Pytester) -> None:
    """Comments stay, and what was not judged; of two sets with one id the list names the one that is wrong."""
    project.makefile(".assay.yaml", one=CASES, two=CASES.replace("sql: SELECT 1}", "sql: SELECT x FROM missing}"))
    answer(project, two=0)
    project.makeconftest(
        (project.path / "conftest.py").read_text()
        + "\nimport assay\n@pytest.fixture\ndef assay_predict(request):\n"
        + "    right = {'one': 1, 'two': 2, 'three': 3, 'four': 4}\n"
        + "    wrong = {'two.assay.yaml': ('two',), 'one.assay.yaml': ('four',)}\n"
        + "    return lambda case: f'SELECT {right[case.id] * (case.id not in wrong[request.node.path.name])}'\n"
    )
    ini(project, "assay_known_failures = known.txt")
    before = ["# ours", "one  # broken gold", "two", "three  # was wrong", "one.assay.yaml::four # see below", "gone"]
    (project.path / "known.txt").write_text("\n".join(before), encoding="utf-8")
    project.runpytest("--assay-update-known-failures")
    after = ["# ours", "one  # broken gold", "one.assay.yaml::four # see below", "gone", "two.assay.yaml::two"]
    assert (project.path / "known.txt").read_text().splitlines() == after
    result = project.runpytest()
    result.assert_outcomes(passed=5, xfailed=2, errors=1)
    result.stdout.fnmatch_lines(["assay: known.txt has entries that match no case: gone"])


@pytest.mark.parametrize("arguments", [("-x",), ("--lf",)])
def test_a_part_of_the_set_changes_no_demand(three_of_four: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    three_of_four.makefile(
        ".assay.yaml", other="db: sqlite:///city.sqlite\ncases: [{id: x, question: q, sql: SELECT 1}]\n"
    )
    three_of_four.makeconftest(FIXTURE.format(answers={"one": "SELECT 1", "two": "SELECT 0", "three": "SELECT 0"}))
    path = three_of_four.path / "tox.ini"
    path.write_text(path.read_text().replace("-p no:cacheprovider", "-p cacheprovider"), encoding="utf-8")
    ini(three_of_four, "assay_known_failures = known.txt", "assay_min = 99%")
    (three_of_four.path / "known.txt").write_text("four\n", encoding="utf-8")
    if "--lf" in arguments:
        three_of_four.runpytest()
    result = three_of_four.runpytest("--assay-update-known-failures", *arguments)
    assert (three_of_four.path / "known.txt").read_text() == "four\n"
    result.stdout.fnmatch_lines(
        ["assay: assay_min not checked, since not all cases were evaluated", "assay: *known.txt not updated, since*"]
    )


@pytest.mark.parametrize(
    ("line", "arguments", "said"),
    [
        ("assay_min = 8o%", (), "assay_min is '8o%'"),
        ("assay_min = 1.5", (), "0.8 or 80%"),
        ("assay_max_unscored = 5", (), "assay_max_unscored is '5': use a share of unscored cases"),
        ("assay_min = nan", (), "0.8 or 80%"),
        ("assay_baseline = nowhere", (), "nowhere is not a run folder"),
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
