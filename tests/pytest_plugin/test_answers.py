"""Where predictions come from: files, then a callable, then a mapping."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]
CASES = (
    "cases: [{id: a, question: Q, sql: SELECT 1, db_id: x}, {id: b, question: Q, sql: SELECT 2}]\n"
    "db: sqlite:///city.sqlite\n"
)


@pytest.fixture
def city(project: pytest.Pytester, write: Write) -> pytest.Pytester:
    write("city.assay.yaml", CASES)
    return project


def _fixture(name: str, body: str, scope: str = "function") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"import pytest\n@pytest.fixture(scope={scope!r})\ndef {name}(request):\n{lines}\n"


@pytest.mark.parametrize("scope", ["function", "module", "package", "session"])
def test_a_callable_of_any_scope_that_uses_other_fixtures(city: pytest.Pytester, scope: str) -> None:
    city.makeconftest(
        f"""
        import pytest
        @pytest.fixture(scope="session")
        def model(tmp_path_factory):
            return {{"a": "SELECT 1", "b": "SELECT 3"}}
        @pytest.fixture(scope={scope!r})
        def assay_predict(model):
            return lambda case: model[case.id]
        """
    )
    city.runpytest().assert_outcomes(passed=1, failed=1)


def test_what_a_callable_raises_fails_that_item_with_its_traceback(city: pytest.Pytester) -> None:
    body = "def predict(case):\n    if case.id == 'a':\n        raise KeyError('no model')\n    return 'SELECT 2'\n"
    body += "return predict"
    city.makeconftest(_fixture("assay_predict", body))
    result = city.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([">*raise KeyError('no model')", "E*KeyError: 'no model'", "conftest.py:*: KeyError"])
    result.stdout.fnmatch_lines(["assay: 1 of 2 correct*"])
    result.stdout.no_fnmatch_line("*pytest_plugin*")


def test_a_callable_may_skip_a_case(city: pytest.Pytester) -> None:
    city.makeconftest(
        _fixture("assay_predict", "return lambda case: pytest.skip('dear') if case.id == 'a' else 'SELECT 2'")
    )
    result = city.runpytest()
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["assay: 1 of 1 correct*"])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return 'SELECT 1'", "*assay_predict returns str: return a callable*"),
        ("async def predict(case): return 'SELECT 1'\nreturn predict", "*assay_predict is async*"),
        ("return lambda case: 7", "*with int: give text, chat messages, rows, or None*"),
    ],
)
def test_a_callable_that_is_none(city: pytest.Pytester, body: str, told: str) -> None:
    city.makeconftest(_fixture("assay_predict", body))
    result = city.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([told, "assay: 0 of 0 correct · 2 not evaluated"])


def test_a_mapping(city: pytest.Pytester) -> None:
    city.makeconftest(_fixture("assay_predictions", "return {'a': 'SELECT 1', 'beside': 'SELECT 5'}"))
    result = city.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["no query to score: *"])


def test_a_mapping_of_another_question_set_says_so(city: pytest.Pytester) -> None:
    city.makeconftest(_fixture("assay_predictions", "return {'x': 'SELECT 1'}"))
    result = city.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(['*no prediction matches a case: the cases\' ids are "a", "b"*'])


def test_a_file_that_a_fixture_makes(city: pytest.Pytester, write: Write) -> None:
    path = write("made/answers.jsonl", {"a": "SELECT 1", "b": "SELECT 2"})
    city.makeconftest(_fixture("assay_predictions", f"return {str(path)!r}", "session"))
    city.runpytest().assert_outcomes(passed=2)


def test_a_file_beats_the_ini_file_and_both_beat_fixtures(city: pytest.Pytester, write: Write) -> None:
    right, wrong = {"a": "SELECT 1", "b": "SELECT 2"}, {"a": "SELECT 5", "b": "SELECT 5"}
    city.makeconftest(_fixture("assay_predict", "return lambda case: 'SELECT 1'"))
    write("wrong.jsonl", wrong)
    write("right.jsonl", right)
    city.runpytest().assert_outcomes(passed=1, failed=1)
    city.runpytest("-o", "assay_predictions=wrong.jsonl").assert_outcomes(failed=2)
    write("city.assay.yaml", CASES + "predictions: right.jsonl\n")
    city.runpytest("-o", "assay_predictions=wrong.jsonl").assert_outcomes(passed=2)


def test_without_any_source_the_collection_says_how(city: pytest.Pytester) -> None:
    result = city.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*city.assay.yaml: there is no source of answers. Write*assay_predict*"])
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_a_fixture_with_params_is_refused(city: pytest.Pytester) -> None:
    city.makeconftest("import pytest\n@pytest.fixture(params=[1, 2])\ndef assay_predict(request): ...\n")
    city.runpytest().stdout.fnmatch_lines(["*assay_predict has params*"])


def test_a_database_may_be_made_by_a_fixture(project: pytest.Pytester, write: Write) -> None:
    write("late.assay.yaml", "cases: [{id: a, question: Q, sql: SELECT x FROM t}]\ndb: sqlite:///late.sqlite\n")
    project.makeconftest(
        """
        import sqlite3, pytest
        from contextlib import closing
        @pytest.fixture(scope="session", autouse=True)
        def database(pytestconfig):
            with closing(sqlite3.connect(pytestconfig.rootpath / "late.sqlite")) as connection:
                connection.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        @pytest.fixture
        def assay_predictions():
            return {"a": "SELECT 1"}
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_a_query_in_a_code_fence_and_given_rows_are_answers(city: pytest.Pytester) -> None:
    """As from a live system and from a file, whatever type the callable gives."""
    fence = "'```sql\\nSELECT 1;\\n```'"
    for answer in (fence, f"assay.Prediction(case_id='', query={fence})", "assay.GivenResult.of([(1,)])", "[[1]]"):
        city.makeconftest(_fixture("assay_predict", f"import assay\nreturn lambda case: {answer}"))
        city.runpytest("city.assay.yaml::a").assert_outcomes(passed=1)


def test_a_turn_of_a_conversation_has_what_was_answered_before_it(project: pytest.Pytester, write: Write) -> None:
    """As far as the earlier turns are run, whatever became of them."""
    turns = [{"question": name, "gold_sql": f"SELECT {number}"} for number, name in enumerate("abcd")]
    write("talk.jsonl", [{"id": "k", "turns": turns}])
    write("talk.assay.yaml", "cases: talk.jsonl\ndb: sqlite:///city.sqlite\n")
    body = "answers = {'a': 'SELECT 0', 'b': [[1]], 'd': 'SELECT 3'}\n"
    body += "def predict(case):\n    print('told', [one.answer for one in case.history])\n"
    project.makeconftest(_fixture("assay_predict", body + "    return answers[case.question]\nreturn predict"))
    result = project.runpytest("-s")
    result.assert_outcomes(passed=3, failed=1)
    assert """told ['SELECT 0', '{"rows": [[1]]}', None]""" in result.stdout.str()
