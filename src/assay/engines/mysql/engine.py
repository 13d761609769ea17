"""MySQL and MariaDB: read-only transactions on a session that is reset before each query.

Four measures restrict a query: its text is checked before it is sent (`assay.engines.mysql.guard`); the server enforces
a read-only transaction and a time limit; a second connection kills a query that takes longer or returns more rows than
wanted; and no session state remains for the next query. The session's `sql_mode` is set each time, so that the server
splits the text as the check did.
"""

from __future__ import annotations

import contextlib
import math
import re
import threading
import time
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from assay.engines import outcomes
from assay.engines.mysql.content import beyond_reading, loaded_functions
from assay.engines.reading import UnreadableValue
from assay.engines.sqlalchemy.base import CHECK_TIMEOUT_S, SqlAlchemyBase, require
from assay.engines.url_parts import Reader, file, flag, one_of, read_parameters, text, whole
from assay.errors import DatabaseError
from assay.model import DatabaseSchema, DatabaseUrl, Execution, FailureKind, Limits, quoted

_FLOAT, _BIT = 4, 16
_TYPES = {
    **dict(enumerate(("DECIMAL", "TINYINT", "SMALLINT", "INT", "FLOAT", "DOUBLE", "NULL", "TIMESTAMP", "BIGINT"))),
    **dict(enumerate(("MEDIUMINT", "DATE", "TIME", "DATETIME", "YEAR", "DATE", "VARCHAR", "BIT"), start=9)),
    **dict(enumerate(("JSON", "DECIMAL", "ENUM", "SET", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BLOB"), start=245)),
    **dict(enumerate(("VARCHAR", "CHAR", "GEOMETRY"), start=253)),
}
"""The protocol's codes of types, which drivers have in a cursor's description."""
_AFTER_WATCHDOG_S = 0.2
_KILL_TIMEOUT_S = 0.4
_LATER_TIMEOUT_S = 20.0
_LATER_TRIES = 3
_FINGERPRINT_TIMEOUT_S = 120.0
_RESET_COMMAND = 0x1F
"""COM_RESET_CONNECTION: removes user variables, temporary tables, named locks and settings, and rolls back."""

_PARAMETERS: dict[str, Reader] = {
    **dict.fromkeys(("ssl_ca", "ssl_cert", "ssl_key"), file),
    **dict.fromkeys(("ssl_capath", "ssl_cipher", "ssl_key_password", "unix_socket", "bind_address"), text),
    **dict.fromkeys(("charset", "collation", "sql_mode", "init_command", "program_name", "binary_prefix"), text),
    **dict.fromkeys(("read_default_file", "read_default_group", "server_public_key"), text),
    **dict.fromkeys(("compress", "use_unicode", "ssl_check_hostname"), flag),
    **dict.fromkeys(("ssl_disabled", "ssl_verify_cert", "ssl_verify_identity"), one_of("true")),
    **dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout", "client_flag", "max_allowed_packet"), whole),
}
"""PyMySQL's parameters that a URL can give. It reads any text as true, even "false"."""

_TIMEOUTS = frozenset({1205, 1969, 3024, 1907})
_AWAY = frozenset({1040, 1053, 1152, 1158, 1159, 1160, 1161, 1317, 1927, 2002, 2003, 2006, 2013, 2055, 4031})
_MEMORY = frozenset({1037, 1038, 1041, 1135, 3015, 4082})
_DENIED = frozenset({1044, 1227, 1290, 1370, 1419})
_READ_ONLY = 1792


class MysqlEngine(SqlAlchemyBase):
    """A MySQL database: ``mysql://user:password@host:3306/database``, over PyMySQL unless the URL names a driver.

    Values have the driver's types: int, Decimal, float, str, bytes, date, datetime, and timedelta for TIME. BIT becomes
    int; BOOLEAN is TINYINT(1), that is, 0 and 1; JSON is text; an invalid date, for example 0000-00-00, is text.
    """

    name: ClassVar[str] = "mysql"
    dialect: ClassVar[str] = "mysql"
    has_boolean_type: ClassVar[bool] = False
    form: ClassVar[str] = "mysql://user:password@host:3306/database"

    __slots__ = ("_driver", "_killer", "_loaded", "_mode", "_since", "_thread_id")

    def __init__(self, engine: Any, limits: Limits) -> None:
        super().__init__(engine, limits)
        self._driver: Any = None
        self._thread_id = 0
        self._since = 0.0
        self._mode = ""
        self._loaded: frozenset[str] = frozenset()
        self._killer: Any = None

    @classmethod
    def version(cls) -> str:
        """The versions of SQLAlchemy and, if installed, PyMySQL."""
        from importlib.metadata import PackageNotFoundError, version

        text = super().version()
        with contextlib.suppress(PackageNotFoundError):
            text += f", PyMySQL {version('pymysql')}"
        return text

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the tables' content, see `assay.engines.mysql.content`.

        Raises DatabaseError if the database cannot be read.
        """
        from assay.engines.mysql.content import fingerprint_content

        engine = cls.open(url, Limits(timeout_s=_FINGERPRINT_TIMEOUT_S))
        try:
            engine._connect()
            return fingerprint_content(engine._connection)
        except Exception as error:  # noqa: BLE001 - a driver raises what it likes; the URL is shown without its password
            message = engine._scrubbed(outcomes.first_line(getattr(error, "orig", None) or error))
            raise DatabaseError(f"{url} cannot be read: {message}") from None
        finally:
            engine.close()

    @classmethod
    def reader_grants(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """The statements that create a user who may only read."""
        name = unquote(urlsplit(str(url)).path.strip("/")) or "DATABASE"
        return (
            "CREATE USER 'assay'@'%' IDENTIFIED BY '...'",
            f"GRANT SELECT ON {quoted(name, '`')}.* TO 'assay'@'%'",
        )

    @classmethod
    def warnings(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """What the account in the URL may do beyond reading, as a sentence. Raises DatabaseError as `check` does."""
        engine = cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S))
        try:
            engine._connect()
            can = beyond_reading(str(row[0]) for row in engine._connection.exec_driver_sql("SHOW GRANTS"))
        except Exception as error:  # noqa: BLE001 - a driver raises what it likes; the URL is shown without its password
            message = engine._scrubbed(outcomes.first_line(getattr(error, "orig", None) or error))
            raise DatabaseError(f"{url} cannot be read: {message}") from None
        finally:
            engine.close()
        return (f"{url}: the account may {can}: use one that may only read: assay docs warehouse",) if can else ()

    @classmethod
    def _require(cls, url: DatabaseUrl) -> None:
        require(("sqlalchemy=sqlalchemy",), "sqlalchemy")
        if url.scheme.partition("+")[2] in ("", "pymysql"):
            require(("pymysql=pymysql",), "sqlalchemy")

    @classmethod
    def _settings(cls, parsed: Any, timeout_s: float) -> tuple[Any, dict[str, Any]]:
        if parsed.drivername.partition("+")[2] in ("", "pymysql"):
            cls._read_parameters(parsed)
        if "+" not in parsed.drivername:
            parsed = parsed.set(drivername=f"{parsed.drivername}+pymysql")
        return parsed, {
            "connect_args": cls._connect_args(parsed.get_driver_name(), timeout_s),
            "isolation_level": "AUTOCOMMIT",  # transactions are started in SQL: START TRANSACTION READ ONLY
        }

    @classmethod
    def _make_engine(cls, url: DatabaseUrl, timeout_s: float) -> Any:
        engine = super()._make_engine(url, timeout_s)
        if engine.dialect.driver == "pymysql":
            from sqlalchemy import event

            from assay.engines.mysql.binary import execute_exactly

            # Assay's own statements are sent in another way (`do_execute`), and not prepared.
            event.listen(engine, "do_execute_no_params", lambda cursor, query, _: execute_exactly(cursor, query))
        return engine

    @classmethod
    def _read_parameters(cls, parsed: Any) -> None:
        """Raise DatabaseError for a parameter that PyMySQL does not have, and for an invalid value."""
        given = [
            (name, value)
            for name, values in parsed.query.items()
            for value in ((values,) if isinstance(values, str) else values)
        ]
        read_parameters(
            DatabaseUrl(text=parsed.render_as_string(hide_password=True)), given, _PARAMETERS, form=cls.form
        )

    @classmethod
    def _connect_args(cls, driver: str, timeout_s: float) -> dict[str, Any]:
        seconds = max(1, math.ceil(min(timeout_s, CHECK_TIMEOUT_S)))
        if driver == "pymysql":
            from pymysql.constants import FIELD_TYPE
            from pymysql.converters import conversions

            # A server that stops responding must not block the worker: the read ends just after the watchdog has fired.
            return {
                "charset": "utf8mb4",
                "local_infile": False,
                "connect_timeout": seconds,
                "read_timeout": timeout_s + _AFTER_WATCHDOG_S,
                "conv": {**conversions, FIELD_TYPE.BIT: _bit},
            }
        if driver == "mysqldb":
            return {"charset": "utf8mb4", "local_infile": 0, "connect_timeout": seconds}
        return {}

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views that the account may read. Raises DatabaseError if they cannot be listed."""
        from assay.engines.mysql.schema import read_schema

        return read_schema(self, with_values=with_values)

    def close(self) -> None:
        """Close the connections. Closing twice is harmless."""
        super().close()
        self._close_killer()

    def _refusal(self, query: str) -> Execution | None:
        from assay.engines.mysql.guard import read_mysql

        reading = read_mysql(
            query,
            backslash_escapes="NO_BACKSLASH_ESCAPES" not in self._mode,
            ansi_quotes="ANSI_QUOTES" in self._mode,
            loaded=self._loaded,
        )
        return outcomes.unless_query(query, reading.does, reading.detail)

    def _begin(self) -> None:
        if not self._thread_id:
            thread_id, mode = self._connection.exec_driver_sql("SELECT CONNECTION_ID(), @@sql_mode").fetchone()
            self._mode = re.sub(r"[^A-Z0-9_,]", "", str(mode))
            self._loaded = loaded_functions(self._connection)
            self._driver = self._connection.connection.driver_connection
            self._since = time.monotonic()
            self._thread_id = int(thread_id)
        self._connection.exec_driver_sql(self._session())
        self._connection.exec_driver_sql("START TRANSACTION READ ONLY")

    def _session(self) -> str:
        """One statement that sets all that the session needs, since a reset restores the server's defaults."""
        seconds, dialect = self._limits.timeout_s, self._connection.dialect
        # The mode is the server's, as of the connection's start: the check of a text before sending relies on it.
        settings = [
            "NAMES utf8mb4",
            f"SESSION sql_mode = '{self._mode}'",
            f"SESSION lock_wait_timeout = {max(1, math.ceil(seconds))}",
        ]
        # Even if the query ends its transaction, the next one is read-only, too.
        if dialect.is_mariadb or dialect.server_version_info < (8, 0, 3):
            settings.append("SESSION tx_read_only = ON")
        else:
            settings.append("SESSION transaction_read_only = ON")
        if dialect.is_mariadb:
            settings.append(f"SESSION max_statement_time = {seconds:.6f}")
            if dialect.server_version_info >= (10, 1, 1):
                settings.append(f"SESSION max_session_mem_used = {max(8 * 1024 * 1024, self._limits.max_memory_bytes)}")
        elif dialect.server_version_info >= (5, 7, 8):
            settings.append(f"SESSION max_execution_time = {max(1, round(seconds * 1000))}")
        return f"SET {', '.join(settings)}"

    def _finish(self) -> None:
        """Undo the transaction and all of the query's changes to its session; a driver that cannot reset reconnects."""
        driver = self._driver
        if reset := getattr(driver, "cmd_reset_connection", None):  # mysql-connector
            reset()
        elif hasattr(driver, "_execute_command") and hasattr(driver, "_read_ok_packet"):
            # PyMySQL has no method for it; if these two internals disappear, each query gets a new connection.
            driver._execute_command(_RESET_COMMAND, b"")
            driver._read_ok_packet()
        else:
            self._connection.exec_driver_sql("ROLLBACK")
            self._drop()

    def _recover(self) -> None:
        if self._connection is None or self._connection.invalidated or self._watchdog.fired:
            self._drop()
            return
        self._finish_or_drop()

    def _cut(self, cursor: Any) -> None:
        # The protocol sends a result to its end, and drivers read it to its end before they close, which may be
        # megabytes. So the query is killed, PyMySQL is told that nothing follows, and the connection is dropped.
        self._kill("QUERY")
        self._forget_result()
        try:
            cursor.cursor.close()
        except Exception:  # noqa: BLE001 - the kill arrives as an error, of the driver's own kind
            pass
        finally:
            cursor.close()
            self._connection.invalidate()
            self._drop()

    def _forget_result(self) -> None:
        """Tell PyMySQL that no rows follow: otherwise it reads the rest when the result is discarded."""
        result: Any = getattr(self._driver, "_result", None)
        if hasattr(result, "unbuffered_active"):
            result.unbuffered_active = False
            result.connection = None

    def _check_columns(self, cursor: Any) -> None:
        """Raise UnreadableValue for a column whose values the driver cannot receive.

        A BIT that an expression such as MAX returns arrives as its digits, one of a column as its bits, and nothing in
        an answer says which it is. A FLOAT in the text protocol has only six digits: see `assay.engines.mysql.binary`.
        """
        result = getattr(cursor, "_result", None)
        for field in getattr(result, "fields", None) or ():
            if field.type_code == _BIT and not field.org_name:
                why = f"the column {field.name!r} (BIT) cannot be read, because its bits and its digits look alike"
                raise UnreadableValue(f"{why}: add 0 to it in the query")
        if getattr(result, "is_binary", False):
            return
        for name, code, *_ in cursor.description:
            if code == _FLOAT:
                why = f"the column {name!r} (FLOAT) cannot be read, because the driver receives only six digits of it"
                raise UnreadableValue(f"{why}: use PyMySQL (mysql+pymysql://), or add 0e0 to it in the query")

    @staticmethod
    def _type_name(column: Any) -> str:
        return _TYPES.get(column[1], str(column[1]))

    def _explain(self, error: BaseException) -> tuple[FailureKind, str] | None:
        message = str(error.args[1]) if len(error.args) > 1 else outcomes.first_line(error)
        message = message.split("\n", 1)[0]
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        if code in _TIMEOUTS:
            return "timeout", message
        if code == _READ_ONLY:
            return "writes", f"refused: it writes ({message})"
        if code in _MEMORY or "max-session-mem-used" in message:
            return "out_of_memory", message
        if code in _DENIED:
            return "refused", f"refused: the server does not allow it ({message})"
        if code in _AWAY:
            return "unreadable_database", message
        return "error", message

    def _cancel(self) -> None:
        """Kill the query, and the connection at the second call. Called from the watchdog's thread."""
        if self._connection is not None and self._thread_id:
            self._kill("QUERY" if self._killer is None else "CONNECTION")

    def _kill(self, what: str) -> None:
        thread_id, since = self._thread_id, self._since
        try:
            if self._killer is None:
                self._killer = self._connect_apart(_KILL_TIMEOUT_S)
            cursor = self._killer.cursor()
            cursor.execute(f"KILL {what} {thread_id}")
            cursor.close()
        except Exception:  # noqa: BLE001 - drivers raise various errors; a server that takes longer is not waited for
            self._close_killer()
            threading.Thread(target=self._kill_later, args=(thread_id, since), daemon=True).start()

    def _kill_later(self, thread_id: int, since: float) -> None:
        """End a connection that a busy server did not end in time: otherwise its query could run forever."""
        for _ in range(_LATER_TRIES):
            with contextlib.suppress(Exception):  # there is no caller left; a server that is gone runs nothing
                connection = self._connect_apart(_LATER_TIMEOUT_S)
                with contextlib.closing(connection), contextlib.closing(connection.cursor()) as cursor:
                    cursor.execute("SHOW GLOBAL STATUS LIKE 'Uptime'")
                    # A restarted server gives this id to other connections.
                    if int(cursor.fetchone()[1]) + 1 >= time.monotonic() - since:
                        cursor.execute(f"KILL CONNECTION {thread_id}")
                return

    def _connect_apart(self, timeout_s: float) -> Any:
        """Open a second connection, with only the driver."""
        dialect, url = self._engine.dialect, self._engine.url
        positional, named = dialect.create_connect_args(url)
        named |= self._connect_args(url.get_driver_name(), timeout_s)
        if "read_timeout" in named:
            named["read_timeout"] = timeout_s
        return dialect.connect(*positional, **named)

    def _close_killer(self) -> None:
        killer, self._killer = self._killer, None
        if killer is not None:
            with contextlib.suppress(Exception):  # a broken connection may not close
                killer.close()

    def _drop(self) -> None:
        self._forget_result()
        self._driver = None
        super()._drop()
        self._thread_id = 0
        self._close_killer()


class MariadbEngine(MysqlEngine):
    """A MariaDB database: ``mariadb://user:password@host:3306/database``. `MysqlEngine` accepts MariaDB, too."""

    name: ClassVar[str] = "mariadb"
    form: ClassVar[str] = "mariadb://user:password@host:3306/database"

    __slots__ = ()


def _bit(value: object) -> object:
    """BIT as a number: SQL compares it with numbers."""
    return int.from_bytes(value, "big") if isinstance(value, bytes) else value
