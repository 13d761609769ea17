"""The ways to join predictions to cases: by row, id, question or position. Any ambiguity is an error."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.cases.fields import POSITION, is_row_number, listed
from assay.cases.joining.candidates import (
    MOST_IDS,
    as_rows,
    both_ids,
    by_position,
    candidates_of,
    did_you_mean,
    ids_in,
    loose_id,
    named_ids,
    some,
)
from assay.cases.joining.contradictions import as_name, as_question
from assay.cases.joining.sides import Sides, column_named, column_of, first_number, same_name
from assay.errors import InputError, plural
from assay.model import JoinedBy
from assay.platform.spool import parts_of
from assay.platform.surface import option
from assay.ports import Column


class JoinStrategy(Struct, frozen=True, kw_only=True):
    """For each prediction the place of its case; None if it has none."""

    by: JoinedBy
    places: Sequence[int | None]
    loose: int = 0
    id_column: str | None = None
    """For a join by position: the column of both files that agrees with it."""


def way_of(sides: Sides, *, wanted: int | None, same_file: bool, echoes: bool) -> JoinStrategy:
    if same_file and (by_row := _by_row(sides)) is not None:
        return by_row
    if not sides.loaded.by_position:
        return _by_id(sides, echoes=echoes)
    if sides.loaded.stated or _names_positions(sides):
        return _by_stated_position(sides, wanted)
    by_question = _by_question(sides) if echoes else None
    if by_question is not None and any(place is not None for place in by_question.places):
        return by_question
    return _by_position(sides, wanted)


def _by_row(sides: Sides) -> JoinStrategy | None:
    """Join by row, for both read from the same rows. Blank rows, which a question set skips, hold no prediction."""
    places = {case.origin: place for place, case in enumerate(parts_of(sides.questions.cases, "origin"))}
    if None in places or len(places) != sides.count:
        return None
    found = [places.get(one.origin) for one in parts_of(sides.loaded.predictions, "origin")]
    rest = [one for one, place in zip(sides.loaded.predictions, found, strict=True) if place is None]
    if any(one.query is not None or one.turns for one in rest):
        return None
    return JoinStrategy(by="row", places=found) if not rest else None


def _by_position(sides: Sides, wanted: int | None) -> JoinStrategy:
    """Join by position, since neither side has ids. Raises if that is not certain."""
    found = candidates_of(sides)
    if not sides.questions.by_position and not _counts_rows(sides):
        raise InputError(
            f"the questions have ids ({some(sides.case_ids)}), but no column of the predictions is recognized as an "
            "id. "
            + ("The questions that they repeat do not identify the cases. " if sides.question_echo else "")
            + (did_you_mean(found) or f"Give each prediction the id of its question; {as_rows()}")
        )
    doubtful = [candidate for candidate in found if not candidate.in_order]
    if doubtful:
        raise InputError(
            "no column of the questions or the predictions is recognized as an id, and rows are joined by position "
            f"only if nothing contradicts it. {did_you_mean(doubtful)}"
        )
    _check_count(sides, wanted)
    return replace(_positions(sides), id_column=next((candidate.shared for candidate in found), None))


def _counts_rows(sides: Sides) -> bool:
    """Whether the questions' id is a column of row numbers in order, by which a join is the same as by position."""
    column, count = column_of("id", sides.questions.columns), sides.count
    numbers = [[str(first + row) for row in range(count)] for first in (0, 1)]
    return column is not None and is_row_number(column) and sides.case_ids in numbers


def _by_stated_position(sides: Sides, wanted: int | None) -> JoinStrategy:
    """Join by position, as the format or the user says. Raises if the numbers could also be the cases' ids, unless the
    user says so or the databases that predictions repeat fit only their positions.
    """
    if not _names_positions(sides):
        _check_count(sides, wanted)
        return _positions(sides)
    numbers = sides.prediction_ids
    first = _first_position(numbers, sides.count)
    ids = {id_: place for place, id_ in enumerate(sides.case_ids)}
    whole = first_number(numbers, sides.count) == 0
    if not sides.questions.by_position and not whole and ids.keys() >= set(numbers):
        other = next((number for number in numbers if ids[number] != int(number) - first), None)
        if other is not None:
            beyond = int(other) - first >= sides.count
            raise InputError(
                f"the predictions are read by position, but their keys are the cases' ids: {other} is "
                + (
                    f"beyond the last of {sides.count} cases and is the id of one"
                    if beyond
                    else "the id of another case than stands there"
                )
                + ". Name the id's column for the predictions (BIRD: "
                f"{option('--prediction-id-column', 'question_id')})"
            )
    if whole and not sides.loaded.chosen and not sides.questions.by_position and ids.keys() >= set(numbers):
        _check_both_ways(sides, [int(number) for number in numbers], [ids[number] for number in numbers])
    if first == 0 and "0" not in numbers and sides.count > 1:
        raise InputError(
            f"the predictions are keyed by positions, {listed(numbers[:MOST_IDS])} …, and none is 0: they may count "
            "from 1, or be ids. Give the first question an answer, too, be it null, so that it is plain; or "
            f"name the id's column for the predictions (BIRD: {option('--prediction-id-column', 'question_id')})"
        )
    return _positions(sides)


