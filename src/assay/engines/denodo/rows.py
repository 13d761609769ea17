"""The Data Catalog's JSON as rows: ``{"rows": [{"values": [{"column": "a", "value": 1}, ...]}, ...]}``.

Status 200 does not mean that the query succeeded. The Data Marketplace, the catalog's successor, reports a failed query
in ``executionErrors``, with status 200, and says in ``masked`` that the account saw masked values.

Integers are exact at any size. A number with a point or exponent becomes a float; it becomes a Decimal if it has
more than 17 significant digits or lies outside a float's range, since a float would not keep it. Dates and times are
text in this JSON and stay text. Registers and arrays become dicts and lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from decimal import Decimal
from typing import Any

from msgspec import Struct

from assay.model import Cell, Row

_FLOAT_DIGITS = 17
_SURELY_KEPT = 15
_MOST_DIGITS = 4000
_ROW_END = b"}]}"
_COLUMN_NAMES = ("column", "columnName")
"""The keys of a cell under which servers name its column; the first one present counts."""
_EXECUTION_ERRORS = frozenset({"executionerrors", "executionerror"})
_ERROR_NAMES = _EXECUTION_ERRORS | {"errors", "error"}
_MASK_NAMES = frozenset({"masked", "ismasked"})
"""Keys of the response, without underscores and in lower case."""
_OF_AN_EXECUTION = _MASK_NAMES | _EXECUTION_ERRORS
"""Any of these keys shows that a response without rows is that of an execution."""
_REASON_NAMES = ("message", "errorMessage", "error", "reason", "description", "detail", "msg")
_MOST_REASONS = 3
_NOT_MASKED = frozenset({"", "0", "false", "no", "none", "null"})


class MalformedAnswer(ValueError):
    """The body does not have the execute endpoint's format. The text says how, as a predicate."""


class UnreadableRows(MalformedAnswer):
    """The body has the format, but its rows cannot be read."""


class CatalogAnswer(Struct, frozen=True, kw_only=True):
    """The execute endpoint's response with status 200."""

    columns: tuple[str, ...] = ()
    """Empty if there are no rows: the API then names no columns."""
    rows: list[Row]
    undecodable: bool = False
    """Whether some text was not valid UTF-8."""
    error: str | None = None
    """Why the execution failed: then the rows, if there are any, are not the query's result."""
    masked: bool = False
    """Whether the account saw masked values instead of the real ones."""


class _Cell(tuple[str, Cell, Any]):
    """Name and value of one cell, as opposed to a register or array that is a value.

    The third item is the object's content if it is more than these two, in case the object is a register after all.
    """

    __slots__ = ()


class _Reader:
    """Turns JSON objects into cells and rows while they are read, so that no row is stored as dicts."""

    def __init__(self) -> None:
        self.columns: tuple[str, ...] = ()
        self._known = False

    def object(self, pairs: list[tuple[str, Cell]]) -> Cell:
        """Convert one JSON object to a cell, a row or a plain dict."""
        if len(pairs) == 2:
            (first, left), (second, right) = pairs
            if first == "column" and second == "value" and isinstance(left, str):
                return _Cell((left, right, None))
            if first == "value" and second == "column" and isinstance(right, str):
                return _Cell((right, left, None))
        found = dict(pairs)
        for name in _COLUMN_NAMES:
            if isinstance(column := found.get(name), str):
                return _Cell((column, found.get("value"), found))  # some serializers omit NULL
        for name, value in pairs:
            if name == "values" and type(value) is list and value and all(type(cell) is _Cell for cell in value):
                return self._row(value)
        return found

    def _row(self, cells: list[_Cell]) -> Row:
        names = tuple([cell[0] for cell in cells])
        values = [_plain(cell[1]) if type(cell[1]) in _NESTED else cell[1] for cell in cells]
        if not self._known:
            self.columns, self._known = names, True
        elif names != self.columns:
            return self._realigned(dict(zip(names, values, strict=True)), names)
        return tuple(values)

    def _realigned(self, cells: dict[str, Cell], names: tuple[str, ...]) -> Row:
        """Reorder a row whose cells are in another order, or lack some that are NULL."""
        if len(cells) < len(names) or len(set(self.columns)) < len(self.columns) or set(names) - set(self.columns):
            raise UnreadableRows(
                f"has rows with different columns: {', '.join(self.columns)} in the first, {', '.join(names)} "
                "in another"
            )
        return tuple([cells.get(name) for name in self.columns])


_NESTED = (_Cell, dict, list)


def _plain(value: Any) -> Any:
    """A register or array, in which registers with the keys of a cell were mistaken for cells."""
    if type(value) is _Cell:
        name, held, content = value
        return {"column": name, "value": _plain(held)} if content is None else _plain(content)
    if type(value) is dict:
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if type(value) is list else value


