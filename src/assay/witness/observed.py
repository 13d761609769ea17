"""Regularities of the real data that nothing declares, each with a check of whether a small database keeps it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Cell, Row
from assay.model.witness import Assumption, AssumptionKind
from assay.witness.plan import Link, Plan, PlanTable, loosely

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Database = Sequence[Sequence[Row]]
"""Rows per table of a plan."""


class RealTable(Struct, frozen=True, kw_only=True):
    """What was read of a table of the real database."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    complete: bool = True
    """Whether these are all its rows."""


class ObservedConstraint(Protocol):
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


class FilledHeld(Struct, frozen=True):
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


class NeverNullHeld(Struct, frozen=True):
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


class UniqueHeld(Struct, frozen=True):
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


class DependencyHeld(Struct, frozen=True):
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


class InclusionHeld(Struct, frozen=True):
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


class RangeHeld(Struct, frozen=True):
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
            if self.shape != "text" and shape_of(value) != self.shape:
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


def shape_of(text: str) -> str:
    """Whether a text is a date, a number, or neither."""
    if _DATE.match(text):
        return "date"
    try:
        number = float(text)
    except ValueError:
        return "text"
    return "number" if abs(number) < 1e300 else "text"


def places_of(table: RealTable, names: Sequence[str]) -> tuple[int, ...] | None:
    """The places of columns, by their names in any case; None where one was not read."""
    there = {name.lower(): place for place, name in enumerate(table.columns)}
    found = [there.get(name.lower()) for name in names]
    return None if None in found else tuple(place for place in found if place is not None)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
