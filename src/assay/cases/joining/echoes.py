"""Check that a question or database that an answer repeats is its case's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from assay.cases.joining.candidates import BY_POSITION, MOST_TEXT, candidates_of, did_you_mean, ids_in, loose_id
from assay.cases.joining.contradictions import as_name, as_question, contradiction
from assay.cases.joining.sides import Sides, column_of, repeats_case
from assay.cases.joining.strategies import JoinStrategy
from assay.cases.records import shortened
from assay.errors import InputError
from assay.model import JoinedBy
from assay.ports import Column


def check_echoes(sides: Sides, way: JoinStrategy) -> int:
    """Raise if a prediction repeats a question or database that is not its case's; return how many repeat their own."""
    echoes = _echoes(sides)
    compared: set[int] = set()
    for echo in echoes:
        same, wrong = echo.compared(way.places)
        if wrong:
            counts = f" {len(wrong)} of {len(same)} predictions differ like this." if len(wrong) > 1 else ""
            advice = _advice(echoes, sides, way)
            row = wrong[0]
            place = way.places[row] or 0
            raise InputError(
                f"{_row(sides, row)}: its {echo.what} is {shortened(str(echo.column.values[row]), most=MOST_TEXT)}, "
                f"but that of the case {sides.questions.cases[place].id!r} (joined {_HOW[way.by]}) is "
                f"{shortened(str(echo.asked[place]), most=MOST_TEXT)}.{counts}{advice} Only if you know that this "
                "join is right: --ignore-questions"
            )
        compared |= same
    if way.by != "row":
        _check_other_columns(sides, way)
    return len(compared)


def differing(sides: Sides, way: JoinStrategy) -> int:
    """How many predictions repeat a question or database that is not their case's."""
    return len({row for echo in _echoes(sides) for row in echo.compared(way.places)[1]})


def _echoes(sides: Sides) -> list[_Echo]:
    """What predictions repeat of their cases."""
    found = []
    if sides.question_echo is not None:
        found.append(_Echo("question", *sides.question_echo))
    if sides.database_echo is not None:
        found.append(_Echo("database", sides.database_echo, sides.databases))
    return found


def _check_other_columns(sides: Sides, way: JoinStrategy) -> None:
    """Raise if a column with any other name shows that rows belong to other cases."""
    by_position = way.by == "position" and not (sides.loaded.stated or sides.questions.stated)
    found = contradiction(sides, way.places, by_position=by_position)
    if found is None:
        return
    name = found.column.name
    rename = ' To join by it, call the column "question".' if found.question else ""
    raise InputError(
        f'{_row(sides, found.row)}: the column "{name}" {"repeats a question" if found.question else "says"} '
        f"{shortened(str(found.column.values[found.row]), most=MOST_TEXT)}, but the case (joined {_HOW[way.by]}) "
        f"has {shortened(str(found.asked), most=MOST_TEXT)}: the rows are in another order, or of other "
        f"questions.{rename} Name the columns of the ids (--id-column, --prediction-id-column). Only if you know "
        "that this join is right: --ignore-questions"
    )


_HOW: Mapping[JoinedBy, str] = {
    "id": "by id",
    "question": "by question",
    "position": "by position",
    "row": "by row",
}


def _row(sides: Sides, row: int) -> str:
    """The place of a prediction in its file."""
    return (sides.loaded.predictions[row].origin or "").partition(", ")[2] or f"item {row + 1}"


class _Echo(Struct, frozen=True):
    """The values that predictions repeat, and the value of each case."""

    what: str
    column: Column
    asked: Sequence[object]

    def compared(self, places: Sequence[int | None]) -> tuple[set[int], list[int]]:
        """The rows whose value can be compared with that of the case at their place, and those that differ."""
        reading = as_question if self.what == "question" else as_name
        compared: set[int] = set()
        wrong: list[int] = []
        for row, (value, place) in enumerate(zip(self.column.values, places, strict=True)):
            if place is None or not (repeated := reading(value)) or not (own := reading(self.asked[place])):
                continue
            compared.add(row)
            if repeated != own:
                wrong.append(row)
        return compared, wrong


def _advice(echoes: Sequence[_Echo], sides: Sides, way: JoinStrategy) -> str:
    """The way of joining under which the most predictions agree with their case, and none differs from it; if there is
    no such way, the columns that may be meant.
    """
    best: tuple[int, str] | None = None
    for option, places in other_ways(sides):
        if list(places) == list(way.places):
            continue
        counts = [echo.compared(places) for echo in echoes]
        compared = len(set().union(*(rows for rows, _ in counts)))
        if compared and not any(wrong for _, wrong in counts) and (best is None or compared > best[0]):
            best = compared, option
    if best is None:
        return f" {did_you_mean(candidates_of(sides))}".rstrip()
    return f" Use {best[1]}: with it, all {best[0]} predictions that can be compared agree with their case."


Places = Sequence[int | None]


def other_ways(sides: Sides) -> Iterator[tuple[str, Places]]:
    """Each other way to join the two, with the options that choose it and the place of the case of each prediction."""
    count = len(sides.loaded.predictions)
    keys = [loose_id(id_) for id_ in sides.prediction_ids]
    own = [loose_id(id_) for id_ in sides.case_ids]
    name = column_of("id", sides.questions.columns) or "question_id"
    columns = [
        (column.name, ids)
        for column in sides.prediction_columns
        if not repeats_case(column) and (ids := ids_in(column)) is not None
    ]
    if not sides.questions.by_position:
        yield f"--prediction-id-column {_quoted(name)}", _places(keys, own)
        for column, ids in columns:
            yield f"--prediction-id-column {_quoted(column)}", _places(ids, own)
    for other in sides.case_columns:
        if repeats_case(other) or (values := ids_in(other)) is None:
            continue
        yield f"--id-column {_quoted(other.name)}", _places(keys, values)
        for column, ids in columns:
            options = f"--id-column {_quoted(other.name)} --prediction-id-column {_quoted(column)}"
            yield options, _places(ids, values)
    if count == sides.count:
        yield BY_POSITION, range(count)


def _places(ids: Sequence[str], own: Sequence[str]) -> Places:
    places = {id_: place for place, id_ in enumerate(own)}
    return [places.get(id_) for id_ in ids]


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'
