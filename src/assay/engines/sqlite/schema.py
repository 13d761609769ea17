"""Read the tables and views of a SQLite file."""

from __future__ import annotations

from collections import defaultdict

from assay.engines.samples import rows_of, text_literal, with_samples
from assay.errors import DatabaseError
from assay.model import ColumnSchema, DatabaseSchema, ForeignKey, TableSchema
from assay.ports import Engine

_TABLES = """
SELECT name, type, sql FROM sqlite_master
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql IS NOT NULL
ORDER BY rowid
"""
_SHADOWS = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'"
_HIDDEN = 1  # a virtual table's hidden column, which queries do not ask for


def read_schema(engine: Engine, *, with_values: bool) -> DatabaseSchema:
    """Tables and views in order of creation. Raises DatabaseError where they cannot be listed."""
    listed = rows_of(engine, _TABLES)
    shadows = _shadows(engine)
    tables = []
    for name, kind, ddl in listed:
        if name in shadows:
            continue
        try:
            table = _table(engine, str(name), str(ddl), is_view=kind == "view")
        except DatabaseError:
            continue  # a view on a table that is gone: no query can read it
        tables.append(with_samples(engine, table) if with_values else table)
    return DatabaseSchema(dialect=engine.dialect, tables=tuple(tables))


def _shadows(engine: Engine) -> frozenset[object]:
    """The internal tables that hold virtual tables' content."""
    try:
        return frozenset(row[0] for row in rows_of(engine, _SHADOWS))
    except DatabaseError:
        return frozenset()  # SQLite before 3.37 cannot list them


def _table(engine: Engine, name: str, ddl: str, *, is_view: bool) -> TableSchema:
    argument = text_literal(name)
    columns = rows_of(engine, f"SELECT name, type, pk, hidden FROM pragma_table_xinfo({argument}) ORDER BY cid")
    keys = sorted((int(str(place)), str(column)) for column, _, place, _ in columns if place)
    return TableSchema(
        name=name,
        kind="view" if is_view else "table",
        ddl=ddl.strip().rstrip(";").rstrip(),
        columns=tuple(
            ColumnSchema(name=str(column), type=str(type_ or ""))
            for column, type_, _, hidden in columns
            if hidden != _HIDDEN
        ),
        primary_key=tuple(column for _, column in keys),
        foreign_keys=() if is_view else _foreign_keys(engine, argument),
    )


def _foreign_keys(engine: Engine, argument: str) -> tuple[ForeignKey, ...]:
    # The table's name is beside the columns of the key: "table", "from" and "to" are SQLite's own names.
    found = rows_of(
        engine, f'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list({argument}) ORDER BY id, seq'
    )
    parts: dict[object, list[tuple[str, str, str | None]]] = defaultdict(list)
    for key, table, column, referenced in found:
        parts[key].append((str(table), str(column), None if referenced is None else str(referenced)))
    # SQLite numbers them from the last to the first.
    return tuple(
        ForeignKey(
            columns=tuple(column for _, column, _ in one),
            table=one[0][0],
            referenced=tuple(referenced for _, _, referenced in one if referenced is not None),
        )
        for one in reversed(parts.values())
    )
