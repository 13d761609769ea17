"""The URL to write instead of one for a JDBC driver. No password is ever part of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote_plus

from msgspec import Struct

MASK = "***"
_HOST = r"(?P<host>[\w.\-]+|\[[0-9A-Fa-f:]+\])(?::(?P<port>\d+))?"
_SERVER = re.compile(
    rf"//(?:(?P<user>[^:/@?#;]*)(?::(?P<password>[^@/?#;]*))?@)?{_HOST}(?:\\(?P<instance>\w+))?"
    r"(?:/(?P<path>[\w.\-/]*))?(?:[?;](?P<parameters>.*))?",
    re.DOTALL,
)
"""An address whose parts are certain: a password with other signs could be taken for a host."""
_ORACLE = re.compile(rf"(?:thin|oci\d?):(?P<login>[^@]*)@(?://)?{_HOST}(?P<sign>[:/])(?P<name>[\w.\-]+)")
_SAME = ("postgresql", "mysql", "mariadb", "redshift", "trino", "presto", "clickhouse", "hive", "db2", "teradatasql")
_ALIASES = {
    "ch": "clickhouse",
    "hive2": "hive",
    "microsoft": "sqlserver",
    "jtds": "sqlserver",
    "spark": "databricks",
    "teradata": "teradatasql",
    "vdb": "denodo",
    "pgsql": "postgresql",
}
_ANY = "dialect+driver://USER:PASSWORD@HOST:PORT/DATABASE, a URL of SQLAlchemy"
_FORMS = {
    "bigquery": "bigquery://PROJECT/DATASET",
    "databricks": "databricks://token:TOKEN@HOST/CATALOG/SCHEMA?http_path=/sql/1.0/warehouses/ID",
    "denodo": "denodo+flightsql://USER:PASSWORD@HOST:9994/DATABASE",
    "oracle": "oracle+oracledb://USER:PASSWORD@HOST:1521/?service_name=NAME",
    "snowflake": "snowflake://USER:PASSWORD@ACCOUNT/DATABASE/SCHEMA?warehouse=NAME",
    "sqlserver": "mssql+pyodbc://USER:PASSWORD@HOST:1433/DATABASE?driver=ODBC+Driver+18+for+SQL+Server",
    **{name: f"{name}://USER:PASSWORD@HOST/DATABASE" for name in _SAME},
}


class _Address(Struct, frozen=True, kw_only=True):
    """The parts of a JDBC URL, without the password."""

    host: str
    port: str = ""
    names: tuple[str, ...] = ()
    login: str = ""
    """``user:***@``"""
    parameters: Mapping[str, str] = {}

    def of(self, *names: str) -> str:
        """The first of these parameters, quoted for a URL; empty if none is given."""
        return next((quote(self.parameters[name], safe="") for name in names if self.parameters.get(name)), "")


def instead_of_jdbc(text: str) -> str:
    """The URL to write instead of a JDBC URL, with its host, port, database and user; ``***`` for the password.

    If the parts are not certain, it is the form of such a URL.

    >>> instead_of_jdbc("jdbc:postgresql://db.example:5432/shop?user=ann&password=secret")
    'postgresql://ann:***@db.example:5432/shop'
    """
    named, _, rest = text.partition(":")[2].partition(":")
    kind = _ALIASES.get(named.lower(), named.lower())
    if kind in ("sqlite", "duckdb"):
        path = rest.removeprefix("file:").partition("?")[0].replace("\\", "/")
        return f"{kind}:///{path}" if path else f"{kind}:///path/to/file.{kind}"
    if kind not in _FORMS:
        return _ANY
    if kind == "oracle":
        return _of_oracle(rest)
    if kind == "sqlserver" and not rest.startswith("//"):  # jdbc:jtds:sqlserver://…, jdbc:microsoft:sqlserver://…
        rest = rest.partition(":")[2]
    address = _address(rest)
    if address is None:
        return _FORMS[kind]
    write = _WRITERS.get(kind)
    return _of_server(kind, address) if write is None else write(address)


def _address(rest: str) -> _Address | None:
    found = _SERVER.fullmatch(rest)
    if found is None:
        return None
    pairs = (part.partition("=") for part in re.split("[;&]", found["parameters"] or ""))
    parameters: dict[str, str] = {}
    for name, _, value in pairs:
        parameters.setdefault(name.strip().lower(), unquote_plus(value.strip()))
    user = found["user"] or next((parameters[name] for name in ("user", "uid", "username") if name in parameters), "")
    with_password = bool(found["password"]) or any(parameters.get(name) for name in ("password", "pwd"))
    login = f"{quote(user, safe='')}:{MASK}@" if with_password else f"{quote(user, safe='')}@" if user else ""
    return _Address(
        host=found["host"] + (f"\\{found['instance']}" if found["instance"] else ""),
        port=found["port"] or "",
        names=tuple(filter(None, (found["path"] or "").split("/"))),
        login=login,
        parameters=parameters,
    )


def _of_server(scheme: str, address: _Address, *, port: str = "") -> str:
    port = address.port or port
    names = address.names or tuple(filter(None, (address.of("database", "databasename", "db", "dbname"),)))
    return f"{scheme}://{address.login}{address.host}{port and ':'}{port}/{'/'.join(names)}"


def _of_snowflake(address: _Address) -> str:
    account = re.sub(r"\.snowflakecomputing\.com$", "", address.host, flags=re.IGNORECASE)
    names = [address.of("db", "database") or "DATABASE", address.of("schema")]
    given = [f"{name}={address.of(name)}" for name in ("warehouse", "role") if address.of(name)]
    login = address.login or "USER:PASSWORD@"
    return f"snowflake://{login}{account}/{'/'.join(filter(None, names))}{'?' * bool(given)}{'&'.join(given)}"


def _of_sqlserver(address: _Address) -> str:
    server = _of_server("mssql+pyodbc", _Address(host=address.host, port=address.port, login=address.login))
    name = "/".join(address.names) or address.of("databasename", "database")
    return f"{server}{name}?driver=ODBC+Driver+18+for+SQL+Server"


def _of_databricks(address: _Address) -> str:
    path = address.parameters.get("httppath") or "/sql/1.0/warehouses/ID"
    names = [address.of("conncatalog") or "CATALOG", address.of("connschema") or "SCHEMA"]
    return f"databricks://token:{MASK}@{address.host}/{'/'.join(names)}?http_path={quote(path, safe='/')}"


def _of_denodo(address: _Address) -> str:
    """JDBC's port serves nothing else."""
    return _of_server(
        "denodo+flightsql", _Address(host=address.host, names=address.names, login=address.login), port="9994"
    )


def _of_bigquery(address: _Address) -> str:
    return f"bigquery://{address.of('projectid') or 'PROJECT'}/{address.of('defaultdataset') or 'DATASET'}"


_WRITERS = {
    "bigquery": _of_bigquery,
    "databricks": _of_databricks,
    "denodo": _of_denodo,
    "snowflake": _of_snowflake,
    "sqlserver": _of_sqlserver,
}


def _of_oracle(rest: str) -> str:
    found = _ORACLE.fullmatch(rest)
    if found is None:
        return _FORMS["oracle"]
    user, slash, _ = found["login"].partition("/")
    login = f"{quote(user, safe='')}:{MASK}@" if slash else f"{quote(user, safe='')}@" if user else ""
    name = found["name"] if found["sign"] == ":" else f"?service_name={found['name']}"
    return f"oracle+oracledb://{login}{found['host']}:{found['port'] or 1521}/{name}"
