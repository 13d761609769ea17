"""`--md -`: a report on standard output, and nothing else there, so that it can be piped into a job's summary."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from processes import PASSWORD, assay, succeeds

from assay import demo
from assay.testing import DenodoEmulator


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundled sample."""
    folder = tmp_path_factory.mktemp("shop")
    demo.build_database(folder)
    shutil.copy(demo.cases_path(), folder)
    shutil.copy(demo.predictions_path(), folder)
    return folder


def run(shop: Path, *options: object) -> list[object]:
    inputs = ["run", shop / "cases.jsonl", "--predictions", shop / "predictions.jsonl", "--limit", 5]
    return [*inputs, "--db", f"sqlite:///{shop / 'shop.sqlite'}", *options]


def is_the_report(printed: str, run_folder: Path, tmp_path: Path) -> bool:
    """Whether just that was printed which the report of the run in a file is."""
    file = tmp_path / "same.md"
    assert assay("report", run_folder, "--md", file).returncode == 0
    return printed.startswith("## `") and printed == file.read_text(encoding="utf-8")


def test_run_prints_only_markdown(shop: Path, tmp_path: Path) -> None:
    done = succeeds(*run(shop, "-o", tmp_path / "run", "--md", "-", "--junit", tmp_path / "junit.xml"))
    assert is_the_report(done.stdout, tmp_path / "run", tmp_path)
    assert done.stderr.splitlines()[-1] == "Accuracy 40.0 % [11.8, 76.9] · 2 of 5 correct · 0 unscored"
    assert (tmp_path / "junit.xml").read_bytes().startswith(b"<?xml")
    assert not Path("-").exists()
    nowhere = succeeds(*run(shop, "--md", "-"))  # a run that is not stored
    assert nowhere.stdout.startswith("## `")
    assert "Nothing is stored" not in nowhere.stdout + nowhere.stderr


def test_report_prints_only_markdown(shop: Path, tmp_path: Path) -> None:
    assert assay(*run(shop, "-o", tmp_path / "run")).returncode == 0
    done = succeeds("report", tmp_path / "run", "--md", "-", "--html", tmp_path / "report.html")
    assert is_the_report(done.stdout, tmp_path / "run", tmp_path)
    assert done.stderr == f"wrote {tmp_path / 'report.html'}\n"


def test_sdmx_prints_only_markdown(tmp_path: Path) -> None:
    inputs = [demo.sdmx_path("cases.yaml"), "--predictions", demo.sdmx_path("predictions.jsonl"), "--limit", 2]
    done = succeeds("sdmx", *inputs, "-o", tmp_path / "run", "--md", "-", "--allow-unmatched")
    assert is_the_report(done.stdout, tmp_path / "run", tmp_path)


def test_denodo_prints_only_markdown(server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    urls = ["--api-url", f"{server.base_url}/answerDataQuestion", "--catalog-url", server.catalog_url]
    access = ["--user", "demo", "--password", PASSWORD]
    files = ["--input", workbook, "--output", tmp_path / "out.xlsx", "--run", tmp_path / "run"]
    done = succeeds("denodo", *files, *urls, *access, "--question-rows", 2, "--md", "-")
    assert is_the_report(done.stdout, tmp_path / "run", tmp_path)
    assert (tmp_path / "out.xlsx").read_bytes().startswith(b"PK")


@pytest.mark.parametrize("other", [["--json"], ["--html", "-"]])
def test_two_things_are_not_mixed_there(shop: Path, tmp_path: Path, other: list[str]) -> None:
    done = assay(*run(shop, "-o", tmp_path / "run", "--md", "-", *other))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "would be mixed on standard output: name a file for all but one of them" in done.stderr
    assert not (tmp_path / "run").exists()
