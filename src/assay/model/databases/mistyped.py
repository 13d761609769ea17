"""What is wrong with the text of a database URL, and what to write instead. No message contains a password."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec

from assay.model.databases.jdbc import MASK, instead_of_jdbc
from assay.model.databases.secret import masked_address
from assay.platform.surface import argument, option

_DRIVE = re.compile(r"[A-Za-z]:[\\/](?!/)")
"""A path of Windows, whose drive looks like a scheme."""
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+._\-]*):(?P<slashes>/*)")
FILE_SCHEMES = {
    **dict.fromkeys((".sqlite", ".db", ".sqlite3", ".db3"), "sqlite"),
    **dict.fromkeys((".duckdb", ".ddb"), "duckdb"),
}
"""The scheme for a database file by its suffix, the usual suffixes first."""
_DATABASE_FILE = re.compile(rf"[^@?=]*(?P<suffix>{'|'.join(map(re.escape, FILE_SCHEMES))})", re.IGNORECASE)
"""A path, without anything that may be a secret."""
_HOST_PORT = re.compile(r"(?:[\w.\-]+|\[[0-9A-Fa-f:]+\]):(?P<port>\d{1,5})(?P<rest>/[\w.\-/]*)?")
_NO_PORT = re.compile(r"(?P<host>[^:/?#@\[\],]+):(?![\d{$]|[^/?#]*[@,])[^/?#]")
"""A host and what cannot be its port: perhaps a user and a password, without the host."""
_PORTS = {
    "1433": "mssql+pyodbc",
    "1521": "oracle+oracledb",
    "3306": "mysql",
    "5432": "postgresql",
    "8123": "clickhouse",
    "8443": "clickhouse",
    "9090": "denodo+http",
    "15002": "spark",
}
_FILES = ("sqlite", "duckdb", "file")
_RENAMED = {
    **dict.fromkeys(
        ("pg", "pgsql", "psql", "postgre", "postgressql", "postgresq", "postgis", "psycopg2"), "postgresql"
    ),
    **dict.fromkeys(("sqlite3", "sqllite", "sqlite2"), "sqlite"),
    **dict.fromkeys(("sqlserver", "mssqlserver", "tsql", "pyodbc"), "mssql+pyodbc"),
    **dict.fromkeys(("pymysql", "mysql2", "mysqlx"), "mysql"),
    **dict.fromkeys(("duck", "motherduck"), "duckdb"),
    "maria": "mariadb",
    "ch": "clickhouse",
    "bq": "bigquery",
    "sf": "snowflake",
    "hive2": "hive",
}
"""Schemes that other tools use, or that are often mistyped."""
_CODES = {sign: f"%{ord(sign):02X}" for sign in "@/?#[]%"}
"""The codes of the signs that would end a user or password, or begin another part of the URL."""
_WEB = re.compile(r"\s*(https?)://", re.IGNORECASE)
_WEB_PLACE = re.compile(
    r"(?P<login>[^/?#@]*@)?(?P<place>(?:[^/?#@:\[\]\s]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?)(?=[/?]|\s*$)"
)
"""A login, a host and a port, before a path or a query string."""
_HOST_AFTER = re.compile(r"(?:localhost|[\w\-]+(?:\.[\w\-]+)+|[\w.\-]+:\d+)(?:[:/?]|$)")
"""What looks like a host: it has a dot or a port."""
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLACEHOLDER = re.compile(r"(?<!\$)\{(?P<name>[A-Za-z_]\w*)\}")
_DATABASE_NAMES = ("db", "dbid", "dbname", "database", "databaseid", "databasename", "name")

_OURS = ("postgresql", "postgres", "mysql", "mariadb", "sqlite", "duckdb", "clickhouse", "clickhousedb", "databricks")
_MODULES = {
    "psycopg2": "psycopg2",
    "psycopg": "psycopg",
    "pg8000": "pg8000",
    "mysqldb": "MySQLdb",
    "mysqlconnector": "mysql",
    "pymysql": "pymysql",
    "pysqlite": "sqlite3",
}
"""The modules of drivers that SQLAlchemy can use for an engine of ours."""
_OTHERS = (
    *("asyncpg", "psycopg_async", "psycopg2cffi", "aiosqlite", "aiomysql", "asyncmy", "cymysql"),
    *("duckdb_engine", "http", "connect", "connector"),
)
"""Drivers for which ours stands in."""


def without_driver(text: str) -> str:
    """A URL of SQLAlchemy without its driver, if ours does the same: its driver is asynchronous or not installed.

    >>> without_driver("postgresql+asyncpg://ann@host/shop")
    'postgresql://ann@host/shop'
    """
    scheme, colon, rest = text.partition(":")
    engine, _, driver = scheme.lower().partition("+")
    if engine not in _OURS or not (driver in _OTHERS or driver in _MODULES):
        return text
    if driver in _MODULES and _is_installed("sqlalchemy") and _is_installed(_MODULES[driver]):
        return text
    return f"{engine}{colon}{rest}"


def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


def fault_of(text: str) -> str | None:
    """What is wrong with a URL, and what to write instead; None if nothing is seen."""
    found = _SCHEME.match(text)
    if found is None or _DRIVE.match(text):
        return _without_scheme(text)
    scheme, rest = found["scheme"].lower(), text[found.end() :]
    if scheme == "jdbc":
        url, kind = instead_of_jdbc(text), rest.partition(":")[0]
        password = f"  with the password for {MASK}" if MASK in url else ""
        return f"'jdbc:{kind if kind.isalnum() else ''}…' is the URL of a Java driver: write  {url}{password}"
    if _HOST_PORT.fullmatch(text) or (not found["slashes"] and "@" in rest and scheme.partition("+")[0] not in _FILES):
        return _without_scheme(text)
    right = _RENAMED.get(scheme, scheme)
    engine = right.partition("+")[0]
    if engine in _FILES:
        return _file_fault(text, scheme, right, rest)
    if fault := _login_fault(scheme, right, rest):
        return fault
    if len(found["slashes"]) > 1 and (word := _NO_PORT.match(rest)):
        return (
            f"{scheme}://{word['host']}:{MASK}: the port is not a number from 1 to 65535; with a user and a password "
            f"write  {right}://USER:PASSWORD@HOST/DATABASE"
        )
    if right != scheme:
        return f"{_shown(text)} has the scheme {scheme!r}: write  {right}://{_shown(rest)}"
    if scheme in ("http", "https"):
        return (
            f"{_shown(text)} is a web address, not a database URL: write  denodo+{_shown(text)}  for Denodo, "
            f"clickhouse://{_shown(rest)}  for ClickHouse; a live system is named with {argument('--system')}"
        )
    if len(found["slashes"]) == 1:
        return f"{_shown(text)} has one slash after its scheme: write  {scheme}://{_shown(rest)}"
    return _placeholder_fault(text)


def _without_scheme(text: str) -> str:
    if found := _DATABASE_FILE.fullmatch(text):
        scheme = FILE_SCHEMES[found["suffix"].lower()]
        text = os.path.expanduser(text)
        return f"{text!r} is not a database URL: write  {scheme}:///{text.replace(chr(92), '/')}"
    if found := _HOST_PORT.fullmatch(text):
        scheme = _PORTS.get(found["port"], "postgresql")
        return f"{text!r} has no scheme: write  {scheme}://{text}"
    if "@" in text:
        scheme = next((name for name in (*_OURS, *_RENAMED) if text.lower().startswith(f"{name}//")), "")
        if scheme:
            rest = text.partition("//")[2]
            return f"{_shown(text)!r} has no colon after its scheme: write  {scheme}://{_shown(rest)}"
        return f"{_shown(text)!r} has no scheme: write  postgresql://{_shown(text)} or the scheme of another database"
    return (
        f"{masked_address(text)!r} is not a database URL: write  sqlite:///path/to/file.sqlite, "
        "duckdb:///path/to/file.duckdb or another URL with a scheme"
    )


def _shown(text: str) -> str:
    """The text without what may be a secret: without everything before the last @ but its scheme."""
    found = _SCHEME.match(text)
    head = found[0] if found and found["slashes"] else ""
    _, at, after = text[len(head) :].rpartition("@")
    if not at:
        return masked_address(text)
    return f"{head}{MASK}@{masked_address(after)}"


def _file_fault(text: str, scheme: str, right: str, rest: str) -> str | None:
    """What is wrong with the URL of a file; a path may hold any sign."""
    if right == "file":
        name = rest.lstrip("/")
        return f"{text!r} names a file but not its kind: write  sqlite:///{name}  or  duckdb:///{name}"
    if right != scheme:
        return f"{text} has the scheme {scheme!r}: write  {right}:///{rest}"
    return _placeholder_fault(text)


def _login_fault(scheme: str, right: str, rest: str) -> str | None:
    """Signs in a user or password, or elsewhere before an @, that would end it."""
    login, at, server = rest.rpartition("@")
    if not at:
        return None
    wrong = [sign for sign in _CODES if sign in login and (sign != "%" or _BARE_PERCENT.search(login))]
    if not wrong:
        return None
    shown = f"{MASK}@{masked_address(server)}"
    return (
        f"{scheme}://{shown} has {_and(wrong)} before the @ of its host: in a user, a password or a value write "
        f"{_and([f'{_CODES[sign]} for {sign}' for sign in wrong])}, so that it reads  {right}://USER:PASSWORD@"
        f"{masked_address(server)}"
    )


def web_fault_of(text: str) -> str | None:
    """What is wrong with the user or password of a web address; None if nothing is seen, or it is another text.

    An @ in a path or a query string is usual. It is a mistake if it is the first that could end a login.
    """
    found = _WEB.match(text)
    if found is None:
        return None
    scheme, rest = found[1].lower(), text[found.end() :]
    plain = _WEB_PLACE.match(rest)
    if plain is None or "#" in rest.rpartition("@")[0]:
        return _login_fault(scheme, scheme, rest)
    login, place, after = plain["login"], plain["place"], rest[plain.end() :]
    if login:
        return _login_fault(scheme, scheme, plain[0] + after.partition("@")[0])
    if ":" in place.partition("]")[2] or (":" in place and "]" not in place):  # perhaps a user and a password
        before, _, server = after.rpartition("@")
        return _login_fault(scheme, scheme, rest) if "=" not in before and _HOST_AFTER.match(server) else None
    return None


def plain_port_hint(detail: str) -> str:
    """What to try if TLS failed since the port speaks plain HTTP; empty for another error."""
    plain = any(sign in detail.upper().replace(" ", "_") for sign in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"))
    return ": the port may speak HTTP without TLS: try http:// instead of https://" if plain else ""


def _and(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _placeholder_fault(text: str) -> str | None:
    """A placeholder other than {db_id} outside the parameters."""
    address = text.partition("?")[0]
    found = next((one for one in _PLACEHOLDER.finditer(address) if one["name"] != "db_id"), None)
    if found is None:
        return None
    name = found["name"]
    written = f"{{{name}}}"
    is_column = name.replace("_", "").lower() not in _DATABASE_NAMES
    column = (
        f"; if the database's name is in the column {name}, add  {option('--db-column', name)}" if is_column else ""
    )
    return (
        f"{_shown(text)} has the placeholder {written}; only {{db_id}} is filled in, with the database of each case: "
        f"write  {_shown(text.replace(written, '{db_id}'))}{column}"
    )
