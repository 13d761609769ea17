"""A report reads the evidence of a stored run at most twice for each case, after a few facts of all cases.

A workbook of selections reads it three times.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from selections import large_selection_run

from assay import load_run, registry
from assay.model import Run
from assay.reports.diff_formats import render_diff
from assay.runs.aggregate import summarize
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.compare.diff import diff_runs
from assay.runs.store import folder as stored
from assay.runs.store import journal as kept_lines
from assay.runs.store.folder import save_run
from many_cases import each

FORMATS = ("json", "html", "xlsx", "xlsx-f1", "xlsx-ves", "xlsx-answers", "md", "junit")


@pytest.fixture(params=["queries", "selections"])
def run(request: pytest.FixtureRequest, large_run: Run) -> Run:
    if request.param == "selections":
        return large_selection_run(cases=40, terms=5)
    return replace(large_run, summaries=summaries_of(large_run.evidence[:150]), evidence=large_run.evidence[:150])


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The lines that were decoded since."""
    lines: list[bytes] = []

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def decode(line: bytes, *kind: Any) -> Any:
            lines.append(line)
            return real(line, *kind)

        return decode

    for module in (stored, kept_lines):
        monkeypatch.setattr(module, "decode_evidence", counted(module.decode_evidence))
    monkeypatch.setattr(summarize, "decode_evidence_as", counted(summarize.decode_evidence_as))
    monkeypatch.setattr(kept_lines, "current_line", counted(kept_lines.current_line))
    monkeypatch.setattr(kept_lines, "_MOST_DECODED", 0)
    return lines


@pytest.mark.parametrize("name", FORMATS)
def test_no_case_is_decoded_again(run: Run, decoded: list[bytes], name: str, tmp_path: Path) -> None:
    save_run(run, tmp_path / "run")
    record = load_run(tmp_path / "run").record
    assert len(decoded) == len(run.evidence), "loading checks every line once"
    decoded.clear()
    content = registry.render(name, record)
    slowest = 5
    least = 0 if name == "md" else len(run.evidence)  # a comment shows a few cases, which the summaries choose
    most = 3 if name.startswith("xlsx") and run.settings.selection is not None else 2
    assert least <= len(decoded) <= most * len(run.evidence) + slowest
    whole = replace(record, summaries=summaries_of(tuple(record.evidence)), evidence=tuple(record.evidence))
    assert content == registry.render(name, whole), "a stored run is drawn as the same run in memory"


def test_a_page_of_two_runs_decodes_each_case_once(large_run: Run, decoded: list[bytes], tmp_path: Path) -> None:
    save_run(large_run, tmp_path / "run")
    both = load_run(tmp_path / "run").record, load_run(tmp_path / "run").record
    found = diff_runs(large_run, large_run)
    decoded.clear()
    page = render_diff(found, "html", runs=lambda: both)
    slowest = 5
    assert len(decoded) <= 2 * (len(large_run.evidence) + slowest)
    whole = replace(both[0], summaries=summaries_of(tuple(both[0].evidence)), evidence=tuple(both[0].evidence))
    assert page == render_diff(found, "html", runs=lambda: (whole, whole))


@each("name", ["json", "html", "md", "junit"])
def test_a_report_in_pieces_is_the_whole_report(large_run: Run, name: str) -> None:
    pieces = list(registry.pieces(name, large_run))
    assert (len(pieces) > 1) == (name in ("json", "html"))
    assert b"".join(pieces) == registry.reporter(name).render(large_run)
