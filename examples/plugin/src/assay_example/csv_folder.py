"""An engine: a folder of CSV files, each a table, in SQLite's memory."""

from __future__ import annotations

import csv
import hashlib
import re
import sqlite3
import sys
from pathlib import Path
from time import monotonic

from msgspec.structs import replace

from assay import DatabaseError, Execution, Limits
from assay.engines import outcomes
from assay.engines.fetching import fetch_rest
from assay.model import ColumnSchema, DatabaseSchema, DatabaseUrl, Row, TableSchema
from assay.sql.statement import without_blank_statements

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_STEERS = {
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,
    sqlite3.SQLITE_PRAGMA,
    sqlite3.SQLITE_ATTACH,
    sqlite3.SQLITE_DETACH,
}
_LONG = 100
"""Characters of a value that a schema shows."""
_INTEGER = re.compile(r"-?(0|[1-9]\d*)")
_REAL = re.compile(r"-?(0|[1-9]\d*)\.\d+")


class CsvFolderEngine:
    """``csvfolder:///path``: ``shop/customers.csv`` is the table ``customers``, its first line the columns' names.

    A column is INTEGER or REAL where all its values are such numbers, else TEXT (``007`` is); an empty field is NULL.
    """

    name = "csvfolder"
    dialect = "sqlite"
    has_boolean_type = False

    def __init__(self, connection: sqlite3.Connection, limits: Limits, tables: tuple[TableSchema, ...]) -> None:
        self._connection = connection
        self._tables = tables
        self._limits = limits
        self._deadline = 0.0
        self._late = False
        self._refused: int | None = None

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> CsvFolderEngine:
        """Load the tables, and then allow reading alone. Raises DatabaseError."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            tables = tuple(_load(connection, file) for file in _files(url))
        except DatabaseError:
            connection.close()
            raise
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")  # naming them first would count as a write
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(10**9, limits.max_result_bytes))
        engine = cls(connection, limits, tables)
        connection.set_authorizer(engine._authorize)
        connection.set_progress_handler(engine._is_late, 10_000)
        return engine

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Raise DatabaseError where there is no such folder. It is called before a run begins: it reads no table."""
        _files(url)

    @classmethod
    def version(cls) -> str:
        """What decides answers besides the content."""
        return f"csvfolder 1, SQLite {sqlite3.sqlite_version}"

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the files: a run is resumed only on the same content."""
        digest = hashlib.blake2b(digest_size=16)
        for file in _files(url):
            digest.update(repr((file.name, file.read_bytes())).encode())
        return digest.hexdigest()

    def execute(self, query: str) -> Execution:
        """Run one query. Whatever it does comes back as an Execution."""
        started = monotonic()
        self._late, self._refused, self._deadline = False, None, started + self._limits.timeout_s
        try:
            cursor = self._connection.execute(without_blank_statements(query, self.dialect))
            rows: list[Row] = cursor.fetchmany(100)
            cap = fetch_rest(cursor.fetchmany, rows, self._limits, size_of=_size, check_clock=self._check_clock)
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
            return self._failed(query, error, monotonic() - started)
        if cursor.description is None:
            return outcomes.no_query(query)
        columns = tuple(column[0] for column in cursor.description)
        return outcomes.fetched(query, columns, rows, wall_time_s=monotonic() - started, cap=cap, limits=self._limits)

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables: chat systems, the lint and causes ask for them. An engine may do without this method."""
        tables = self._tables
        if not with_values:
            tables = tuple(
                replace(table, first_row=(), columns=tuple(replace(column, values=()) for column in table.columns))
                for table in tables
            )
        return DatabaseSchema(dialect=self.dialect, tables=tables)

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """No further databases of the same schema."""
        return ()

    def close(self) -> None:
        """Release the tables."""
        self._connection.close()

    def _authorize(self, action: int, *_names: str | None) -> int:
        if action in _READS:
            return sqlite3.SQLITE_OK
        self._refused = self._refused or action
        return sqlite3.SQLITE_DENY

    def _is_late(self) -> bool:
        self._late = self._late or monotonic() > self._deadline
        return self._late

    def _check_clock(self) -> None:
        if self._is_late():
            raise sqlite3.OperationalError("interrupted")

    def _failed(self, query: str, error: Exception, wall_time_s: float) -> Execution:
        if self._late:
            return outcomes.timed_out(query, self._limits, wall_time_s)
        if self._refused in _STEERS:
            return outcomes.failed(query, "refused", "refused", "refused: it is no query, but steers the session")
        if self._refused is not None:
            return outcomes.failed(query, "refused", "writes", "refused: it writes")
        if isinstance(error, MemoryError):
            return outcomes.out_of_memory(query, self._limits, wall_time_s)
        if isinstance(error, UnicodeEncodeError):
            return outcomes.not_text(query, error)
        if "one statement at a time" in str(error):
            return outcomes.several_statements(query)
        return outcomes.failed(query, "error", "error", outcomes.first_line(error), wall_time_s=wall_time_s)


