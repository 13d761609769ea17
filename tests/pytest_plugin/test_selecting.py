"""Choosing cases with pytest's own means, and how they are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.pytest_plugin.sources import item_names, marker_name
from many_cases import each

Write = Callable[..., Path]


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
def test_cases_are_found_by_id_words_difficulty_and_tag(
    answered: pytest.Pytester, chosen: list[str], names: list[str]
) -> None:
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


def test_stopping_and_running_what_failed_again(answered: pytest.Pytester) -> None:
    cached = ("-o", "addopts=--strict-markers -p no:hypothesispytest -p no:randomly")
    answered.runpytest("-x", *cached).assert_outcomes(passed=1, failed=1)
    answered.runpytest(*cached)
    result = answered.runpytest("--lf", *cached)
    result.assert_outcomes(failed=1, errors=1)


def test_what_failed_again_though_its_id_has_brackets(project: pytest.Pytester, write: Write) -> None:
    cases = [{"id": f"{name} [x] more", "question": name, "sql": "SELECT 1"} for name in ("right", "wrong")]
    write("odd.jsonl", cases)
    write("odd.assay.yaml", "cases: odd.jsonl\ndb: sqlite:///city.sqlite\n")
    project.makeconftest(
        "import pytest\n@pytest.fixture\ndef assay_predict():\n"
        "    return lambda case: 'SELECT 1' if case.question == 'right' else 'SELECT 2'\n"
    )
    cached = ("-o", "addopts=--strict-markers -p no:hypothesispytest -p no:randomly")
    project.runpytest(*cached).assert_outcomes(passed=1, failed=1)
    project.runpytest("--lf", *cached).assert_outcomes(failed=1)


def test_switched_off_it_collects_nothing(answered: pytest.Pytester) -> None:
    result = answered.runpytest("-p", "no:assay")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
