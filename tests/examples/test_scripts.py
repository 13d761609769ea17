"""The example scripts run as their first lines say, on the bundled samples and emulators."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from plugged import EXAMPLES, environment

import commands
from assay import demo, load_run
from assay.testing import DenodoEmulator
from assay.testing import example as bank

LISTED = re.findall(r"^\| \[`?([\w./-]+?)/?`?\]\(([\w./-]+)\) \|", (EXAMPLES / "README.md").read_text("utf-8"), re.M)


def run(command: list[str], folder: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={**environment(), **(env or {})},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def script(name: str, folder: Path, *arguments: str) -> str:
    done = run([sys.executable, str(EXAMPLES / name), *arguments], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_example_is_listed_with_how_to_run_it() -> None:
    there = {path.name for path in EXAMPLES.iterdir() if not path.name.startswith((".", "__"))} - {"README.md"}
    assert {target.split("/", maxsplit=1)[0] for _, target in LISTED} == there
    assert all((EXAMPLES / target).exists() for _, target in LISTED)
    for path in EXAMPLES.rglob("*"):
        if path.suffix in (".py", ".sh", ".yml", ".yaml", ".toml"):
            first = path.read_text(encoding="utf-8").lstrip().splitlines()[:2]
            assert first, path
            assert first[0].startswith(('"""', "#")), f"{path} does not say on top what it shows"


def test_ragas_metrics(tmp_path: Path) -> None:
    told = script("ragas_metrics.py", tmp_path)
    assert re.search(r"^the same +rows 1\.000 +columns 1\.000$", told, re.M)
    assert re.search(r"^a row too many +rows 0\.800 +columns 1\.000$", told, re.M)
    assert "Precision: 0.6667, Recall: 1.0000" in told


def test_sdmx_selections(tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    told = script("sdmx_selections.py", tmp_path)
    assert told.startswith("13 questions: recall 72.2%, precision 86.7%\n")
    assert "unknown_code: inflation-finland" in told
    assert list(tmp_path.iterdir()) == []


def test_mlflow_export(tmp_path: Path) -> None:
    reason = "MLflow is not installed (pip install 'assay[mlflow]'): 25 packages, too many for the extra dev"
    pytest.importorskip("mlflow", reason=reason)
    pytest.importorskip("alembic", reason=reason)
    told = script("mlflow_export.py", tmp_path)
    assert re.match(r"wrote the MLflow run \w+\nexported again it is the same one\n$", told)


@pytest.fixture
def denodo() -> Iterator[DenodoEmulator]:
    answers, tables = bank.answers_path(), bank.tables_folder()
    with DenodoEmulator(answers=answers, tables=tables, user=bank.USER, password=bank.PASSWORD) as server:
        yield server


def test_denodo(tmp_path: Path, denodo: DenodoEmulator) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    commands.program(tools)
    bank.write_workbook(tmp_path / bank.WORKBOOK)
    told = {
        "API_URL": denodo.api_url,
        "DATA_CATALOG_URL": denodo.catalog_url,
        "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]),
    }
    # The script's own defaults are the emulator's user and workbook.
    done = run(["bash", str(EXAMPLES / "denodo.sh"), "--question-rows", "4"], tmp_path, told)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("evaluation_results.xlsx", "evaluation_results.html", "evaluation_results.md"):
        assert (tmp_path / name).stat().st_size > 500, name
    assert load_run(tmp_path / "evaluation_results.run").aggregates.cases == 4
    assert sum(denodo.asked.values()) >= 4


def test_a_live_system(tmp_path: Path) -> None:
    folder = tmp_path / "examples" / "live-system"
    folder.mkdir(parents=True)
    demo.build_database(tmp_path / "assay-demo")
    (tmp_path / "assay-demo" / "cases.jsonl").write_bytes(demo.cases_path().read_bytes())
    server = subprocess.Popen(
        [sys.executable, "-u", str(EXAMPLES / "live-system" / "server.py"), "0"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=environment(),
    )
    try:
        assert server.stdout is not None
        (port,) = re.findall(r"http://127\.0\.0\.1:(\d+)/ask", server.stdout.readline())
        settings = (EXAMPLES / "live-system" / "eval.yaml").read_text(encoding="utf-8")
        assert settings.count("127.0.0.1:8090") == 1
        (folder / "eval.yaml").write_text(settings.replace("127.0.0.1:8090", f"127.0.0.1:{port}"), encoding="utf-8")
        given = ["run", "examples/live-system/eval.yaml", "--query-path", "sql", "--confidence-path", "confidence"]
        given.append("--full")
        done = commands.run(given, cwd=tmp_path, env=environment())
    finally:
        server.terminate()
        server.communicate()
    assert done.returncode == 0, done.stdout + done.stderr
    found = load_run(tmp_path / "runs" / "live")
    assert found.aggregates.cases == 36
    assert found.aggregates.correct >= 1
    assert {item.prediction.confidence for item in found.evidence} >= {0.3, 0.9}
    assert "What the stated confidence is worth" in done.stdout
    asked = json.loads(demo.cases_path().read_text(encoding="utf-8").splitlines()[0])["question"]
    assert found.evidence[0].case.question == asked
