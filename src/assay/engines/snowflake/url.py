"""Read a Snowflake URL into the connector's arguments.

``snowflake://USER:PASSWORD@ACCOUNT/DATABASE/SCHEMA?warehouse=W&role=R`` is the form of SQLAlchemy's dialect. Without a
user and account, ``snowflake:///DATABASE/SCHEMA?connection_name=NAME`` takes the rest from the connector's own
``connections.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from assay.engines.url_parts import Reader, file, one_of, port, read_url, text
from assay.errors import DatabaseError
from assay.model import DatabaseUrl

FORM = "snowflake://USER:PASSWORD@ACCOUNT/DATABASE/SCHEMA?warehouse=NAME&role=NAME"
_LOGINS = (
    "snowflake",
    "snowflake_jwt",
    "programmatic_access_token",
    "oauth",
    "oauth_authorization_code",
    "oauth_client_credentials",
    "externalbrowser",
    "username_password_mfa",
    "workload_identity",
)


def _authenticator(value: str) -> str:
    """One of the connector's ways to log in, or the address of an identity provider."""
    return value if value.lower().startswith("https://") else one_of(*_LOGINS)(value)


_PARAMETERS: dict[str, Reader] = {
    "warehouse": text,
    "role": text,
    "authenticator": _authenticator,
    "token": text,
    "token_file_path": file,
    "private_key_file": file,
    "private_key_file_pwd": text,
    "passcode": text,
    "connection_name": text,
    "host": text,
    "port": port,
    "protocol": one_of("https", "http"),
    "region": text,
    "workload_identity_provider": text,
}
"""The connector's parameters that say who logs in, where, and with which rights; and how each is read."""
_LOGIN_PARAMETERS = ("token", "token_file_path", "private_key_file", "workload_identity_provider")
_WITHOUT_BROWSER = (
    "use a key (private_key_file=PATH) or an access token (authenticator=programmatic_access_token&token=${NAME})"
)
_DOMAIN = ".snowflakecomputing.com"
_SECRETS = ("password", "token", "private_key_file_pwd", "passcode")


def connection_arguments(url: DatabaseUrl) -> dict[str, Any]:
    """The connector's arguments. Raises DatabaseError for a URL that lacks a required part, or has unknown parts.

    >>> connection_arguments(DatabaseUrl(text="snowflake://ann:x@acme-eu/sales/public?role=reader"))["account"]
    'acme-eu'
    """
    parts = read_url(url, _PARAMETERS, form=FORM, path=("a database", "a schema"), has_host=False)
    arguments, split = parts.parameters, parts.split
    _, _, account = split.netloc.rpartition("@")
    if account.lower().endswith(_DOMAIN):
        raise DatabaseError(f"{url}: write the account without {_DOMAIN}, as ORGANIZATION-ACCOUNT or LOCATOR.REGION")
    if ":" in account:
        raise DatabaseError(f"{url}: an account has no port: write {FORM}")
    given = {"user": split.username, "password": split.password, "account": account}
    arguments |= {name: unquote(value) for name, value in given.items() if value}
    arguments |= dict(zip(("database", "schema"), parts.names, strict=False))
    if "connection_name" not in arguments:
        missing = [name for name in ("account", "user") if name not in arguments]
        if "authenticator" in arguments and "user" in missing:
            missing.remove("user")  # some login methods determine the user themselves
        if missing:
            raise DatabaseError(f"{url} has no {' and no '.join(missing)}: write {FORM}")
        if why := _login_fault(arguments):
            raise DatabaseError(f"{url}: {why}")
    return arguments


def browser_fault(arguments: Mapping[str, Any]) -> str | None:
    """Why these arguments do not work in a worker process, if they log in with a browser."""
    authenticator = str(arguments.get("authenticator")).lower()
    if authenticator not in ("externalbrowser", "oauth_authorization_code"):
        return None
    return f"authenticator={authenticator} opens a browser, which worker processes cannot: {_WITHOUT_BROWSER}"


def _login_fault(arguments: Mapping[str, Any]) -> str | None:
    """Why these arguments cannot log in, and what to write; None if only the service can tell."""
    if why := browser_fault(arguments):
        return why
    authenticator = str(arguments.get("authenticator") or "snowflake").lower()
    given = {name for name in ("password", *_LOGIN_PARAMETERS) if arguments.get(name)}
    if authenticator == "snowflake_jwt" and "private_key_file" not in given:
        return "authenticator=snowflake_jwt needs a key: add private_key_file= and the path of a PEM file of PKCS #8"
    tokens = {"token", "token_file_path"} | ({"password"} if authenticator.startswith("programmatic") else set())
    if authenticator in ("oauth", "programmatic_access_token") and not given & tokens:
        return f"authenticator={authenticator} needs a token: add token=${{NAME}} or token_file_path=PATH"
    needs_password = authenticator in ("snowflake", "username_password_mfa") or authenticator.startswith("https://")
    if needs_password and not given:
        return f"no password in it: write {FORM}, or {_WITHOUT_BROWSER}"
    return None


def secrets_of(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Secrets, which no message may repeat."""
    return tuple(str(arguments[name]) for name in _SECRETS if arguments.get(name))
