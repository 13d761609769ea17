"""Read a Spark or Databricks URL.

``spark://HOST:PORT/CATALOG/SCHEMA?token=…&use_ssl=true`` is Assay's own form, ``sc://HOST:PORT/;token=…`` that of Spark
Connect. ``databricks://token:TOKEN@HOST/CATALOG/SCHEMA?http_path=…`` is the form of Databricks' SQLAlchemy dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from assay.engines.url_parts import Reader, flag, read_url, text
from assay.errors import DatabaseError
from assay.model import DatabaseUrl

SPARK_FORM = "spark://HOST:15002/CATALOG/SCHEMA?token=TOKEN&use_ssl=true"
DATABRICKS_FORM = "databricks://token:TOKEN@HOST/CATALOG/SCHEMA?http_path=/sql/1.0/warehouses/ID"
_SPARK_PARAMETERS: dict[str, Reader] = {
    "token": text,
    "use_ssl": lambda value: str(flag(value)).lower(),
    "user_id": text,
    "catalog": text,
    "schema": text,
}
_DATABRICKS_PARAMETERS: dict[str, Reader] = {"http_path": text, "catalog": text, "schema": text}


class Address(Struct, frozen=True, kw_only=True):
    """The server's address, what to read there, and how to log in."""

    host: str
    port: int
    catalog: str | None = None
    schema: str | None = None
    token: str | None = None
    parameters: dict[str, str]
    """The driver's other arguments."""

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
    """The address of a Spark Connect server. Raises DatabaseError for missing or unknown parts of the URL.

    >>> spark_address(DatabaseUrl(text="sc://spark.example/;token=x;use_ssl=true")).connect_string
    'sc://spark.example:15002/;use_ssl=true;token=x'
    """
    return _address(url, form=SPARK_FORM, port=15002, known=_SPARK_PARAMETERS)


def databricks_address(url: DatabaseUrl) -> Address:
    """The address of a Databricks SQL warehouse. Raises DatabaseError for missing or unknown parts of the URL."""
    address = _address(url, form=DATABRICKS_FORM, port=443, known=_DATABRICKS_PARAMETERS)
    missing = [
        what
        for what, given in (("token", address.token), ("http_path", address.parameters.get("http_path")))
        if not given
    ]
    if missing:
        raise DatabaseError(f"{url} has no {' and no '.join(missing)}: write {DATABRICKS_FORM}")
    return address


def _address(url: DatabaseUrl, *, form: str, port: int, known: Mapping[str, Reader]) -> Address:
    parts = read_url(url, known, form=form, path=("a catalog", "a schema"))
    given, split, names = parts.parameters, parts.split, parts.names
    if not split.hostname:
        raise DatabaseError(f"{url}: the host is missing: write {form}")
    if len(names) == 1:
        raise DatabaseError(f"{url}: a catalog without a schema: write {form}, and on open Spark spark_catalog/SCHEMA")
    login = unquote(split.password or split.username or "")
    for name, is_twice in (
        ("token", bool(login)),
        ("catalog", bool(names)),
        ("schema", bool(names)),
    ):
        if is_twice and name in given:
            raise DatabaseError(f"{url}: the {name} is given twice, before the question mark and as {name}=: write one")
    catalog, schema = names or (given.get("catalog"), given.get("schema"))
    return Address(
        host=split.hostname,
        port=parts.port or port,
        catalog=catalog,
        schema=schema,
        token=given.get("token") or login or None,
        parameters={name: value for name, value in given.items() if name not in ("token", "catalog", "schema")},
    )
