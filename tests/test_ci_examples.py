"""The examples for CI: they parse, use maintained actions only, and the lines that call Assay do what they say.

The example workflow's own shell lines run here, against the bundled sample, as a build of the main branch and as one of
a pull request; only GitHub's services and the installation are left out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement
from ruamel.yaml import YAML

import commands
from answering import Answering
from assay import demo, load_run

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = ROOT / "examples" / "github-workflow.yml"
DOCUMENT = ROOT / "docs" / "guides" / "ci.md"
SERVERS = ROOT / "docs" / "guides" / "ci-servers.md"
JUNIT = ROOT / "docs" / "reference" / "junit.md"
ACTIONS = {
    "actions/checkout@v4",
    "actions/setup-python@v5",
    "actions/upload-artifact@v4",
}
SLOW = {"kq-32", "kq-33"}
"""Answers of the sample that never end: unanswered they are as wrong, and quicker."""
WITHIN_REACH = "--min match=0.30"
SAMPLE = {"ANSWERS": "--predictions eval/predictions.jsonl", "DATABASE": "sqlite:///eval/shop.sqlite"}
GH = """#!/bin/sh
# Notes what it is asked. Of its runs, those that are folders in "artifacts" have an artifact.
echo "$@" >> "$GH_ASKED"
case "$1 $2" in
  "run list") printf '%s\\n' 33 22 11 ;;
  "run download") mkdir -p runs && cp -R "artifacts/$3" runs/main ;;
esac
"""


def workflow() -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load(WORKFLOW.read_text(encoding="utf-8")))


def steps() -> list[dict[str, Any]]:
    return list(workflow()["jobs"]["answers"]["steps"])


def step(name: str) -> dict[str, Any]:
    return next(one for one in steps() if one.get("name") == name)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with ``assay``, of this very interpreter, and a ``gh`` that notes what it is asked."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "gh").write_text(GH)
    (folder / "gh").chmod(0o755)
    commands.program(folder)
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the workflow finds in its repository: the bundled sample under ``eval``."""
    folder = tmp_path / "eval"
    demo.build_database(folder)
    shutil.copy(demo.cases_path(), folder)
    lines = demo.predictions_path().read_text(encoding="utf-8").splitlines(keepends=True)
    answers = "".join(line for line in lines if json.loads(line)["id"] not in SLOW)
    (folder / "predictions.jsonl").write_text(answers, encoding="utf-8")
    return tmp_path


def shell(text: str, folder: Path, tools: Path, env: Mapping[str, str] | None = None) -> Any:
    """Run a step's lines as GitHub does with ``shell: bash``."""
    given = {name: str(value) for name, value in workflow()["env"].items()}
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    modules = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output", "GH_ASKED": "asked"}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
        cwd=folder,
        env={
            **os.environ,
            "PYTEST_ADDOPTS": "-p no:randomly",
            "PYTHONPATH": modules,
            "PATH": path,
            **given,
            **SAMPLE,
            **{name: str(folder / file) for name, file in files.items()},
            **(env or {}),
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=280,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_the_workflow_is_one() -> None:
    found = workflow()
    assert set(found["on"]) == {"push", "pull_request"}
    assert found["permissions"] == {"contents": "read", "actions": "read", "pull-requests": "write"}
    for one in steps():
        assert ("run" in one) != ("uses" in one), one
    text = WORKFLOW.read_text(encoding="utf-8")
    # What a pull request's author writes never becomes part of a shell line.
    assert not [one for one in steps() if "${{" in one.get("run", "")]
    assert text.isascii()


def test_only_maintained_actions_are_used() -> None:
    assert {one["uses"] for one in steps() if "uses" in one} == ACTIONS


def test_what_the_workflow_asks_for_the_action_can_be_asked_for() -> None:
    inputs = YAML(typ="safe", pure=True).load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    found = workflow()["env"]
    text = " ".join([step("Evaluate")["run"], *map(str, (found["GATES"], found["ANSWERS"], SAMPLE["ANSWERS"]))])
    named = set(re.findall(r"(?<!\S)--([a-z-]+)", text)) - {"md"}  # the summary, which the action writes by itself
    assert named >= {"predictions", "db", "min", "max-drop", "baseline", "fail-on-regression", "junit", "html"}
    assert {{"db": "database"}.get(name, name) for name in named} <= inputs.keys()


def test_the_run_that_is_stored_is_the_one_that_is_fetched_whatever_its_status() -> None:
    stored, fetched = step("Store the run"), step("Fetch the default branch's last run")["run"]
    assert stored["if"] == "always()"
    assert f"--name {stored['with']['name']} --dir runs/main " in fetched
    assert f"-o {stored['with']['path']} " in step("Evaluate")["run"]
    assert "--baseline runs/main " in step("Evaluate")["run"]
    assert "--status completed" in fetched


def test_it_installs_from_where_assay_is_and_asks_no_index_for_its_name(tmp_path: Path) -> None:
    assert step("Install Assay")["run"] == 'python -m pip install "$ASSAY"'
    wanted = Requirement(workflow()["env"]["ASSAY"])
    assert (wanted.name, wanted.url) == ("assay", "git+https://github.com/OWNER/assay@main")
    assert wanted.extras == {"postgres"}
    if find_spec("pip") is None or find_spec("hatchling") is None:
        pytest.skip("pip and hatchling are needed to resolve it: python -m pip install hatchling")
    # A direct reference to this very clone resolves without an index.
    asked = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*asked, "--quiet", f"assay[postgres] @ {ROOT.as_uri()}"],
        cwd=tmp_path,
        capture_output=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_credentials_are_secrets_of_the_repository_and_reach_the_step_as_environment() -> None:
    given = step("Evaluate")["env"]
    assert set(given) == {"ASSAY_TOKEN", "PGPASSWORD"}
    assert all(value == f"${{{{ secrets.{name} }}}}" for name, value in given.items())
    # A fork's pull request receives none, so that its build does not start.
    assert "head.repo.full_name == github.repository" in workflow()["jobs"]["answers"]["if"]


