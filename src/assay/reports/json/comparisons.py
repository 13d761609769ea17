"""A comparison of two runs, a leaderboard, or a folder's runs, as one complete JSON document for programs.

Top level of a comparison: ``format`` (``assay-diff``), ``version``, ``title``, ``answer`` (``direction``: ``better``,
``worse``, ``unclear`` or ``unknown``; ``sentence``), ``counts`` (of paired cases by kind), then the fields of
`assay.model.RunDiff`: ``baseline``, ``candidate``, ``settings``, ``headline_metric``, ``matching``, ``notes``,
``metrics``, ``only_baseline_metrics``, ``only_candidate_metrics``, ``groups``, ``changes``, ``gates``. A metric also
has a ``direction``.

Top level of a leaderboard: ``format`` (``assay-leaderboard``), ``version``, ``title``, ``answer`` (``sentence``), then
the fields of `assay.model.Leaderboard`. A pair also has ``apart``.

Top level of an estimate: ``format`` (``assay-estimate``), ``version``, ``title``, ``answer`` (``sentence``), then
the fields of `assay.model.runs.estimate.Estimate`, or of `EstimatedDifference` for two systems.

Numbers are shares, not percent; an absent value is null. A lone surrogate is written as the six characters ``\\udcff``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import to_builtins
from msgspec.structs import asdict

from assay.model import HistoryPoint, Leaderboard, RunDiff
from assay.model.runs.estimate import Estimate, EstimatedDifference
from assay.reports.blocks.diff import DiffReport
from assay.reports.blocks.estimate import EstimateReport
from assay.reports.blocks.history import history_report
from assay.reports.blocks.leaderboard import LeaderboardReport, is_apart
from assay.reports.json.run import document
from assay.runs.store.codec import encode_value
from assay.runs.store.history import QuestionSet, question_set, run_name

FORMAT_VERSION = 1


def diff_json(diff: RunDiff) -> bytes:
    """The whole comparison, UTF-8, ending in a line break."""
    report = DiffReport(diff)
    metrics = [{**asdict(one), "direction": report.figures[one.metric].direction} for one in diff.metrics]
    return document(
        {
            "format": "assay-diff",
            "version": FORMAT_VERSION,
            "title": report.title,
            "answer": {"direction": report.direction, "sentence": report.sentence},
            "counts": {kind: number for kind, _, number in report.counts},
            **asdict(diff),
            "metrics": metrics,
        }
    )


def leaderboard_json(board: Leaderboard) -> bytes:
    """The whole leaderboard, UTF-8, ending in a line break."""
    report = LeaderboardReport(board)
    return document(
        {
            "format": "assay-leaderboard",
            "version": FORMAT_VERSION,
            "title": report.title,
            "answer": {"sentence": report.lead},
            **asdict(board),
            "pairs": [{**asdict(pair), "apart": is_apart(pair, board)} for pair in board.pairs],
        }
    )


def estimate_json(estimate: Estimate | EstimatedDifference) -> bytes:
    """The whole estimate, UTF-8, ending in a line break."""
    report = EstimateReport(estimate)
    narrower = {"narrower": estimate.narrower} if isinstance(estimate, Estimate) else {}
    return document(
        {
            "format": "assay-estimate",
            "version": FORMAT_VERSION,
            "title": report.title,
            "answer": {"sentence": report.lead},
            **to_builtins(estimate),
            **narrower,
        }
    )


def runs_json(points: Sequence[HistoryPoint], *, folder: str) -> bytes:
    """The whole document, ending in a line break. A run's ``question_set`` is a place in ``question_sets``."""
    asked = {point.folder: question_set(point) for point in points if point.status == "finished"}
    sets: list[QuestionSet] = list(dict.fromkeys(one for one in asked.values() if one is not None))
    document = {
        "format": "assay-runs",
        "version": FORMAT_VERSION,
        "folder": folder,
        "notes": history_report(points, folder=folder).notes,
        "question_sets": sets,
        "runs": [
            {
                "name": run_name(point),
                "question_set": sets.index(one) if (one := asked.get(point.folder)) is not None else None,
                "point": point,
            }
            for point in points
        ],
    }
    return encode_value(document) + b"\n"
