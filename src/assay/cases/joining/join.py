"""Bring questions and answers together. Nothing is guessed: what could be meant in two ways is an error that says how.

1. One file for both: a row's answer is to the row's question.
2. The predictions have ids: by id. Where the questions have none, the ids must plainly be their row numbers.
3. They have none, and repeat the questions, each another one: by question.
4. They have none, the questions have none either, both are as many, and no column of theirs says otherwise:
   by position. Or where the format (BIRD's keys) or the user (`POSITION`) says positions.

Whatever an answer repeats of its question or database must then be its case's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.cases.fields import POSITION, listed, normal
from assay.cases.joining.candidates import DATABASES, QUESTIONS, Candidate, candidates_of, ids_in, loose_id, same_name
from assay.cases.joining.contradictions import as_name, as_question, contradiction
from assay.cases.reading import unanswered
from assay.cases.records import shortened
from assay.errors import InputError
from assay.model import Case, ColumnUse, JoinedBy, Joining, Prediction
from assay.ports import Column, LoadedCases, LoadedPredictions

_SHOWN = 3
"""Ids of either side that a message shows."""
_TEXT = 160
"""Characters of a question that a message shows."""
_BY_POSITION = f'--prediction-id-column "{POSITION}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Predictions beside their cases."""

    predictions: tuple[Prediction, ...]
    """One for each case, in the cases' order, under the case's id. One without an answer says so in its failure."""
    unmatched: tuple[str, ...]
    """The ids (or positions) of predictions that fit no case, in the file's order."""
    joining: Joining


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """For each prediction the place of its case, None where it fits none."""

    by: JoinedBy
    places: Sequence[int | None]
    loose: int = 0


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
    way = _way(questions, loaded, wanted=wanted, same_file=same_file, echoes=not ignore_questions)
    found: list[Prediction | None] = [None] * len(questions.cases)
    unmatched = []
    for prediction, place in zip(loaded.predictions, way.places, strict=True):
        if place is None:
            unmatched.append(_called(prediction, way))
        else:
            found[place] = prediction
    if questions.cases and loaded.predictions and len(unmatched) == len(loaded.predictions):
        raise InputError(_no_fit(questions, loaded))
    compared = 0 if ignore_questions else _check_echoes(questions, loaded, way)
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


def _called(prediction: Prediction, way: _Way) -> str:
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


def _way(
    questions: LoadedCases, loaded: LoadedPredictions, *, wanted: int | None, same_file: bool, echoes: bool
) -> _Way:
    if same_file and (by_row := _by_row(questions, loaded)) is not None:
        return by_row
    if not loaded.by_position:
        return _by_id(questions, loaded, echoes=echoes)
    if loaded.stated or _names_positions(loaded):
        return _by_stated_position(questions, loaded, wanted)
    by_question = _by_question(questions, loaded) if echoes else None
    if by_question is not None and any(place is not None for place in by_question.places):
        return by_question
    return _by_position(questions, loaded, wanted)


def _by_row(questions: LoadedCases, loaded: LoadedPredictions) -> _Way | None:
    """Both were read from the same rows. Blank rows, which a question set does not have, hold no prediction."""
    places = {case.origin: place for place, case in enumerate(questions.cases)}
    if None in places or len(places) != len(questions.cases):
        return None
    found = [places.get(prediction.origin) for prediction in loaded.predictions]
    rest = [one for one, place in zip(loaded.predictions, found, strict=True) if place is None]
    if any(one.query is not None or one.turns for one in rest):
        return None
    return _Way(by="row", places=found) if not rest else None