def parse_rows(body: bytes) -> CatalogAnswer:
    """The rows, or why the execution failed. Raises MalformedAnswer.

    No rows (``rows`` absent, null or empty) is an empty result. An object with other content than an execution's and no
    ``rows`` is another service's response, and never an empty result.
    """
    try:
        text, undecodable = body.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        text, undecodable = body.decode("utf-8", "surrogateescape"), True
    reader = _Reader()
    try:
        answer = json.loads(text, object_pairs_hook=reader.object, parse_float=_number, parse_int=_whole_number)
    except MalformedAnswer as error:
        # Rows that cannot be read matter only if the execution succeeded.
        if (reason := _error_in(_plainly(text))) is not None:
            return CatalogAnswer(rows=[], undecodable=undecodable, error=reason)
        raise error
    except RecursionError:
        raise UnreadableRows("is nested too deeply") from None
    except ValueError as error:
        shown = " ".join(_shown(text, 60).split())
        raise MalformedAnswer(f"is not JSON ({error}); it begins with {shown!r}") from None
    if not isinstance(answer, dict):
        raise MalformedAnswer("is not an object with rows")
    masked = any(_is_masked(value) for name, value in answer.items() if _bare(name) in _MASK_NAMES)
    if (reason := _error_in(answer)) is not None:
        return CatalogAnswer(rows=[], undecodable=undecodable, error=reason, masked=masked)
    rows = answer.get("rows")
    if answer and "rows" not in answer and not any(_bare(name) in _OF_AN_EXECUTION for name in answer):
        names = ", ".join(repr(_shown(name, 40)) for name in list(answer)[:5])
        raise MalformedAnswer(f"is an object without 'rows' (it has {names})")
    if rows is None:
        return CatalogAnswer(rows=[], undecodable=undecodable, masked=masked)
    if isinstance(rows, list):  # a row without cells has only NULLs
        rows = [
            (None,) * len(reader.columns) if (type(row) is dict and row.get("values") == []) else row for row in rows
        ]
    if not isinstance(rows, list) or any(type(row) is not tuple for row in rows):
        raise MalformedAnswer("has 'rows' that are not a list of {'values': [{'column': ..., 'value': ...}]}")
    columns = reader.columns if rows else ()
    return CatalogAnswer(columns=columns, rows=rows, undecodable=undecodable, masked=masked)


def _plainly(text: str) -> Any:
    """The JSON again, without cells and rows. None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def _is_masked(value: Any) -> bool:
    """Whether values are masked. In case of doubt, they are: masked values look like any others."""
    return value.strip().lower() not in _NOT_MASKED if isinstance(value, str) else bool(value)


def _error_in(answer: Any, names: Set[str] = _ERROR_NAMES) -> str | None:
    """The errors that a response reports, each by the first line of its message; None if it reports none."""
    if not isinstance(answer, Mapping):
        return None
    reported = [value for name, value in answer.items() if _bare(name) in names and value]
    if not reported:
        return None
    lines = list(dict.fromkeys(line for value in reported for line in _reasons(value)))
    more = f"; and {len(lines) - _MOST_REASONS} more" if len(lines) > _MOST_REASONS else ""
    return "; ".join(lines[:_MOST_REASONS]) + more or "the query failed, and the server gives no reason"


def _reasons(value: Any) -> list[str]:
    """The first lines of the messages in a text, an object with a message, or a list of them."""
    if isinstance(value, str):
        lines = value.strip().splitlines()
        return [lines[0].strip()] if lines else []
    if type(value) is list:
        return [line for item in value for line in _reasons(item)]
    if isinstance(value, Mapping):
        named = (_reasons(value[name]) for name in _REASON_NAMES if name in value)
        return next((lines for lines in named if lines), [])
    return []


def parse_cut_rows(body: bytes) -> CatalogAnswer:
    """Like `parse_rows`, for a truncated body: its complete rows; no rows if they cannot be separated."""
    end = len(body)
    for _ in range(4):  # the last delimiter may be inside a text, and an earlier one not
        end = body.rfind(_ROW_END, 0, end)
        if end < 0:
            break
        try:
            return parse_rows(body[: end + len(_ROW_END)] + b"]}")
        except MalformedAnswer:
            continue
    return CatalogAnswer(rows=[])


def _shown(text: str, most: int) -> str:
    """The beginning of a text, marked if it is truncated: a secret that the cut divides is masked there."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _whole_number(text: str) -> int | Decimal:
    """Python reads no decimal integer of more than 4300 digits."""
    return int(text) if len(text) <= _MOST_DIGITS else Decimal(text)


def _number(text: str) -> float | Decimal:
    """A number with a point or exponent: a float if that is exact."""
    if len(text) <= _SURELY_KEPT and "e" not in text and "E" not in text:
        return float(text)
    value = float(text)
    digits = text.lower().split("e", 1)[0].replace(".", "").lstrip("-0").rstrip("0")
    if len(digits) > _FLOAT_DIGITS or math.isinf(value) or (digits and value == 0.0):
        return Decimal(text)
    return value


def error_line(body: bytes) -> str | None:
    """The first line of an error response: its ``message``, or the errors that it lists."""
    answer = _plainly(body.decode("utf-8", "replace"))
    message = answer.get("message") if isinstance(answer, dict) else None
    lines = _reasons(message)
    # Web servers have an ``error`` of their own, for example "Not Found", which is not the query's.
    return lines[0] if lines else _error_in(answer, _EXECUTION_ERRORS)
