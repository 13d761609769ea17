"""Find undeclared regularities in the real data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from assay.model import Cell, Row
from assay.witness.observed import (
    DependencyHeld,
    FilledHeld,
    InclusionHeld,
    NeverNullHeld,
    ObservedConstraint,
    RangeHeld,
    RealTable,
    UniqueHeld,
    places_of,
    shape_of,
)
from assay.witness.plan import Plan, PlanTable, loosely
from assay.witness.pools import distinct_values, is_short
from assay.witness.query_facts import ColumnKey, PairFacts

LEAST_ROWS = 5
"""In a table with fewer rows everything looks unique."""
_CLOSED_VALUES = 20
_SHAPES = ("text", "number", "date")
_REAL_VALUES = 8
_REAL_ROWS = 200


def sample(plan: Plan, real: Mapping[str, RealTable]) -> tuple[dict[ColumnKey, list[Cell]], list[list[Row]]]:
    """The first values of each column of a plan in the real data, and rows of each table; no rows if none has any."""
    values: dict[ColumnKey, list[Cell]] = {}
    samples: list[list[Row]] = []
    for table in plan.tables:
        rows = real.get(table.schema.name.lower())
        there = {} if rows is None else {name.lower(): index for index, name in enumerate(rows.columns)}
        places = [there[column.key[1]] for column in table.columns if column.key[1] in there]
        if rows is None or len(places) < len(table.columns):
            samples.append([])
        else:
            parts = (tuple([row[index] for index in places]) for row in rows.rows[:_REAL_ROWS])
            samples.append([row for row in parts if all(map(is_short, row))])
        for column in table.columns:
            if rows is not None and column.key[1] in there:
                values[column.key] = distinct_values(rows.rows, there[column.key[1]], _REAL_VALUES)
    return values, samples if any(samples) else []


def mine(plan: Plan, facts: PairFacts, real: Mapping[str, RealTable]) -> list[ObservedConstraint]:
    """The regularities of the real data in the plan's columns. Tables are named in lower case."""
    columns: dict[ColumnKey, tuple[int, int, list[Cell]]] = {}
    held: list[ObservedConstraint] = []
    for number, table in enumerate(plan.tables):
        name = table.schema.name.lower()
        rows = real.get(name)
        if rows is None or not rows.rows:
            continue
        if table.read:
            held.append(FilledHeld(table=number, title=table.title))
        cells: list[list[Cell] | None] = []
        for column in table.columns:
            # Regularities of a column that no query reads do not affect their results.
            found = places_of(rows, (column.name,)) if column.used else None
            cells.append(None if found is None else [row[found[0]] for row in rows.rows])
        for index, values in enumerate(cells):
            if values is not None:
                columns[table.columns[index].key] = (number, index, values)
                held += _of_column(table, number, index, values)
        if len(rows.rows) >= LEAST_ROWS:
            held += _of_pairs(table, number, cells, {key for group in facts.classes for key in group})
    held += _inclusions(plan, facts, columns, real)
    return held


def _of_column(table: PlanTable, number: int, place: int, values: Sequence[Cell]) -> list[ObservedConstraint]:
    column = table.columns[place]
    held: list[ObservedConstraint] = []
    there = [value for value in values if value is not None]
    if len(there) == len(values) and not column.never_null:
        held.append(NeverNullHeld(table=number, title=table.title, columns=(place,), names=(column.name,)))
    declared = any(set(places) <= {place} for places in table.unique)
    linked = any(place in link.columns for link in table.links)
    # A new row has a new key: no range bounds it.
    if there and not declared and not linked:
        found = _range(table, number, place, there)
        if found is not None:
            held.append(found)
    if len(there) >= LEAST_ROWS and not declared and len(set(there)) == len(there):
        held.append(UniqueHeld(table=number, title=table.title, columns=(place,), names=(column.name,)))
    return held


