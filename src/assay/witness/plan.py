"""The tables that a witness may fill, parents before children."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Cell, DatabaseSchema, ForeignKey, TableSchema
from assay.ports import ScratchDatabase
from assay.sql.schema import SchemaNames, TypeFamily, type_family
from assay.witness.query_facts import ColumnKey, PairFacts

_WORD = re.compile(r"\w+")


class PlanColumn(Struct, frozen=True, kw_only=True):
    """A column that gets values."""

    name: str
    key: ColumnKey
    type: str
    family: TypeFamily
    never_null: bool
    used: bool
    """A query reads it; otherwise it is filled only because it must be."""

    @property
    def truth(self) -> bool:
        """Whether it is declared to hold only true and false."""
        return "bool" in self.type.lower()


class Link(Struct, frozen=True, kw_only=True):
    """Columns whose values must occur in another table's, unless one is NULL."""

    columns: tuple[int, ...]
    table: int
    others: tuple[int, ...]
    declared: bool = True
    to_another: bool = False
    """No row refers to itself. SQLite refuses one that does if only one of the two columns contains texts."""


class PlanTable(Struct, frozen=True, kw_only=True):
    """A table that may get rows."""

    name: str
    """As a query writes it."""
    schema: TableSchema
    columns: tuple[PlanColumn, ...]
    unique: tuple[tuple[int, ...], ...] = ()
    links: tuple[Link, ...] = ()
    dependencies: tuple[tuple[int, int], ...] = ()
    """Pairs of columns: the first determines the second."""
    read: bool = True
    """A query reads it; otherwise it has rows only for the tables that refer to them."""
    filled: bool = False
    """It may not be empty."""

    @property
    def title(self) -> str:
        """The name for a reader."""
        return self.schema.name


class Plan(Struct, frozen=True, kw_only=True):
    """All that may be filled."""

    tables: tuple[PlanTable, ...]
    notes: tuple[str, ...] = ()

    @property
    def filled(self) -> dict[str, tuple[str, ...]]:
        """The columns that get values, by the tables' names as a query writes them."""
        return {table.name: tuple(column.name for column in table.columns) for table in self.tables}


def loosely(value: Cell) -> Cell:
    """A value as keys compare it: a number equals its text, since SQLite stores both as the column's type says."""
    if isinstance(value, int | float) and value == value // 1:
        return str(int(value))
    return str(value) if isinstance(value, float) else value


def fillable_columns(schema: DatabaseSchema, scratch: ScratchDatabase, name: str) -> tuple[str, ...]:
    """The columns of a table, by its name in lower case, that can get values."""
    names = [table.quoted_name for table in schema.tables if table.name.lower() == name]
    return scratch.columns(names[0]) if names else ()


def make_plan(schema: DatabaseSchema, facts: PairFacts, scratch: ScratchDatabase) -> Plan:
    """The plan for a pair of queries, under the constraints of `assay.witness.assumed.Assumed.schema`."""
    names = SchemaNames(schema)
    ordered = _parents_first([names.tables[name].schema for name in facts.tables])
    places = {table.name.lower(): number for number, table in enumerate(ordered)}
    tables = [_table(table, facts, scratch, schema) for table in ordered]
    notes: list[str] = []
    linked = []
    for table in tables:
        links = []
        for key in table.schema.foreign_keys:
            link = _link(table, key, tables, places, names)
            if link is None:
                notes.append(f"a foreign key of {table.title} to {key.table} is ignored: its columns are not known")
            elif link.columns:
                links.append(link)
        linked.append(replace(table, links=tuple(links)))
    return Plan(tables=tuple(linked), notes=tuple(notes))


def _parents_first(tables: Sequence[TableSchema]) -> list[TableSchema]:
    """Parents before children, unless keys form a cycle; then in the schema's order."""
    waiting = list(tables)
    there = {table.name.lower() for table in tables}
    done: dict[str, TableSchema] = {}
    while waiting:
        free = next(
            (
                table
                for table in waiting
                if all(
                    (name := key.table.lower()) in done or name == table.name.lower() or name not in there
                    for key in table.foreign_keys
                )
            ),
            waiting[0],
        )
        waiting.remove(free)
        done[free.name.lower()] = free
    return list(done.values())


