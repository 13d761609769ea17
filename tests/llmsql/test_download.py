"""The benchmark's files: found, downloaded from a server that speaks the hub's protocol, or told where to place."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import Hub, serve
from small_benchmark import Benchmark, write_lines

import commands
from assay.errors import InputError
from assay.llmsql.benchmark_files import DATABASE, QUESTIONS, VERSIONS, locate_files
from ports import free_port

needs_hub = pytest.mark.skipif(
    importlib.util.find_spec("huggingface_hub") is None, reason="huggingface_hub is not installed (extra llmsql)"
)


@pytest.fixture
def hub(benchmark: Benchmark) -> Iterator[Hub]:
    files = {QUESTIONS: benchmark.questions, DATABASE: benchmark.database}
    with serve(Hub(dict.fromkeys(VERSIONS.values(), files))) as running:
        yield running


def _assay(
    folder: Path, *arguments: str, endpoint: str = "", path: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """`assay llmsql` as a process: the hub's package reads its address when it is imported."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment = {
        **kept,
        "PYTHONPATH": os.pathsep.join([*path, *(os.path.abspath(entry) for entry in sys.path)]),
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(folder / "home"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    return commands.run(["llmsql", "outputs.jsonl", "-q", *arguments], cwd=folder, env=environment)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    write_lines(path / "outputs.jsonl", [{"question_id": 1, "completion": "SELECT Name FROM Table WHERE Age > 20"}])
    return path


@needs_hub
@pytest.mark.parametrize("version", VERSIONS)
def test_missing_files_are_downloaded_once_and_kept(hub: Hub, folder: Path, version: str) -> None:
    done = _assay(folder, "--version", version, endpoint=hub.address)
    assert done.returncode == 0, done.stderr
    assert "accuracy: 100.0 %" in done.stdout
    assert all(f"/datasets/{VERSIONS[version]}/resolve/" in request for request in hub.asked)
    held = folder / "llmsql_workdir"
    assert {QUESTIONS, DATABASE} <= {path.name for path in held.iterdir()}
    hub.asked.clear()
    again = _assay(folder, "--version", version, endpoint=hub.address)
    benchmarks_own, _, _ = done.stdout.partition("\n\noutputs on")  # what follows says how long it took
    assert again.returncode == 0
    assert again.stdout.startswith(benchmarks_own)
    assert hub.asked == []
    other = next(name for name in VERSIONS if name != version)
    refused = _assay(folder, "--version", other, endpoint=hub.address)
    assert refused.returncode == 2
    assert f"llmsql_workdir contains version {version} of LLMSQL, but version {other} was requested" in refused.stderr


@needs_hub
def test_only_the_file_that_is_missing_is_downloaded(hub: Hub, folder: Path, benchmark: Benchmark) -> None:
    done = _assay(folder, "--db", str(benchmark.database), endpoint=hub.address)
    assert done.returncode == 0, done.stderr
    assert hub.asked
    assert all(request.endswith(QUESTIONS) for request in hub.asked)


@needs_hub
@pytest.mark.parametrize("trouble", ["nobody there", "forbidden", "no such file"])
def test_without_a_download_it_says_which_files_to_place_where(hub: Hub, folder: Path, trouble: str) -> None:
    endpoint = hub.address
    if trouble == "nobody there":
        endpoint = f"http://127.0.0.1:{free_port()}"
    elif trouble == "forbidden":
        hub.status = 403
    else:
        hub.files = {}
    done = _assay(folder, endpoint=endpoint)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    address = f"{endpoint}/datasets/llmsql-bench/llmsql-2.0"
    assert (
        f"questions.jsonl of LLMSQL 2.0 is not in llmsql_workdir and cannot be downloaded from {address}" in done.stderr
    )
    assert "copy questions.jsonl and sqlite_tables.db from there into llmsql_workdir" in done.stderr
    assert "--questions and --db" in done.stderr


def test_without_the_hubs_package_it_says_what_to_install(folder: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "huggingface_hub.py").write_text("raise ImportError('hidden')\n", encoding="utf-8")
    done = _assay(folder, path=(str(hidden),))
    assert done.returncode == 2
    assert "this needs the package 'huggingface_hub': run  python -m pip install 'huggingface" in done.stderr


def test_files_in_the_working_folder_are_taken_as_they_are(benchmark: Benchmark) -> None:
    found = locate_files("1.0", workdir=benchmark.questions.parent, questions=None, database=None)
    assert (found.questions, found.database) == (str(benchmark.questions), str(benchmark.database))


def test_a_folder_marked_with_another_version_is_refused(benchmark: Benchmark) -> None:
    folder = benchmark.questions.parent
    (folder / "llmsql_version.txt").write_text("1.0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"contains version 1\.0 of LLMSQL, but version 2\.0 was requested"):
        locate_files("2.0", workdir=folder, questions=None, database=None)
