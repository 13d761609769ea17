"""Symbolic tables: rows that may be present or not, cells that may be NULL, under the declared constraints."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import z3
from msgspec import Struct, field

from assay.sql.algebra.model import Agg
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import SchemaContext, TableFacts
from assay.witness.proof.solver import NO, NOTHING, YES, Value, as_number, choice


class Row(Struct, frozen=True):
    """A symbolic row: when it is present, and its cells."""

    there: Any
    cells: tuple[Value, ...]


class Tables(Struct):
    """The symbolic tables."""

    world: SchemaContext
    rows: int
    texts: Sequence[str]
    made: dict[str, list[Row]] = field(default_factory=dict)
    conditions: list[Any] = field(default_factory=list)

    def table(self, name: str) -> list[Row]:
        """The rows of a table, with the conditions from its constraints."""
        if name in self.made:
            return self.made[name]
        facts = self.world.tables[name]
        rows = [
            Row(
                z3.Bool(f"{name}.{index}"),
                tuple(
                    (
                        NO if column in facts.not_null else z3.Bool(f"{name}.{index}.{column} is null"),
                        _symbol(f"{name}.{index}.{column}", kind),
                    )
                    for column, kind in facts.kinds.items()
                ),
            )
            for index in range(self.rows)
        ]
        self.made[name] = rows
        places = {column: index for index, column in enumerate(facts.kinds)}
        for earlier, later in pairwise(rows):
            self.conditions.append(z3.Implies(later.there, earlier.there))
        for key in facts.keys:
            for one, other in combinations(rows, 2):
                same = [equal_values(one.cells[places[name]], other.cells[places[name]]) for name in key]
                self.conditions.append(z3.Not(z3.And(one.there, other.there, *same)))
        for parent, columns in self.world.references(facts):
            self._reference(name, parent, columns)
        return rows

    def _reference(self, name: str, other: TableFacts, columns: list[tuple[str, str]]) -> None:
        mine, theirs = list(self.world.tables[name].kinds), list(other.kinds)
        parents = self.table(other.name)
        for row in self.made[name]:
            cells = [(row.cells[mine.index(own)], theirs.index(column)) for own, column in columns]
            found = [
                z3.And(parent.there, *(equal_values(cell, parent.cells[index]) for cell, index in cells))
                for parent in parents
            ]
            given = z3.And(row.there, *(z3.Not(cell[0]) for cell, _ in cells))
            self.conditions.append(z3.Implies(given, z3.Or(*found)))


def _symbol(name: str, kind: str) -> Any:
    """A column's value: an integer if its type is."""
    return z3.ToReal(z3.Int(name)) if kind == "integer" else z3.Real(name)


def equal_values(one: Value, other: Value) -> Any:
    return z3.And(z3.Not(one[0]), z3.Not(other[0]), one[1] == other[1])


def same(one: Value, other: Value) -> Any:
    return z3.Or(z3.And(one[0], other[0]), equal_values(one, other))


def aggregated(agg: Agg, values: list[tuple[Any, Value]]) -> Value:
    """An aggregate over symbolic rows: whether each is in the group, and its value."""
    counted = [z3.And(member, z3.Not(null)) for member, (null, _) in values]
    numbers = [value for _, (_, value) in values]
    if agg.distinct:
        counted = [
            z3.And(
                one, *(z3.Not(z3.And(counted[before], numbers[before] == numbers[index])) for before in range(index))
            )
            for index, one in enumerate(counted)
        ]
    count = z3.Sum(*map(as_number, counted), z3.RealVal(0))
    if agg.op == "count":
        return NO, count
    none = z3.Not(z3.Or(*counted)) if counted else YES
    if agg.op in ("sum", "avg"):
        total = z3.Sum(
            *(z3.If(one, value, z3.RealVal(0)) for one, value in zip(counted, numbers, strict=True)), z3.RealVal(0)
        )
        if agg.op == "sum":
            return none, total
        mean = z3.RealVal(0)
        for size in range(1, len(counted) + 1):
            mean = z3.If(count == size, total / size, mean)
        return none, mean
    if agg.op not in ("min", "max"):
        raise UnsupportedSQL(f"{agg.op.upper()} in the bounded check")
    found = NOTHING
    for one, value in zip(counted, numbers, strict=True):
        better = value < found[1] if agg.op == "min" else value > found[1]
        found = choice(z3.And(one, z3.Or(found[0], better)), (NO, value), found)
    return found