def _table(table: TableSchema, facts: PairFacts, scratch: ScratchDatabase, schema: DatabaseSchema) -> PlanTable:
    name = table.name.lower()
    used = {column for of, column in facts.columns if of == name}
    keys = {column.lower() for columns in (table.primary_key, *table.unique) for column in columns}
    referred = {
        column.lower()
        for other in schema.tables
        if other.name.lower() in facts.tables
        for key in other.foreign_keys
        if key.table.lower() == name
        for column in key.referenced or table.primary_key
    }
    fillable = {column.lower() for column in scratch.columns(table.quoted_name)}
    own_key = {column.lower() for column in table.primary_key}
    indexed = set(_WORD.findall(" ".join(table.indexes).lower()))  # the rows that a partial index covers
    columns = tuple(
        PlanColumn(
            name=column.name,
            key=(name, column.name.lower()),
            type=column.type,
            family=type_family(column.type) if column.type else "other",
            never_null=column.not_null,
            used=column.name.lower() in used,
        )
        for column in table.columns
        if column.name.lower() in fillable
        and (
            column.name.lower() in used
            or column.not_null
            or column.name.lower() in own_key | indexed | (keys & referred)
        )
    )
    if not columns:  # its rows are only counted, and a row needs some column
        columns = (_filler(table, name, min(fillable)),) if fillable else ()
    places = {column.name.lower(): index for index, column in enumerate(columns)}
    unique = []
    for group in (table.primary_key, *table.unique):
        found = [places.get(column.lower()) for column in group]
        if group and None not in found:
            unique.append(tuple(place for place in found if place is not None))
    return PlanTable(
        name=table.quoted_name,
        schema=table,
        columns=columns,
        unique=tuple(dict.fromkeys(unique)),
        read=bool(used) or name not in _parents_only(facts, schema),
    )


def _filler(table: TableSchema, name: str, chosen: str) -> PlanColumn:
    column = next(column for column in table.columns if column.name.lower() == chosen)
    family = type_family(column.type) if column.type else "other"
    return PlanColumn(
        name=column.name, key=(name, chosen), type=column.type, family=family, never_null=False, used=False
    )


def _parents_only(facts: PairFacts, schema: DatabaseSchema) -> set[str]:
    """Tables whose columns no query reads. They may still be counted, so only parents of other tables are left out."""
    parents = {
        key.table.lower() for table in schema.tables if table.name.lower() in facts.tables for key in table.foreign_keys
    }
    return {name for name in parents if name not in facts.read}


def _link(
    table: PlanTable,
    key: ForeignKey,
    tables: Sequence[PlanTable],
    places: Mapping[str, int],
    names: SchemaNames,
) -> Link | None:
    """The key as a link; without columns if these are NULL in every row; None if it is not understood."""
    other = names.table(key.table)
    if other is None:
        return None
    ours = {column.key[1]: index for index, column in enumerate(table.columns)}
    columns = [ours.get(column.lower()) for column in key.columns]
    if None in columns:
        return Link(columns=(), table=0, others=())
    number = places[other.name.lower()]
    theirs = {column.key[1]: index for index, column in enumerate(tables[number].columns)}
    others = [theirs.get(column.lower()) for column in key.referenced or other.primary_key]
    if None in others or len(others) != len(columns):
        return None
    pairs = [
        (ours, theirs) for ours, theirs in zip(columns, others, strict=True) if ours is not None and theirs is not None
    ]
    families = [(table.columns[ours].family, tables[number].columns[theirs].family) for ours, theirs in pairs]
    return Link(
        columns=tuple(ours for ours, _ in pairs),
        table=number,
        others=tuple(theirs for _, theirs in pairs),
        to_another=other.name == table.schema.name and any((a == "text") != (b == "text") for a, b in families),
    )
