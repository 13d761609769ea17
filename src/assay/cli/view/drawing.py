"""The pages of one run, and of two beside each other, as `assay view` serves them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.model import Run as RunRecord


def draw_report(runs: Sequence[Path]) -> bytes:
    """The page of a run, or of two beside each other."""
    from assay import registry
    from assay.api.run import load_run

    if len(runs) == 1:
        return registry.reporter("html").render(load_run(runs[0]).record)
    from assay.api.diffing import diff as compare
    from assay.reports.diff_formats import render_diff

    def both() -> tuple[RunRecord, RunRecord]:
        before, after = (load_run(run).record for run in runs)
        return before, after

    return render_diff(compare(*runs).record, "html", runs=both)
