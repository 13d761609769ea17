"""Databases that are only available through SQLAlchemy: Oracle, SQL Server, Trino and any other with a dialect for it.

How a query is restricted differs per dialect, and `Family` defines it. For every dialect, a text that is not exactly
one query is refused before it is sent, the transaction is rolled back, and the worker's own deadline ends a query that
the server does not end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from assay.engines import outcomes
from assay.engines.ddl import with_ddl
from assay.engines.samples import ROWS_LOOKED_AT
from assay.engines.sqlalchemy.base import SqlAlchemyBase, missing_driver
from assay.errors import DatabaseError, MissingDependency
from assay.model import ColumnSchema, DatabaseSchema, DatabaseUrl, Execution, FailureKind, ForeignKey, Row, TableSchema
from assay.model.results.cells import document_of


class Family(Struct, frozen=True, kw_only=True):
    """How one dialect's sessions are restricted. ``begin`` returns the statements that open the query's transaction."""

    dialect: str
    """sqlglot's name."""
    begin: Callable[[float], tuple[str, ...]] = lambda _seconds: ()
    """Called with the time limit in seconds."""
    driver_timeout: Callable[[Any, float], None] | None = None
    """Sets the limit on the driver's connection, for dialects that need it."""
    has_boolean_type: bool = True
    check_query: str = "SELECT 1"
    first_rows: str | None = f"LIMIT {ROWS_LOOKED_AT}"
    """The clause that ends a query for the first rows of a table; None: its dialect has it elsewhere, and no values are
    shown."""


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _whole(seconds: float) -> int:
    return max(1, -int(-seconds // 1))


def _postgres_begin(seconds: float) -> tuple[str, ...]:
    return ("SET TRANSACTION READ ONLY", f"SET LOCAL statement_timeout = {_milliseconds(seconds)}")


def _oracle_timeout(connection: Any, seconds: float) -> None:
    connection.call_timeout = _milliseconds(seconds)


def _odbc_timeout(connection: Any, seconds: float) -> None:
    if hasattr(connection, "timeout"):  # pyodbc; pymssql takes its timeout only when it connects
        connection.timeout = _whole(seconds)


FAMILIES: dict[str, Family] = {
    "sqlite": Family(dialect="sqlite", begin=lambda _seconds: ("PRAGMA query_only = ON",), has_boolean_type=False),
    "postgresql": Family(dialect="postgres", begin=_postgres_begin),
    "cockroachdb": Family(dialect="postgres", begin=_postgres_begin),
    "redshift": Family(
        dialect="redshift", begin=lambda seconds: (f"SET statement_timeout TO {_milliseconds(seconds)}",)
    ),
    "oracle": Family(
        dialect="oracle",
        begin=lambda _seconds: ("SET TRANSACTION READ ONLY",),
        driver_timeout=_oracle_timeout,
        has_boolean_type=False,
        check_query="SELECT 1 FROM dual",
        first_rows=f"FETCH FIRST {ROWS_LOOKED_AT} ROWS ONLY",
    ),
    "mssql": Family(
        dialect="tsql",
        begin=lambda seconds: (f"SET LOCK_TIMEOUT {_milliseconds(seconds)}",),
        driver_timeout=_odbc_timeout,
        first_rows=None,
    ),
    "trino": Family(dialect="trino"),
    "presto": Family(dialect="presto"),
    "hive": Family(dialect="hive"),
    "clickhouse": Family(dialect="clickhouse"),
    "teradatasql": Family(dialect="teradata", has_boolean_type=False, first_rows=None),
    "awsathena": Family(dialect="athena"),
    "druid": Family(dialect="druid"),
    "exa": Family(dialect="exasol"),
}
"""By the part of a scheme before ``+``. Any other dialect is read as standard SQL and has no timeout of its own."""

_DIALECT_PACKAGES = {
    "awsathena": "PyAthena[SQLAlchemy]",
    "clickhouse": "clickhouse-sqlalchemy",
    "cockroachdb": "sqlalchemy-cockroachdb",
    "druid": "pydruid[sqlalchemy]",
    "exa": "sqlalchemy-exasol",
    "hive": "pyhive[hive]",
    "presto": "pyhive[presto]",
    "redshift": "sqlalchemy-redshift",
    "teradatasql": "teradatasqlalchemy",
    "trino": "trino[sqlalchemy]",
}
"""The packages with the dialects that SQLAlchemy does not include."""


class SqlAlchemyEngine(SqlAlchemyBase):
    """A database of any dialect. `__getattr__` of this module creates its subclass per family."""

    name: ClassVar[str] = "sqlalchemy"
    family: ClassVar[Family] = Family(dialect="")

    __slots__ = ()

    @classmethod
    def _require(cls, url: DatabaseUrl) -> None:
        super()._require(url)
        import sqlalchemy
        from sqlalchemy.exc import NoSuchModuleError

        backend = url.scheme.partition("+")[0]
        try:
            sqlalchemy.make_url(f"{url.scheme}://").get_dialect()
        except NoSuchModuleError:
            package = _DIALECT_PACKAGES.get(backend)
            if package is None:
                raise DatabaseError(f"{url}: SQLAlchemy has no dialect {url.scheme!r}") from None
            raise MissingDependency(package, None) from None
        except ImportError as error:
            raise missing_driver(error) from None

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Like the base class; a SQLite file that does not exist is not created."""
        if url.scheme.startswith("sqlite+"):
            from assay.engines.sqlite.engine import SqliteEngine

            SqliteEngine.check(url)
        super().check(url)

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """Like the base class: a hash of the URL, not of the content, except for SQLite files."""
        if url.scheme.startswith("sqlite+"):
            from assay.engines.sqlite.engine import SqliteEngine

            return SqliteEngine.fingerprint(url)
        return super().fingerprint(url)

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views of the default schema, as far as the dialect's inspector can list them.

        Raises DatabaseError if they cannot be listed.
        """
        if self.name == "postgresql":  # with any driver, our own reader returns more than SQLAlchemy's
            from assay.engines.postgres.schema import read_schema as read_postgres

            return read_postgres(self, with_values=with_values)
        if self.name == "sqlite":
            from assay.engines.sqlite.schema import read_schema as read_sqlite

            return read_sqlite(self, with_values=with_values)
        from assay.engines.samples import with_samples

        found = self.ask_connection(lambda connection: read_schema(connection, self.dialect))
        if not with_values or self.family.first_rows is None:
            return found
        most = self.family.first_rows
        return replace(found, tables=tuple(with_samples(self, table, by_key=True, most=most) for table in found.tables))

    @classmethod
    def _settings(cls, parsed: Any, timeout_s: float) -> tuple[Any, dict[str, Any]]:  # noqa: ARG003
        if parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
            path = quote(parsed.database, safe="/: ")
            parsed = parsed.set(database=f"file:{path}").update_query_dict({"mode": "ro", "uri": "true"})
        return parsed, {"json_deserializer": document_of} if cls.family.dialect == "postgres" else {}

    @classmethod
    def _check_query(cls) -> str:
        return cls.family.check_query

    def _refusal(self, query: str) -> Execution | None:
        from assay.sql import read_statement  # loads sqlglot, which `check` does not need

        reading = read_statement(query, self.dialect)
        return outcomes.unless_query(query, reading.does, reading.detail)

    def _begin(self) -> None:
        family, seconds = self.family, self._limits.timeout_s
        if family.driver_timeout is not None:
            family.driver_timeout(self._connection.connection.driver_connection, seconds)
        for statement in family.begin(seconds):
            self._connection.exec_driver_sql(statement)

    def _cut(self, cursor: Any) -> None:
        # Some drivers read the rest of a result before they close it, so the connection is closed, too.
        self._cancel()
        try:
            cursor.close()
        finally:
            self._drop()

    @staticmethod
    def _plain(row: Any) -> Row:
        return tuple([cell if type(cell) in _PLAIN else _plain(cell) for cell in row])

    @staticmethod
    def _is_conversion_error(error: Exception) -> bool:
        # SQLite's driver reports it as an error of the database, without the library's code.
        return SqlAlchemyBase._is_conversion_error(error) or "Could not decode to UTF-8" in str(error)

    def _explain(self, error: BaseException) -> tuple[FailureKind, str] | None:
        message = outcomes.first_line(error)
        lowered = message.lower()
        # Each server has its own message for it, and each driver its own codes.
        if any(words in lowered for words in ("read-only transaction", "readonly database", "read only transaction")):
            return "writes", f"refused: it writes ({message})"
        if getattr(error, "sqlstate", getattr(error, "pgcode", None)) == "57014" or "DPY-4024" in message:
            return "timeout", message
        return None


_PLAIN = frozenset({int, str, float, bool, bytes, type(None), Decimal, date, datetime})


def _plain(cell: object) -> object:
    """Convert drivers' wrappers of bytes to bytes, and Oracle's large objects to their content."""
    if isinstance(cell, memoryview | bytearray):
        return bytes(cell)
    read = getattr(cell, "read", None)
    return read() if callable(read) else cell


_CLASSES: dict[str, type[SqlAlchemyEngine]] = {}


def __getattr__(name: str) -> type[SqlAlchemyEngine]:
    """``Engine_oracle`` and the like: the engine class of one family, created on first access."""
    prefix, _, backend = name.partition("_")
    if prefix != "Engine" or not backend:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if backend not in _CLASSES:
        family = FAMILIES.get(backend, Family(dialect=""))
        members = {
            "__slots__": (),
            "__module__": __name__,
            "name": backend,
            "dialect": family.dialect,
            "has_boolean_type": family.has_boolean_type,
            "family": family,
        }
        _CLASSES[backend] = type(name, (SqlAlchemyEngine,), members)
    return _CLASSES[backend]


def engine_for_scheme(scheme: str) -> str | None:
    """``module:Class`` of the engine for a URL scheme without its own engine; None if SQLAlchemy has no dialect.

    A scheme whose package is not installed has an engine, too: opening it says what to install.
    """
    backend = scheme.partition("+")[0]
    if backend in ("mysql", "mariadb"):
        return f"assay.engines.mysql.engine:{'Mysql' if backend == 'mysql' else 'Mariadb'}Engine"
    if backend in FAMILIES or _known(scheme):
        return f"{__name__}:Engine_{backend}"
    return None


def _known(scheme: str) -> bool:
    try:
        import sqlalchemy
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    except ImportError:
        return False
    try:
        sqlalchemy.make_url(f"{scheme}://").get_dialect()
    except (ArgumentError, NoSuchModuleError):
        return False
    except ImportError:
        return True
    return True


_MOST_TABLES = 2_000


def read_schema(connection: Any, dialect: str) -> DatabaseSchema:
    """Tables and views of the default schema, sorted by name, with the dialect's information on their keys."""
    from sqlalchemy import inspect

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on what it cannot read: that is omitted, here as everywhere
        tables = _tables(inspect(connection), _quote(connection))
    return DatabaseSchema(dialect=dialect, tables=tuple(map(with_ddl, tables)))


def _tables(inspector: Any, quote: str) -> list[TableSchema]:
    named = [(name, False) for name in sorted(inspector.get_table_names())]
    named += [(name, True) for name in sorted(_told(inspector.get_view_names))]
    return [
        table
        for name, is_view in named[:_MOST_TABLES]
        if (table := _table(inspector, name, is_view=is_view, quote=quote)) is not None
    ]


def _table(inspector: Any, name: str, *, is_view: bool, quote: str) -> TableSchema | None:
    columns = _told(inspector.get_columns, name)
    if not columns:
        return None  # a view on a deleted table, or a table that the account may not read
    if is_view:
        return TableSchema(name=name, kind="view", quote=quote, ddl="", columns=tuple(map(_column, columns)))
    key: Any = _told(inspector.get_pk_constraint, name)
    unique = [_names(one["column_names"]) for one in _told(inspector.get_unique_constraints, name)]
    unique += [_names(one["column_names"]) for one in _told(inspector.get_indexes, name) if _is_whole(one)]
    return TableSchema(
        name=name,
        quote=quote,
        ddl="",
        columns=tuple(map(_column, columns)),
        primary_key=_names(key["constrained_columns"]) if key else (),
        unique=tuple(dict.fromkeys(unique)),
        checks=tuple(str(one["sqltext"]) for one in _told(inspector.get_check_constraints, name)),
        foreign_keys=tuple(
            ForeignKey(
                columns=_names(one["constrained_columns"]),
                table=str(one["referred_table"]),
                referenced=_names(one["referred_columns"]),
            )
            for one in _told(inspector.get_foreign_keys, name)
        ),
    )


def _column(found: Mapping[str, Any]) -> ColumnSchema:
    return ColumnSchema(name=str(found["name"]), type=str(found["type"]), not_null=not found.get("nullable", True))


def _names(found: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(map(str, found or ()))


def _is_whole(index: Mapping[str, Any]) -> bool:
    """Whether an index makes whole columns of all rows unique."""
    options = index.get("dialect_options") or {}
    partial = any("where" in name and value is not None for name, value in options.items())
    return bool(index.get("unique")) and not (partial or index.get("expressions") or None in index["column_names"])


def _told(ask: Callable[..., Any], *arguments: object) -> Any:
    """What an inspector returns; empty if the dialect cannot, or the account may not see it."""
    try:
        return ask(*arguments) or ()
    except NotImplementedError:
        return ()
    except Exception:  # noqa: BLE001 - dialects and drivers raise what they like
        ask.__self__.bind.rollback()  # type: ignore[attr-defined] # else the failure spoils what is asked next
        return ()


def _quote(connection: Any) -> str:
    quote = connection.dialect.identifier_preparer.initial_quote
    return quote if quote in ('"', "`") else '"'
