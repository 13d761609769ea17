"""A family of cases is one test that loses none of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from many_cases import each


def test_all_cases_run_and_each_that_fails_is_named() -> None:
    tried = []

    @each("number", [1, 2, pytest.param(3, id="three"), 4])
    def family(number: int) -> None:
        tried.append(number)
        assert number not in (2, 3)

    with pytest.raises(ExceptionGroup, match="2 of 4 cases fail") as told:
        family()
    assert tried == [1, 2, 3, 4]
    assert [failure.__notes__ for failure in told.value.exceptions] == [["case: 2"], ["case: three"]]


def test_a_missing_exception_is_a_failure_of_its_case() -> None:
    @each("text", ["1", "one"], ids=["a number", "a word"])
    def family(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup) as told:
        family()
    assert [failure.__notes__ for failure in told.value.exceptions] == [["case: a number"]]


def test_families_of_families_are_products() -> None:
    tried = []

    @each("one", "ab")
    @each("other", "xy")
    def family(one: str, other: str) -> None:
        tried.append(one + other)

    family()
    assert tried == ["ax", "ay", "bx", "by"]
    assert family.cases == 4  # type: ignore[attr-defined]


def test_cases_share_no_folder_patch_or_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @each(("name",), [("one",), ("two",)])
    def family(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        assert list(tmp_path.iterdir()) == []
        assert "ASSAY_FAMILY" not in os.environ
        (tmp_path / "file").write_text(name)
        monkeypatch.setenv("ASSAY_FAMILY", name)
        sys.stdout.write(name)
        assert capsys.readouterr().out == name
        sys.stdout.write("more")

    family(tmp_path=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert "ASSAY_FAMILY" not in os.environ


def test_a_skipped_case_is_told_after_the_others_have_run() -> None:
    tried = []

    @each("number", [1, 2, 3])
    def family(number: int) -> None:
        if number == 1:
            pytest.skip("no server")
        tried.append(number)

    with pytest.raises(pytest.skip.Exception, match="1 of 3 cases: 1: no server"):
        family()
    assert tried == [2, 3]


def test_what_would_lose_cases_is_refused() -> None:
    with pytest.raises(ValueError, match="no cases"):
        each("text", [])
    with pytest.raises(TypeError, match="marks of its own"):
        each("text", [pytest.param("a", marks=pytest.mark.server)])
    with pytest.raises(TypeError, match="3 values"):
        each("one, other", ["abc"])
    with pytest.raises(TypeError, match="takes no text"):
        each("text", ["a"])(lambda: None)
