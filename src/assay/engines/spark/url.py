"""What a Spark or Databricks URL says.

``spark://HOST:PORT/CATALOG/SCHEMA?token=…&use_ssl=true`` is Assay's own form, ``sc://HOST:PORT/;token=…`` that of Spark
Connect. ``databricks://token:TOKEN@HOST/CATALOG/SCHEMA?http_path=…`` is the form of Databricks' SQLAlchemy dialect.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from msgspec import Struct

from assay.errors import DatabaseError, did_you_mean
from assay.model import DatabaseUrl

SPARK_FORM = "spark://HOST:15002/CATALOG/SCHEMA?token=TOKEN&use_ssl=true"
DATABRICKS_FORM = "databricks://token:TOKEN@HOST/CATALOG/SCHEMA?http_path=/sql/1.0/warehouses/ID"
_SPARK_PARAMETERS = ("token", "use_ssl", "user_id", "catalog", "schema")
_DATABRICKS_PARAMETERS = ("http_path", "catalog", "schema")
_HELD_BY_ASSAY = "allow"


class Address(Struct, frozen=True, kw_only=True):
    """Where a server is, what to read there, and how to log in."""

    host: str
    port: int
    catalog: str | None = None
    schema: str | None = None
    token: str | None = None
    parameters: dict[str, str]
    """What else the driver takes."""

    @property
    def connect_string(self) -> str:
        """Spark Connect's own form, without a catalog and a schema."""
        given = {**self.parameters, "token": self.token}
        host = f"[{self.host}]" if ":" in self.host else self.host
        listed = ";".join(f"{name}={quote(value, safe='')}" for name, value in given.items() if value)
        return f"sc://{host}:{self.port}/" + (f";{listed}" if listed else "")

    @property
    def databricks_arguments(self) -> dict[str, Any]:
        """The arguments of Databricks' connector."""
        given: dict[str, str | int | None] = {
            "server_hostname": self.host,
            "access_token": self.token,
            "catalog": self.catalog,
            "schema": self.schema,
            **self.parameters,
        }
        if self.port != 443:
            given["_port"] = self.port
        return {name: value for name, value in given.items() if value is not None}


def spark_address(url: DatabaseUrl) -> Address:
    """The address of a Spark Connect server. Raises DatabaseError for what the URL lacks or has too much.

    >>> spark_address(DatabaseUrl(text="sc://spark.example/;token=x;use_ssl=true")).connect_string
    'sc://spark.example:15002/;use_ssl=true;token=x'
    """
    return _address(url, form=SPARK_FORM, port=15002, known=_SPARK_PARAMETERS)


def databricks_address(url: DatabaseUrl) -> Address:
    """The address of a Databricks SQL warehouse. Raises DatabaseError for what the URL lacks or has too much."""
    address = _address(url, form=DATABRICKS_FORM, port=443, known=_DATABRICKS_PARAMETERS)
    missing = [
        what
        for what, given in (("token", address.token), ("http_path", address.parameters.get("http_path")))
        if not given
    ]
    if missing:
        raise DatabaseError(f"{url}: no {' and no '.join(missing)} in it: write {DATABRICKS_FORM}")
    return address


def _address(url: DatabaseUrl, *, form: str, port: int, known: tuple[str, ...]) -> Address:
    main, _, semicolons = url.reveal().partition(";")
    parts = urlsplit(main)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    for pair in filter(None, semicolons.split(";")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise DatabaseError(f"{url}: a parameter after ; has no value: write {form}")
        pairs.append((name, unquote(value)))
    given = {name: value for name, value in pairs if name != _HELD_BY_ASSAY}
    for name in given:
        if name not in known:
            raise DatabaseError(f"{url}: there is no parameter {name!r}{did_you_mean(name, known)}: write {form}")
    try:
        where = parts.port or port
    except ValueError:
        raise DatabaseError(f"{url}: the port is not a number from 1 to 65535: write {form}") from None
    if not parts.hostname:
        raise DatabaseError(f"{url}: no host in it: write {form}")
    names = [unquote(name) for name in parts.path.split("/") if name]
    if len(names) > 2:
        raise DatabaseError(f"{url}: a catalog and a schema were expected after the host: write {form}")
    if len(names) == 1:
        raise DatabaseError(f"{url}: a catalog without a schema: write {form}, and on open Spark spark_catalog/SCHEMA")
    catalog, schema = names or (given.get("catalog"), given.get("schema"))
    return Address(
        host=parts.hostname,
        port=where,
        catalog=catalog,
        schema=schema,
        token=given.get("token") or unquote(parts.password or parts.username or "") or None,
        parameters={name: value for name, value in given.items() if name not in ("token", "catalog", "schema")},
    )
