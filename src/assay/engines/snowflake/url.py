"""What a Snowflake URL says to the connector.

``snowflake://USER:PASSWORD@ACCOUNT/DATABASE/SCHEMA?warehouse=W&role=R`` is the form of SQLAlchemy's dialect. Without a
user and account, ``snowflake:///DATABASE/SCHEMA?connection_name=NAME`` takes the rest from the connector's own
``connections.toml``.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from assay.errors import DatabaseError, did_you_mean
from assay.model import DatabaseUrl

FORM = "snowflake://USER:PASSWORD@ACCOUNT/DATABASE/SCHEMA?warehouse=NAME&role=NAME"
_PARAMETERS = {
    "warehouse": str,
    "role": str,
    "authenticator": str,
    "token": str,
    "token_file_path": str,
    "private_key_file": str,
    "private_key_file_pwd": str,
    "passcode": str,
    "connection_name": str,
    "host": str,
    "port": int,
    "protocol": str,
    "region": str,
    "workload_identity_provider": str,
}
"""The connector's parameters that say who logs in, where, and with which rights; and how each is read."""
_SECRETS = ("password", "token", "private_key_file_pwd", "passcode")
_ALLOW = "allow"


def connection_arguments(url: DatabaseUrl) -> dict[str, Any]:
    """The connector's arguments. Raises DatabaseError for a URL that leaves out what is needed, or has unknown parts.

    >>> connection_arguments(DatabaseUrl(text="snowflake://ann:x@acme-eu/sales/public?role=reader"))["account"]
    'acme-eu'
    """
    parts = urlsplit(url.reveal())
    arguments: dict[str, Any] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name == _ALLOW:
            continue
        if name not in _PARAMETERS:
            raise DatabaseError(f"{url}: there is no parameter {name!r}{did_you_mean(name, _PARAMETERS)}: write {FORM}")
        try:
            arguments[name] = _PARAMETERS[name](value)
        except ValueError:
            raise DatabaseError(f"{url}: {name} is {value!r}, and not a number") from None
    _, _, place = parts.netloc.rpartition("@")
    given = {"user": parts.username, "password": parts.password, "account": place}
    arguments |= {name: unquote(value) for name, value in given.items() if value}
    names = [unquote(name) for name in parts.path.split("/") if name]
    if len(names) > 2:
        raise DatabaseError(f"{url}: a database and a schema were expected after the account: write {FORM}")
    arguments |= dict(zip(("database", "schema"), names, strict=False))
    if "connection_name" not in arguments:
        missing = [name for name in ("account", "user") if name not in arguments]
        if "authenticator" in arguments and "user" in missing:
            missing.remove("user")  # some ways to log in tell the user by themselves
        if missing:
            raise DatabaseError(f"{url}: no {' and no '.join(missing)} in it: write {FORM}")
    return arguments


def secrets_of(arguments: dict[str, Any]) -> tuple[str, ...]:
    """What no message may repeat."""
    return tuple(str(arguments[name]) for name in _SECRETS if arguments.get(name))
