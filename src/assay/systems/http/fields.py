"""What a server's 422 says about the fields of a request, in the form of FastAPI and Pydantic."""

from __future__ import annotations

import json
from typing import Any, Literal

from msgspec import Struct

_LISTS = frozenset({"list_type", "type_error.list", "tuple_type", "set_type", "iterable_type"})
_TEXTS = frozenset({"string_type", "type_error.str"})
_MISSING = frozenset({"missing", "value_error.missing"})
_NOT_TAKEN = frozenset({"extra_forbidden", "value_error.extra", "unexpected_keyword_argument"})
_BODY = "body"


class FieldFault(Struct, frozen=True, kw_only=True):
    """What is wrong with one field."""

    name: str
    within: bool
    """Whether it is an item of the field's list that is wrong."""
    wants: Literal["list", "text", "field", "no field", "other"]
    """``field``: it is required and absent; ``no field``: the server does not take it; ``other``: see the message."""
    message: str


def field_faults(content: bytes) -> tuple[FieldFault, ...]:
    """The faults that a response's body names; none where it is in another form."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return ()
    details = body.get("detail") if isinstance(body, dict) else None
    found = map(_fault, details if isinstance(details, list) else ())
    return tuple(fault for fault in found if fault is not None)


def _fault(detail: Any) -> FieldFault | None:
    location = detail.get("loc") if isinstance(detail, dict) else None
    if not isinstance(location, list) or len(location) < 2 or location[0] != _BODY:
        return None
    _, name, *deeper = location
    kind, message = str(detail.get("type", "")), str(detail.get("msg", ""))
    if not isinstance(name, str):
        return None
    wants: Literal["list", "text", "field", "no field", "other"] = "other"
    if kind in _LISTS:
        wants = "list"
    elif kind in _TEXTS:
        wants = "text"
    elif kind in _MISSING:
        wants = "field" if not deeper else "other"
    elif kind in _NOT_TAKEN:
        wants = "no field"
    return FieldFault(name=name, within=any(isinstance(step, int) for step in deeper), wants=wants, message=message)
