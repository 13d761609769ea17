"""Small in-memory SQLite databases on which untrusted queries are tried: about 60 µs for new rows and two queries."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from assay.engines import outcomes
from assay.engines.scratch import EVERY_CONSTRAINT, MOST_ROWS, Scratch, table_body, too_many_rows
from assay.engines.sqlite.guard import Guard
from assay.model import DatabaseSchema, Execution, Limits, Result, Row, TableSchema, quoted
from assay.model.results.cells import SettledRows
from assay.sql.schema import type_family
from assay.sql.schema.create_table import NO_CLAUSES, table_clauses

_MOST_BYTES = 1_000_000
_MAKING_S = 30.0
_TYPE = re.compile(r"\w+(?: \w+)*(?: ?\( ?\d+(?: ?, ?\d+)? ?\))?")
_PLAIN_TYPES = {"integer": "INTEGER", "real": "REAL", "numeric": "NUMERIC", "text": "TEXT", "date": "DATE"}
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\b", re.IGNORECASE)
_GENERATED = 2  # from this number on, a column of table_xinfo is computed from others


class _ScratchGuard(Guard):
    """A guard that allows its owner's own statements to write."""

    __slots__ = ("owner",)

    def __init__(self) -> None:
        super().__init__()
        self.owner = True

    def _authorize(
        self, action: int, first: str | None, second: str | None, database: str | None, source: str | None
    ) -> int:
        # Called when a statement is prepared, not when it runs: the owner's are prepared once and cached.
        if self.owner:
            return sqlite3.SQLITE_OK
        return super()._authorize(action, first, second, database, source)