def test_a_live_system_is_asked_with_its_token_and_a_few_failures_pass(checkout: Path, tools: Path) -> None:
    cases = [json.loads(line) for line in (checkout / "eval" / "cases.jsonl").read_text("utf-8").splitlines()]
    answers = {case["question"]: case.get("gold_sql") or "SELECT 1" for case in cases}
    with Answering(answers) as server:
        server.token = "sesame"
        server.down = frozenset(list(answers)[:1])
        ask = f"""--system http:{server.url} --body {{"q":"{{question}}"}} --query-path sql --retries 0"""
        given = {"ANSWERS": ask, "GATES": "--min match=0.9 --max-unscored 10%"}
        refused = shell(step("Evaluate")["run"], checkout, tools, {**given, "ASSAY_TOKEN": "wrong"})
        assert refused.returncode == 2, refused.stderr
        assert "refuses the credentials" in refused.stderr
        done = shell(step("Evaluate")["run"], checkout, tools, {**given, "ASSAY_TOKEN": "sesame"})
        assert done.returncode == 0, done.stderr
        lasting = shell(step("Evaluate")["run"], checkout, tools, {**given, "GATES": "", "ASSAY_TOKEN": "sesame"})
        assert lasting.returncode == 3, lasting.stderr
    assert "sesame" not in done.stdout + done.stderr + (checkout / "comment.md").read_text("utf-8")


@pytest.mark.parametrize("gates", ["--min match=1", WITHIN_REACH])
def test_the_baseline_is_the_last_run_that_is_whole(gates: str, checkout: Path, tools: Path) -> None:
    """Of three runs the last has no artifact, the one before was interrupted; the first may have missed its gates."""
    made = shell(step("Evaluate")["run"], checkout, tools, {"GATES": gates})
    assert made.returncode == (0 if gates == WITHIN_REACH else 1), made.stderr
    shutil.copytree(checkout / "runs" / "candidate", checkout / "artifacts" / "11")
    half = shutil.copytree(checkout / "runs" / "candidate", checkout / "artifacts" / "22")
    stored = json.loads((half / "run.json").read_text("utf-8"))
    (half / "run.json").write_text(json.dumps({**stored, "status": "running"}), "utf-8")
    fetch = step("Fetch the default branch's last run")["run"]
    found = shell(fetch, checkout, tools, {"BRANCH": "main", "GITHUB_WORKFLOW": "answers"})
    assert found.returncode == 0, found.stderr
    asked = (checkout / "asked").read_text().splitlines()
    assert asked[0].startswith("run list --workflow answers --branch main --event push --status completed")
    assert [line.split()[2] for line in asked[1:]] == ["33", "22", "11"]
    again = shell(step("Evaluate")["run"], checkout, tools, {"GATES": WITHIN_REACH})
    assert again.returncode == 0, again.stderr
    assert "max-drop match" in (checkout / "comment.md").read_text("utf-8")


def test_without_an_artifact_there_is_no_baseline(checkout: Path, tools: Path) -> None:
    fetch = step("Fetch the default branch's last run")["run"]
    found = shell(fetch, checkout, tools, {"BRANCH": "main", "GITHUB_WORKFLOW": "answers"})
    assert found.returncode == 0, found.stderr
    assert not (checkout / "runs" / "main").exists()


