"""The Data Catalog's JSON as rows: ``{"rows": [{"values": [{"column": "a", "value": 1}, ...]}, ...]}``.

Integers are exact at any size. A number with a point or exponent becomes a float; it becomes a Decimal where it has
more than 17 significant digits or lies outside a float's range, since a float would not keep it. Dates and times are
text in this JSON and stay text. Registers and arrays become dicts and lists.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal

from assay.model import Cell, Row

_FLOAT_DIGITS = 17
_SURELY_KEPT = 15
_MOST_DIGITS = 4000
_ROW_END = b"}]}"


class MalformedAnswer(ValueError):
    """The body does not have the execute endpoint's form. The text says in which way, as a clause without a subject."""


class _Cell(tuple[str, Cell]):
    """Name and value of one cell, told apart from a register or array that is a value."""

    __slots__ = ()


class _Reader:
    """Turns JSON objects into cells and rows while they are read, so that no row lives as dicts."""

    def __init__(self) -> None:
        self.columns: tuple[str, ...] = ()
        self._known = False

    def object(self, pairs: list[tuple[str, Cell]]) -> Cell:
        """Convert one JSON object to a cell, a row or a plain dict."""
        if len(pairs) == 2:
            (first, left), (second, right) = pairs
            if first == "column" and second == "value" and isinstance(left, str):
                return _Cell((left, right))
            if first == "value" and second == "column" and isinstance(right, str):
                return _Cell((right, left))
        if len(pairs) == 1 and pairs[0][0] == "column" and isinstance(pairs[0][1], str):
            return _Cell((pairs[0][1], None))  # some serializers leave NULL out
        for name, value in pairs:
            if name == "values" and type(value) is list and all(type(cell) is _Cell for cell in value):
                return self._row(value)
        return dict(pairs)

    def _row(self, cells: list[_Cell]) -> Row:
        names = tuple([cell[0] for cell in cells])
        if not self._known:
            self.columns, self._known = names, True
        elif names != self.columns:
            return self._realigned(dict(cells), names)
        return tuple([cell[1] for cell in cells])

    def _realigned(self, cells: dict[str, Cell], names: tuple[str, ...]) -> Row:
        """Reorder a row whose cells come in another order, or without some that are NULL."""
        if len(cells) < len(names) or len(set(self.columns)) < len(self.columns) or set(names) - set(self.columns):
            raise MalformedAnswer(
                f"has rows of different columns: {', '.join(self.columns)} in the first, {', '.join(names)} in another"
            )
        return tuple([cells.get(name) for name in self.columns])


def parse_rows(body: bytes) -> tuple[tuple[str, ...], list[Row], bool]:
    """Columns, rows, and whether some text was no valid UTF-8. Raises MalformedAnswer.

    No rows (``rows`` absent, null or empty) means no columns either: the API names none. An object with other content
    and no ``rows`` is another service's answer, and never an empty result.
    """
    try:
        text, undecodable = body.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        text, undecodable = body.decode("utf-8", "surrogateescape"), True
    reader = _Reader()
    try:
        answer = json.loads(text, object_pairs_hook=reader.object, parse_float=_number, parse_int=_whole_number)
    except MalformedAnswer:
        raise
    except RecursionError:
        raise MalformedAnswer("is nested too deeply") from None
    except ValueError as error:
        shown = " ".join(_shown(text, 60).split())
        raise MalformedAnswer(f"is no JSON ({error}); it begins with {shown!r}") from None
    if not isinstance(answer, dict):
        raise MalformedAnswer(f"is {type(answer).__name__}, not an object with rows")
    rows = answer.get("rows")
    if answer and "rows" not in answer:
        names = ", ".join(repr(_shown(name, 40)) for name in list(answer)[:5])
        raise MalformedAnswer(f"is an object without 'rows' (it has {names})")
    if rows is None:
        return (), [], undecodable
    if not isinstance(rows, list) or any(type(row) is not tuple for row in rows):
        raise MalformedAnswer("has 'rows' that are no list of {'values': [{'column': ..., 'value': ...}]}")
    return reader.columns if rows else (), rows, undecodable


def parse_cut_rows(body: bytes) -> tuple[tuple[str, ...], list[Row], bool]:
    """As `parse_rows`, for a body that is cut off: its complete rows. None where they cannot be told apart."""
    end = len(body)
    for _ in range(4):  # the last mark may lie within a text, and an earlier one not
        end = body.rfind(_ROW_END, 0, end)
        if end < 0:
            break
        try:
            return parse_rows(body[: end + len(_ROW_END)] + b"]}")
        except MalformedAnswer:
            continue
    return (), [], False


def _shown(text: str, most: int) -> str:
    """The beginning of a text, marked where it is cut: a secret that the cut divides is masked there."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _whole_number(text: str) -> int | Decimal:
    """Python reads no decimal integer of more than 4300 digits."""
    return int(text) if len(text) <= _MOST_DIGITS else Decimal(text)


def _number(text: str) -> float | Decimal:
    """A number with a point or exponent: a float where that keeps it."""
    if len(text) <= _SURELY_KEPT and "e" not in text and "E" not in text:
        return float(text)
    value = float(text)
    digits = text.lower().split("e", 1)[0].replace(".", "").lstrip("-0").rstrip("0")
    if len(digits) > _FLOAT_DIGITS or math.isinf(value) or (digits and value == 0.0):
        return Decimal(text)
    return value


def error_line(body: bytes) -> str | None:
    """The first line of what an error answer says (its ``message``); None where nothing in it is readable."""
    try:
        answer = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    message = answer.get("message") if isinstance(answer, dict) else None
    lines = message.strip().splitlines() if isinstance(message, str) else []
    return lines[0].strip() if lines else None