class SqliteScratch(Scratch):
    """A scratch database in memory. Queries and rows go to its connection directly, under the guard's rules."""

    dialect = "sqlite"
    has_boolean_type = False
    errors = (sqlite3.Error, sqlite3.Warning, ValueError, MemoryError, OverflowError)

    def __init__(self, schema: DatabaseSchema, *, without_keys: bool = False, timeout_s: float = 0.25) -> None:
        super().__init__(schema)
        self.engine = f"sqlite {sqlite3.sqlite_version}"
        self._limits = Limits(timeout_s=timeout_s, max_rows=MOST_ROWS)
        self._inserts: list[tuple[str, str]] = []
        """The statements that empty each prepared table, and that insert one row."""
        self._connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=512)
        for pragma in ("temp_store=MEMORY", "trusted_schema=OFF", "journal_mode=OFF", "synchronous=OFF"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _MOST_BYTES)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 10_000)
        self._guard = _ScratchGuard()
        self._guard.attach(self._connection)
        self._guard.start(_MAKING_S)  # a suite's tables may be untrusted
        own = schema.dialect == self.dialect
        tables = [table for table in schema.tables if table.kind == "table"]
        for table in tables:
            self._make_table(table, own=own, without_keys=without_keys)
        for view in schema.tables:
            if view.kind == "view" and view.ddl:
                self._try(f"the view {view.name} cannot be created", view.ddl)
        self._names = {table.quoted_name: self._insertable(table) for table in tables}
        self._guard.owner = False

    def prepare(self, filled: Mapping[str, Sequence[str]]) -> None:
        """Declare the tables and columns that `fill` will be given."""
        super().prepare(filled)
        own = os.urandom(8).hex()  # the driver caches statements by their text: no query may have one of these
        self._inserts = [
            (
                f"DELETE FROM {table.location} -- {own}",
                # Rows that a constraint rejects are omitted, unless it is a foreign key.
                f"INSERT OR IGNORE INTO {table.location} ({table.columns}) VALUES ({values}) -- {own}",
            )
            for table in self._filled
            for values in [", ".join("?" * table.width)]
        ]

    def fill(self, rows: Sequence[Sequence[Row]]) -> bool:
        """Replace every row. False if a constraint rejected one."""
        guard, connection = self._guard, self._connection
        guard.owner = True
        guard.start(self._limits.timeout_s)
        complete = True
        try:
            connection.execute("BEGIN")
            for (delete, insert), given in zip(self._inserts, rows, strict=True):
                connection.execute(delete)
                if given:
                    try:
                        complete = connection.executemany(insert, given).rowcount == len(given) and complete
                    except self.errors:  # for example a text in a STRICT table's number
                        connection.execute(delete)
                        complete = False
            connection.execute("COMMIT")
        except self.errors:
            complete = False
            if connection.in_transaction:
                connection.execute("COMMIT")
        finally:
            guard.owner = False
        return complete

    def content(self) -> list[list[Row]]:
        """The current rows of the prepared tables."""
        return [self._owned(f"SELECT {table.columns} FROM {table.location}") for table in self._filled]

    def rejected_rows(self, rows: Sequence[Sequence[Row]]) -> tuple[str, ...]:
        """The tables whose rows differ from these once the database's own triggers have run on the inserts."""
        if not self._triggers:
            return ()
        self.fill([[] for _ in rows])
        try:
            self._owned(*(statement for own in self._triggers.values() for statement in own))
            self.fill(rows)
            stored = [sorted(map(repr, held)) for held in self.content()]
        except self.errors:  # for example a trigger on a table that could not be created
            return super().rejected_rows(rows)
        finally:
            names = self._owned("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            self._owned(*(f"DROP TRIGGER {quoted(str(name))}" for (name,) in names))
        wanted = [sorted(map(repr, given)) for given in rows]
        return tuple(
            table.name for table, held, given in zip(self._filled, stored, wanted, strict=True) if held != given
        )

    def rows(self, query: str) -> list[Row] | None:
        """The rows of a query; None if it fails, takes too long or returns too many."""
        guard = self._guard
        guard.start(self._limits.timeout_s)
        try:
            cursor = self._connection.execute(query)
            rows: list[Row] = cursor.fetchmany(MOST_ROWS)
            if cursor.description is None or len(rows) >= MOST_ROWS:
                return None
        except self.errors:
            if guard.wants_declaration:
                return self._declared(query)
            return None
        return rows

    def execute(self, query: str) -> Execution:
        """Like `rows`, with the columns' names, or the reason of the failure."""
        guard = self._guard
        guard.start(self._limits.timeout_s)
        for again in (True, False):
            try:
                cursor = self._connection.execute(query)
                rows: list[Row] = cursor.fetchmany(MOST_ROWS)
            except self.errors as error:
                if again and guard.wants_declaration:
                    guard.declare_tables(self._connection)
                    continue
                return self._failed(query, error)
            if cursor.description is None:
                return outcomes.no_query(query)
            if len(rows) >= MOST_ROWS:
                return too_many_rows(query)
            columns = tuple([column[0] for column in cursor.description])
            return Execution(
                query=query,
                status="rows" if rows else "empty",
                result=Result(columns=columns, rows=SettledRows(rows)),
                row_count=len(rows),
                columns=columns,
            )
        raise AssertionError("the second attempt returns")

    def reverse_scan(self, *, on: bool) -> bool:
        """Scan rows in the opposite order if the query requests none."""
        self._owned(f"PRAGMA reverse_unordered_selects = {int(on)}")
        return True

    def close(self) -> None:
        """Release it. Closing twice is harmless."""
        self._connection.close()

    def _make_table(self, table: TableSchema, *, own: bool, without_keys: bool) -> None:
        """Create a table and its further unique indexes.

        A table whose own statement is another engine's, for example of MySQL, is created from its read schema.
        """
        name = table.quoted_name
        self._try(
            f"the table {table.name} cannot be created",
            *_table_statements(table, own=own, without_keys=without_keys),
            table=name,
        )
        if without_keys:
            return
        declared = self._unique(table)
        for number, columns in enumerate(table.unique):
            if {column.lower() for column in columns} not in declared:
                index, names = quoted(f"{table.name}_unique_{number}"), ", ".join(map(quoted, columns))
                self._try(
                    f"a UNIQUE constraint of {table.name} cannot be created",
                    f"CREATE UNIQUE INDEX {index} ON {name} ({names})",
                    table=name,
                )
        for statement in table.indexes if own else ():
            self._try(f"a unique index of {table.name} cannot be created", statement, table=name)

    def _unique(self, table: TableSchema) -> list[set[str]]:
        """The sets of columns that the table's own statement makes unique."""
        found: dict[str, set[str]] = {}
        try:
            rows = self._connection.execute(
                "SELECT i.name, lower(c.name) FROM pragma_index_list(?) i, pragma_index_info(i.name) c "
                'WHERE i."unique"',
                (table.name,),
            ).fetchall()
        except self.errors:
            return []
        for index, column in rows:
            found.setdefault(index, set()).add(column)
        return list(found.values())

    def _execute(self, statement: str) -> object:
        return self._connection.execute(statement)

    def _owned(self, *statements: str) -> list[Row]:
        """Execute our own statements, and return the last one's rows."""
        self._guard.start(self._limits.timeout_s)
        self._guard.owner = True
        found: list[Row] = []
        try:
            for statement in statements:
                found = self._connection.execute(statement).fetchall()
        finally:
            self._guard.owner = False
        return found

    def _declared(self, query: str) -> list[Row] | None:
        self._guard.declare_tables(self._connection)
        result = self.execute(query).result
        return None if result is None else list(result.rows)

    def _insertable(self, table: TableSchema) -> tuple[str, ...]:
        try:
            found = self._connection.execute(
                "SELECT name, hidden FROM pragma_table_xinfo(?) ORDER BY cid", (table.name,)
            ).fetchall()
        except self.errors:
            return ()
        return tuple(name for name, hidden in found if hidden < _GENERATED)

    def _failed(self, query: str, error: Exception) -> Execution:
        guard = self._guard
        if guard.timed_out:
            return outcomes.timed_out(query, self._limits, self._limits.timeout_s)
        if guard.denied is not None:
            kind, message = guard.explain(query)
            return outcomes.failed(query, "refused", kind, message)
        return outcomes.failed(query, "error", "error", outcomes.first_line(error))


def _table_statements(table: TableSchema, *, own: bool, without_keys: bool) -> tuple[str, ...]:
    """Statements that create the table. The first that SQLite accepts is used.

    Even without its keys, the columns compute and compare their values in the same way. A virtual table has no
    substitute.
    """
    given = own and bool(table.ddl)
    if given and _VIRTUAL.match(table.ddl):
        return (table.ddl,)
    clauses = table_clauses(table.ddl, "sqlite") if given else NO_CLAUSES
    plain = _plainly_typed(table)
    constraints = frozenset() if without_keys else EVERY_CONSTRAINT - {"UNIQUE"}
    attempts = (
        (table, clauses),
        (plain, clauses),
        (plain, clauses.without_collations()),  # these may be another engine's
    )
    statements = [
        f"CREATE TABLE {table.quoted_name} ({table_body(columns, words, constraints=constraints)})"
        f"{' STRICT' if clauses.strict else ''}"
        for columns, words in attempts
    ]
    return tuple(dict.fromkeys((*((table.ddl,) if given and not without_keys else ()), *statements)))


def _plainly_typed(table: TableSchema) -> TableSchema:
    """The table with a plain type for each column whose own type SQLite would read as more than a type."""
    columns = tuple(
        column
        if not column.type or _TYPE.fullmatch(column.type)
        else replace(column, type=_PLAIN_TYPES.get(type_family(column.type), ""))
        for column in table.columns
    )
    return replace(table, columns=columns)
