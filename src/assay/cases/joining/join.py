"""Join questions and answers. Nothing is guessed: if two ways are possible, the error says which.

1. One file for both: each row's answer belongs to the row's question.
2. The predictions have ids: by id. If the questions have none, the ids must clearly be their row numbers.
3. The predictions have no ids, and each repeats a different question: by question.
4. Neither side has ids, both have the same number of rows, and no column contradicts it: by position. Also if the
   format (BIRD's keys) or the user (`POSITION`) asks for positions.

A question or database that an answer repeats must then be its case's.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from assay.cases.fields import normal
from assay.cases.from_records import unanswered
from assay.cases.joining.candidates import no_fit
from assay.cases.joining.echoes import check_echoes, differing
from assay.cases.joining.sides import DATABASES, QUESTIONS, Sides
from assay.cases.joining.strategies import way_of
from assay.cases.samples import first_answers
from assay.errors import InputError, plural
from assay.model import Case, Joining, Prediction
from assay.model.failure import NOT_IN_LOG
from assay.platform.spool import parts_of, spooled
from assay.ports import LoadedCases, LoadedPredictions

_NOBODY = -1


class Joined(Struct, frozen=True, kw_only=True):
    """Predictions, joined to their cases."""

    predictions: Sequence[Prediction]
    """In the cases' order, with the case's id. A case without an answer has a failure that says so."""
    unmatched: tuple[str, ...]
    """The ids (or positions) of predictions without a case, in the file's order."""
    joining: Joining
    unread: tuple[str, ...] = ()
    """The columns of either file that were not read."""
    notes: tuple[str, ...] = ()
    """What the files say of how the evaluation ended that wrote them, and which samples are missing."""
    repeats: int = 1
    """How many predictions each case has. They follow one another."""


def join(
    cases: LoadedCases | Iterable[Case],
    loaded: LoadedPredictions,
    *,
    wanted: int | None = None,
    same_file: bool = False,
    ignore_questions: bool = False,
) -> Joined:
    """Find each case's prediction, by the rules in this module's docstring.

    A case without a prediction gets one without a query, whose failure says so. ``wanted``: how many of the cases are
    evaluated; there may be exactly that many predictions without ids. ``same_file``: both come from the same file.
    ``ignore_questions``: do not compare the questions that answers repeat. Raises InputError if the join is
    ambiguous, if no prediction fits at all, and if an answer repeats a question that is not its case's.
    """
    if isinstance(cases, LoadedCases):
        questions = cases
    else:  # nothing else is known of them; ids that only count the cases from 0 do not count as ids
        given = tuple(cases)
        by_position = all(case.id == str(place) for place, case in enumerate(given))
        questions = LoadedCases(cases=given, by_position=by_position)
    sides = Sides(questions, loaded)
    numbers = [one.repeat for one in parts_of(loaded.predictions, "repeat")]
    repeats = 1 + max(numbers, default=0)
    first, rows = (loaded, range(len(numbers))) if repeats == 1 else first_answers(loaded)
    way = way_of(Sides(questions, first), wanted=wanted, same_file=same_file, echoes=not ignore_questions)
    way = replace(way, places=[way.places[row] for row in rows])
    answered_by = array("q", [_NOBODY]) * (len(questions.cases) * repeats)
    unmatched = []
    for number, place in enumerate(way.places):
        if place is None:
            prediction = loaded.predictions[number]
            # The row number alone says little: then its place is its name
            at = (prediction.origin or "").partition(", ")[2] if way.by == "question" else ""
            unmatched.append(at or prediction.case_id)
        else:
            answered_by[place * repeats + numbers[number]] = number
    if questions.cases and loaded.predictions and len(unmatched) == len(loaded.predictions):
        raise InputError(no_fit(sides))
    compared = 0 if ignore_questions else check_echoes(sides, way)
    differ = differing(sides, way) if ignore_questions else 0
    return Joined(
        predictions=_answers(questions, loaded, answered_by, repeats, exact=way.by == "id" and not way.loose),
        unmatched=tuple(dict.fromkeys(unmatched)),
        joining=Joining(
            by=way.by,
            stated=way.by == "position" and (loaded.stated or questions.stated),
            id_column=way.id_column,
            case_columns=questions.columns,
            prediction_columns=loaded.columns,
            loose_ids=way.loose,
            questions_compared=compared,
            questions_ignored=ignore_questions,
            questions_differ=differ,
            left_out=_left_out(questions, loaded),
        ),
        unread=_unread(sides, same_file=same_file),
        notes=(*dict.fromkeys((*questions.notes, *loaded.notes)), *_missing_samples(answered_by, repeats)),
        repeats=repeats,
    )


