"""A folder's runs as JSON, oldest first, with the question sets that tell which runs are over the same cases."""

from __future__ import annotations

from collections.abc import Sequence

from assay.model import HistoryPoint
from assay.reports.blocks.history import history_report
from assay.runs.store.codec import encode_value
from assay.runs.store.history import QuestionSet, question_set, run_name

FORMAT_VERSION = 1


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
