"""A ClickHouse URL as the driver's arguments."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from assay.errors import DatabaseError, did_you_mean
from assay.model import DatabaseUrl

_OPTIONS = {
    "secure": bool,
    "verify": bool,
    "ca_cert": str,
    "client_cert": str,
    "client_cert_key": str,
    "http_proxy": str,
    "https_proxy": str,
    "server_host_name": str,
    "proxy_path": str,
    "access_token": str,
    "connect_timeout": int,
    "compress": bool,
}
"""The driver's own, by the type of their values."""
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


class Address(Struct, frozen=True, kw_only=True):
    """What a URL names."""

    host: str
    port: int
    user: str
    database: str
    arguments: dict[str, Any]
    """Of the driver, the password included."""


def read_address(url: DatabaseUrl, *, form: str) -> Address:
    """The parts of ``clickhouse://user:password@host:port/database?option=value``. Raises DatabaseError."""
    parts = urlsplit(url.reveal())
    try:
        port = parts.port
    except ValueError:
        raise DatabaseError(f"{url}: the port is not a number from 1 to 65535: write {form}") from None
    arguments: dict[str, Any] = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name == "allow":  # for `assay.engines.warehouse.held`
            continue
        if name not in _OPTIONS:
            raise DatabaseError(f"{url}: there is no option {name!r}{did_you_mean(name, _OPTIONS)}")
        arguments[name] = _value(url, name, text)
    if parts.scheme == "clickhouses":
        arguments["secure"] = True
    database = unquote(parts.path.strip("/"))
    if "/" in database:
        raise DatabaseError(f"{url}: the path is the name of one database: write {form}")
    secure = arguments.get("secure", port in (443, 8443))
    host, user = parts.hostname or "localhost", unquote(parts.username or "")
    port = port or (8443 if secure else 8123)
    given = {"host": host, "port": port, "interface": "https" if secure else "http"}
    if "access_token" not in arguments:
        given |= {"username": user or "default", "password": unquote(parts.password or "")}
    return Address(
        host=host, port=port, user=user or "default", database=database or "default", arguments={**arguments, **given}
    )


def _value(url: DatabaseUrl, name: str, text: str) -> object:
    kind = _OPTIONS[name]
    if kind is bool and text.lower() in (*_TRUE, *_FALSE):
        return text.lower() in _TRUE
    if kind is int and text.isdigit():
        return int(text)
    if kind is str and text:
        return text
    expected = {bool: "true or false", int: "a whole number", str: "a text"}[kind]
    shown = "" if name == "access_token" else f" is {text!r}"
    raise DatabaseError(f"{url}: the option {name}{shown}: expected {expected}")
