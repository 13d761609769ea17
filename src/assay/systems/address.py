"""The address of a live system: the URL to send to, and the form that messages may show."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from msgspec import Struct

from assay.errors import InputError
from assay.model import Secret
from assay.model.databases.mistyped import web_fault_of
from assay.model.databases.secret import masked_address

# Not "tokens": max_tokens is a number, not a secret.
_SECRET_NAME = re.compile(r"key|token(?!s(?![a-z]))|secret|passw|pwd|auth|signature|credential", re.IGNORECASE)
MASK = "***"


class Address(Struct, frozen=True, kw_only=True):
    """An HTTP address without the user and password that its URL may contain."""

    url: Secret
    """The whole URL, with its query string."""
    shown: str
    """The form for messages: secrets in the query string, recognized by their names, are masked."""
    path: str
    is_loopback: bool
    user: str | None = None
    password: Secret | None = None
    query_secrets: tuple[Secret, ...] = ()


def http_address(url: str, scheme: str) -> Address:
    """Read ``scheme:http://…`` or a plain ``http://…``. Raises InputError without showing a password."""
    text = without_scheme(url, scheme)
    shape = f"write {scheme}:http://host:port/path"
    if fault := web_fault_of(text):
        raise InputError(fault)
    try:
        parts = urlsplit(text)
    except ValueError:
        raise InputError(f"{masked_address(url)!r} has an invalid host: {shape}") from None
    if parts.scheme not in ("http", "https"):
        raise InputError(f"{masked_address(url)!r} has no HTTP address after {scheme + ':'!r}: {shape}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InputError(f"{masked_address(url)!r} has an invalid port (at most 65535): {shape}") from None
    if not host or any(character.isspace() for character in text):
        raise InputError(f"{masked_address(url)!r} has no host, or contains a space: {shape}")
    bracketed = f"[{host}]" if ":" in host else host
    place = bracketed if port is None else f"{bracketed}:{port}"
    query = parse_qsl(parts.query, keep_blank_values=True)
    shown = "&".join(f"{name}={shown_value(name, value)}" for name, value in query)
    return Address(
        url=Secret(urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))),
        shown=urlunsplit((parts.scheme, place, parts.path or "/", shown, "")),
        path=parts.path,
        is_loopback=_is_loopback(host),
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else Secret(unquote(parts.password)),
        query_secrets=tuple(Secret(value) for name, value in query if value and is_secret_name(name)),
    )


def without_scheme(url: str, scheme: str) -> str:
    """The text after ``scheme:``. An HTTP address with that same scheme stays whole."""
    text = url.strip()
    start, colon, rest = text.partition(":")
    if not colon or start.lower() != scheme or (scheme in ("http", "https") and rest.startswith("//")):
        return text
    return rest.strip()


def is_secret_name(name: str) -> bool:
    """Whether a field or parameter with that name is likely to contain a secret."""
    return bool(_SECRET_NAME.search(name))


def shown_value(name: str, value: str) -> str:
    """The value as messages may show it."""
    return MASK if is_secret_name(name) else quote(value, safe="/:,")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
