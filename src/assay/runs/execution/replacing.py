"""Protect a finished run from being replaced by one of other predictions in its folder."""

from __future__ import annotations

from pathlib import Path

from assay.errors import RunError, plural
from assay.model import Prediction
from assay.platform.surface import flag
from assay.runs.plan import Works
from assay.runs.store.codec import decode_evidence
from assay.runs.store.folder import RunFile, read_cases, read_finished


def check_replaced(folder: Path, stored: RunFile, works: Works) -> None:
    """Raise RunError if the folder contains a finished run with another prediction for a case of this run.

    Cases that are new, or had no prediction, may be added; the same prediction may be scored again, for example
    because its gold query was corrected or the database has changed.
    """
    known = set(stored.order)
    remaining = [place for place in range(len(works)) if works.digest(place) not in known]
    if not remaining or stored.status != "finished" or stored.aggregates is None:
        return
    finished = read_cases(folder, read_finished(folder), lambda line: decode_evidence(line.content))
    before = {(item.case.id, item.prediction.repeat): item.prediction for item in finished}
    differing = []
    for place in remaining:
        now = works[place].prediction
        earlier = before.get((works[place].case.id, now.repeat))
        if earlier is not None and not _unanswered(earlier) and _said(earlier) != _said(now):
            differing.append(works[place].case.id)
    if differing:
        count = len(differing)
        raise RunError(
            f"{folder} contains a finished run of other predictions: {plural(count, 'prediction')} of "
            f"{plural(len(works), 'case')} {'differs' if count == 1 else 'differ'}, for example of the case "
            f"{differing[0]!r}. Choose another folder, or add {flag('--overwrite')} to replace that run"
        )


def _said(prediction: Prediction) -> tuple[object, ...]:
    turns = tuple((turn.selection, turn.raw, turn.text) for turn in prediction.turns)
    return (prediction.query, prediction.result, turns, prediction.decision)


def _unanswered(prediction: Prediction) -> bool:
    turns = all(turn.selection is None and turn.text is None for turn in prediction.turns)
    return turns and prediction.query is None and prediction.result is None