def _check_both_ways(sides: Sides, positions: Sequence[int], by_id: Sequence[int]) -> None:
    """Raise if keys are all the positions and all the ids, and databases do not tell which are meant."""
    other = next((row for row, (place, case) in enumerate(zip(positions, by_id, strict=True)) if place != case), None)
    if other is None:
        return
    echo = sides.database_echo
    if echo is not None:
        own = [as_name(database) for database in sides.databases]
        fit_positions, fit_ids = (
            all(
                not (said := as_name(value)) or said == own[place]
                for value, place in zip(echo.values, places, strict=True)
            )
            for places in (positions, by_id)
        )
        if not (fit_positions and fit_ids):
            return  # if the positions do not fit, comparing the repeated questions says so
    name = column_of("id", sides.questions.columns) or "question_id"
    key, first, second = (
        sides.loaded.predictions[other].case_id,
        sides.questions.cases[positions[other]],
        sides.questions.cases[by_id[other]],
    )
    raise InputError(
        f"the predictions' keys are the cases' positions and also their ids, in another order: {key} is the position "
        f"of the case {first.id!r} and the id of the case {second.id!r}. If the keys are ids, say "
        f"{option('--prediction-id-column', name)}; if they are positions, as in BIRD's "
        f"own scripts, say {by_position()}"
    )


def _names_positions(sides: Sides) -> bool:
    """Whether each prediction names its position, as BIRD's keys do; otherwise rows were counted."""
    keyed = any(use.field == "id" for use in sides.loaded.columns)
    return keyed or any(
        one.case_id != str(number) for number, one in enumerate(parts_of(sides.loaded.predictions, "case_id"))
    )


def _positions(sides: Sides) -> JoinStrategy:
    count = sides.count
    numbers = sides.prediction_ids
    first = _first_position(numbers, count)
    places = [int(number) - first for number in numbers]
    return JoinStrategy(by="position", places=[place if place < count else None for place in places])


def _first_position(numbers: Sequence[str], count: int) -> int:
    """The number of the first case: 1 if the numbers are 1 to the number of several cases, each once, otherwise 0."""
    return int(1 < count == len(numbers) and first_number(numbers, count) == 1)


def _check_count(sides: Sides, wanted: int | None) -> None:
    """Raise if both sides of a join by position differ in their number of rows."""
    rows, count = len(sides.loaded.predictions), sides.count
    if rows not in (count, wanted if wanted is not None and wanted < count else count):
        raise InputError(
            f"{plural(rows, 'prediction')} for {plural(count, 'question')}: without ids, rows are joined by position, "
            "so both numbers must be equal. Add the missing predictions (null if there is none), or give each "
            "prediction the id of its question"
            + (f"; to evaluate only the first {rows}: {option('--limit', rows)}" if rows < count else "")
        )


def _by_id(sides: Sides, *, echoes: bool) -> JoinStrategy:
    places = {id_: place for place, id_ in enumerate(sides.case_ids)}
    ids = sides.prediction_ids
    found, loose = _matched(ids, places)
    fitting = sum(place is not None for place in found)
    if not fitting and echoes:
        by_question = _keyed_by_question(sides, ids) or _by_question(sides)
        if by_question is not None and any(place is not None for place in by_question.places):
            return by_question
    if sides.questions.by_position and sides.questions.columns and not sides.questions.stated and fitting:
        _check_row_numbers(sides, ids)
    if fitting:
        _no_other_id(sides, found)
    _no_positions(sides, ids, fitting)
    return JoinStrategy(by="id", places=found, loose=loose)


