"""Small DuckDB databases in memory, on which untrusted queries are tried: some hundred a second."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import duckdb

from assay.engines import outcomes
from assay.model import DatabaseSchema, Execution, Row, TableSchema, quoted
from assay.model.frozen_cells import frozen_rows
from assay.ports import Engine
from assay.sql.schema.create_table import TableClauses, table_clauses

SCRATCH_ROWS = 5_000
SCRATCH_BYTES = 512 * 1024 * 1024


class DuckdbScratch:
    """Implements `assay.ports.ScratchDatabase`. Untrusted queries go through the engine, which guards them.

    Keys are not declared: an index that is deleted from and filled again refuses rows that it should take. Whoever
    fills the tables keeps keys unique.
    """

    dialect = "duckdb"
    has_boolean_type = True

    __slots__ = ("_connection", "_engine", "_filled", "_made", "_names", "_views", "engine", "refused")

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        engine: Engine,
        schema: DatabaseSchema,
        *,
        version: str,
        without_keys: bool = False,
    ) -> None:
        self.engine: str = f"duckdb {version}"
        self._connection = connection
        self._engine = engine
        self._filled: list[tuple[str, str]] = []
        self._names: dict[str, tuple[str, ...]] = {}
        self._views = {view.name: view.ddl for view in schema.tables if view.kind == "view"}
        self._made: list[tuple[str | None, str]] = []
        refused: list[str] = []
        clauses = {
            table.quoted_name: table_clauses(table.ddl if schema.dialect == self.dialect else "", self.dialect)
            for table in schema.tables
            if table.kind == "table"
        }
        for statement, shown, why, table in _wanted(schema, clauses, without_keys=without_keys):
            try:
                if len(connection.extract_statements(statement)) != 1:
                    refused.append(f"{why}: it is more than one statement")
                    continue
                connection.execute(statement)
            except duckdb.Error as error:
                refused.append(f"{why}: {str(error).partition(chr(10))[0]}")
                continue
            self._made.append((None if table is None else table.quoted_name, shown))
            if table is not None:
                own = clauses[table.quoted_name].columns
                self._names[table.quoted_name] = tuple(
                    column.name
                    for column in table.columns
                    if (found := own.get(column.name.lower())) is None or not found.formula
                )
        self.refused: tuple[str, ...] = tuple(refused)

    def statements_for(self, tables: Collection[str], queries: Sequence[str]) -> tuple[str, ...]:
        """What made these tables, their schemas, and the views that the queries may name."""
        return outcomes.wanted_statements(self._made, self._views, tables, queries)

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table that rows may be given for."""
        return self._names.get(table, ())

    def prepare(self, filled: Mapping[str, Sequence[str]]) -> None:
        """Say which columns of which tables `fill` will be given."""
        self._filled = [(table, ", ".join(map(quoted, columns))) for table, columns in filled.items()]

    def fill(self, rows: Sequence[Sequence[Row]]) -> bool:
        """Replace every row. False where a constraint refused one."""
        complete = True
        for (table, names), given in zip(self._filled, rows, strict=True):
            self._connection.execute(f"DELETE FROM {table}")
            if not given:
                continue
            places = f"({', '.join('?' * len(given[0]))})"
            insert = f"INSERT INTO {table} ({names}) VALUES "
            try:
                self._connection.execute(
                    insert + ", ".join([places] * len(given)), [cell for row in given for cell in row]
                )
                continue
            except duckdb.Error:  # then row by row
                complete = False
            for row in given:
                try:
                    self._connection.execute(insert + places, list(row))
                except duckdb.Error:  # a row that a constraint refuses is left out
                    continue
        return complete

    def content(self) -> list[list[Row]]:
        """The rows that the prepared tables hold now."""
        return [
            frozen_rows(self._connection.execute(f"SELECT {names} FROM {table}").fetchall())
            for table, names in self._filled
        ]

    def rejected_rows(self, rows: Sequence[Sequence[Row]]) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        """None: DuckDB has no triggers."""
        return ()

    def rows(self, query: str) -> list[Row] | None:
        """The rows of a query; None where it fails, takes too long or gives too many."""
        execution = self._engine.execute(query)
        return list(execution.result.rows) if execution.succeeded and execution.result is not None else None

    def execute(self, query: str) -> Execution:
        """As `rows`, with the columns' names, or the reason of the failure."""
        return self._engine.execute(query)

    def reverse_scan(self, *, on: bool) -> bool:
        """DuckDB scans rows in the order in which they were given."""
        return not on

    def close(self) -> None:
        """Release it. Closing twice is harmless."""
        self._engine.close()


def _wanted(
    schema: DatabaseSchema, clauses: Mapping[str, TableClauses], *, without_keys: bool
) -> Iterator[tuple[str, str, str, TableSchema | None]]:
    """Statements to execute, what a reader is shown in their place, what is lost where one fails, and the table."""
    for namespace in sorted({table.namespace for table in schema.tables if table.namespace is not None}):
        made = f"CREATE SCHEMA IF NOT EXISTS {quoted(namespace)}"
        yield made, made, f"the schema {namespace} cannot be made", None
    for table in schema.tables:
        if table.kind == "table":
            yield (
                _created(table, clauses[table.quoted_name], without_keys=without_keys, keys=False),
                _created(table, clauses[table.quoted_name], without_keys=without_keys, keys=True),
                f"the table {table.name} cannot be made",
                table,
            )
    for view in schema.tables:
        if view.kind == "view" and view.ddl:
            yield view.ddl, view.ddl, f"the view {view.name} cannot be made", None


def _created(table: TableSchema, clauses: TableClauses, *, without_keys: bool, keys: bool) -> str:
    parts = []
    for column in table.columns:
        found = clauses.columns.get(column.name.lower())
        words = [quoted(column.name), column.type or "VARCHAR", "" if found is None else found.text]
        if column.not_null and not without_keys and (found is None or not found.formula):
            words.append("NOT NULL")
        parts.append(" ".join(filter(None, words)))
    if keys and not without_keys:
        if table.primary_key:
            parts.append(f"PRIMARY KEY ({', '.join(map(quoted, table.primary_key))})")
        parts += [f"UNIQUE ({', '.join(map(quoted, columns))})" for columns in table.unique]
    if not without_keys:
        parts += [f"CHECK ({check})" for check in table.checks]
    return f"CREATE TABLE {table.quoted_name} ({', '.join(parts)})"