def _by_position(questions: LoadedCases, loaded: LoadedPredictions, wanted: int | None) -> _Way:
    """Neither side has ids. Raises where that is not so certain."""
    found = candidates_of(questions, loaded)
    if not questions.by_position:
        raise InputError(
            f"the predictions have no id that is known as one, and the questions have ids, {_ids(questions.cases)}. "
            + ("The questions that they repeat do not tell the cases apart. " if _echo(questions, loaded) else "")
            + (_did_you_mean(found) or f"Give each prediction the id of its question; {_as_rows()}")
        )
    doubtful = [candidate for candidate in found if not candidate.in_order]
    if doubtful:
        raise InputError(
            "neither the questions nor the predictions have an id that is known as one, and rows are joined by "
            f"position only where nothing speaks against it. {_did_you_mean(doubtful)}"
        )
    _check_count(questions, loaded, wanted)
    return _positions(questions, loaded)


def _by_stated_position(questions: LoadedCases, loaded: LoadedPredictions, wanted: int | None) -> _Way:
    """The format or the user says positions. Raises where the numbers could as well be the cases' ids."""
    if not _names_positions(loaded):
        _check_count(questions, loaded, wanted)
        return _positions(questions, loaded)
    numbers = [prediction.case_id for prediction in loaded.predictions]
    ids = {case.id: place for place, case in enumerate(questions.cases)}
    whole = set(numbers) == {str(number) for number in range(len(questions.cases))}
    if not questions.by_position and not whole and ids.keys() >= set(numbers):
        other = next((number for number in numbers if ids[number] != int(number)), None)
        if other is not None:
            beyond = int(other) >= len(questions.cases)
            raise InputError(
                f"the predictions are read by position, but their keys are the cases' ids: {other} is "
                + (
                    f"beyond the last of {len(questions.cases)} cases and is the id of one"
                    if beyond
                    else "the id of another case than stands there"
                )
                + ". Name the id's column for the predictions (BIRD: --prediction-id-column question_id)"
            )
    if "0" not in numbers and len(numbers) < len(questions.cases):
        raise InputError(
            f"the predictions are keyed by positions, {listed(numbers[:_SHOWN])} …, and none is 0: they may count "
            "from 1, or be ids. Give the first question an answer, too, be it null, so that it is plain; or "
            "name the id's column for the predictions (BIRD: --prediction-id-column question_id)"
        )
    return _positions(questions, loaded)


def _names_positions(loaded: LoadedPredictions) -> bool:
    """Whether each prediction names its position, as by BIRD's keys; else rows were counted."""
    keyed = any(use.field == "id" for use in loaded.columns)
    return keyed or any(one.case_id != str(number) for number, one in enumerate(loaded.predictions))


def _positions(questions: LoadedCases, loaded: LoadedPredictions) -> _Way:
    count = len(questions.cases)
    numbers = [int(prediction.case_id) for prediction in loaded.predictions]
    return _Way(by="position", places=[number if number < count else None for number in numbers])


def _check_count(questions: LoadedCases, loaded: LoadedPredictions, wanted: int | None) -> None:
    """Raise where rows that are joined by position are not as many on both sides."""
    rows, count = len(loaded.predictions), len(questions.cases)
    if rows not in (count, wanted if wanted is not None and wanted < count else count):
        raise InputError(
            f"the predictions have no ids and are {rows}, and there are {count} questions: by position both must be "
            "as many. Add what is missing (null where there is no answer), or give each prediction the id of its "
            "question" + (f"; to judge only the first {rows}: --limit {rows}" if rows < count else "")
        )


def _by_id(questions: LoadedCases, loaded: LoadedPredictions, *, echoes: bool) -> _Way:
    places = {case.id: place for place, case in enumerate(questions.cases)}
    ids = [prediction.case_id for prediction in loaded.predictions]
    found, loose = _matched(ids, places)
    fitting = sum(place is not None for place in found)
    if not fitting and echoes:
        by_question = _keyed_by_question(questions, ids) or _by_question(questions, loaded)
        if by_question is not None and any(place is not None for place in by_question.places):
            return by_question
    if questions.by_position and questions.columns and not questions.stated and fitting:
        _check_row_numbers(questions, loaded, ids)
    if fitting:
        _no_other_id(questions, loaded, found)
    _no_positions(questions, ids, fitting)
    return _Way(by="id", places=found, loose=loose)


