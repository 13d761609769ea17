"""Find the way of joining under which what predictions repeat agrees with their cases, to offer it in a message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from assay.cases.fields import normal
from assay.cases.joining.candidates import DATABASES, QUESTIONS, ids_in, loose_id
from assay.cases.joining.strategies import JoinStrategy, id_column
from assay.cases.joining.wording import BY_POSITION
from assay.cases.paths import leaf_columns
from assay.platform.spool import parts_of
from assay.ports import Column, LoadedCases, LoadedPredictions

Places = Sequence[int | None]


def better_way(
    questions: LoadedCases, loaded: LoadedPredictions, way: JoinStrategy, agrees: Callable[[Places], tuple[int, int]]
) -> str | None:
    """The options of the way of joining under which the most predictions agree with their case, and all that can be
    compared do; None if there is no such way.

    ``agrees`` counts, of the predictions that repeat something, how many do, and how many differ from their case.
    """
    best: tuple[int, str] | None = None
    for option, places in _ways(questions, loaded):
        if list(places) == list(way.places):
            continue
        compared, wrong = agrees(places)
        if compared and not wrong and (best is None or compared > best[0]):
            best = compared, option
    if best is None:
        return None
    compared, option = best
    return f"Use {option}: with it, all {compared} predictions that can be compared agree with their case."


def _ways(questions: LoadedCases, loaded: LoadedPredictions) -> Iterator[tuple[str, Places]]:
    """Each other way to join the two, with the options that choose it and the place of the case of each prediction."""
    count = len(loaded.predictions)
    keys = [loose_id(one.case_id) for one in parts_of(loaded.predictions, "case_id")]
    own = [loose_id(case.id) for case in parts_of(questions.cases, "id")]
    name = id_column(questions.columns) or "question_id"
    columns = [
        (column.name, ids) for column in _no_echoes(leaf_columns(loaded.beside)) if (ids := ids_in(column)) is not None
    ]
    if not questions.by_position:
        yield f"--prediction-id-column {_quoted(name)}", _places(keys, own)
        for column, ids in columns:
            yield f"--prediction-id-column {_quoted(column)}", _places(ids, own)
    for other in _no_echoes(leaf_columns(questions.beside)):
        if (values := ids_in(other)) is None:
            continue
        yield f"--id-column {_quoted(other.name)}", _places(keys, values)
        for column, ids in columns:
            options = f"--id-column {_quoted(other.name)} --prediction-id-column {_quoted(column)}"
            yield options, _places(ids, values)
    if count == len(questions.cases):
        yield BY_POSITION, range(count)


def _no_echoes(columns: Iterable[Column]) -> Iterator[Column]:
    """The columns without those that hold questions or databases: these agree with themselves."""
    return (column for column in columns if normal(column.name) not in QUESTIONS | DATABASES)


def _places(ids: Sequence[str], own: Sequence[str]) -> Places:
    places = {id_: place for place, id_ in enumerate(own)}
    return [places.get(id_) for id_ in ids]


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'
