"""Protect a finished run from being replaced by one of other predictions or questions in its folder."""

from __future__ import annotations

from pathlib import Path

from assay.errors import RunError, plural
from assay.model import Case, Prediction
from assay.platform.surface import flag
from assay.runs.plan import Works
from assay.runs.store.codec import decode_evidence
from assay.runs.store.folder import RunFile, read_cases, read_finished


def check_replaced(folder: Path, stored: RunFile, works: Works) -> None:
    """Raise RunError if the folder holds a finished run in which a case of this run has another content.

    Cases that are new, or had no prediction, may be added; the same content may be scored again, for example because
    the database has changed.
    """
    known = set(stored.order)
    remaining = [place for place in range(len(works)) if works.digest(place) not in known]
    if not remaining or stored.status != "finished" or stored.aggregates is None:
        return
    finished = read_cases(folder, read_finished(folder), lambda line: decode_evidence(line.content))
    before = {(item.case.id, item.prediction.repeat): item for item in finished}
    predictions, questions = list[str](), list[str]()
    for place in remaining:
        work = works[place]
        earlier = before.get((work.case.id, work.prediction.repeat))
        if earlier is None:
            continue
        if _asked(earlier.case) != _asked(work.case):
            questions.append(work.case.id)
        elif not _unanswered(earlier.prediction) and _said(earlier.prediction) != _said(work.prediction):
            predictions.append(work.case.id)
    if predictions or questions:
        parts = [plural(len(predictions), "prediction")] if predictions else []
        parts += [plural(len(questions), "question or gold query", "questions or gold queries")] if questions else []
        verb = "differs" if len(predictions) + len(questions) == 1 else "differ"
        raise RunError(
            f"{folder} holds a finished run, from which {' and '.join(parts)} {verb}, for example of the case "
            f"{(predictions or questions)[0]!r}. Choose another folder, or add {flag('--overwrite')} to "
            "replace that run"
        )


def _asked(case: Case) -> tuple[object, ...]:
    return (case.question, case.golds, case.results, case.database, case.context, case.options, case.turns)


def _said(prediction: Prediction) -> tuple[object, ...]:
    return (prediction.query, prediction.result, prediction.turns, prediction.decision)


def _unanswered(prediction: Prediction) -> bool:
    return prediction.query is None and prediction.result is None and not prediction.turns
