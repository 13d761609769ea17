"""Regularities of the real data that nothing declares, each with a check of whether a small database keeps it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from assay.model import Cell, Row
from assay.model.witness import Assumption, AssumptionKind
from assay.sql.witness_facts import ColumnKey, PairFacts
from assay.witness.plan import Link, Plan, PlanTable, loosely

LEAST_ROWS = 5
"""In a table of fewer rows everything looks unique."""
_CLOSED_VALUES = 20
_SHAPES = ("text", "number", "date")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Database = Sequence[Sequence[Row]]
"""Rows per table of a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealTable:
    """What was read of a table of the real database."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    complete: bool = True
    """Whether these are all its rows."""


class Held(Protocol):
    """A regularity, in terms of a plan's tables and columns."""

    @property
    def kind(self) -> AssumptionKind: ...

    def broken_by(self, database: Database) -> Assumption | None:
        """What a database has in its place; None where it keeps it."""
        ...

    def added_to(self, plan: Plan) -> Plan:
        """The plan with it as a constraint."""
        ...


def _with_table(plan: Plan, number: int, table: PlanTable) -> Plan:
    tables = (*plan.tables[:number], table, *plan.tables[number + 1 :])
    return replace(plan, tables=tables)


@dataclass(frozen=True, slots=True)
class FilledHeld:
    """The table has rows."""

    table: int
    title: str
    kind: AssumptionKind = "not_empty"

    def broken_by(self, database: Database) -> Assumption | None:
        if database[self.table]:
            return None
        return Assumption(
            kind=self.kind, table=self.title, text=f"{self.title} holds rows", broken=f"{self.title} is empty"
        )

    def added_to(self, plan: Plan) -> Plan:
        return _with_table(plan, self.table, replace(plan.tables[self.table], filled=True))


@dataclass(frozen=True, slots=True)
class NeverNullHeld:
    """A column without NULL."""

    table: int
    column: int
    title: str
    name: str
    kind: AssumptionKind = "never_null"

    def broken_by(self, database: Database) -> Assumption | None:
        if all(row[self.column] is not None for row in database[self.table]):
            return None
        return Assumption(
            kind=self.kind,
            table=self.title,
            columns=(self.name,),
            text=f"no {self.title}.{self.name} is NULL",
            broken=f"a {self.title}.{self.name} is NULL",
        )

    def added_to(self, plan: Plan) -> Plan:
        table = plan.tables[self.table]
        column = replace(table.columns[self.column], never_null=True)
        columns = (*table.columns[: self.column], column, *table.columns[self.column + 1 :])
        return _with_table(plan, self.table, replace(table, columns=columns))


@dataclass(frozen=True, slots=True)
class UniqueHeld:
    """Columns that no two rows share."""

    table: int
    columns: tuple[int, ...]
    title: str
    names: tuple[str, ...]
    kind: AssumptionKind = "unique"

    def broken_by(self, database: Database) -> Assumption | None:
        keys = [tuple([row[place] for place in self.columns]) for row in database[self.table]]
        kept = [key for key in keys if None not in key]
        if len(set(kept)) == len(kept):
            return None
        shared = _listed(self.names)
        return Assumption(
            kind=self.kind,
            table=self.title,
            columns=self.names,
            text=f"no two rows of {self.title} share {shared}",
            broken=f"two rows of {self.title} share {shared}",
        )

    def added_to(self, plan: Plan) -> Plan:
        table = plan.tables[self.table]
        return _with_table(plan, self.table, replace(table, unique=(*table.unique, self.columns)))


@dataclass(frozen=True, slots=True)
class DependencyHeld:
    """A column that determines another."""

    table: int
    first: int
    second: int
    title: str
    names: tuple[str, str]
    kind: AssumptionKind = "dependency"

    def broken_by(self, database: Database) -> Assumption | None:
        seen: dict[Cell, Cell] = {}
        for row in database[self.table]:
            first, second = row[self.first], row[self.second]
            if first is not None and seen.setdefault(first, second) != second:
                return Assumption(
                    kind=self.kind,
                    table=self.title,
                    columns=self.names,
                    text=f"rows of {self.title} that share {self.names[0]} share {self.names[1]}",
                    broken=f"two rows of {self.title} share {self.names[0]} and not {self.names[1]}",
                )
        return None

    def added_to(self, plan: Plan) -> Plan:
        table = plan.tables[self.table]
        return _with_table(
            plan, self.table, replace(table, dependencies=(*table.dependencies, (self.first, self.second)))
        )


