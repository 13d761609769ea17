"""Write a query so that it reads chosen rows at several places together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.sql.probes.any_row import AnyRow
from assay.sql.probes.edits import Edit

MOST_COMBINED = 256
"""At most this many combinations of rows are tried."""


class RowChoice(Struct, frozen=True):
    """The rows to read at one place."""

    place: AnyRow
    row: int = 0
    """For a scalar subquery: which one of `AnyRow.distinct_rows`."""
    labels: tuple[str, ...] = ()
    """For bare columns: the texts of the rows in `AnyRow.candidates`, one per group."""
    columns: tuple[str, ...] = ()
    """The columns of the result, for what a star stands for."""


def reading(choices: Sequence[RowChoice]) -> str:
    """The whole query with these rows read, at most one choice per place. No place may enclose another."""
    edit = Edit(choices[0].place.query)
    for choice in choices:
        if choice.place.kind == "scalar subquery":
            choice.place.take(edit, choice.row)
        else:
            choice.place.steer_to(edit, choice.labels, choice.columns)
    return edit.written()


def readings(combinations: Iterable[Sequence[RowChoice]]) -> Iterator[str]:
    """Like `reading`, for many combinations of choices at the same places, in a fraction of the time: the query is
    written once, and the labels of bare columns are inserted into its text."""
    parts: list[str] | None = None
    for choices in combinations:
        if any(choice.place.kind == "scalar subquery" for choice in choices):
            yield reading(choices)
            continue
        if parts is None:
            marks = [f"assay label {number}" for number in range(len(choices))]
            text = reading([replace(choice, labels=(mark,)) for choice, mark in zip(choices, marks, strict=True)])
            parts = [text]
            for mark in marks:
                parts[-1:] = parts[-1].split(f"'{mark}'")
        if len(parts) != len(choices) + 1:
            yield reading(choices)
            continue
        lists = [", ".join("'" + label.replace("'", "''") + "'" for label in choice.labels) for choice in choices]
        yield parts[0] + "".join(labels + part for labels, part in zip(lists, parts[1:], strict=True))


def are_apart(places: Sequence[AnyRow]) -> bool:
    """Whether the choices at each place are certainly independent of the choices at the others."""
    nodes = {id(place.node) for place in places}
    if len(nodes) < len(places) or any(place.query is not places[0].query for place in places):
        return False  # one subquery is two places, or the query is written in two ways
    if len(nodes) > 1 and places[0].query.tree.args.get("with_") is not None:
        return False
    for place in places:
        above = place.node.parent
        while above is not None:
            if id(above) in nodes:
                return False
            above = above.parent
    return True
