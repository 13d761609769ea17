"""A server's error message instead of an answer, in one line. Never a traceback."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from assay.systems.predictions import first_line

_NAMES = ("detail", "error", "message", "error_message", "msg", "title", "reason")
_MOST_DETAILS = 3


def complaint_of(content: bytes) -> str:
    """The first line of the error in a response's body; empty if there is none to read.

    Understands FastAPI's ``detail`` in its three forms (text, a list of errors with their locations, an object with
    ``error``), ``{"message": …}``, ``{"error": {"message": …}}`` and plain text. Only the named fields are read, so a
    ``traceback`` next to them is never shown.
    """
    text = content.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.lstrip().startswith("<") else first_line(text)
    return first_line(_words(body))


def _words(value: Any) -> str:
    if isinstance(value, str):
        return first_line(value)
    if isinstance(value, list):
        shown = [_detail(one) for one in value[:_MOST_DETAILS]]
        more = [f"and {len(value) - _MOST_DETAILS} more"] if len(value) > _MOST_DETAILS else []
        return "; ".join([one for one in shown if one] + more)
    if isinstance(value, dict):
        for name in _NAMES:
            if words := _words(value.get(name)):
                return words
    return ""


def _detail(one: Any) -> str:
    """One of FastAPI's details: ``{"loc": ["body", "question"], "msg": "Field required"}``."""
    if not isinstance(one, dict) or not isinstance(one.get("loc"), list):
        return _words(one)
    where = ".".join(str(step) for step in one["loc"])
    what = _words(one.get("msg"))
    return f"{where}: {what}" if where and what else where or what


def retry_after_s(header: str | None) -> float | None:
    """The seconds to wait by a Retry-After header, in either of its forms; None if it gives none."""
    if header is None:
        return None
    try:
        wait_s = float(header)
    except ValueError:
        try:
            until = parsedate_to_datetime(header)
        except (TypeError, ValueError, OverflowError):
            return None
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        wait_s = (until - datetime.now(UTC)).total_seconds()
    return max(0.0, wait_s) if isfinite(wait_s) else None
