"""A comparison of two runs, or a leaderboard, as one complete JSON document for programs.

Top level of a comparison: ``format`` (``assay-diff``), ``version``, ``title``, ``answer`` (``direction``: ``better``,
``worse``, ``unclear`` or ``unknown``; ``sentence``), ``counts`` (of paired cases by kind), then the fields of
`assay.model.RunDiff`: ``baseline``, ``candidate``, ``settings``, ``headline_metric``, ``matching``, ``notes``,
``metrics``, ``only_baseline_metrics``, ``only_candidate_metrics``, ``groups``, ``changes``, ``gates``. A metric also
has a ``direction``.

Of a leaderboard: ``format`` (``assay-leaderboard``), ``version``, ``title``, ``answer`` (``sentence``), then the
fields of `assay.model.Leaderboard`. A pair also has ``apart``.

Numbers are shares, not percent; an absent value is null. A lone surrogate is written as the six characters ``\\udcff``.
"""

from __future__ import annotations

from msgspec.structs import asdict

from assay.model import Leaderboard, RunDiff
from assay.reports.json.run import document
from assay.reports.views.diff_build import view_of_diff
from assay.reports.views.leaderboard_build import is_apart, view_of_leaderboard

FORMAT_VERSION = 1


def diff_json(diff: RunDiff) -> bytes:
    """The whole comparison, UTF-8, ending in a line break."""
    view = view_of_diff(diff, cases=0)
    metrics = [
        {**asdict(one), "direction": row.figure.direction} for one, row in zip(diff.metrics, view.metrics, strict=True)
    ]
    return document(
        {
            "format": "assay-diff",
            "version": FORMAT_VERSION,
            "title": view.title,
            "answer": {"direction": view.direction, "sentence": view.sentence},
            "counts": {one.kind: one.count for one in view.counts},
            **asdict(diff),
            "metrics": metrics,
        }
    )


def leaderboard_json(board: Leaderboard) -> bytes:
    """The whole leaderboard, UTF-8, ending in a line break."""
    view = view_of_leaderboard(board)
    return document(
        {
            "format": "assay-leaderboard",
            "version": FORMAT_VERSION,
            "title": view.title,
            "answer": {"sentence": view.lead},
            **asdict(board),
            "pairs": [{**asdict(pair), "apart": is_apart(pair, board)} for pair in board.pairs],
        }
    )
