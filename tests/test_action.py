"""The GitHub Action and the hooks for pre-commit: their own lines run here, with inputs as GitHub gives them."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import commands

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = (ROOT / "docs" / "guides" / "ci.md").read_text("utf-8")


def _yaml(name: str) -> Any:
    return YAML(typ="safe", pure=True).load((ROOT / name).read_text("utf-8"))


ACTION = _yaml("action.yml")
HOOKS = {one["id"]: one for one in _yaml(".pre-commit-hooks.yaml")}
JUDGE = next(one for one in ACTION["runs"]["steps"] if one["name"] == "Judge")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bin")
    commands.program(folder)
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with three questions, of whose answers two are right."""
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    rows = [{"id": f"q{at}", "question": f"What is {at}?", "gold_sql": f"SELECT {at}"} for at in range(3)]
    (tmp_path / "my cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers = [{"id": f"q{at}", "predicted_sql": f"SELECT {min(at, 1)}"} for at in range(3)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    return tmp_path


def _judge(folder: Path, tools: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """Run the step with the action's inputs, the others at their defaults, and give what it put out."""
    given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    given |= {"cases": "my cases.jsonl", "predictions": "answers.jsonl", "database": "sqlite:///t.sqlite", **inputs}
    named = {name: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value) for name, value in JUDGE["env"].items()}
    environment = {name: given[found[1]] for name, found in named.items() if found}
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}
    for file in files.values():
        (folder / file).unlink(missing_ok=True)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", JUDGE["run"]],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry),
            "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]),
            **environment,
            **{name: str(folder / file) for name, file in files.items()},
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=280,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    output = (folder / "output").read_text() if (folder / "output").exists() else ""
    return done, dict(line.split("=", 1) for line in output.splitlines())


def test_inputs_reach_the_shell_as_environment_alone() -> None:
    """Each input is used, none is part of a line, and each is told in the documents."""
    text = (ROOT / "action.yml").read_text("utf-8")
    for one in ACTION["runs"]["steps"]:
        assert "${{" not in one["run"]
        assert one["shell"] == "bash"
    used = set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", text))
    assert used == set(ACTION["inputs"])
    section = DOCUMENT.partition("## The action")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.M)
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(ACTION["inputs"])


def test_the_step_judges_and_writes_the_summary(checkout: Path, tools: Path) -> None:
    done, said = _judge(
        checkout, tools, min="match=0.6\nbird_ex=0.6\n", options="--timeout=5\n--name=a $(touch x) name"
    )
    assert done.returncode == 0, done.stderr
    assert said == {"run": "runs/candidate", "passed": "true"}
    assert "66.7 %" in (checkout / "summary.md").read_text("utf-8")
    assert {"assay.html", "junit.xml"} <= {path.name for path in checkout.iterdir()}
    settings = json.loads((checkout / "runs" / "candidate" / "run.json").read_bytes())["settings"]
    assert (settings["name"], settings["limits"]["timeout_s"]) == ("a $(touch x) name", 5.0)
    assert not (checkout / "x").exists()


def test_no_input_says_what_another_one_is_to_say(checkout: Path, tools: Path) -> None:
    """Nor is a file's name an option, nor does it matter how far a line is indented."""
    done, said = _judge(checkout, tools, output="runs/a\npassed=true")
    assert (done.returncode, said) == (2, {})
    assert "::error::" in done.stdout
    for name in ("--help", "-h", "--version"):
        done, said = _judge(checkout, tools, cases=name)
        assert (done.returncode, said["passed"]) == (2, "false")
        assert name in done.stderr
    done, _ = _judge(checkout, tools, baseline="none\n::error::forged", html="", junit="")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("::")] == [
        "::notice::there is no run in none ::error::forged: the gates that compare with one do not hold"
    ]
    indented = {"options": "\r\n   --limit=2 \r\n", "min": "  match=0.1\n\n  bird_ex=0.1  ", "output": "-x y"}
    done, said = _judge(checkout, tools, html="", junit="", **indented)
    assert (done.returncode, said) == (0, {"run": "-x y", "passed": "true"}), done.stderr
    assert "2 of 2" in (checkout / "summary.md").read_text("utf-8")


def test_a_baseline_counts_once_it_is_there_and_a_missed_gate_fails_the_step(checkout: Path, tools: Path) -> None:
    gates = {"max-drop": "match=0.1", "fail-on-regression": "true", "baseline": "runs/main", "html": "", "junit": ""}
    first, said = _judge(checkout, tools, **gates)
    assert (first.returncode, said["passed"]) == (0, "true")
    assert "there is no run in runs/main" in first.stdout
    assert not (checkout / "assay.html").exists()
    (checkout / "runs" / "candidate").rename(checkout / "runs" / "main")
    (checkout / "answers.jsonl").write_text('{"id": "q0", "predicted_sql": "SELECT 0"}\n')
    second, said = _judge(checkout, tools, **gates)
    assert (second.returncode, said["passed"]) == (1, "false")
    assert "max-drop match" in (checkout / "summary.md").read_text("utf-8")
    third, said = _judge(checkout, tools, cases="nowhere.jsonl")
    assert (third.returncode, said["passed"]) == (2, "false")


def test_the_hooks_do_what_the_documents_show(checkout: Path) -> None:
    """What the documents configure exists; a sound gold passes, a broken one and a missed gate do not."""
    block = DOCUMENT.partition("## With pre-commit")[2].partition("```yaml\n")[2].partition("```")[0]
    (repository,) = YAML(typ="safe", pure=True).load(block)["repos"]
    shown = {one["id"]: one for one in repository["hooks"]}
    assert shown.keys() == HOOKS.keys()

    def hook(name: str, *arguments: str) -> int:
        command = shlex.split(HOOKS[name]["entry"])
        assert command[0] == "assay"
        assert HOOKS[name]["pass_filenames"] is False
        return commands.run([*command[1:], *arguments], env={**os.environ, "NO_COLOR": "1"}, cwd=checkout).returncode

    lint = ["my cases.jsonl", *shown["assay-lint"]["args"][1:]]
    lint[lint.index("--db") + 1] = "sqlite:///t.sqlite"
    assert hook("assay-lint", *lint) == 0
    run = ["my cases.jsonl", *shown["assay-run"]["args"][1:]]
    run[run.index("--db") + 1], run[run.index("--predictions") + 1] = "sqlite:///t.sqlite", "answers.jsonl"
    assert hook("assay-run", *run) == 1
    with (checkout / "my cases.jsonl").open("a") as file:
        file.write('{"id": "broken", "question": "What?", "gold_sql": "SELECT nothing FROM t"}\n')
    assert hook("assay-lint", *lint) == 1
