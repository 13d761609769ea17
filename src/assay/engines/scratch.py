"""Common parts of the scratch databases of all engines: how their tables are created, filled and queried."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from msgspec import Struct

from assay.engines import outcomes
from assay.model import Cell, DatabaseSchema, Execution, Row, TableSchema, quoted
from assay.ports import Engine
from assay.sql.schema.create_table import NO_CLAUSES, ColumnClauses, TableClauses

MOST_ROWS = 5_000
"""A query that returns more rows fails."""
EVERY_CONSTRAINT = frozenset({"NOT NULL", "PRIMARY KEY", "UNIQUE", "CHECK"})
_NO_CLAUSES = ColumnClauses()


class FilledTable(Struct, frozen=True, kw_only=True):
    """A table for which `Scratch.fill` gets rows."""

    name: str
    """As a query writes it."""
    location: str
    """As the statements that fill it write it."""
    columns: str
    """The columns that get values, quoted and separated by commas."""
    width: int


class Scratch(ABC):
    """Implements `assay.ports.ScratchDatabase`, except for what only an engine can do.

    The class of an engine creates the tables in ``__init__``, each by `_try`, which records the statement that worked,
    or adds a sentence to ``refused``. Rows are inserted by `_write`: those of a table in one statement, or one by one
    if a constraint rejects some of them. Untrusted queries go through ``_engine``, which guards them; SQLite, whose
    queries take microseconds, overrides everything that is called per query.
    """

    dialect: str
    has_boolean_type: bool
    engine: str
    errors: ClassVar[tuple[type[Exception], ...]]
    """What the driver raises for a statement."""
    placeholder: ClassVar[str] = "?"
    _engine: Engine

    def __init__(self, schema: DatabaseSchema) -> None:
        self.refused: tuple[str, ...] = ()
        self._made: list[tuple[str | None, str]] = []
        """The statements that created the database, with the table of each; None for those of a view or a schema."""
        self._views = {view.name: view.ddl for view in schema.tables if view.kind == "view"}
        self._triggers = {table.quoted_name: table.triggers for table in schema.tables if table.triggers}
        self._names: dict[str, tuple[str, ...]] = {}
        self._filled: list[FilledTable] = []
        self._stored: list[list[Row]] = []
        """The rows of the last `fill` that no constraint rejected, as given."""

    def statements_for(self, tables: Collection[str], queries: Sequence[str]) -> tuple[str, ...]:
        """The statements that created these tables, their schemas, and the views that the queries may name."""
        text = " ".join(queries).lower()
        named: dict[str, None] = {}
        waiting = [name for name in self._views if name.lower() in text]
        while waiting:
            ddl = self._views[waiting.pop()]
            named[ddl] = None
            waiting += [
                name for name, other in self._views.items() if name.lower() in ddl.lower() and other not in named
            ]
        unwanted = set(self._views.values()) - set(named)
        return tuple(
            statement
            for table, statement in self._made
            if (statement not in unwanted if table is None else table in tables)
        )

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table that rows may be given for."""
        return self._names.get(table, ())

    def prepare(self, filled: Mapping[str, Sequence[str]]) -> None:
        """Declare the tables and columns that `fill` will be given."""
        self._filled = [
            FilledTable(
                name=table, location=self._location(table), columns=", ".join(map(quoted, columns)), width=len(columns)
            )
            for table, columns in filled.items()
        ]

    def fill(self, rows: Sequence[Sequence[Row]]) -> bool:
        """Replace every row. False if a constraint rejected one."""
        self._stored = []
        for table, given in zip(self._filled, rows, strict=True):
            self._execute(f"DELETE FROM {table.location}")
            self._stored.append(self._insert(table, given))
        return all(len(stored) == len(given) for stored, given in zip(self._stored, rows, strict=True))

    def content(self) -> list[list[Row]]:
        """The current rows of the prepared tables."""
        return [list(rows) for rows in self._stored]

    def rejected_rows(self, rows: Sequence[Sequence[Row]]) -> tuple[str, ...]:
        """The tables with rows and triggers on inserting them."""
        return tuple(
            table.name
            for table, given in zip(self._filled, rows, strict=True)
            if given and table.name in self._triggers
        )

    def rows(self, query: str) -> list[Row] | None:
        """The rows of a query; None if it fails, takes too long or returns too many."""
        result = self.execute(query).result
        return None if result is None else list(result.rows)

    def execute(self, query: str) -> Execution:
        """Like `rows`, with the columns' names, or the reason of the failure."""
        execution = self._engine.execute(query)
        return too_many_rows(query) if execution.status == "truncated" else execution

    def reverse_scan(self, *, on: bool) -> bool:
        """False: the engine has no such switch, and scans rows in insertion order."""
        return not on

    @abstractmethod
    def close(self) -> None:
        """Release it. Closing twice is harmless."""

    @abstractmethod
    def _execute(self, statement: str) -> object:
        """Execute a statement of our own, not of a query's. Raises one of ``errors``."""

    def _write(self, statement: str, cells: Sequence[Cell]) -> None:
        """Execute a statement with parameters, all of it or nothing. Raises one of ``errors``."""
        raise NotImplementedError

    def _location(self, table: str) -> str:
        """How the statements that fill a table write its name."""
        return table

    def _try(self, why: str, *ways: str, table: str | None = None, shown: str = "") -> bool:
        """Execute the first statement that the engine accepts.

        ``shown`` is shown to readers instead. If it accepts none, the sentence ``why`` and the reason of the first
        error are added to ``refused``.
        """
        failure: Exception | None = None
        for statement in ways:
            try:
                self._execute(statement)
            except self.errors as error:
                failure = failure or error
                continue
            self._made.append((table, shown or statement))
            return True
        if failure is not None:
            self._refuse(why, failure)
        return False

    def _refuse(self, why: str, error: Exception) -> None:
        self.refused += (f"{why}: {outcomes.first_line(error)}",)

    def _insert(self, table: FilledTable, rows: Sequence[Row]) -> list[Row]:
        """Insert rows, and return those that no constraint rejects."""
        if not rows:
            return []
        insert = f"INSERT INTO {table.location} ({table.columns}) VALUES "
        values = f"({', '.join([self.placeholder] * table.width)})"
        try:
            self._write(insert + ", ".join([values] * len(rows)), [cell for row in rows for cell in row])
        except self.errors:
            pass
        else:
            return list(rows)
        stored = []
        for row in rows:
            try:
                self._write(insert + values, row)
            except self.errors:
                continue
            stored.append(row)
        return stored


