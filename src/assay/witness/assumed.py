"""The assumptions about every database. Made only here, so that the search and the proof share them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Cell, DatabaseSchema, ForeignKey, TableSchema
from assay.sql.algebra.world import table_facts
from assay.witness.observed import RealTable, places_of
from assay.witness.plan import loosely

_HELD: Mapping[str, type] = {"integer": int, "real": float, "text": str}
"""The values that SQLite stores in a column of each kind, if every writer respects its type."""


class Assumed(Struct, frozen=True, kw_only=True):
    """The constraints that hold in every database on which two queries are compared."""

    schema: DatabaseSchema
    """The columns of a primary key are not NULL, in SQLite too; foreign keys that real data violates are removed."""
    notes: tuple[str, ...] = ()
    """The constraints that were left out, one sentence each."""
    untyped: str = ""
    """A column whose real values are not of its declared type, in words: nothing about it can then be proved."""


def assume(schema: DatabaseSchema, real: Mapping[str, RealTable]) -> Assumed:
    """The assumptions, given a sample of the real data: tables by their names in lower case."""
    keys = {table.name.lower(): table.primary_key for table in schema.tables}
    untrue = {table.name: found for table in schema.tables if (found := _violated(table, real, keys))}
    tables = tuple(_stated(table, untrue.get(table.name, frozenset())) for table in schema.tables)
    notes = tuple(
        f"the foreign key of {name} ({', '.join(key.columns)}) to {key.table} is not assumed: the data violates it"
        for name, found in untrue.items()
        for key in sorted(found, key=repr)
    )
    return Assumed(schema=replace(schema, tables=tables), notes=notes, untyped=_untyped(schema, real))


def without_references(schema: DatabaseSchema) -> DatabaseSchema:
    """The schema for unread data: its foreign keys may not hold if the engine does not enforce them."""
    return replace(schema, tables=tuple(_stated(table, frozenset(table.foreign_keys)) for table in schema.tables))


def _stated(table: TableSchema, untrue: Collection[ForeignKey]) -> TableSchema:
    own = {name.lower() for name in table.primary_key}
    columns = tuple(
        replace(column, not_null=True) if column.name.lower() in own else column for column in table.columns
    )
    kept = tuple(key for key in table.foreign_keys if key not in untrue)
    return replace(table, columns=columns, foreign_keys=kept)


def _violated(
    table: TableSchema, real: Mapping[str, RealTable], keys: Mapping[str, tuple[str, ...]]
) -> frozenset[ForeignKey]:
    """The declared foreign keys that the real data violates. A parent that was not fully read counts as kept."""
    ours = real.get(table.name.lower())
    found = set()
    for key in table.foreign_keys:
        theirs = real.get(key.table.lower())
        others = key.referenced or keys.get(key.table.lower(), ())
        if ours is None or theirs is None or not theirs.complete or len(others) != len(key.columns):
            continue
        mine, there = places_of(ours, key.columns), places_of(theirs, others)
        if mine is not None and there is not None and not _refers(ours, mine, theirs, there):
            found.add(key)
    return frozenset(found)


def _refers(ours: RealTable, mine: Sequence[int], theirs: RealTable, there: Sequence[int]) -> bool:
    values = {tuple(loosely(row[index]) for index in there) for row in theirs.rows}
    wanted = (tuple(loosely(row[index]) for index in mine) for row in ours.rows)
    return all(None in one or one in values for one in wanted)


def _untyped(schema: DatabaseSchema, real: Mapping[str, RealTable]) -> str:
    """A column with values of another type than it declares, if there is one: SQLite stores any value in any column."""
    if schema.dialect != "sqlite":
        return ""
    for table in schema.tables:
        rows = real.get(table.name.lower())
        if rows is None:
            continue
        kinds = table_facts(table, "sqlite").kinds
        for index, name in enumerate(rows.columns):
            held = _HELD.get(kinds.get(name.lower(), ""))
            odd: Cell = None
            if held is not None:
                odd = next((row[index] for row in rows.rows if not isinstance(row[index], held | None)), None)
            if odd is not None:
                return f"{table.name}.{name} has the value {odd!r:.40}, which is not of its declared type"
    return ""
