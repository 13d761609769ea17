"""What a notebook shows of a run and of a comparison of two, made from their views."""

from __future__ import annotations

from assay.model import Run, RunDiff
from assay.model.notebook import block, table
from assay.reports.blocks.run import RunReport
from assay.reports.views.diff_build import view_of_diff

_MOODS = {"better": "good", "worse": "bad"}


def run_html(run: Run) -> str:
    """The headline, what to know before trusting it, and every metric."""
    view = RunReport(run)
    rows = [
        (row.metric, row.figure.text, row.figure.interval, row.figure.tally, f"{row.figure.rate.unscored:,}")
        for row in view.metrics
    ]
    title = f"{view.title}: {view.headline_metric} {view.headline.text} {view.headline.interval} · {view.tally}"
    columns = ("metric", "mean", f"{view.confidence} interval", "of", "unscored")
    return block(title, view.notes, [table(columns, rows)] if rows else ())


def diff_html(diff: RunDiff) -> str:
    """The answer, how many cases changed, and every metric."""
    view = view_of_diff(diff, cases=0)
    counts = " · ".join(f"{one.count:,} {one.name}" for one in view.counts)
    rows = [
        (
            row.metric,
            row.figure.baseline,
            row.figure.candidate,
            f"{row.figure.sign} {row.figure.difference}",
            row.figure.interval,
            row.figure.decisive_p_value,
            row.figure.tally,
        )
        for row in view.metrics
    ]
    columns = ("metric", view.baseline.label, view.candidate.label, "points", view.confidence, "p", "cases")
    lines = [view.title, *([counts] if counts else []), *view.notes]
    return block(view.sentence, lines, [table(columns, rows)] if rows else (), mood=_MOODS.get(view.direction, "open"))