def too_many_rows(query: str) -> Execution:
    """A query that returns more rows than a scratch database allows."""
    return outcomes.failed(query, "error", "error", f"it returns more than {MOST_ROWS:,} rows")


def table_body(
    table: TableSchema,
    clauses: TableClauses = NO_CLAUSES,
    *,
    default_type: str = "",
    constraints: Collection[str] = EVERY_CONSTRAINT,
    computed_not_null: bool = True,
) -> str:
    """The contents of the parentheses of a CREATE TABLE, as the schema writes them.

    Foreign keys are omitted: the caller chooses rows that satisfy them. ``computed_not_null``: whether the engine
    accepts NOT NULL for a computed column.
    """
    parts = []
    for column in table.columns:
        clause = clauses.columns.get(column.name.lower(), _NO_CLAUSES)
        words = [quoted(column.name), column.type or default_type, clause.text]
        if column.not_null and "NOT NULL" in constraints and (computed_not_null or not clause.formula):
            words.append("NOT NULL")
        parts.append(" ".join(filter(None, words)))
    if table.primary_key and "PRIMARY KEY" in constraints:
        parts.append(f"PRIMARY KEY ({', '.join(map(quoted, table.primary_key))})")
    if "UNIQUE" in constraints:
        parts += [f"UNIQUE ({', '.join(map(quoted, columns))})" for columns in table.unique]
    if "CHECK" in constraints:
        parts += [f"CHECK ({check})" for check in table.checks]
    return ", ".join(parts)
