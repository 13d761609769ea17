"""What a shell offers, asked as a shell asks it: through the environment, in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import commands
from assay.cli.app import app
from assay.cli.parsing import completion
from assay.cli.parsing.completion import SHELLS, completion_script, install_completion, shell_in_use
from assay.errors import UsageError

ASKED = [
    ("assay ru", ["run", "runs"]),
    ("assay suite ", ["build", "show"]),
    ("assay run x --prediction-f", ["--prediction-format"]),
    ("assay run x --metrics match,bird_e", ["match,bird_ex"]),
    ("assay run x --min suite_m", ["suite_match="]),
    ("assay run x --case-format spider", ["spider", "spider2"]),
    ("assay report x --to jun", ["junit="]),
    ("assay run x --system cha", ["chat:"]),
    ("assay run x --db sqli", ["sqlite:///"]),
    ("assay run x --db sqlite:///da", ["sqlite:///data-base.sqlite", "sqlite:///data/"]),
    ("assay run x --db=sqlite:///data/", ["sqlite:///data/b.sqlite"]),
    ("assay run x --columns s", ["strict"]),
    ("assay lint x --only L01,gold-f", ["L01,gold-fails"]),
    ("assay run ", []),
    ("assay explain nowhere ", []),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hostile = ("data$(touch harm).sqlite", "data;harm.sqlite", "data\x1b[31m.sqlite", "data'.sqlite", "data\n.sqlite")
    for name in ("data-base.sqlite", "data/b.sqlite", ".hidden.sqlite", *hostile):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(("line", "offered"), ASKED, ids=[line for line, _ in ASKED])
def test_names_are_offered(line: str, offered: list[str], folder: Path) -> None:
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_ASSAY_COMPLETE": "bash_complete"}
    done = commands.run([], cwd=folder, env={**os.environ, **asked})
    assert (done.returncode, done.stderr) == (0, "")
    # Files, if there is nothing to offer.
    assert done.stdout.splitlines() == ([f"plain,{one}" for one in offered] or [f"file,{words[-1]}"])


def test_what_is_completed_exists() -> None:
    verbs = {**app.every_verb(), **app.every_verb()["suite"].every_verb()}
    known = {
        (verb, name) for verb, command in verbs.items() for one in command.params for name in (one.name, *one.opts)
    }
    assert {*completion._ARGUMENTS, *completion._OF_VERB} <= known
    assert set(completion._OPTIONS) <= {name for _, name in known}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_urls_whole(folder: Path) -> None:
    program = commands.program(folder)
    line = "assay run x --db sqlite:///data/"
    asked = f'COMP_LINE={line!r} COMP_POINT={len(line)}; _assay_completion {str(program)!r}; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{completion_script('bash')}\n{asked}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    # bash has written "sqlite:" as a word of its own.
    assert done.stdout == "///data/b.sqlite\n", done.stderr


@pytest.mark.parametrize(("shell", "start"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", None)])
def test_it_is_installed_where_the_shell_reads_it(
    shell: str, start: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if start is not None:
        (tmp_path / start).write_text("alias l=ls", encoding="utf-8")
    for _ in range(2):
        path = install_completion(shell)
    assert path.is_relative_to(tmp_path)
    assert path.read_text(encoding="utf-8") == f"{completion_script(shell)}\n"
    if start is not None:
        lines = (tmp_path / start).read_text(encoding="utf-8").splitlines()
        assert lines[0] == "alias l=ls"
        assert len(lines) == 2
        assert (str(path) if shell == "bash" else "~/.zfunc") in lines[1]


def test_every_shell_has_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    for shell in SHELLS:
        assert "_ASSAY_COMPLETE" in completion_script(shell)
    monkeypatch.setattr("assay.cli.parsing.completion.os.getppid", lambda: "nothing")  # no shell above this process
    assert shell_in_use({"SHELL": "/usr/bin/fish"}) == "fish"
    for environment in ({}, {"SHELL": "/bin/tcsh"}):
        with pytest.raises(UsageError, match="SHELL=/bin/bash"):
            shell_in_use(environment)