@dataclass(frozen=True, slots=True)
class InclusionHeld:
    """Every value of a column occurs in another."""

    table: int
    column: int
    other: int
    other_column: int
    titles: tuple[str, str]
    names: tuple[str, str]
    kind: AssumptionKind = "inclusion"

    def broken_by(self, database: Database) -> Assumption | None:
        there = {loosely(row[self.other_column]) for row in database[self.other]}
        if all(row[self.column] is None or loosely(row[self.column]) in there for row in database[self.table]):
            return None
        ours, theirs = f"{self.titles[0]}.{self.names[0]}", f"{self.titles[1]}.{self.names[1]}"
        return Assumption(
            kind=self.kind,
            table=self.titles[0],
            columns=(self.names[0],),
            text=f"every {ours} is some {theirs}",
            broken=f"a {ours} is no {theirs}",
        )

    def added_to(self, plan: Plan) -> Plan:
        table = plan.tables[self.table]
        link = Link(columns=(self.column,), table=self.other, others=(self.other_column,), declared=False)
        return _with_table(plan, self.table, replace(table, links=(*table.links, link)))


@dataclass(frozen=True, slots=True)
class RangeHeld:
    """The values of a column: between two bounds, one of a few, or of one kind and spelling."""

    table: int
    column: int
    title: str
    name: str
    low: float | str | None = None
    high: float | str | None = None
    closed: frozenset[Cell] | None = None
    spellings: Mapping[str, frozenset[str]] | None = None
    """The observed texts, by their text in lower case: another spelling of the same is not plausible."""
    shape: str = "text"
    kind: AssumptionKind = "range"

    def allows(self, value: Cell) -> bool:
        """Whether the column may have this value."""
        if value is None:
            return True
        if self.closed is not None:
            return value in self.closed
        if self.spellings is not None:
            if not isinstance(value, str) or not value:
                return value in self.spellings.get("", ())
            there = self.spellings.get(value.casefold())
            if there is not None:
                return value in there
            if self.shape != "text" and _shape(value) != self.shape:
                return False
            if self.shape == "number":
                return float(self.low or 0) <= float(value) <= float(self.high or 0)
            return self.shape != "date" or str(self.low) <= value <= str(self.high)
        if isinstance(value, int | float) and isinstance(self.low, int | float) and isinstance(self.high, int | float):
            return self.low <= value <= self.high
        return False

    def broken_by(self, database: Database) -> Assumption | None:
        wrong = next((row[self.column] for row in database[self.table] if not self.allows(row[self.column])), None)
        if wrong is None:
            return None
        return Assumption(
            kind=self.kind,
            table=self.title,
            columns=(self.name,),
            text=f"every {self.title}.{self.name} is {self._said()}",
            broken=f"{self.title}.{self.name} is {wrong!r} (in the data it is {self._said()})",
        )

    def _said(self) -> str:
        if self.closed is not None:
            few = sorted(map(repr, self.closed))
            return f"one of {', '.join(few)}" if len(few) <= 4 else f"one of {len(few)} values"
        if self.spellings is not None and self.shape == "text":
            return "spelt otherwise"
        return f"between {self.low} and {self.high}"

    def added_to(self, plan: Plan) -> Plan:
        return plan  # the pools keep it


def places_of(table: RealTable, names: Sequence[str]) -> tuple[int, ...] | None:
    """The places of columns, by their names in any case; None where one was not read."""
    there = {name.lower(): place for place, name in enumerate(table.columns)}
    found = [there.get(name.lower()) for name in names]
    return None if None in found else tuple(place for place in found if place is not None)


def mine(plan: Plan, facts: PairFacts, real: Mapping[str, RealTable]) -> list[Held]:
    """What holds in the real data, as far as the plan's columns are concerned. Tables are named in lower case."""
    columns: dict[ColumnKey, tuple[int, int, list[Cell]]] = {}
    held: list[Held] = []
    for number, table in enumerate(plan.tables):
        name = table.schema.name.lower()
        rows = real.get(name)
        if rows is None or not rows.rows:
            continue
        if table.read:
            held.append(FilledHeld(number, table.title))
        cells: list[list[Cell] | None] = []
        for column in table.columns:
            # What holds of a column that no query reads says nothing about their results.
            found = places_of(rows, (column.name,)) if column.used else None
            cells.append(None if found is None else [row[found[0]] for row in rows.rows])
        for place, values in enumerate(cells):
            if values is not None:
                columns[table.columns[place].key] = (number, place, values)
                held += _of_column(table, number, place, values)
        if len(rows.rows) >= LEAST_ROWS:
            held += _of_pairs(table, number, cells, {key for group in facts.classes for key in group})
    held += _inclusions(plan, facts, columns, real)
    return held


