"""Read the tables and views of a SQLite file."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.engines.samples import Executes, rows_of, text_literal, with_samples
from assay.errors import DatabaseError
from assay.model import ColumnSchema, DatabaseSchema, ForeignKey, Row, TableSchema
from assay.sql import check_conditions

_TABLES = """
SELECT name, type, sql FROM sqlite_master
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql IS NOT NULL
ORDER BY rowid
"""
_TRIGGERS = "SELECT lower(tbl_name), sql FROM sqlite_master WHERE type = 'trigger' AND sql IS NOT NULL ORDER BY rowid"
_SHADOWS = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'"
_MADE_UP = re.compile(r"\s*CREATE\s+VIRTUAL\b", re.IGNORECASE)
_HIDDEN = 1  # a virtual table's hidden column, which queries do not select


def read_schema(engine: Executes, *, with_values: bool) -> DatabaseSchema:
    """Tables and views in order of creation. Raises DatabaseError if they cannot be listed."""
    listed = rows_of(engine, _TABLES)
    shadows = _shadows(engine)
    tables = []
    for name, kind, ddl in listed:
        if name in shadows:
            continue
        try:
            table = _table(engine, str(name), str(ddl), is_view=kind == "view")
        except DatabaseError:
            continue  # a view on a deleted table: no query can read it
        tables.append(with_samples(engine, table) if with_values else table)
    triggers: dict[str, list[str]] = defaultdict(list)
    for of, sql in rows_of(engine, _TRIGGERS):
        triggers[str(of)].append(str(sql))
    if triggers:
        tables = [replace(table, triggers=tuple(triggers[table.name.lower()])) for table in tables]
    return DatabaseSchema(dialect="sqlite", tables=tuple(tables))


def _shadows(engine: Executes) -> frozenset[object]:
    """The internal tables that hold virtual tables' content."""
    try:
        return frozenset(row[0] for row in rows_of(engine, _SHADOWS))
    except DatabaseError:
        return frozenset()  # SQLite before 3.37 cannot list them


def _table(engine: Executes, name: str, ddl: str, *, is_view: bool) -> TableSchema:
    argument = text_literal(name)
    columns = rows_of(
        engine, f'SELECT name, type, pk, hidden, "notnull" FROM pragma_table_xinfo({argument}) ORDER BY cid'
    )
    placed = sorted((int(str(place)), str(column)) for column, _, place, _, _ in columns if place)
    keys = tuple(column for _, column in placed)
    indexes = () if is_view else _indexes(engine, argument)
    # The row number itself, which has no index, is never NULL. Any other key allows NULLs, unless its column is NOT
    # NULL.
    number = keys if len(keys) == 1 and not any(index.origin == "pk" for index in indexes) else ()
    return TableSchema(
        name=name,
        kind="view" if is_view else "table",
        ddl=ddl.strip().rstrip(";").rstrip(),
        columns=tuple(
            ColumnSchema(name=str(column), type=str(type_ or ""), not_null=bool(kept) or column in number)
            for column, type_, _, hidden, kept in columns
            if hidden != _HIDDEN
        ),
        primary_key=keys,
        unique=tuple(index.columns for index in indexes if index.origin != "pk" and index.columns),
        indexes=tuple(index.sql for index in indexes if index.sql and not index.columns),
        checks=() if is_view or _MADE_UP.match(ddl) else check_conditions(ddl, "sqlite"),
        foreign_keys=() if is_view else _foreign_keys(engine, argument),
    )


class _Index(Struct, frozen=True, kw_only=True):
    """A unique index."""

    origin: str
    """``pk`` of the primary key, ``u`` of a constraint, ``c`` of CREATE INDEX."""
    columns: tuple[str, ...]
    """Empty: it implies nothing about whole columns as their values compare."""
    sql: str = ""
    """The statement that made it; empty if the table's own does."""


def _indexes(engine: Executes, argument: str) -> tuple[_Index, ...]:
    """The unique indexes in the order in which they were made."""
    try:
        found = rows_of(
            engine,
            f"SELECT l.name, l.origin, l.partial, i.name, i.key, m.sql FROM pragma_index_list({argument}) l "
            "JOIN pragma_index_xinfo(l.name) i LEFT JOIN sqlite_master m ON m.type = 'index' AND m.name = l.name "
            'WHERE l."unique" ORDER BY l.seq DESC, i.seqno',
        )
    except DatabaseError:
        return ()  # a virtual table may not have these
    parts: dict[object, list[Row]] = defaultdict(list)
    for row in found:
        parts[row[0]].append(row)
    return tuple(
        _Index(origin=str(rows[0][1]), columns=_whole_columns(rows), sql=str(rows[0][5] or ""))
        for rows in parts.values()
    )


def _whole_columns(rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns that an index makes unique; empty if it covers only some rows, expressions, or uses its own
    collation, which distinguishes values that the column treats as equal."""
    _, _, partial, _, _, sql = rows[0]
    names = [name for _, _, _, name, is_key, _ in rows if is_key]
    if partial or None in names or (sql is not None and "collate" in str(sql).lower()):
        return ()
    return tuple(map(str, names))


def _foreign_keys(engine: Executes, argument: str) -> tuple[ForeignKey, ...]:
    # The table's name is next to the columns of the key: "table", "from" and "to" are SQLite's own names.
    found = rows_of(
        engine, f'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list({argument}) ORDER BY id, seq'
    )
    parts: dict[object, list[tuple[str, str, str | None]]] = defaultdict(list)
    for key, table, column, referenced in found:
        parts[key].append((str(table), str(column), None if referenced is None else str(referenced)))
    # SQLite numbers them from the last to the first.
    return tuple(
        ForeignKey(
            columns=tuple(column for _, column, _ in part),
            table=part[0][0],
            referenced=tuple(referenced for _, _, referenced in part if referenced is not None),
        )
        for part in reversed(parts.values())
    )