def test_a_build_of_the_main_branch_and_then_one_of_a_pull_request(checkout: Path, tools: Path) -> None:
    judge = step("Evaluate")["run"]
    main = shell(judge, checkout, tools, {"GATES": WITHIN_REACH})
    assert main.returncode == 0, main.stderr
    assert main.stdout == ""
    summary = (checkout / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("## `")
    assert summary == (checkout / "comment.md").read_text(encoding="utf-8")
    assert ElementTree.parse(checkout / "junit.xml").getroot().get("tests") == "36"
    assert (checkout / "assay.html").stat().st_size > 10_000

    (checkout / "runs" / "candidate").rename(checkout / "runs" / "main")
    same = shell(judge, checkout, tools, {"GATES": WITHIN_REACH})
    assert same.returncode == 0, same.stderr
    assert "max-drop match" in (checkout / "comment.md").read_text(encoding="utf-8")
    first, second = (load_run(checkout / "runs" / name).aggregates.overall for name in ("main", "candidate"))
    assert first.rate("match") == second.rate("match")


def test_a_missed_gate_fails_the_step_and_is_told_all_the_same(checkout: Path, tools: Path) -> None:
    done = shell(step("Evaluate")["run"], checkout, tools)
    assert done.returncode == 1, done.stderr
    comment = (checkout / "comment.md").read_text(encoding="utf-8")
    assert comment == (checkout / "summary.md").read_text(encoding="utf-8")
    assert "min match" in comment
    assert load_run(checkout / "runs" / "candidate").aggregates.cases == 36


def test_input_that_cannot_be_used_leaves_no_comment(checkout: Path, tools: Path) -> None:
    (checkout / "eval" / "cases.jsonl").unlink()
    done = shell(step("Evaluate")["run"], checkout, tools, {"GATES": WITHIN_REACH})
    assert done.returncode == 2
    assert (checkout / "comment.md").read_bytes() == b""
    comment = shell(step("Comment on the pull request")["run"], checkout, tools, {"PULL_REQUEST": "17"})
    assert comment.returncode == 0
    assert not (checkout / "asked").exists()


def test_the_comment_is_edited_or_made(checkout: Path, tools: Path) -> None:
    (checkout / "comment.md").write_text("## `a run`\n")
    comment = shell(step("Comment on the pull request")["run"], checkout, tools, {"PULL_REQUEST": "17"})
    assert comment.returncode == 0, comment.stderr
    asked = (checkout / "asked").read_text().splitlines()
    assert asked == ["pr comment 17 --edit-last --create-if-none --body-file comment.md"]


def blocks(language: str, document: Path = DOCUMENT) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text(encoding="utf-8"), re.M | re.S)


def test_the_failure_that_the_document_shows_is_assays(checkout: Path, tools: Path) -> None:
    (shown,) = blocks("text", JUNIT)
    question, gold, predicted = (
        re.findall(pattern, shown, re.M)[0]
        for pattern in (r"^Question: (.*)$", r"^Gold \(.*\):\n(.*)$", r"^Predicted \(.*\):\n(.*)$")
    )
    (checkout / "cases.jsonl").write_text(json.dumps({"id": "17", "question": question, "gold_sql": gold}) + "\n")
    (checkout / "answers.jsonl").write_text(json.dumps({"id": "17", "predicted_sql": predicted}) + "\n")
    command = "assay run cases.jsonl --predictions answers.jsonl --db sqlite:///eval/shop.sqlite --junit one.xml"
    done = shell(command, checkout, tools)
    assert done.returncode == 0, done.stderr
    (failure,) = ElementTree.parse(checkout / "one.xml").iter("failure")
    told, said = (re.sub(r" in (?:< )?[\d.]+ m?s\)", ")", text.strip()) for text in (str(failure.text), shown))
    assert told == said


def test_the_documents_yaml_parses() -> None:
    shown = (*blocks("yaml"), *blocks("yaml", SERVERS))
    action, hooks, gitlab = (YAML(typ="safe", pure=True).load(block) for block in shown)
    assert action[0]["uses"].startswith("OWNER/assay@")
    inputs = YAML(typ="safe", pure=True).load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert action[0]["with"].keys() <= inputs.keys()
    assert {name for name, one in inputs.items() if one.get("required")} <= action[0]["with"].keys()
    assert hooks["repos"][0]["repo"].endswith("OWNER/assay")
    assert gitlab["answers"]["artifacts"]["reports"] == {"junit": "junit.xml"}


def test_gitlabs_lines_run(checkout: Path, tools: Path) -> None:
    job = YAML(typ="safe", pure=True).load(blocks("yaml", SERVERS)[-1])["answers"]
    (script,) = job["script"]
    for _ in range(2):
        done = shell(script, checkout, tools, {"GATES": WITHIN_REACH})
        assert done.returncode == 0, done.stderr
        if not (checkout / "main").exists():
            shutil.copytree(checkout / "runs", checkout / "main" / "runs")
            shutil.rmtree(checkout / "runs")
    assert "max-drop match" in (checkout / "comment.md").read_text(encoding="utf-8")
    assert all((checkout / path).exists() for path in job["artifacts"]["paths"])


def test_jenkins_lines_run(checkout: Path, tools: Path) -> None:
    (pipeline,) = blocks("groovy", SERVERS)
    (script,) = re.findall(r"sh '''(.*?)'''", pipeline, re.S)
    lines = script.replace(".venv/bin/assay", "assay").replace("match=0.80", "match=0.30")
    lines = "\n".join(line for line in lines.splitlines() if ".venv" not in line)
    for _ in range(2):
        done = shell(lines, checkout, tools)
        assert done.returncode == 0, done.stderr
    assert (checkout / "junit.xml").exists()
    assert pipeline.count("{") == pipeline.count("}")
