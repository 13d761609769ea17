"""Bring questions and answers together. Nothing is guessed: what could be meant in two ways is an error that says how.

1. One file for both: a row's answer is to the row's question.
2. The predictions have ids: by id. Where the questions have none, the ids must plainly be their row numbers.
3. They have none, and repeat the questions, each another one: by question.
4. They have none, the questions have none either, both are as many, and no column of theirs says otherwise:
   by position. Or where the format (BIRD's keys) or the user (`POSITION`) says positions.

Whatever an answer repeats of its question or database must then be its case's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from assay.cases.from_records import unanswered
from assay.cases.joining.echoes import check_echoes
from assay.cases.joining.ways import Way, way_of
from assay.cases.joining.wording import no_fit
from assay.errors import InputError
from assay.model import Case, Joining, Prediction
from assay.ports import LoadedCases, LoadedPredictions


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Predictions beside their cases."""

    predictions: tuple[Prediction, ...]
    """One for each case, in the cases' order, under the case's id. One without an answer says so in its failure."""
    unmatched: tuple[str, ...]
    """The ids (or positions) of predictions that fit no case, in the file's order."""
    joining: Joining


def join(
    cases: LoadedCases | Iterable[Case],
    loaded: LoadedPredictions,
    *,
    wanted: int | None = None,
    same_file: bool = False,
    ignore_questions: bool = False,
) -> Joined:
    """Bring each case its prediction, in the way that this module's text says.

    A case that no prediction answers gets one without a query, whose failure says so. ``wanted``: so many of the
    cases are judged, and predictions without ids may be as many. ``same_file``: both come from one.
    ``ignore_questions``: what answers repeat of their questions is not looked at. Raises InputError where it is not
    plain what belongs together, where no prediction fits at all, and where an answer repeats another question than
    its case's.
    """
    questions = cases if isinstance(cases, LoadedCases) else _plain(tuple(cases))
    way = way_of(questions, loaded, wanted=wanted, same_file=same_file, echoes=not ignore_questions)
    found: list[Prediction | None] = [None] * len(questions.cases)
    unmatched = []
    for prediction, place in zip(loaded.predictions, way.places, strict=True):
        if place is None:
            unmatched.append(_called(prediction, way))
        else:
            found[place] = prediction
    if questions.cases and loaded.predictions and len(unmatched) == len(loaded.predictions):
        raise InputError(no_fit(questions, loaded))
    compared = 0 if ignore_questions else check_echoes(questions, loaded, way)
    return Joined(
        predictions=tuple(_under(case, one) for case, one in zip(questions.cases, found, strict=True)),
        unmatched=tuple(unmatched),
        joining=Joining(
            by=way.by,
            stated=way.by == "position" and (loaded.stated or questions.stated),
            case_columns=questions.columns,
            prediction_columns=loaded.columns,
            loose_ids=way.loose,
            questions_compared=compared,
            questions_ignored=ignore_questions,
            left_out=_left_out(questions, loaded),
        ),
    )


def _left_out(questions: LoadedCases, loaded: LoadedPredictions) -> tuple[str, ...]:
    """The sheets that neither side was read from: of one workbook, what one side leaves out the other may read."""
    if not (questions.left_out and loaded.left_out):
        return (*questions.left_out, *loaded.left_out)
    both = set(questions.left_out) & set(loaded.left_out)
    return tuple(name for name in questions.left_out if name in both)


def _called(prediction: Prediction, way: Way) -> str:
    """What an unmatched prediction is called: by its id, or by its place where the number of its row says little."""
    place = (prediction.origin or "").partition(", ")[2]
    return place if way.by == "question" and place else prediction.case_id


def _plain(cases: tuple[Case, ...]) -> LoadedCases:
    """Cases of which nothing else is known: ids that only count them from 0 are none."""
    return LoadedCases(cases=cases, by_position=all(case.id == str(place) for place, case in enumerate(cases)))


def _under(case: Case, prediction: Prediction | None) -> Prediction:
    if prediction is None:
        return Prediction(case_id=case.id, failure=unanswered("no prediction in the file answers this case"))
    return prediction if prediction.case_id == case.id else replace(prediction, case_id=case.id)
