"""Snowflake: ``snowflake://user:password@account/database/schema?warehouse=…&role=…``."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

from assay.engines.reading import Column, failing, reading
from assay.engines.samples import rows_of
from assay.engines.snowflake import errors, values
from assay.engines.snowflake.schema import read_schema
from assay.engines.snowflake.url import FORM, browser_fault, connection_arguments, secrets_of
from assay.engines.warehouse.base import CHECK_TIMEOUT_S, Answer, Problem, Warehouse
from assay.errors import DatabaseError, InputError, did_you_mean, install_command
from assay.model import DatabaseSchema, DatabaseUrl, Limits, Row

QUERY_TAG = "assay"
_LOGIN_S = 60
CONTENT = """
SELECT table_schema, table_name, row_count, bytes, last_altered FROM information_schema.tables
WHERE table_schema <> 'INFORMATION_SCHEMA' ORDER BY table_schema, table_name
"""
_NETWORK_MARGIN_S = 10
"""How long after the time limit to stop waiting for a response."""


class SnowflakeEngine(Warehouse):
    """One schema of a Snowflake account.

    The server ends statements at the time limit, rounded up to whole seconds; the connector cancels them at the limit
    itself. Sessions are in UTC, take one statement per request, and end their queries when they are gone.
    """

    name: ClassVar[str] = "snowflake"
    dialect: ClassVar[str] = "snowflake"
    form: ClassVar[str] = FORM
    extra: ClassVar[str] = "snowflake"
    module: ClassVar[str] = "snowflake.connector"
    package: ClassVar[str] = "snowflake-connector-python<5"

    __slots__ = ("_arguments", "_cursor")

    def __init__(self, url: DatabaseUrl, limits: Limits) -> None:
        super().__init__(url, limits)
        self._arguments = connection_arguments(url)
        self._cursor: Any = None

    @classmethod
    def require(cls) -> None:
        """Raise MissingDependency without the connector, and InputError if its major version is another."""
        super().require()
        import snowflake.connector  # noqa: F401 - it takes seconds, which no query's limit should pay

        version = _connector_version()
        if int(version.partition(".")[0]) >= 5:
            raise InputError(
                f"snowflake-connector-python {version} is installed, but version 4 is needed: run  "
                f"{install_command(extra=cls.extra)}"
            )

    @classmethod
    def version(cls) -> str:
        """The connector's version."""
        super().require()
        return f"snowflake-connector-python {_connector_version()}"

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the rows, bytes and last change of each of the database's tables.

        Snowflake may also set the last change for its own work on a table: then the content counts as changed. Raises
        DatabaseError if the tables cannot be listed.
        """
        engine = cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S))
        try:
            tables = rows_of(engine, CONTENT)
        finally:
            engine.close()
        return blake2b(repr((super().fingerprint(url), tables)).encode(), digest_size=12).hexdigest()

    @classmethod
    def warnings(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """What the role may do beyond reading, one sentence each. Raises DatabaseError if it cannot be determined."""
        engine = cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S, max_rows=10_000))
        try:
            role = engine._run("SELECT CURRENT_ROLE()", check=False)
            name = role.result.rows[0][0] if role.result is not None and role.result.rows else None
            granted = engine._run(f"SHOW GRANTS TO ROLE {_in_quotes(str(name))}", check=False)
        finally:
            engine.close()
        if not name or granted.result is None:
            return ("the role's privileges cannot be read: use a role that may only read",)
        return _beyond_reading(str(name), granted.result.columns, tuple(granted.result.rows))

    @classmethod
    def reader_grants(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """The statements that create a role that may only read what the URL names."""
        arguments = connection_arguments(url)
        database, schema, warehouse, user = (
            quoted(str(arguments.get(name, default)))
            for name, default in (
                ("database", "DATABASE"),
                ("schema", "PUBLIC"),
                ("warehouse", "WAREHOUSE"),
                ("user", "USER"),
            )
        )
        return (
            "CREATE ROLE assay_reader",
            f"GRANT USAGE ON WAREHOUSE {warehouse} TO ROLE assay_reader",
            f"GRANT USAGE ON DATABASE {database} TO ROLE assay_reader",
            f"GRANT USAGE ON SCHEMA {database}.{schema} TO ROLE assay_reader",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {database}.{schema} TO ROLE assay_reader",
            f"GRANT SELECT ON ALL VIEWS IN SCHEMA {database}.{schema} TO ROLE assay_reader",
            f"GRANT ROLE assay_reader TO USER {user}",
        )

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views of the URL's schema. Raises DatabaseError if they cannot be listed."""
        return read_schema(self, with_values=with_values)

    def _connect(self) -> Any:
        import snowflake.connector

        _quiet()
        _check_files(self._arguments)
        seconds = self._limits.timeout_s
        try:
            return snowflake.connector.connect(
                **self._arguments,
                application="Assay",
                arrow_number_to_decimal=True,
                client_prefetch_threads=1,
                disable_console_login=True,
                login_timeout=_LOGIN_S,
                network_timeout=math.ceil(seconds) + _NETWORK_MARGIN_S,
                validate_default_parameters=True,
                session_parameters={
                    "STATEMENT_TIMEOUT_IN_SECONDS": max(1, math.ceil(seconds)),
                    "QUERY_TAG": QUERY_TAG,
                    "TIMEZONE": "UTC",
                    "MULTI_STATEMENT_COUNT": 1,
                    "ABORT_DETACHED_QUERY": True,
                    "CLIENT_TELEMETRY_ENABLED": False,
                },
            )
        except (KeyError, TypeError) as error:  # a connections.toml without the name, or with a wrong value
            raise DatabaseError(f"the connector cannot use these settings: {error}") from None

    def _submit(self, query: str) -> Answer:
        cursor = self._cursor = self._connection.cursor()
        cursor.execute(query, timeout=self._limits.timeout_s)
        description = cursor.description
        places = values.readers([column.type_code for column in description])
        columns = [(column.name, values.type_name(column.type_code)) for column in description]

        def fetch(wanted: int) -> list[Row]:
            rows = cursor.fetchmany(wanted)
            return [_plain(row, places, columns) for row in rows] if places else list(rows)

        names, types = zip(*columns, strict=True)
        return Answer(columns=names, types=types, fetch=fetch)

    def _cancel(self) -> None:
        cursor = self._cursor
        if cursor is not None and cursor.sfqid is not None:
            cursor.abort_query(cursor.sfqid)

    def _explain(self, error: BaseException) -> Problem | None:
        return errors.explain(error)

    def _is_conversion_error(self, error: Exception) -> bool:
        return errors.is_conversion_error(error)

    def _secrets(self) -> tuple[str, ...]:
        return secrets_of(self._arguments)


