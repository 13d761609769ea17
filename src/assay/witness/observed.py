"""Undeclared regularities of the real data, each with a check of whether a small database keeps it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Cell, Row
from assay.model.witness import Assumption, AssumptionKind
from assay.witness.plan import Link, Plan, PlanTable, loosely

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Database = Sequence[Sequence[Row]]
"""Rows per table of a plan."""


class RealTable(Struct, frozen=True, kw_only=True):
    """The rows read from a table of the real database."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    complete: bool = True
    """Whether these are all its rows."""


class ObservedConstraint(Struct, frozen=True, kw_only=True):
    """A regularity of some columns of one table, in terms of a plan's tables and columns."""

    kind: ClassVar[AssumptionKind]
    table: int
    title: str
    """The table's name, for readers."""
    columns: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    """The columns' names."""

    def broken_by(self, database: Database) -> Assumption | None:
        """What a database has instead; None if it keeps the regularity."""
        raise NotImplementedError

    def added_to(self, plan: Plan) -> Plan:
        """The plan with it as a constraint; unchanged if the pools of values already keep it."""
        table = self.constrained(plan.tables[self.table])
        return replace(plan, tables=(*plan.tables[: self.table], table, *plan.tables[self.table + 1 :]))

    def constrained(self, table: PlanTable) -> PlanTable:
        """The table of a plan with it as a constraint."""
        return table

    def _broken(self, text: str, broken: str) -> Assumption:
        return Assumption(kind=self.kind, table=self.title, columns=self.names, text=text, broken=broken)


class FilledHeld(ObservedConstraint, frozen=True):
    """The table is not empty."""

    kind: ClassVar[AssumptionKind] = "not_empty"

    def broken_by(self, database: Database) -> Assumption | None:
        return None if database[self.table] else self._broken(f"{self.title} has rows", f"{self.title} is empty")

    def constrained(self, table: PlanTable) -> PlanTable:
        return replace(table, filled=True)


class NeverNullHeld(ObservedConstraint, frozen=True):
    """A column without NULL."""

    kind: ClassVar[AssumptionKind] = "never_null"

    def broken_by(self, database: Database) -> Assumption | None:
        (index,) = self.columns
        if all(row[index] is not None for row in database[self.table]):
            return None
        named = f"{self.title}.{self.names[0]}"
        return self._broken(f"no {named} is NULL", f"a {named} is NULL")

    def constrained(self, table: PlanTable) -> PlanTable:
        (index,) = self.columns
        column = replace(table.columns[index], never_null=True)
        return replace(table, columns=(*table.columns[:index], column, *table.columns[index + 1 :]))


class UniqueHeld(ObservedConstraint, frozen=True):
    """Columns whose values are unique across rows."""

    kind: ClassVar[AssumptionKind] = "unique"

    def broken_by(self, database: Database) -> Assumption | None:
        keys = [tuple([row[index] for index in self.columns]) for row in database[self.table]]
        kept = [key for key in keys if None not in key]
        if len(set(kept)) == len(kept):
            return None
        *others, last = self.names
        shared = f"{', '.join(others)} and {last}" if others else last
        return self._broken(f"no two rows of {self.title} share {shared}", f"two rows of {self.title} share {shared}")

    def constrained(self, table: PlanTable) -> PlanTable:
        return replace(table, unique=(*table.unique, self.columns))


class DependencyHeld(ObservedConstraint, frozen=True):
    """The first column determines the second."""

    kind: ClassVar[AssumptionKind] = "dependency"

    def broken_by(self, database: Database) -> Assumption | None:
        (determines, determined), (first_name, second_name) = self.columns, self.names
        seen: dict[Cell, Cell] = {}
        for row in database[self.table]:
            first, second = row[determines], row[determined]
            if first is not None and seen.setdefault(first, second) != second:
                return self._broken(
                    f"rows of {self.title} that share {first_name} share {second_name}",
                    f"two rows of {self.title} share {first_name} but not {second_name}",
                )
        return None

    def constrained(self, table: PlanTable) -> PlanTable:
        return replace(table, dependencies=(*table.dependencies, (self.columns[0], self.columns[1])))


class InclusionHeld(ObservedConstraint, frozen=True, kw_only=True):
    """Every value of a column occurs in a column of another table."""

    kind: ClassVar[AssumptionKind] = "inclusion"
    other: int
    other_column: int
    other_name: str
    """The other table and column, for readers."""

    def broken_by(self, database: Database) -> Assumption | None:
        (index,) = self.columns
        there = {loosely(row[self.other_column]) for row in database[self.other]}
        if all(row[index] is None or loosely(row[index]) in there for row in database[self.table]):
            return None
        ours = f"{self.title}.{self.names[0]}"
        return self._broken(
            f"every {ours} occurs in {self.other_name}", f"a {ours} does not occur in {self.other_name}"
        )

    def constrained(self, table: PlanTable) -> PlanTable:
        link = Link(columns=self.columns, table=self.other, others=(self.other_column,), declared=False)
        return replace(table, links=(*table.links, link))


class RangeHeld(ObservedConstraint, frozen=True, kw_only=True):
    """The values of a column: between two bounds, one of a few, or of one kind and spelling."""

    kind: ClassVar[AssumptionKind] = "range"
    low: float | str | None = None
    high: float | str | None = None
    closed: frozenset[Cell] | None = None
    spellings: Mapping[str, frozenset[str]] | None = None
    """The observed texts, by their text in lower case: another spelling of the same text is not plausible."""
    shape: str = "text"

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
        (index,) = self.columns
        wrong = next((row[index] for row in database[self.table] if not self.allows(row[index])), None)
        if wrong is None:
            return None
        said = f"between {self.low} and {self.high}"
        if self.closed is not None:
            few = sorted(map(repr, self.closed))
            said = f"one of {', '.join(few)}" if len(few) <= 4 else f"one of {len(few)} values"
        elif self.spellings is not None and self.shape == "text":
            said = "spelt otherwise"
        named = f"{self.title}.{self.names[0]}"
        return self._broken(f"every {named} is {said}", f"{named} is {wrong!r} (in the data it is {said})")


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
    """The indexes of columns, by their names in any case; None if one was not read."""
    there = {name.lower(): index for index, name in enumerate(table.columns)}
    found = [there.get(name.lower()) for name in names]
    return None if None in found else tuple(place for place in found if place is not None)
