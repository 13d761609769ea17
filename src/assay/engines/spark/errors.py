"""What the errors of Spark Connect mean: its conditions, for example TABLE_OR_VIEW_NOT_FOUND, and the codes of gRPC."""

from __future__ import annotations

import re
from typing import Any

from assay.engines.warehouse.base import Problem
from assay.model import FailureKind

_LINE = re.compile(r"\bline (\d+)(?=,? pos \d)")
_KINDS: dict[str, FailureKind] = {
    "OPERATION_CANCELED": "timeout",
    "OPERATION_ABANDONED": "timeout",
    "UNABLE_TO_ACQUIRE_MEMORY": "out_of_memory",
}
_LOST = ("INVALID_HANDLE.SESSION", "SESSION_CHANGED", "SESSION_CLOSED", "SESSION_NOT_FOUND")
_SETUP = {
    "UNAUTHENTICATED": "the server does not accept the token, or requires one: token=${NAME} in the URL",
    "PERMISSION_DENIED": "the server does not allow this user to do anything here",
    "UNIMPLEMENTED": "the server there is not Spark Connect, whose default port is 15002",
}
_AWAY = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")


def explain(error: BaseException, *, place: str, wrapped: bool) -> Problem | None:
    """What an error of the driver means; None if it is not one of Spark Connect's.

    ``wrapped``: the text was within another query (`assay.engines.spark.text.wrapped`): its lines count from 2.
    """
    condition = _condition(error)
    code = _grpc_code(error)
    message = plain_message(error, wrapped=wrapped)
    if condition is not None:
        if any(lost in condition for lost in _LOST):
            return Problem(kind="unreadable_database", message=message, lost=True)
        kind = _KINDS.get(condition.partition(".")[0], "error")
        return Problem(kind="out_of_memory" if "OutOfMemory" in message else kind, message=message)
    if code in _SETUP:
        return Problem(kind="unreadable_database", message=f"{_SETUP[code]} ({message})")
    if code in _AWAY and "handshake failed" in message:
        why = f"{place} does not speak TLS, which use_ssl=true or a token requires"
        return Problem(kind="unreadable_database", message=f"{why} ({message})")
    if code in _AWAY:
        why = f"no Spark Connect server responds at {place}: start it, or add use_ssl=true if it speaks TLS"
        return Problem(kind="unreadable_database", message=f"{why} ({message})", lost=True)
    if code is not None:
        return Problem(kind="error", message=message)
    return None


def plain_message(error: BaseException, *, wrapped: bool = False) -> str:
    """The message in one line, preceded by its condition, but without the query and the server's stack."""
    text = str(error)
    for end in ("\n\nJVM stacktrace", "\n== SQL", "\n'", ";\n'"):
        text = text.partition(end)[0]
    if wrapped:
        text = _LINE.sub(lambda found: f"line {max(1, int(found[1]) - 1)}", text)
    if "debug_error_string" in text and (details := re.search(r'details = "([^\n]*)"', text)):
        text = details[1]
    line = " ".join(part.strip() for part in text.splitlines() if part.strip())
    return line[:600].rstrip(" ;") or type(error).__name__


def _condition(error: BaseException) -> str | None:
    ask: Any = getattr(error, "getCondition", None)
    found = ask() if callable(ask) else None
    return str(found) if found else None


def _grpc_code(error: BaseException) -> str | None:
    for name in ("getGrpcStatusCode", "code"):
        ask: Any = getattr(error, name, None)
        code = ask() if callable(ask) else None
        if code is not None and hasattr(code, "name"):
            return str(code.name)
    return None
