"""What a notebook shows of a run, of a comparison of two and of a leaderboard, made from their reports."""

from __future__ import annotations

from assay.model import Leaderboard, Run, RunDiff
from assay.model.notebook import block, table
from assay.reports.blocks.diff import DiffReport
from assay.reports.blocks.diff_answer import metric_name
from assay.reports.blocks.leaderboard import LeaderboardReport, possible
from assay.reports.blocks.run import RunReport

_MOODS = {"better": "good", "worse": "bad"}


def run_html(run: Run) -> str:
    """The headline, what to know before trusting it, and every metric."""
    report = RunReport(run)
    rows = [
        (row.metric, row.figure.text, row.figure.interval, row.figure.tally, f"{row.figure.rate.unscored:,}")
        for row in report.metrics
    ]
    title = f"{report.title}: {report.headline_name} {report.headline.text} {report.headline.interval} · {report.tally}"
    columns = ("metric", "mean", f"{report.confidence} interval", "of", "unscored")
    return block(title, report.notes, [table(columns, rows)] if rows else ())


def diff_html(diff: RunDiff) -> str:
    """The answer, how many cases changed, and every metric."""
    report = DiffReport(diff)
    counts = " · ".join(f"{number:,} {name}" for _, name, number in report.counts)
    rows = [
        (
            metric_name(name),
            figure.baseline,
            figure.candidate,
            f"{figure.sign} {figure.difference}",
            figure.interval,
            figure.decisive_p_value,
            figure.tally,
        )
        for name, figure in report.figures.items()
    ]
    columns = (
        "metric",
        report.baseline,
        report.candidate,
        "points",
        report.confidence,
        f"p{report.corrected}",
        "cases",
    )
    lines = [report.title, *([counts] if counts else []), *report.notes]
    return block(
        report.sentence, lines, [table(columns, rows)] if rows else (), mood=_MOODS.get(report.direction, "open")
    )


def leaderboard_html(board: Leaderboard) -> str:
    """Which run is first, and each run with its rate and the places it may have."""
    report = LeaderboardReport(board)
    rows = [
        (f"{one.rank:,}", possible(one), label, figure.text, figure.interval, figure.tally)
        for one, label in zip(board.standings, report.labels, strict=True)
        for figure in (report.figure(one),)
    ]
    columns = ("place", "possible", "run", report.metric, f"{report.confidence} interval", "of")
    return block(report.lead, [report.cases, *report.notes], [table(columns, rows)] if rows else ())
