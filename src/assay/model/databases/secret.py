"""Secrets that are masked wherever they are printed."""

from __future__ import annotations

import json
import logging
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from html import escape
from urllib.parse import quote, quote_plus, urlsplit

from assay.errors import InputError
from assay.platform.surface import option

MASK = "***"
_SHORT = 3
"""Up to this many characters a secret may be any word of a message: it is masked only if credentials appear."""
_LONG = 8
"""From this many characters on a secret is masked everywhere; below, only as a word of its own."""
_CUT = "…"
"""The end of a text that was cut."""
_LEAST_CUT = 4
"""How many characters of a secret at such an end are masked; fewer may be any word's."""
_LOGGERS = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = frozenset(
    ("content-type", "content-length", "content-encoding", "transfer-encoding", "accept-encoding", "connection")
)
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ADDRESS_START = re.compile(r"\s*(?:[A-Za-z][\w+.\-]*:)?(?:https?:)?/*", re.IGNORECASE)
_PARAMETER = re.compile(r"(?P<name>[?&;#](?:[^=&;#?]*=(?=[^=&;#?]))?)[^&;#?]*")
"""A parameter's name, and its value. A name without a value may be a secret itself."""
_BEFORE = r"(?i:(?:password|passwd|pwd|token|secret|key|bearer|basic)\b(?: for user \S+)?[\s:=\"'(]{1,4})"


class Secret:
    """A password or token. ``repr`` and ``str`` mask it; only ``reveal()`` gives it away."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself, for the one call that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(("assay.Secret", self._value))


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text with each of the secrets masked, the longest first.

    A short one is masked only if credentials appear: between ``:`` and ``@`` of a URL, or after a word like
    ``password``. Masked everywhere, the password ``p`` would turn ``response`` into ``res***onse``, which reveals it.
    The beginning of a secret is masked if the text was cut within it.
    """
    for secret in sorted({secret for secret in secrets if secret}, key=len, reverse=True):
        if _CUT in text:
            for length in range(len(secret) - 1, _LEAST_CUT - 1, -1):
                text = text.replace(secret[:length] + _CUT, MASK + _CUT)
        if len(secret) >= _LONG:
            text = text.replace(secret, MASK)
        elif secret in text:
            text = _pattern(secret).sub(lambda found: (found[1] or "") + MASK, text)
    return text


def masked_address(text: str) -> str:
    """A text that should be a URL and cannot be read as one, without what may be a secret.

    These are all that stands before an ``@``, and each value of the query string.
    """
    found = _ADDRESS_START.match(text)
    start = text[: found.end()] if found else ""
    before, at, rest = text[len(start) :].rpartition("@")
    if "?" in before or "#" in before:  # a password or the query string holds the other's sign
        return start + MASK
    return f"{start}{at and MASK}{at}{_PARAMETER.sub(lambda found: found['name'] + MASK, rest)}"


def secret_forms(*secrets: str, user: str | None = None) -> tuple[str, ...]:
    """The forms in which a server may repeat secrets: plain, quoted, in a URL, JSON or HTML, as Basic credentials."""
    plain = [secret for secret in secrets if secret]
    written: tuple[Callable[[str], str], ...] = (
        str,
        lambda secret: quote(secret, safe=""),
        quote,
        quote_plus,
        lambda secret: json.dumps(secret)[1:-1],
        lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
        escape,
        lambda secret: secret.replace("\\", "\\\\").replace("'", "\\'"),
        lambda secret: json.dumps(secret)[1:-1].replace("\\", "\\\\").replace("'", "\\'"),
        lambda secret: b64encode(f"{user or ''}:{secret}".encode()).decode(),
    )
    return tuple(dict.fromkeys(write(secret) for secret in plain for write in written))


def read_headers(given: Iterable[str], environ: Mapping[str, str]) -> tuple[tuple[str, Secret], ...]:
    """HTTP headers from texts ``NAME=VALUE`` or ``NAME: VALUE``; ``${NAME}`` is taken from the environment.

    A name has neither of the two signs in it, so that the first one ends it. Raises InputError for an unusable header,
    without its text: without one of the signs, any part of it may be the secret.
    """
    headers = []
    for text in given:
        name, value = (*re.split("[=:]", text, maxsplit=1), None)[:2]
        if re.fullmatch("[0-9]{1,3}", text):
            header_row = option("--header-row", int(text))
            raise InputError(
                f"{text} is not an HTTP header (NAME=VALUE); for the header of a table write  {header_row}"
            )
        if value is None or not name or not name.strip():
            raise InputError(f"a header is {MASK}: write NAME=VALUE or NAME: VALUE")
        missing = next((one for one in _REFERENCE.findall(value) if one not in environ), None)
        if missing is not None:
            raise InputError(
                f"the header {name.strip()} takes its value from the environment variable {missing}, which is not set"
            )
        headers.append((name.strip(), Secret(_REFERENCE.sub(lambda found: environ[found[1]], value.strip()))))
    check_headers(headers)
    return tuple(headers)


def check_headers(headers: Iterable[tuple[str, Secret]], *, authenticates: bool = False) -> None:
    """Raise InputError for a header that cannot be sent, that Assay sets itself, or that is given twice.

    ``authenticates``: a user or token is given, too.
    """
    seen: set[str] = set()
    for name, value in headers:
        text = value.reveal()
        if not _HEADER_NAME.fullmatch(name):
            # The name is not shown: part of a secret may stand before the sign.
            raise InputError(f"a header has an invalid name: write NAME=VALUE, e.g. X-Api-Key=abc (given: {MASK})")
        if not text.strip() or not (text.isascii() and text.isprintable()):
            raise InputError(f"the value of the header {name} is empty, or is not valid in an HTTP header")
        if name.lower() in _OWN_HEADERS:
            raise InputError(f"the header {name} is set by Assay itself: leave it out")
        if name.lower() == "authorization" and authenticates:
            raise InputError(
                "the header Authorization and a user or token are both given: a request carries one Authorization"
            )
        if name.lower() in seen:
            raise InputError(f"the header {name} is given twice: give it once")
        seen.add(name.lower())


def shown_location(location: str) -> str:
    """The address that a redirect leads to, without its user, query and fragment: these contain sessions and tokens."""
    try:
        parts = urlsplit(location.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return "an address that cannot be read"
    shown_host = f"[{host}]" if host and ":" in host else host or ""
    origin = f"{parts.scheme}://{shown_host}" if parts.scheme and host else f"//{shown_host}" if host else ""
    path = "/".join(step.partition(";")[0] for step in parts.path.split("/"))
    return f"{origin}{'' if port is None else f':{port}'}{path}{'?…' if parts.query or parts.fragment else ''}"


class MaskedLog(logging.Filter):
    """Masks secrets in what the HTTP client logs: addresses, and what a server sends in its status line and headers."""

    def __init__(self, scrub: Callable[[str], str]) -> None:
        super().__init__()
        self._scrub = scrub

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record."""
        record.msg, record.args = self._scrub(record.getMessage()), None
        return True

    def begin(self) -> None:
        """Mask from now on."""
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self)

    def end(self) -> None:
        """Mask no longer."""
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self)


@lru_cache(maxsize=64)
def _pattern(secret: str) -> re.Pattern[str]:
    exact = re.escape(secret)
    if len(secret) > _SHORT:
        return re.compile(rf"()(?<!\w){exact}(?!\w)")
    return re.compile(rf"(:(?={exact}@)|{_BEFORE}){exact}(?!\w)")
