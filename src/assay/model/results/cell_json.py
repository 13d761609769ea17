"""A cell as JSON and back, with its value and type: in stored runs, in reports, wherever a cell is written.

NULL, booleans, well-formed text, finite floats   as JSON has them
integers within ±(2^53 - 1)                       as JSON numbers
other integers                                    {"type": "integer", "text": "..."}
Decimal                                           {"type": "decimal", "text": "1.10"}
NaN and the infinities                            {"type": "float", "text": "nan"}
bytes                                             {"type": "bytes", "hex": "00ff"}
date, time, datetime                              {"type": "date" | "time" | "timestamp", "text": ISO 8601}
Clock                                             {"type": "time", "text": "12:00:00+02:00"}
Moment                                            {"type": "moment", "text": "infinity" | "0044-03-15 BC"}
timedelta                                         {"type": "interval", "days", "seconds", "microseconds"}
Interval                                          {"type": "interval", "months", "days", "nanoseconds"}
UUID                                              {"type": "UUID", "text": "..."}
text with lone surrogates                         {"type": "text", "utf8_surrogatepass_hex": "..."}
lists, tuples                                     {"type": "list" | "tuple", "items": [...]}
maps                                              {"type": "map", "entries": [[key, value], ...]}
anything else, which comes back as its text       {"type": the Python type's name, "text": str(value)}
"""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from assay.errors import RunError
from assay.model.results.cells import MapEntries, map_of
from assay.model.results.result import Cell
from assay.model.results.times import Clock, Interval, Moment, clock_of, moment_of

PACKED = (b'"type":"', b'"$":"')
"""What compact JSON contains of each cell that JSON cannot represent as it is, in today's and in the earlier form."""
_SAFE_INTEGER = 2**53 - 1


def cell_to_json(cell: Cell) -> object:  # one branch per type
    """One cell as JSON, by the table above."""
    match cell:
        case None | bool():
            return cell
        case str():
            if is_well_formed(cell):
                return cell
            return {"type": "text", "utf8_surrogatepass_hex": cell.encode("utf-8", "surrogatepass").hex()}
        case int():
            return cell if abs(cell) <= _SAFE_INTEGER else {"type": "integer", "text": _digits(cell)}
        case float():
            return cell if math.isfinite(cell) else {"type": "float", "text": str(cell)}
        case Decimal():
            return {"type": "decimal", "text": str(cell)}
        case bytes() | bytearray() | memoryview():
            return {"type": "bytes", "hex": bytes(cell).hex()}
        case datetime():
            return {"type": "timestamp", "text": cell.isoformat()}
        case date():
            return {"type": "date", "text": cell.isoformat()}
        case time():
            return {"type": "time", "text": cell.isoformat()}
        case timedelta():
            return {
                "type": "interval",
                "days": cell.days,
                "seconds": cell.seconds,
                "microseconds": cell.microseconds,
            }
        case Clock():
            return {"type": "time", "text": str(cell)}
        case Moment():
            return {"type": "moment", "text": str(cell)}
        case Interval():
            return {"type": "interval", "months": cell.months, "days": cell.days, "nanoseconds": cell.nanoseconds}
        case dict() | MapEntries():
            pairs = cell.items() if isinstance(cell, dict) else cell
            return {"type": "map", "entries": [[cell_to_json(key), cell_to_json(value)] for key, value in pairs]}
        case list() | tuple():
            kind = "tuple" if isinstance(cell, tuple) else "list"
            return {"type": kind, "items": [cell_to_json(item) for item in cell]}
        case _:
            return {"type": type(cell).__name__, "text": str(cell)}


def cell_from_json(written: Any) -> Cell:
    """The cell that was written; reads the form of earlier runs, too. Raises RunError if it is not a cell."""
    if not isinstance(written, dict):
        return written
    try:
        if "$" in written:
            return _EARLIER[written["$"]](written["v"])
        kind = written["type"]
        if kind == "interval" and "months" in written:
            return Interval(months=written["months"], days=written["days"], nanoseconds=written["nanoseconds"])
        if kind == "interval":
            return timedelta(written["days"], written["seconds"], written["microseconds"])
        return _READERS.get(kind, str)(written[_KEYS.get(kind, "text")])
    except (KeyError, ValueError, TypeError, ArithmeticError) as error:
        raise RunError(f"{str(written)[:60]} is not a stored cell: {type(error).__name__}") from error


_KEYS = {"bytes": "hex", "text": "utf8_surrogatepass_hex", "list": "items", "tuple": "items", "map": "entries"}
"""Where the content of a cell is, if it is not in ``text``."""
_READERS: Mapping[str, Callable[[Any], Cell]] = {
    "integer": lambda text: int(text, 0),
    "decimal": Decimal,
    "float": float,
    "bytes": bytes.fromhex,
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": lambda text: _required(clock_of(text)),
    "moment": lambda text: _required(moment_of(text)),
    "UUID": UUID,
    "text": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "list": lambda items: list(map(cell_from_json, items)),
    "tuple": lambda items: tuple(map(cell_from_json, items)),
    "map": lambda entries: map_of([(cell_from_json(name), cell_from_json(value)) for name, value in entries]),
}
_EARLIER: Mapping[str, Callable[[Any], Cell]] = {
    **_READERS,
    "int": int,
    "bytes": b64decode,
    "text": lambda text: b64decode(text).decode("utf-8", "surrogatepass"),
    "interval": lambda microseconds: timedelta(microseconds=microseconds),
    "uuid": UUID,
    "other": str,
}
"""The form in older stored runs: ``{"$": "decimal", "v": "1.10"}``."""


def _required(cell: Cell) -> Cell:
    if cell is None:
        raise ValueError
    return cell


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        # Python refuses decimal digits of huge integers; hexadecimal says the same.
        return hex(value)


def is_well_formed(text: str) -> bool:
    """Whether the text has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
