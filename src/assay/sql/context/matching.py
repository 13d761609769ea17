"""Which tables and columns of a database the names reported by a system mean: `ContextItems`.

Names match case-insensitively, with or without quotes, and with the schema or the database before them::

    "Singer"   main.singer   concert_singer.singer   [singer]      the table singer
    sales.orders                                                   the table orders of the schema sales
    orders                                                         the one of the default schema, else any of them
    singer.age   "singer"."Age"   age                              the column singer.age; age of each given table
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from assay.sql.schema import SchemaNames

Readings: TypeAlias = frozenset[str]
"""What one reported name may mean: keys as in `assay.sql.schema_items.SchemaItems`. Empty: the database has no such
table or column."""

_Pairs: TypeAlias = frozenset[tuple[str, str]]
"""Columns with their tables."""

_DEFAULT = frozenset({"main", "public", "dbo", "default"})
"""Names of the schema of tables without an explicit one."""
_PART = re.compile(r"""\s*(?:"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|\[([^\]]*)\]|([^."`\[]+))\s*(?:\.|$)""")


class ContextItems(Struct, frozen=True):
    """The given tables and columns, without duplicates in other spellings. ``columns`` None: only tables are
    reported."""

    tables: tuple[Readings, ...]
    columns: tuple[Readings, ...] | None

    @property
    def all_tables(self) -> frozenset[str]:
        """Every table that was given."""
        return frozenset().union(*self.tables)

    @property
    def all_columns(self) -> frozenset[str]:
        """Every column that was given."""
        return frozenset().union(*self.columns or ())


@lru_cache(maxsize=64)
def context_items(
    tables: tuple[str, ...] | None, columns: tuple[str, ...] | None, names: SchemaNames, database: str | None
) -> ContextItems:
    """What the reported names mean in a database. ``database``: its name in the question set, which may precede a
    table's.

    A name among the tables that is a column, not a table, ``singer.age``, is read as that column. A column's table was
    given, too. Without a schema, tables are their own names, and no column is known.
    """
    found = _Found(names, (database or "").lower())
    whole = []
    for text in tables or ():
        if names.tables and text.strip().endswith(".*"):
            found.add_columns(text, frozenset())
        elif names.tables and not found.table(text) and (column := found.column(text)):
            found.add_column(text, column)
        else:
            table = text.strip().removesuffix(".*")
            found.add_table(table, found.table(table))
            whole.append(f"{text}.*")
    given = frozenset().union(*found.tables.values())
    if columns is None and found.columns:  # if some tables have their columns, the others were given whole
        columns = tuple(whole)
    for text in columns or ():
        found.add_columns(text, given)
    has_columns = bool(names.tables) and (columns is not None or bool(found.columns))
    return ContextItems(tuple(found.tables.values()), tuple(found.columns.values()) if has_columns else None)


class _Found:
    """The items so far, by what they mean; a name without a meaning by itself."""

    def __init__(self, names: SchemaNames, database: str) -> None:
        self.names = names
        self.database = database
        self.tables: dict[object, Readings] = {}
        self.columns: dict[object, Readings] = {}
        self._called: dict[str, list[str]] = {}
        for key, table in names.tables.items():
            self._called.setdefault(table.schema.name.lower(), []).append(key)

    def add_table(self, text: str, readings: Readings) -> None:
        """A table; the same one in another spelling adds nothing."""
        self.tables.setdefault(readings or _plain(text), readings)

    def add_column(self, text: str, pairs: _Pairs) -> None:
        """A column, with its table if it cannot be in a given table."""
        readings = frozenset(f"{table}.{column}" for table, column in pairs)
        self.columns.setdefault(readings or _plain(text), readings)
        of = frozenset(table for table, _ in pairs)
        if of and of.isdisjoint(frozenset().union(*self.tables.values())):
            self.add_table(text, of)

    def table(self, text: str) -> Readings:
        """The tables that a name may mean."""
        for parts in _splits(text):
            if readings := self._table(parts):
                return readings
        return frozenset()

    def _table(self, parts: Sequence[str]) -> Readings:
        if not self.names.tables:
            return frozenset(parts[-1:])
        keys = self._called.get(parts[-1], []) if parts else []
        if len(parts) < 2:
            default = [key for key in keys if self.names.tables[key].schema.namespace is None]
            return frozenset(default or keys)
        schema, *rest = reversed(parts[:-1])
        whole = ".".join(parts[:-1])
        named = [key for key in keys if (self.names.tables[key].schema.namespace or "").lower() in (schema, whole)]
        if named:
            return frozenset(named)
        if schema in self.names.schemas:
            return frozenset()
        # The name of the default schema, or of the database itself.
        known = _DEFAULT | {self.database}
        if schema not in known and self.database and self.database not in rest:
            return frozenset()
        return frozenset(key for key in keys if self.names.tables[key].schema.namespace is None) or (
            frozenset(keys) if schema == self.database else frozenset()
        )

    def column(self, text: str) -> _Pairs:
        """The columns that a name with its table may mean; empty: none."""
        for parts in _splits(text):
            # The fields of a structure may follow the column.
            for place in range(len(parts) - 1, 0, -1):
                tables = self._table(parts[:place]) or self._table((".".join(parts[:place]),))
                before, _, last = parts[place].rpartition(".")  # ``singer."singer.age"``: a table's own name once more
                repeated = last if before and tables & self._table(tuple(before.split("."))) else ""
                for column in (parts[place], ".".join(parts[place:]), repeated):
                    if pairs := self._of(tables, column):
                        return pairs
        return frozenset()

    def _of(self, tables: Iterable[str], column: str) -> _Pairs:
        return frozenset((table, column) for table in tables if self.names.column(table, column) is not None)

    def add_columns(self, text: str, given: Readings) -> None:
        """A reported column: several for ``singer.*``; an unqualified name is a column of a ``given`` table."""
        if text.strip().endswith(".*"):
            tables = sorted(self.table(text.strip()[:-2]))
            for table in tables:
                for column in self.names.columns[table]:
                    self.add_column(text, frozenset([(table, column)]))
            if not tables:
                self.add_column(text, frozenset())
        elif pairs := self.column(text):
            self.add_column(text, pairs)
        else:
            alone = [parts[0] for parts in _splits(text) if len(parts) == 1]
            of_given, of_all = (
                frozenset().union(*(self._of(tables, name) for name in alone)) for tables in (given, self.names.tables)
            )
            self.add_column(text, of_given or of_all)


def _splits(text: str) -> Iterable[tuple[str, ...]]:
    """The parts of a name in lower case: as its quotes say, as one name, and split at every dot."""
    cut = [tuple(_plain(_bare(part)) for part in whole.split(".")) for whole in (text, _bare(text))]
    return dict.fromkeys(filter(None, (_parts(text), (_plain(text),), *cut)))


def _bare(text: str) -> str:
    """The text without the quotes around it."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] + text[-1] in ('""', "``", "[]") else text


def _parts(text: str) -> tuple[str, ...]:
    """The parts of a name with quotes; empty if these are unbalanced."""
    parts, place = [], 0
    while place < len(text):
        match = _PART.match(text, place)
        if match is None:
            return ()
        double, backtick, bracket, bare = match.groups(default="")
        part = bare.strip() or double.replace('""', '"') or backtick.replace("``", "`") or bracket
        parts.append(part.lower())
        place = match.end()
    return tuple(parts)


def _plain(text: str) -> str:
    return text.strip().lower()
