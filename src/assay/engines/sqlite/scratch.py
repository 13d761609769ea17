"""Small SQLite databases in memory, on which untrusted queries are tried: about 60 µs for new rows and two queries."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from assay.engines import outcomes
from assay.engines.sqlite.guard import Guard
from assay.model import DatabaseSchema, Execution, Limits, Result, Row, TableSchema, quoted
from assay.sql.schema import type_family
from assay.sql.schema.create_table import NO_CLAUSES, TableClauses, table_clauses

MOST_ROWS = 5_000
_MOST_BYTES = 1_000_000
_MAKING_S = 30.0
_ERRORS = (sqlite3.Error, sqlite3.Warning, ValueError, MemoryError, OverflowError)
_TYPE = re.compile(r"\w+(?: \w+)*(?: ?\( ?\d+(?: ?, ?\d+)? ?\))?")
_PLAIN_TYPES = {"integer": "INTEGER", "real": "REAL", "numeric": "NUMERIC", "text": "TEXT", "date": "DATE"}
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\b", re.IGNORECASE)
_GENERATED = 2  # from this number on, a column of table_xinfo is computed from others


class _ScratchGuard(Guard):
    """A guard that lets its owner's own statements write."""

    __slots__ = ("owner",)

    def __init__(self) -> None:
        super().__init__()
        self.owner = True

    def _authorize(
        self, action: int, first: str | None, second: str | None, database: str | None, source: str | None
    ) -> int:
        # Asked when a statement is prepared, not when it runs: the owner's are prepared once and kept.
        if self.owner:
            return sqlite3.SQLITE_OK
        return super()._authorize(action, first, second, database, source)


