"""The workbook in a real spreadsheet program: it opens, shows its charts, and reads a formula as text."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.model import Evidence, Run
from assay.reports.excel.run import XlsxReporter

SOFFICE = shutil.which("soffice") or shutil.which("libreoffice")
pytestmark = pytest.mark.skipif(SOFFICE is None, reason="LibreOffice (soffice) is not installed")


def convert(tmp_path: Path, workbook: bytes, target: str) -> list[Path]:
    source = tmp_path / "report.xlsx"
    source.write_bytes(workbook)
    folder = tmp_path / "converted"
    command = [
        str(SOFFICE),
        f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}",
        "--headless",
        "--convert-to",
        target,
        "--outdir",
        str(folder),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(folder.iterdir())


def test_it_opens_and_prints(tmp_path: Path, small_run: Run) -> None:
    (page,) = convert(tmp_path, XlsxReporter().render(small_run), "pdf")
    content = page.read_bytes()
    assert content.startswith(b"%PDF")
    assert len(content) > 10_000


def test_what_looks_like_a_formula_is_shown_not_computed(
    tmp_path: Path, build_run: Callable[..., Run], right_case: Evidence
) -> None:
    texts = ["=1+1", "@SUM(1)", "+2", "-3", "\t=4", "<r>=5</r>"]
    run = build_run([replace(right_case, case=replace(right_case.case, id=text, question=text)) for text in texts])
    every_sheet = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"
    details = next(p for p in convert(tmp_path, XlsxReporter().render(run), every_sheet) if "Details" in p.name)
    with details.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["Question"].rstrip(" ") for row in rows] == texts
    assert {row["Verdict"] for row in rows} == {"correct"}