def _range(table: PlanTable, number: int, place: int, values: Sequence[Cell]) -> RangeHeld | None:
    made = partial(RangeHeld, table=number, title=table.title, columns=(place,), names=(table.columns[place].name,))
    distinct = set(values)
    if not all(map(is_short, distinct)):
        return None  # no small database could hold such values
    if all(isinstance(value, int | float) for value in distinct):
        numbers = [value for value in distinct if isinstance(value, int | float)]
        return made(low=min(numbers), high=max(numbers))
    if not all(isinstance(value, str) for value in distinct):
        return made(closed=frozenset(distinct))
    texts = [value for value in distinct if isinstance(value, str)]
    if len(texts) <= _CLOSED_VALUES and len(values) >= 3 * len(texts):
        return made(closed=frozenset(texts))
    # A few values unlike the rest, for example 'null' among numbers, may occur again; others like them may not.
    by_shape = ((kind, [text for text in texts if shape_of(text) == kind]) for kind in _SHAPES)
    shape, same = max(by_shape, key=lambda found: len(found[1]))
    if len(same) < 0.8 * len(texts):
        shape = "text"
    low: float | str | None = None
    high: float | str | None = None
    if shape == "number":
        low, high = min(map(float, same)), max(map(float, same))
    elif shape == "date":
        low, high = min(same), max(same)
    spellings: dict[str, set[str]] = {}
    for text in texts:
        spellings.setdefault(text.casefold(), set()).add(text)
    frozen = {folded: frozenset(there) for folded, there in spellings.items()}
    return made(low=low, high=high, spellings=frozen, shape=shape)


def _of_pairs(
    table: PlanTable, number: int, cells: Sequence[list[Cell] | None], linked: Collection[ColumnKey]
) -> list[ObservedConstraint]:
    """The regularities of pairs of columns: dependencies, and uniqueness of columns that refer to other tables."""
    held: list[ObservedConstraint] = []
    alone = [
        values is None or len(set(values)) == len(values) or any(places == (index,) for places in table.unique)
        for index, values in enumerate(cells)
    ]

    def of_columns(kind: type[DependencyHeld | UniqueHeld], *places: int) -> ObservedConstraint:
        names = tuple([table.columns[index].name for index in places])
        return kind(table=number, title=table.title, columns=places, names=names)

    for first, ours in enumerate(cells):
        if ours is None or alone[first]:
            continue
        for second, theirs in enumerate(cells):
            if theirs is None or second == first or not table.columns[second].used:
                continue
            pairs = set(zip(ours, theirs, strict=True))
            repeated = len(ours) - len(set(ours))
            if len(pairs) == len(set(ours)) and repeated >= 2 and len(set(theirs)) > 1:
                held.append(of_columns(DependencyHeld, first, second))
            both = all(table.columns[index].key in linked for index in (first, second))
            if first < second and both and not alone[second] and len(pairs) == len(ours) and None not in ours:
                held.append(of_columns(UniqueHeld, first, second))
    rows = list(zip(*[values for values in cells if values is not None], strict=True))
    places = tuple(index for index, values in enumerate(cells) if values is not None)
    # These must be all the columns that get values: rows with further ones are never equal.
    is_all = len(places) == len(table.columns)
    if rows and not any(alone[index] for index in places) and len(set(rows)) == len(rows) and is_all:
        held.append(of_columns(UniqueHeld, *places))
    return held


def _inclusions(
    plan: Plan,
    facts: PairFacts,
    columns: Mapping[ColumnKey, tuple[int, int, list[Cell]]],
    real: Mapping[str, RealTable],
) -> list[ObservedConstraint]:
    held: list[ObservedConstraint] = []
    for group in facts.classes:
        mates = sorted(key for key in group if key in columns)
        for key in mates:
            number, index, values = columns[key]
            ours = {loosely(value) for value in values if value is not None}
            for other in mates:
                theirs, their_place, other_values = columns[other]
                declared = any(
                    link.columns == (index,) and link.table == theirs and link.others == (their_place,)
                    for link in plan.tables[number].links
                )
                complete = real[other[0]].complete
                if (
                    other == key
                    or declared
                    or not complete
                    or len(ours) < 3
                    or not ours <= set(map(loosely, other_values))
                ):
                    continue
                our_table, their_table = plan.tables[number], plan.tables[theirs]
                held.append(
                    InclusionHeld(
                        table=number,
                        title=our_table.title,
                        columns=(index,),
                        names=(our_table.columns[index].name,),
                        other=theirs,
                        other_column=their_place,
                        other_name=f"{their_table.title}.{their_table.columns[their_place].name}",
                    )
                )
    return held