class SqliteScratch:
    """Implements `assay.ports.ScratchDatabase`."""

    dialect = "sqlite"
    has_boolean_type = False

    __slots__ = (
        "_connection",
        "_deletes",
        "_guard",
        "_inserts",
        "_limits",
        "_made",
        "_names",
        "_reads",
        "_tables",
        "_triggers",
        "_views",
        "engine",
        "refused",
    )

    def __init__(self, schema: DatabaseSchema, *, without_keys: bool = False, timeout_s: float = 0.25) -> None:
        self.engine: str = f"sqlite {sqlite3.sqlite_version}"
        self._limits = Limits(timeout_s=timeout_s, max_rows=MOST_ROWS)
        self._connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=512)
        self._guard = _ScratchGuard()
        self._names: dict[str, tuple[str, ...]] = {}
        self._inserts: list[str] = []
        self._deletes: list[str] = []
        self._reads: list[str] = []
        self._tables: list[str] = []
        self._triggers = {table.quoted_name: table.triggers for table in schema.tables if table.triggers}
        self._made: list[tuple[str | None, str]] = []
        self._views = {view.name: view.ddl for view in schema.tables if view.kind == "view"}
        refused: list[str] = []
        for pragma in ("temp_store=MEMORY", "trusted_schema=OFF", "journal_mode=OFF", "synchronous=OFF"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _MOST_BYTES)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 10_000)
        self._guard.attach(self._connection)
        self._guard.start(_MAKING_S)  # a suite's tables may come from elsewhere
        for table_name, statements, why in self._wanted(schema, without_keys=without_keys):
            failed: Exception | None = None
            for statement in statements:
                try:
                    self._connection.execute(statement)
                except _ERRORS as error:
                    failed = failed or error
                    continue
                self._made.append((table_name, statement))
                break
            else:
                if failed is not None:
                    refused.append(f"{why}: {outcomes.first_line(failed)}")
        for table in schema.tables:
            if table.kind == "table":
                self._names[table.quoted_name] = self._insertable(table)
        self.refused: tuple[str, ...] = tuple(refused)
        self._guard.owner = False

    def statements_for(self, tables: Collection[str], queries: Sequence[str]) -> tuple[str, ...]:
        """What made these tables, and the views that the queries may name."""
        return outcomes.wanted_statements(self._made, self._views, tables, queries)

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table that rows may be given for."""
        return self._names.get(table, ())

    def prepare(self, filled: Mapping[str, Sequence[str]]) -> None:
        """Say which columns of which tables `fill` will be given."""
        self._inserts, self._deletes, self._reads = [], [], []
        self._tables = list(filled)
        own = os.urandom(8).hex()  # the driver keeps statements by their text: no query may have one of these
        for table, columns in filled.items():
            names = ", ".join(map(quoted, columns))
            places = ", ".join("?" * len(columns))
            # What a constraint refuses is left out, whichever it is but a foreign key.
            self._inserts.append(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({places}) -- {own}")
            self._deletes.append(f"DELETE FROM {table} -- {own}")
            self._reads.append(f"SELECT {names} FROM {table}")

    def fill(self, rows: Sequence[Sequence[Row]]) -> bool:
        """Replace every row. False where a constraint refused one."""
        guard, connection = self._guard, self._connection
        guard.owner = True
        guard.start(self._limits.timeout_s)
        complete = True
        try:
            connection.execute("BEGIN")
            for delete, insert, given in zip(self._deletes, self._inserts, rows, strict=True):
                connection.execute(delete)
                if given:
                    try:
                        complete = connection.executemany(insert, given).rowcount == len(given) and complete
                    except _ERRORS:  # such as a text in a STRICT table's number
                        connection.execute(delete)
                        complete = False
            connection.execute("COMMIT")
        except _ERRORS:
            complete = False
            if connection.in_transaction:
                connection.execute("COMMIT")
        finally:
            guard.owner = False
        return complete

    def content(self) -> list[list[Row]]:
        """The rows that the prepared tables hold now."""
        self._guard.start(self._limits.timeout_s)  # the time of the query before this is over
        self._guard.owner = True
        try:
            return [list(self._connection.execute(read).fetchall()) for read in self._reads]
        finally:
            self._guard.owner = False

    def rejected_rows(self, rows: Sequence[Sequence[Row]]) -> tuple[str, ...]:
        """The tables in which other rows are than these once the database's own triggers have seen them inserted."""
        if not self._triggers:
            return ()
        self.fill([[] for _ in rows])
        try:
            self._owned(*(statement for own in self._triggers.values() for statement in own))
            self.fill(rows)
            held = [sorted(map(repr, kept)) for kept in self.content()]
        except _ERRORS:  # such as a trigger on a table that could not be made
            filled = [name for name, given in zip(self._tables, rows, strict=True) if given]
            return tuple(name for name in filled if name in self._triggers)
        finally:
            names = self._owned("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            self._owned(*(f"DROP TRIGGER {quoted(str(name))}" for (name,) in names))
        wanted = [sorted(map(repr, given)) for given in rows]
        return tuple(name for name, own, given in zip(self._tables, held, wanted, strict=True) if own != given)

    def rows(self, query: str) -> list[Row] | None:
        """The rows of a query; None where it fails, takes too long or gives too many."""
        guard = self._guard
        guard.start(self._limits.timeout_s)
        try:
            cursor = self._connection.execute(query)
            rows: list[Row] = cursor.fetchmany(MOST_ROWS)
            if cursor.description is None or len(rows) >= MOST_ROWS:
                return None
        except _ERRORS:
            if guard.wants_declaration:
                return self._declared(query)
            return None
        return rows

    def execute(self, query: str) -> Execution:
        """As `rows`, with the columns' names, or the reason of the failure."""
        guard = self._guard
        guard.start(self._limits.timeout_s)
        for again in (True, False):
            try:
                cursor = self._connection.execute(query)
                rows: list[Row] = cursor.fetchmany(MOST_ROWS)
            except _ERRORS as error:
                if again and guard.wants_declaration:
                    guard.declare_tables(self._connection)
                    continue
                return self._failed(query, error)
            if cursor.description is None:
                return outcomes.no_query(query)
            if len(rows) >= MOST_ROWS:
                return outcomes.failed(query, "error", "error", f"it gives more than {MOST_ROWS:,} rows")
            columns = tuple([column[0] for column in cursor.description])
            return Execution(
                query=query,
                status="rows" if rows else "empty",
                result=Result(columns=columns, rows=tuple(rows)),
                row_count=len(rows),
                columns=columns,
            )
        raise AssertionError("the second try returns")

    def reverse_scan(self, *, on: bool) -> bool:
        """Have rows scanned in the opposite order where none is asked for."""
        self._guard.start(self._limits.timeout_s)
        self._guard.owner = True
        try:
            self._connection.execute(f"PRAGMA reverse_unordered_selects = {int(on)}")
        finally:
            self._guard.owner = False
        return True

    def close(self) -> None:
        """Release it. Closing twice is harmless."""
        self._connection.close()

    def _wanted(
        self, schema: DatabaseSchema, *, without_keys: bool
    ) -> Iterator[tuple[str | None, tuple[str, ...], str]]:
        """What makes the tables, their further unique indexes, and the views; with what is lost where one fails.

        A table whose own statement is another engine's, as in a file of MySQL's, is made from what was read of it.
        """
        own = schema.dialect == "sqlite"
        for table in schema.tables:
            if table.kind != "table":
                continue
            yield (
                table.quoted_name,
                _ways(table, own=own, without_keys=without_keys),
                f"the table {table.name} cannot be made",
            )
            there = () if without_keys else self._unique(table)
            for number, columns in enumerate(() if without_keys else table.unique):
                if {name.lower() for name in columns} in there:
                    continue
                name, names = quoted(f"{table.name}_unique_{number}"), ", ".join(map(quoted, columns))
                yield (
                    table.quoted_name,
                    (f"CREATE UNIQUE INDEX {name} ON {table.quoted_name} ({names})",),
                    f"a UNIQUE constraint of {table.name} cannot be made",
                )
            for statement in table.indexes if own and not without_keys else ():
                yield table.quoted_name, (statement,), f"a unique index of {table.name} cannot be made"
        for view in schema.tables:
            if view.kind == "view" and view.ddl:
                yield None, (view.ddl,), f"the view {view.name} cannot be made"

    def _unique(self, table: TableSchema) -> list[set[str]]:
        """The sets of columns that the table's own statement keeps unique."""
        found: dict[str, set[str]] = {}
        try:
            rows = self._connection.execute(
                "SELECT i.name, lower(c.name) FROM pragma_index_list(?) i, pragma_index_info(i.name) c "
                'WHERE i."unique"',
                (table.name,),
            ).fetchall()
        except _ERRORS:
            return []
        for index, column in rows:
            found.setdefault(index, set()).add(column)
        return list(found.values())

    def _owned(self, *statements: str) -> list[Row]:
        """Execute statements of our own, and give the last one's rows."""
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
        except _ERRORS:
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


def _ways(table: TableSchema, *, own: bool, without_keys: bool) -> tuple[str, ...]:
    """Statements that make the table, of which the first that SQLite reads is taken.

    Without its keys, too, the columns compute and compare their values alike. What a virtual table does no other can.
    """
    given = own and bool(table.ddl)
    if given and _VIRTUAL.match(table.ddl):
        return (table.ddl,)
    clauses = table_clauses(table.ddl, "sqlite") if given else NO_CLAUSES
    plain = _plainly_typed(table)
    ways = (
        *((table.ddl,) if given and not without_keys else ()),
        created(table, clauses, without_keys=without_keys),
        created(plain, clauses, without_keys=without_keys),
        created(plain, clauses.without_collations(), without_keys=without_keys),  # these may be another engine's
    )
    return tuple(dict.fromkeys(ways))


def _plainly_typed(table: TableSchema) -> TableSchema:
    """The table with a plain type for each column whose own is more than SQLite reads as one."""
    columns = tuple(
        column
        if not column.type or _TYPE.fullmatch(column.type)
        else replace(column, type=_PLAIN_TYPES.get(type_family(column.type), ""))
        for column in table.columns
    )
    return replace(table, columns=columns)


def created(table: TableSchema, clauses: TableClauses, *, without_keys: bool = False) -> str:
    """A CREATE TABLE of the schema's own words, without foreign keys: rows are chosen so that these hold."""
    parts = []
    for column in table.columns:
        words = [quoted(column.name), column.type]
        if (found := clauses.columns.get(column.name.lower())) is not None:
            words.append(found.text)
        if column.not_null and not without_keys:
            words.append("NOT NULL")
        parts.append(" ".join(filter(None, words)))
    if not without_keys:
        if table.primary_key:
            parts.append(f"PRIMARY KEY ({', '.join(map(quoted, table.primary_key))})")
        parts += [f"CHECK ({check})" for check in table.checks]
    strict = " STRICT" if clauses.strict else ""
    return f"CREATE TABLE {table.quoted_name} ({', '.join(parts)}){strict}"