def _of_column(table: PlanTable, number: int, place: int, values: Sequence[Cell]) -> list[Held]:
    column = table.columns[place]
    held: list[Held] = []
    there = [value for value in values if value is not None]
    if len(there) == len(values) and not column.never_null:
        held.append(NeverNullHeld(number, place, table.title, column.name))
    declared = any(set(places) <= {place} for places in table.unique)
    linked = any(place in link.columns for link in table.links)
    # A new row has a new key: no range bounds it.
    if there and not declared and not linked:
        found = _range(table, number, place, there)
        if found is not None:
            held.append(found)
    if len(there) >= LEAST_ROWS and not declared and len(set(there)) == len(there):
        held.append(UniqueHeld(number, (place,), table.title, (column.name,)))
    return held


def _range(table: PlanTable, number: int, place: int, values: Sequence[Cell]) -> RangeHeld | None:
    name = table.columns[place].name
    distinct = set(values)
    if all(isinstance(value, int | float) for value in distinct):
        numbers = [value for value in distinct if isinstance(value, int | float)]
        return RangeHeld(number, place, table.title, name, low=min(numbers), high=max(numbers))
    if not all(isinstance(value, str) for value in distinct):
        return RangeHeld(number, place, table.title, name, closed=frozenset(distinct))
    texts = [value for value in distinct if isinstance(value, str)]
    if len(texts) <= _CLOSED_VALUES and len(values) >= 3 * len(texts):
        return RangeHeld(number, place, table.title, name, closed=frozenset(texts))
    # A few that are unlike the rest, such as 'null' among numbers, may occur again; others like them may not.
    shape, same = max(((kind, [one for one in texts if _shape(one) == kind]) for kind in _SHAPES), key=_size)
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
    return RangeHeld(number, place, table.title, name, low=low, high=high, spellings=frozen, shape=shape)


def _size(found: tuple[str, list[str]]) -> int:
    return len(found[1])


def _shape(text: str) -> str:
    if _DATE.match(text):
        return "date"
    try:
        number = float(text)
    except ValueError:
        return "text"
    return "number" if abs(number) < 1e300 else "text"


def _of_pairs(
    table: PlanTable, number: int, cells: Sequence[list[Cell] | None], linked: Collection[ColumnKey]
) -> list[Held]:
    """What pairs of columns keep: dependencies, and uniqueness of columns that refer to other tables."""
    held: list[Held] = []
    alone = [
        values is None or len(set(values)) == len(values) or any(places == (place,) for places in table.unique)
        for place, values in enumerate(cells)
    ]
    names = [column.name for column in table.columns]
    for first, ours in enumerate(cells):
        if ours is None or alone[first]:
            continue
        for second, theirs in enumerate(cells):
            if theirs is None or second == first or not table.columns[second].used:
                continue
            pairs = set(zip(ours, theirs, strict=True))
            repeated = len(ours) - len(set(ours))
            if len(pairs) == len(set(ours)) and repeated >= 2 and len(set(theirs)) > 1:
                held.append(DependencyHeld(number, first, second, table.title, (names[first], names[second])))
            both = all(table.columns[place].key in linked for place in (first, second))
            if first < second and both and not alone[second] and len(pairs) == len(ours) and None not in ours:
                held.append(UniqueHeld(number, (first, second), table.title, (names[first], names[second])))
    rows = list(zip(*[values for values in cells if values is not None], strict=True))
    places = tuple(place for place, values in enumerate(cells) if values is not None)
    if rows and not any(alone[place] for place in places) and len(set(rows)) == len(rows) and _is_all(table, places):
        held.append(UniqueHeld(number, places, table.title, tuple(names[place] for place in places)))
    return held


def _is_all(table: PlanTable, places: Sequence[int]) -> bool:
    """Whether these are all the columns that the table gets values for: rows with further ones are never equal."""
    return len(places) == len(table.columns)


def _inclusions(
    plan: Plan,
    facts: PairFacts,
    columns: Mapping[ColumnKey, tuple[int, int, list[Cell]]],
    real: Mapping[str, RealTable],
) -> list[Held]:
    held: list[Held] = []
    for group in facts.classes:
        mates = sorted(key for key in group if key in columns)
        for key in mates:
            number, place, values = columns[key]
            ours = {loosely(value) for value in values if value is not None}
            for other in mates:
                theirs, their_place, other_values = columns[other]
                declared = any(
                    link.columns == (place,) and link.table == theirs and link.others == (their_place,)
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
                titles = (plan.tables[number].title, plan.tables[theirs].title)
                names = (plan.tables[number].columns[place].name, plan.tables[theirs].columns[their_place].name)
                held.append(InclusionHeld(number, place, theirs, their_place, titles, names))
    return held


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
