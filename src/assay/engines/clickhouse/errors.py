"""What the errors of ClickHouse and its driver mean."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.engines.clickhouse.url import Address
from assay.engines.warehouse.base import Problem

_TEXT = re.compile(r"DB::(?:\w+::)*\w*Exception: (?P<text>.*?)(?: \(version .*)?$", re.DOTALL)
_MARKED = re.compile(r"\s*\n? FORMAT Native\b")
_MOST_CHARACTERS = 500

_LOGIN = frozenset({192, 193, 194, 195, 516})
_NO_DATABASE = 81
_TIMEOUT = frozenset({159, 160, 209})
_MEMORY = frozenset({241, 173})
_READ_ONLY = 164
_CANCELLED = 394
_BUSY = frozenset({202, 203, 210, 279, 425, 439, 499, 518, 519, 745, 999})
"""Errors of the server, not of the query: too many queries, a lost replica, keeper or disk. A retry may succeed."""
_ACCESS = 497


def explain(error: BaseException, address: Address, *, connecting: bool) -> Problem | None:
    """What an error means; None: it is the query's own mistake, in the driver's words."""
    from clickhouse_connect.driver.exceptions import Error, StreamFailureError

    if not isinstance(error, Error | StreamFailureError):
        return None
    text = _text(error)
    code = getattr(error, "code", None) or _code(str(error))
    if code is None:
        return _transport(error, address, connecting=connecting)
    if code in _LOGIN:
        why = f"the server rejects the user {address.user!r} or the password"
        return Problem(kind="unreadable_database", message=why)
    if code == _NO_DATABASE and connecting:
        why = f"the database {address.database!r} does not exist on {address.host}:{address.port}"
        return Problem(kind="unreadable_database", message=why)
    if code == _ACCESS and connecting:
        return Problem(kind="unreadable_database", message=f"the user {address.user!r} lacks a right: {text}")
    if code in _TIMEOUT:
        return Problem(kind="timeout", message=text)
    if code in _MEMORY:
        return Problem(kind="out_of_memory", message=text)
    if code == _READ_ONLY:
        if "setting" in text:
            why = f"refused: a query may not change settings ({text})"
            return Problem(kind="refused", message=why)
        return Problem(kind="writes", message=f"refused: it writes or reaches outside the database ({text})")
    if code in _BUSY or code == _CANCELLED:  # cancelled by another client: our own time limit is handled before
        return Problem(kind="unreadable_database", message=text, lost=True)
    return Problem(kind="error", message=text)


def is_conversion_error(error: BaseException) -> bool:
    """Whether the driver cannot read a value: an error of its own, without the server's code, that is not of the
    transport."""
    from clickhouse_connect.driver.exceptions import Error, OperationalError, StreamFailureError

    if not isinstance(error, Error) or isinstance(error, OperationalError | StreamFailureError):
        return False
    return getattr(error, "code", None) is None and _code(str(error)) is None


def _transport(error: BaseException, address: Address, *, connecting: bool) -> Problem:
    """The server could not be reached, or the connection ended."""
    text = _text(error)
    where = f"{address.host}:{address.port}"
    causes = [f"{type(cause).__name__}: {cause}" for cause in _chain(error)]
    chain = " ".join(causes)
    if "NameResolutionError" in chain:
        why = f"the host {address.host!r} is unknown"
    elif "SSL" in chain or "WRONG_VERSION" in chain:
        why = f"TLS fails at {where}: use clickhouse:// for an HTTP port, clickhouses:// for an HTTPS port"
    elif "NewConnectionError" in chain or "Connection refused" in chain:
        usual = "HTTPS port is 8443" if address.arguments.get("interface") == "https" else "HTTP port is 8123"
        why = f"no server responds at {where}: its {usual} by default"
    elif "ConnectTimeout" in chain:
        why = f"no server responds at {where} within the time limit"
    elif connecting:
        why = f"the server at {where} is not ClickHouse's HTTP interface: {text}"
    else:
        why = text
    return Problem(kind="unreadable_database", message=why, lost=not connecting)


def _chain(error: BaseException) -> Iterator[BaseException]:
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__ or following.__context__


def _code(text: str) -> int | None:
    found = re.search(r"\bCode: (\d+)", text)
    return int(found[1]) if found else None


def _text(error: BaseException) -> str:
    """The server's own words in one line."""
    text = str(error)
    if found := _TEXT.search(text):
        text = found["text"]
    line = " ".join(_MARKED.sub("", text).split())
    return line if len(line) <= _MOST_CHARACTERS else line[:_MOST_CHARACTERS] + "…"