def _files(url: DatabaseUrl) -> list[Path]:
    folder = Path(url.path)
    try:
        found = sorted(file for file in folder.iterdir() if file.suffix.lower() == ".csv")
    except OSError as error:
        raise DatabaseError(f"{url}: the folder {str(folder)!r} cannot be read: {error.strerror}") from None
    if not found:
        raise DatabaseError(f"{url}: the folder {str(folder)!r} holds no .csv file, and each table is one")
    return found


def _load(connection: sqlite3.Connection, file: Path) -> TableSchema:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            names, *rows = list(csv.reader(lines, strict=True)) or [[]]
        if not names:
            raise ValueError("its first line names no column")
        short = next((at for at, row in enumerate(rows, 2) if len(row) != len(names)), None)
        if short is not None:
            raise ValueError(f"row {short} has {len(rows[short - 2])} fields, and the first row {len(names)}")
        columns = [_column([row[at] for row in rows]) for at in range(len(names))]
        told = ", ".join(f"{_quoted(name)} {kind}" for name, (kind, _) in zip(names, columns, strict=True))
        made = f"CREATE TABLE {_quoted(file.stem)} ({told})"
        connection.execute(made)
        places = ", ".join("?" * len(names))
        values = zip(*(values for _, values in columns), strict=True)
        connection.executemany(f"INSERT INTO {_quoted(file.stem)} VALUES ({places})", values)
    except (OSError, ValueError, csv.Error, sqlite3.Error) as error:
        raise DatabaseError(f"{file} cannot be read as a table: {error}") from None
    described = [
        ColumnSchema(
            name=name,
            type=kind,
            values=tuple(_literal(kind, value) for value in dict.fromkeys(values) if value and len(value) < _LONG)[:3],
        )
        for name, (kind, values) in zip(names, columns, strict=True)
    ]
    first = tuple(_literal(kind, values[0]) for kind, values in columns) if rows else ()
    return TableSchema(name=file.stem, ddl=made, columns=tuple(described), first_row=first)


def _column(fields: list[str]) -> tuple[str, list[str | None]]:
    """The type of a column, by all its values, and the values, which SQLite turns into that type."""
    given = [field for field in fields if field]
    if given and all(_INTEGER.fullmatch(field) and len(field) < 20 and abs(int(field)) < 2**63 for field in given):
        kind = "INTEGER"
    elif given and all(_REAL.fullmatch(field) or _INTEGER.fullmatch(field) for field in given):
        kind = "REAL"
    else:
        kind = "TEXT"
    return kind, [field or None for field in fields]


def _literal(kind: str, value: str | None) -> str:
    if value is None:
        return "NULL"
    return "'" + value[:_LONG].replace("'", "''") + "'" if kind == "TEXT" else value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _size(rows: list[Row]) -> int:
    """About how many bytes these rows take."""
    return sum(sys.getsizeof(cell) for row in rows for cell in row)