def _answers(
    questions: LoadedCases, loaded: LoadedPredictions, answered_by: array[int], repeats: int, *, exact: bool
) -> Sequence[Prediction]:
    """Each case's answers, under the case's id. ``exact``: the ids of answers are those of their cases."""
    count = len(answered_by)
    if exact and len(loaded.predictions) == count and answered_by == array("q", range(count)):
        return loaded.predictions  # as they are in most files

    def answers() -> Iterator[Prediction]:
        asked = ((case.id, sample) for case in parts_of(questions.cases, "id") for sample in range(repeats))
        for (id_, sample), number in zip(asked, answered_by, strict=True):
            if number == _NOBODY:
                which = "" if repeats == 1 else f": its answer {sample + 1} of {repeats} is missing"
                failure = unanswered(f"no prediction in the file answers this case{which}")
                yield Prediction(case_id=id_, failure=failure, repeat=sample)
                continue
            prediction = loaded.predictions[number]
            yield prediction if prediction.case_id == id_ else replace(prediction, case_id=id_)

    return spooled(answers(), Prediction)


def _missing_samples(answered_by: array[int], repeats: int) -> Iterator[str]:
    """A sentence for samples that are missing from questions with other samples."""
    groups = [answered_by[start : start + repeats] for start in range(0, len(answered_by), repeats)]
    short = [group.count(_NOBODY) for group in groups if 0 < group.count(_NOBODY) < repeats]
    if short:
        missing = plural(sum(short), "answer is", "answers are")
        yield (
            f"{missing} missing: {plural(len(short), 'question has', 'questions have')} fewer than {repeats} answers. "
            "Each missing answer counts as unanswered."
        )


def with_missing(questions: LoadedCases, joined: Joined) -> tuple[LoadedCases, Joined]:
    """Questions and predictions of one log, with an unanswered case for each question that the log lacks."""
    databases = {case.database for case in parts_of(questions.cases, "database")}
    database = databases.pop() if len(databases) == 1 else None
    cases = [
        Case(id=id_, question="", database=database, origin=f"{questions.cases[0].origin or ''}".partition(",")[0])
        for id_ in questions.missing
    ]
    message = "the evaluation ended before the question was answered: its log has neither the question nor an answer"
    failure = replace(unanswered(message), code=NOT_IN_LOG)
    predictions = [
        Prediction(case_id=id_, failure=failure, repeat=sample)
        for id_ in questions.missing
        for sample in range(joined.repeats)
    ]
    return (
        replace(questions, cases=spooled(chain(questions.cases, cases), Case)),
        replace(joined, predictions=spooled(chain(joined.predictions, predictions), Prediction)),
    )


def _left_out(questions: LoadedCases, loaded: LoadedPredictions) -> tuple[str, ...]:
    """The sheets that were read for neither side: the two sides may use different sheets of one workbook."""
    if not (questions.left_out and loaded.left_out):
        return (*questions.left_out, *loaded.left_out)
    both = set(questions.left_out) & set(loaded.left_out)
    return tuple(name for name in questions.left_out if name in both)


def _unread(sides: Sides, *, same_file: bool) -> tuple[str, ...]:
    """The columns that were read for neither side. Predictions may repeat the columns of their questions."""
    questions, loaded = sides.questions, sides.loaded
    if same_file:
        return tuple(name for name in questions.unread if name in loaded.unread)
    columns = (*(column.name for column in questions.beside), *(use.column for use in questions.columns))
    repeated = QUESTIONS | DATABASES | set(map(normal, columns))
    return (*questions.unread, *(name for name in loaded.unread if normal(name) not in repeated))
