"""A ClickHouse URL as the driver's arguments."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from assay.engines.url_parts import Reader, file, flag, read_url, text, whole
from assay.errors import DatabaseError
from assay.model import DatabaseUrl

_PARAMETERS: dict[str, Reader] = {
    "secure": flag,
    "verify": flag,
    "ca_cert": file,
    "client_cert": file,
    "client_cert_key": file,
    "http_proxy": text,
    "https_proxy": text,
    "server_host_name": text,
    "proxy_path": text,
    "access_token": text,
    "connect_timeout": whole,
    "compress": flag,
}
"""The driver's own."""


class Address(Struct, frozen=True, kw_only=True):
    """What a URL names."""

    host: str
    port: int
    user: str
    database: str
    arguments: dict[str, Any]
    """For the driver, including the password."""


def read_address(url: DatabaseUrl, *, form: str) -> Address:
    """The parts of ``clickhouse://user:password@host:port/database?option=value``. Raises DatabaseError."""
    parts = read_url(url, _PARAMETERS, form=form, path=("one database",))
    arguments, port, split = parts.parameters, parts.port, parts.split
    if parts.split.scheme == "clickhouses":
        if arguments.get("secure") is False:
            raise DatabaseError(f"{url}: clickhouses:// is encrypted: write clickhouse://, or omit secure=false")
        arguments["secure"] = True
    database = parts.names[0] if parts.names else ""
    secure = arguments.get("secure", port in (443, 8443))
    host, user = split.hostname or "localhost", unquote(split.username or "")
    port = port or (8443 if secure else 8123)
    given = {"host": host, "port": port, "interface": "https" if secure else "http"}
    if "access_token" not in arguments:
        given |= {"username": user or "default", "password": unquote(split.password or "")}
    return Address(
        host=host, port=port, user=user or "default", database=database or "default", arguments={**arguments, **given}
    )