def _matched(ids: Sequence[str], places: dict[str, int]) -> tuple[list[int | None], int]:
    """Where ids are found, and how many of them only loosely: where no two of either side become one by that."""
    found = [places.get(id_) for id_ in ids]
    if None not in found:
        return list(found), 0
    by_loose = {loose_id(id_): place for id_, place in places.items()}
    if len(by_loose) != len(places) or len({loose_id(id_) for id_ in ids}) != len(ids):
        return list(found), 0
    loosely = [by_loose.get(loose_id(id_)) for id_ in ids]
    return loosely, sum(place is not None for place in loosely) - sum(place is not None for place in found)


def _check_row_numbers(questions: LoadedCases, loaded: LoadedPredictions, ids: Sequence[str]) -> None:
    """Raise where ids of predictions may be anything but the zero-based row numbers of questions without ids."""
    loose = {loose_id(id_) for id_ in ids}
    for column in questions.beside:
        own = ids_in(column) or []
        at = {id_: place for place, id_ in enumerate(own)}
        both = loose.intersection(at)
        if len(both) * 2 >= len(ids) and any(str(at[id_]) != id_ for id_ in both):
            raise InputError(
                f'the predictions have ids, {_some(ids)}, which may be the questions\' column "{column.name}" or their '
                f'row numbers from 0: say --id-column "{column.name}", or --id-column "{POSITION}"'
            )
    if "0" in loose and all(number.isdigit() and int(number) < len(questions.cases) for number in loose):
        return
    raise InputError(
        f"the questions have no id that is known as one, and the predictions have ids, {_some(ids)}: they are no "
        "certain row numbers, which count from 0. "
        + (
            _did_you_mean(candidates_of(questions, loaded))
            or f"Name the id's column of the questions (--id-column); or, if the ids are row numbers from 0, say "
            f'--id-column "{POSITION}"'
        )
    )


def _no_other_id(questions: LoadedCases, loaded: LoadedPredictions, found: Sequence[int | None]) -> None:
    """Raise where both files have a column of one name that is the id on one side only, and says otherwise."""
    own, others = _id_column(questions.columns), _id_column(loaded.columns)
    if own is None or others is None or same_name(own, others):
        return
    pairs = (
        (_named(questions.beside, others), tuple(one.case_id for one in loaded.predictions)),
        (Column(name=own, values=tuple(case.id for case in questions.cases)), _named(loaded.beside, own)),
    )
    for case_side, prediction_side in pairs:
        if case_side is None or prediction_side is None:
            continue
        values = prediction_side.values if isinstance(prediction_side, Column) else prediction_side
        places = _unique_places(case_side.values)
        if places is None:
            continue
        other = [places.get(as_name(value)) for value in values]
        if sum(place is not None for place in other) * 2 >= len(found) and other != list(found):
            raise InputError(
                f'the questions\' id is "{own}" and the predictions\' "{others}", and by the column '
                f'"{case_side.name}", which both files have, other rows belong together: name the id of both files '
                f"(--id-column), or of each (--id-column, --prediction-id-column)"
            )


def _no_positions(questions: LoadedCases, ids: Sequence[str], fitting: int) -> None:
    """Raise where ids are just the row numbers, and some happen to be ids of cases."""
    rows = {str(number) for number in range(len(questions.cases))}
    from_one = {str(number) for number in range(1, len(questions.cases) + 1)}
    if 0 < fitting < len(ids) and set(ids) in (rows, from_one) and len(ids) == len(questions.cases):
        raise InputError(
            f"the predictions' ids count their rows, {_some(ids)}, and only {fitting} of them happen to be ids of "
            f"questions, {_ids(questions.cases)}. Name the column of the questions' ids; {_as_rows()}"
        )


