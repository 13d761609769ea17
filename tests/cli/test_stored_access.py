"""A stored run has no password: `assay review` and `assay lint` read Denodo's from the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay
from assay.api.corrections import GoldTrials
from assay.cli.app import run_command_line
from assay.cli.options.access import Access
from assay.errors import InputError
from assay.model import DatabaseUrl, Limits, RunSettings
from assay.testing import DenodoEmulator, example

USER, PASSWORD, TOKEN = "ASSAY_USER", "ASSAY_PASSWORD", "ASSAY_TOKEN"


@pytest.mark.parametrize(
    ("environment", "stored", "used"),
    [
        ({USER: "ann", PASSWORD: "p@ss"}, "denodo+http://ann:***@h:1/c", "denodo+http://ann:p%40ss@h:1/c"),
        ({PASSWORD: "word"}, "denodo+https://ann:***@h/c?rows=100", "denodo+https://ann:word@h/c?rows=100"),
        ({USER: "bob", PASSWORD: "word"}, "denodo://ann:***@h:9996/db", "denodo://bob:word@h:9996/db"),
        ({TOKEN: "t"}, "denodo+http://:***@h/c", "denodo+http://:t@h/c"),
        ({USER: "ann"}, "denodo+http://ann:***@h/c", "denodo+http://ann:***@h/c"),
        ({}, "denodo+http://ann:***@h/c", "denodo+http://ann:***@h/c"),
        ({PASSWORD: "word"}, "denodo+http://:***@h/c", "denodo+http://:***@h/c"),
        ({USER: "ann", PASSWORD: "word"}, "postgresql://ann:***@h/db", "postgresql://ann:***@h/db"),
        ({USER: "ann", PASSWORD: "word"}, "sqlite:///a.sqlite", "sqlite:///a.sqlite"),
    ],
)
def test_the_environment_fills_in_a_masked_login_of_denodo(
    environment: dict[str, str], stored: str, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (USER, PASSWORD, TOKEN):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Access.of_environment().completed(DatabaseUrl(text=stored)).text == used


def test_a_missing_password_is_said_with_the_url_to_complete(tmp_path: Path) -> None:
    from tests.runs.reviews.reviewing import case_of, evidence_of

    for url, has_variables in (("denodo+http://ann:***@h:1/c", True), ("postgresql://ann:***@h/db", False)):
        settings = RunSettings(cases="", predictions="", database=url, metrics=(), limits=Limits())
        with pytest.raises(InputError) as raised:
            GoldTrials(settings, tmp_path).score(evidence_of(case_of(), "SELECT 1"), case_of())
        assert f"--db '{url}'" in str(raised.value)
        assert (PASSWORD in str(raised.value)) is has_variables


def test_a_corrected_gold_query_is_tried_with_the_password_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    question = {"id": "q", "question": "Which?", "gold": "SELECT city FROM branch"}
    Path("dev.jsonl").write_text(json.dumps(question))
    with DenodoEmulator(tables=example.tables_folder(), user="demo", password="long-password") as server:
        address = f"{server.catalog_url.removeprefix('http://')}"
        assay.evaluate(
            "dev.jsonl",
            {"q": "SELECT name FROM branch"},
            databases=f"denodo+http://demo:long-password@{address}",
            metrics=["match"],
            workers=1,
            output="run",
        )
        command = ["review", "run", "q", "--gold-wrong", "--gold", "SELECT name FROM branch", "--reviewer", "Ann"]
        assert run_command_line(command) == 2
        monkeypatch.setenv(PASSWORD, "long-password")
        assert run_command_line(command) == 0
        assert "the case is then correct" in capsys.readouterr().out
        monkeypatch.setenv(USER, "demo")
        monkeypatch.setenv(PASSWORD, "long-password")
        lint = ["lint", "dev.jsonl", "--db", f"denodo+http://{address}", "-q", "--fail-on", "error", "--workers", "1"]
        assert run_command_line(lint) == 0