def _matched(ids: Sequence[str], places: dict[str, int]) -> tuple[list[int | None], int]:
    """The places of ids, and how many match only loosely. Loose matching must keep all ids distinct."""
    found = [places.get(id_) for id_ in ids]
    if None not in found:
        return list(found), 0
    by_loose = {loose_id(id_): place for id_, place in places.items()}
    if len(by_loose) != len(places) or len({loose_id(id_) for id_ in ids}) != len(ids):
        return list(found), 0
    loosely = [by_loose.get(loose_id(id_)) for id_ in ids]
    return loosely, sum(place is not None for place in loosely) - sum(place is not None for place in found)


def _check_row_numbers(sides: Sides, ids: Sequence[str]) -> None:
    """Raise unless ids of predictions are clearly the zero-based row numbers of questions without ids."""
    loose = {loose_id(id_) for id_ in ids}
    for column in sides.questions.beside:
        own = ids_in(column) or []
        at = {id_: place for place, id_ in enumerate(own)}
        both = loose.intersection(at)
        if len(both) * 2 >= len(ids) and any(str(at[id_]) != id_ for id_ in both):
            raise InputError(
                f'the predictions have ids ({some(ids)}), which may be the questions\' column "{column.name}" or their '
                f"row numbers from 0: give {named_ids(questions=column.name)}, or {named_ids(questions=POSITION)}"
            )
    if "0" in loose and all(number.isdigit() and int(number) < sides.count for number in loose):
        return
    raise InputError(
        f"the predictions have ids ({some(ids)}), but no column of the questions is recognized as an id, and the ids "
        "may not be row numbers from 0. "
        + (
            did_you_mean(candidates_of(sides))
            or f"Name the id's column of the questions ({option('--id-column')}); or, if the ids are row numbers from "
            f"0, say {named_ids(questions=POSITION)}"
        )
    )


def _no_other_id(sides: Sides, found: Sequence[int | None]) -> None:
    """Raise if both files have a column of one name that is the id on one side only, and contradicts the join."""
    own, others = column_of("id", sides.questions.columns), column_of("id", sides.loaded.columns)
    if own is None or others is None or same_name(own, others):
        return
    pairs = (
        (column_named(sides.questions.beside, others), tuple(sides.prediction_ids)),
        (
            Column(name=own, values=tuple(sides.case_ids)),
            column_named(sides.loaded.beside, own),
        ),
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
                f"({option('--id-column')}), or of each ({both_ids()})"
            )


def _no_positions(sides: Sides, ids: Sequence[str], fitting: int) -> None:
    """Raise if ids are just the row numbers, and some happen to equal ids of cases."""
    if not 0 < fitting < len(ids) or len(ids) != sides.count:
        return
    if first_number(ids, sides.count) is not None:
        raise InputError(
            f"the predictions' ids count their rows, {some(ids)}, and only {fitting} of them happen to be ids of "
            f"questions, {some(sides.case_ids)}. Name the column of the questions' ids; {as_rows()}"
        )


def _keyed_by_question(sides: Sides, keys: Sequence[str]) -> JoinStrategy | None:
    places = _unique_places(sides.asked, of=as_question)
    if places is None:
        return None
    found = [places.get(as_question(key)) for key in keys]
    return None if None in found or len(set(found)) != len(found) else JoinStrategy(by="question", places=found)


def _by_question(sides: Sides) -> JoinStrategy | None:
    """Join by the repeated questions and databases; None if these do not identify the cases."""
    echo = sides.question_echo
    if echo is None:
        return None
    column, asked = echo
    said = [as_question(value) for value in column.values]
    if "" in said:
        return None
    keys: list[tuple[str, str]] = [(text, "") for text in said]
    own: list[tuple[str, str]] = [(as_question(text), "") for text in asked]
    database = sides.database_echo
    if len(set(own)) != len(own) and database is not None:
        keys = [(text, as_name(value)) for text, value in zip(said, database.values, strict=True)]
        own = [(text, as_name(case.database)) for (text, _), case in zip(own, sides.questions.cases, strict=True)]
    if len(set(own)) != len(own) or len(set(keys)) != len(keys):
        return None
    places = {key: place for place, key in enumerate(own)}
    return JoinStrategy(by="question", places=[places.get(key) for key in keys])


def _unique_places(values: Sequence[object], *, of: object = None) -> dict[str, int] | None:
    """Each value's place; None if two are the same or one is missing."""
    reading = as_question if of is as_question else as_name
    texts = [reading(value) for value in values]
    return None if "" in texts or len(set(texts)) != len(texts) else {text: place for place, text in enumerate(texts)}
