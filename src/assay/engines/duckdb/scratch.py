"""Small in-memory DuckDB databases on which untrusted queries are tried: some hundred per second."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import duckdb

from assay.engines.scratch import EVERY_CONSTRAINT, Scratch, table_body
from assay.model import Cell, DatabaseSchema, Row, quoted
from assay.model.results.cells import frozen_rows
from assay.ports import Engine
from assay.sql.schema.create_table import table_clauses

SCRATCH_BYTES = 512 * 1024 * 1024


class _SeveralStatements(ValueError):
    """An untrusted statement is more than one statement."""


class DuckdbScratch(Scratch):
    """A scratch database in memory.

    Keys are not declared: an index whose rows are deleted and inserted again rejects valid rows. The caller keeps keys
    unique.
    """

    dialect = "duckdb"
    has_boolean_type = True
    errors = (duckdb.Error, _SeveralStatements)

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        engine: Engine,
        schema: DatabaseSchema,
        *,
        version: str,
        without_keys: bool = False,
    ) -> None:
        super().__init__(schema)
        self.engine = f"duckdb {version}"
        self._connection = connection
        self._engine = engine
        for namespace in sorted({table.namespace for table in schema.tables if table.namespace is not None}):
            self._try(f"the schema {namespace} cannot be created", f"CREATE SCHEMA IF NOT EXISTS {quoted(namespace)}")
        declared = frozenset() if without_keys else EVERY_CONSTRAINT
        for table in schema.tables:
            if table.kind != "table":
                continue
            name = table.quoted_name
            clauses = table_clauses(table.ddl if schema.dialect == self.dialect else "", self.dialect)
            body = partial(table_body, table, clauses, default_type="VARCHAR", computed_not_null=False)
            if self._try(
                f"the table {table.name} cannot be created",
                f"CREATE TABLE {name} ({body(constraints=declared - {'PRIMARY KEY', 'UNIQUE'})})",
                table=name,
                shown=f"CREATE TABLE {name} ({body(constraints=declared)})",
            ):
                computed = {column for column, clause in clauses.columns.items() if clause.formula}
                self._names[name] = tuple(
                    column.name for column in table.columns if column.name.lower() not in computed
                )
        for view in schema.tables:
            if view.kind == "view" and view.ddl:
                self._try(f"the view {view.name} cannot be created", view.ddl)

    def content(self) -> list[list[Row]]:
        """The current rows of the prepared tables."""
        return [
            frozen_rows(self._connection.execute(f"SELECT {table.columns} FROM {table.location}").fetchall())
            for table in self._filled
        ]

    def rejected_rows(self, rows: Sequence[Sequence[Row]]) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        """None: DuckDB has no triggers."""
        return ()

    def close(self) -> None:
        """Release it. Closing twice is harmless."""
        self._engine.close()

    def _execute(self, statement: str) -> object:
        if len(self._connection.extract_statements(statement)) != 1:
            raise _SeveralStatements("it is more than one statement")
        return self._connection.execute(statement)

    def _write(self, statement: str, cells: Sequence[Cell]) -> None:
        self._connection.execute(statement, list(cells))