def _keyed_by_question(questions: LoadedCases, keys: Sequence[str]) -> _Way | None:
    places = _unique_places(tuple(case.question for case in questions.cases), of=as_question)
    if places is None:
        return None
    found = [places.get(as_question(key)) for key in keys]
    return None if None in found or len(set(found)) != len(found) else _Way(by="question", places=found)


def _by_question(questions: LoadedCases, loaded: LoadedPredictions) -> _Way | None:
    """By the questions that the predictions repeat, and the databases; None where these do not tell cases apart."""
    echo = _echo(questions, loaded)
    if echo is None:
        return None
    column, asked = echo
    said = [as_question(value) for value in column.values]
    if "" in said:
        return None
    keys: list[tuple[str, str]] = [(text, "") for text in said]
    own: list[tuple[str, str]] = [(as_question(text), "") for text in asked]
    database = _database_echo(questions, loaded)
    if len(set(own)) != len(own) and database is not None:
        keys = [(text, as_name(value)) for text, value in zip(said, database.values, strict=True)]
        own = [(text, as_name(case.database)) for (text, _), case in zip(own, questions.cases, strict=True)]
    if len(set(own)) != len(own) or len(set(keys)) != len(keys):
        return None
    places = {key: place for place, key in enumerate(own)}
    return _Way(by="question", places=[places.get(key) for key in keys])


def _check_echoes(questions: LoadedCases, loaded: LoadedPredictions, way: _Way) -> int:
    """Raise where an answer repeats another question, or database, than its case's; return how many repeat theirs."""
    compared: set[int] = set()
    echo = _echo(questions, loaded)
    if echo is not None:
        compared |= _compare(_Echo("question", *echo), questions, loaded, way)
    database = _database_echo(questions, loaded)
    if database is not None:
        asked = [case.database for case in questions.cases]
        compared |= _compare(_Echo("database", database, asked), questions, loaded, way)
    if way.by != "row":
        _check_other_columns(questions, loaded, way)
    return len(compared)


def _check_other_columns(questions: LoadedCases, loaded: LoadedPredictions, way: _Way) -> None:
    """Raise where a column under any other name says that rows belong to other cases."""
    by_position = way.by == "position" and not (loaded.stated or questions.stated)
    found = contradiction(questions, loaded, way.places, by_position=by_position)
    if found is None:
        return
    name = found.column.name
    rename = ' To join by it, call the column "question".' if found.question else ""
    raise InputError(
        f'{_row(loaded, found.row)}: the column "{name}" {"repeats a question" if found.question else "says"} '
        f"{shortened(str(found.column.values[found.row]), most=_TEXT)}, and the case to which it belongs "
        f"{_HOW[way.by]} has {shortened(str(found.asked), most=_TEXT)}: the rows are in another order, or of other "
        f"questions.{rename} Name the columns of the ids (--id-column, --prediction-id-column). Where you know that "
        "they belong together: --ignore-questions"
    )


_HOW: Mapping[JoinedBy, str] = {
    "id": "by its id",
    "question": "by its question",
    "position": "by position",
    "row": "by its row",
}


def _row(loaded: LoadedPredictions, row: int) -> str:
    """Where a prediction stands in its file."""
    return (loaded.predictions[row].origin or "").partition(", ")[2] or f"item {row + 1}"


@dataclass(frozen=True, slots=True)
class _Echo:
    """What predictions repeat, and what each case has."""

    what: str
    column: Column
    asked: Sequence[object]