def _check_files(arguments: dict[str, Any]) -> None:
    """Raise DatabaseError if connections.toml lacks the connection, or the key's file is not a key."""
    if (name := arguments.get("connection_name")) is not None:
        from snowflake.connector.config_manager import CONFIG_MANAGER

        manager: Any = CONFIG_MANAGER
        known = list(manager["connections"])
        if name not in known:
            there = f"it has {', '.join(known)}" if known else f"it is expected in {manager.file_path.parent}"
            raise DatabaseError(
                f"connections.toml has no connection {name!r}{did_you_mean(name, known)}: {there}; write "
                "connection_name= and one of its names"
            )
        if why := browser_fault(manager["connections"][name]):
            raise DatabaseError(f"the connection {name!r} of connections.toml: {why}")
    if (path := arguments.get("private_key_file")) is not None:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        password = arguments.get("private_key_file_pwd")
        try:
            load_pem_private_key(Path(path).read_bytes(), None if password is None else password.encode())
        except (OSError, ValueError, TypeError) as error:
            if password is None and isinstance(error, TypeError):
                hint = "it is encrypted: add private_key_file_pwd=${NAME} to the URL"
            elif isinstance(error, TypeError):
                hint = "it is not encrypted: omit private_key_file_pwd"
            else:
                hint = (
                    "write the path of a PEM file of PKCS #8, and its password, if it has one, as private_key_file_pwd"
                )
            raise DatabaseError(f"the private_key_file {path!r} cannot be used: {hint}") from None


def quoted(name: str) -> str:
    """A name as the statements of a grant write it: quoted only if necessary, since quotes preserve the case."""
    return name if _UNQUOTED.fullmatch(name) else _in_quotes(name)


def _in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(row: Any, places: list[tuple[int, Any]], columns: Sequence[Column]) -> Row:
    cells = list(row)
    present = [(place, reader) for place, reader in places if row[place] is not None]

    def doubtful() -> Sequence[Column]:
        return failing(
            [columns[place] for place, _ in present], [partial(reader, row[place]) for place, reader in present]
        )

    with reading(doubtful):
        for place, reader in present:
            cells[place] = reader(row[place])
    return tuple(cells)


def _beyond_reading(role: str, columns: tuple[str, ...], rows: tuple[Row, ...]) -> tuple[str, ...]:
    """One sentence for all of a role's privileges beyond reading."""
    places = {name.lower(): place for place, name in enumerate(columns)}
    if not {"privilege", "granted_on", "name"} <= places.keys():
        return (f"the privileges of the role {role} are unknown: use a role that may only read",)
    found = {
        f"{row[places['privilege']]} on {str(row[places['granted_on']]).lower()} {row[places['name']]}"
        for row in rows
        if str(row[places["privilege"]]).upper() not in _READS
    }
    if role.upper() in _ADMINISTRATORS:
        return (f"the role {role} administers the account: use a role that may only read",)
    if not found:
        return ()
    shown = sorted(found)
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return (f"the role {role} may do more than read ({', '.join(shown[:3])}{more}): use a role that may only read",)


_UNQUOTED = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_READS = frozenset({"SELECT", "USAGE", "REFERENCES", "MONITOR", "READ"})
_ADMINISTRATORS = frozenset({"ACCOUNTADMIN", "SECURITYADMIN", "SYSADMIN", "ORGADMIN", "USERADMIN"})


def _connector_version() -> str:
    from importlib.metadata import version

    return version("snowflake-connector-python")


def _quiet() -> None:
    """Keep the connector's own log of warnings and retries off the terminal: the evidence has more."""
    if not (log := logging.getLogger("snowflake.connector")).handlers:
        log.addHandler(logging.NullHandler())
        log.propagate = False
