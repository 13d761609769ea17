"""Check that a question or database that an answer repeats is its case's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from assay.cases.joining.candidates import candidates_of
from assay.cases.joining.contradictions import as_name, as_question, contradiction
from assay.cases.joining.repeated import database_echo_of, echo_of
from assay.cases.joining.ways import Way
from assay.cases.joining.wording import MOST_TEXT, did_you_mean
from assay.cases.records import shortened
from assay.errors import InputError
from assay.model import JoinedBy
from assay.ports import Column, LoadedCases, LoadedPredictions


def check_echoes(questions: LoadedCases, loaded: LoadedPredictions, way: Way) -> int:
    """Raise where an answer repeats a question or database that is not its case's; return how many repeat their own."""
    compared: set[int] = set()
    echo = echo_of(questions, loaded)
    if echo is not None:
        compared |= _compare(_Echo("question", *echo), questions, loaded, way)
    database = database_echo_of(questions, loaded)
    if database is not None:
        asked = [case.database for case in questions.cases]
        compared |= _compare(_Echo("database", database, asked), questions, loaded, way)
    if way.by != "row":
        _check_other_columns(questions, loaded, way)
    return len(compared)


def _check_other_columns(questions: LoadedCases, loaded: LoadedPredictions, way: Way) -> None:
    """Raise where a column with any other name shows that rows belong to other cases."""
    by_position = way.by == "position" and not (loaded.stated or questions.stated)
    found = contradiction(questions, loaded, way.places, by_position=by_position)
    if found is None:
        return
    name = found.column.name
    rename = ' To join by it, call the column "question".' if found.question else ""
    raise InputError(
        f'{_row(loaded, found.row)}: the column "{name}" {"repeats a question" if found.question else "says"} '
        f"{shortened(str(found.column.values[found.row]), most=MOST_TEXT)}, and the case to which it belongs "
        f"{_HOW[way.by]} has {shortened(str(found.asked), most=MOST_TEXT)}: the rows are in another order, or of other "
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
    """The place of a prediction in its file."""
    return (loaded.predictions[row].origin or "").partition(", ")[2] or f"item {row + 1}"


class _Echo(Struct, frozen=True):
    """The values that predictions repeat, and the value of each case."""

    what: str
    column: Column
    asked: Sequence[object]


def _compare(echo: _Echo, questions: LoadedCases, loaded: LoadedPredictions, way: Way) -> set[int]:
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
    hint = f" {did_you_mean(found)}" if (found := candidates_of(questions, loaded)) else ""
    raise InputError(
        f"{_row(loaded, row)}: its {what} is "
        f"{shortened(str(column.values[row]), most=MOST_TEXT)}, and that of the case "
        f"{questions.cases[place].id!r}, to which it belongs {_HOW[way.by]}, is "
        f"{shortened(str(asked[place]), most=MOST_TEXT)}.{more}{hint} Where you know that they belong together: "
        "--ignore-questions"
    )