def _compare(echo: _Echo, questions: LoadedCases, loaded: LoadedPredictions, way: _Way) -> set[int]:
    what, column, asked = echo.what, echo.column, echo.asked
    reading = as_question if what == "question" else as_name
    compared: set[int] = set()
    wrong: list[int] = []
    for row, (value, place) in enumerate(zip(column.values, way.places, strict=True)):
        if place is None or not (said := reading(value)) or not (own := reading(asked[place])):
            continue
        compared.add(row)
        if said != own:
            wrong.append(row)
    if not wrong:
        return compared
    row, place = wrong[0], way.places[wrong[0]] or 0
    more = f" So it is for {len(wrong)} of {len(compared)}." if len(wrong) > 1 else ""
    hint = f" {_did_you_mean(found)}" if (found := candidates_of(questions, loaded)) else ""
    raise InputError(
        f"{_row(loaded, row)}: its {what} is "
        f"{shortened(str(column.values[row]), most=_TEXT)}, and that of the case "
        f"{questions.cases[place].id!r}, to which it belongs {_HOW[way.by]}, is "
        f"{shortened(str(asked[place]), most=_TEXT)}.{more}{hint} Where you know that they belong together: "
        "--ignore-questions"
    )


def _echo(questions: LoadedCases, loaded: LoadedPredictions) -> tuple[Column, Sequence[object]] | None:
    """The column in which predictions repeat the question, and what it is to say of each case."""
    own = next((use.column for use in questions.columns if use.field == "question"), None)
    asked: Sequence[object] = [case.question for case in questions.cases]
    if own is not None and (same := _named(loaded.beside, own)) is not None:
        return same, asked
    for column in loaded.beside:
        if normal(column.name) in QUESTIONS:
            beside = _named(questions.beside, column.name)
            return column, asked if beside is None else beside.values
    return None


def _database_echo(questions: LoadedCases, loaded: LoadedPredictions) -> Column | None:
    own = next((normal(use.column) for use in questions.columns if use.field == "database"), None)
    return next((column for column in loaded.beside if normal(column.name) in {*DATABASES, own}), None)


def _unique_places(values: Sequence[object], *, of: object = None) -> dict[str, int] | None:
    """Each value's place; None where two are the same or one is missing."""
    reading = as_question if of is as_question else as_name
    texts = [reading(value) for value in values]
    return None if "" in texts or len(set(texts)) != len(texts) else {text: place for place, text in enumerate(texts)}


def _named(columns: Iterable[Column], name: str) -> Column | None:
    return next((column for column in columns if same_name(column.name, name)), None)


def _id_column(columns: Iterable[ColumnUse]) -> str | None:
    return next((use.column for use in columns if use.field == "id"), None)


def _did_you_mean(found: Sequence[Candidate]) -> str:
    """What to say, with the columns that may be the ids; empty where none may."""
    if not found:
        return ""
    said = [f"{candidate.option} ({candidate.why})" for candidate in found[:_SHOWN]]
    return f"Did you mean {', or '.join(said)}? {_as_rows().capitalize()}."


def _as_rows() -> str:
    return f"if the n-th prediction answers the n-th question, say {_BY_POSITION}"


def _no_fit(questions: LoadedCases, loaded: LoadedPredictions) -> str:
    count = len(questions.cases)
    given = _some([prediction.case_id for prediction in loaded.predictions])
    if loaded.by_position:
        return (
            f"no prediction fits a case: there are {count} cases, at positions from 0 to {count - 1}, "
            f"and the predictions are for the positions {given}. Where these are ids, name the column of the id "
            "(BIRD: question_id)"
        )
    message = (
        f"no prediction fits a case: the cases' ids are {_ids(questions.cases)}, the predictions' {given}. "
        "Name the columns that hold the same ids on both sides."
    )
    found = candidates_of(questions, loaded)
    if found:
        return f"{message} {_did_you_mean(found)}"
    if count == len(loaded.predictions):
        message += f" Or, if both files hold the same {count} in the same order, say {_BY_POSITION}"
    return message


def _ids(cases: Sequence[Case]) -> str:
    return _some([case.id for case in cases])


def _some(ids: Sequence[str]) -> str:
    return ", ".join(f'"{id_}"' for id_ in ids[:_SHOWN]) + (", ..." if len(ids) > _SHOWN else "")
