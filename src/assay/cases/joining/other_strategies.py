"""List the ways of joining that a user could ask for, to offer in a message one that agrees with the cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.cases.joining.candidates import ids_in, loose_id
from assay.cases.joining.sides import Sides, column_of, repeats_case
from assay.cases.joining.wording import BY_POSITION

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
