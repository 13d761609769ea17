"""What texts spell besides numbers, dates, durations and truth values: bytes, lists and objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from msgspec import Struct

from assay.model import Cell
from assay.model.results.cells import MapEntries, cell_of_json, map_of

_LONGEST = 1_000_000
_DEEPEST = 40
_HEX = re.compile(r"\\x(?:[0-9A-Fa-f]{2})*")
_ESCAPED = re.compile(r"(?:[\x20-\x5b\x5d-\x7e]|\\x[0-9A-Fa-f]{2})*")
_ESCAPED_BY_DUCKDB = re.compile(r"(?:[\x20-\x5b\x5d-\x7e]|\\x[0-9A-F]{2})*")
_PYTHON_BYTES = re.compile(r"(?:bytearray\()?(b(?:'.*'|\".*\"))\)?", re.DOTALL)
_BARE = re.compile(r"[^,{}\[\]\"']+")


class Leaves(Struct, frozen=True, kw_only=True):
    """How the contents of a list or an object are read."""

    quoted: Callable[[str], Cell]
    """A text in quotes, or one that is a value already."""
    bare: Callable[[str], Cell]
    """A word without quotes."""
    number: Callable[[int | float | Decimal], Cell]
    lists: bool = False
    """There are no objects: ``{}`` is a PostgreSQL array without elements."""


def spelt_bytes(text: str, *, escapes: bool = False) -> bytes | None:
    r"""Bytes, as PostgreSQL (``\xdead``), DuckDB (``\xDE\xADabc``) and Python (``b'abc'``) write them.

    ``escapes``: text that the first two may have written is DuckDB's, whose escapes are in capitals.
    """
    if len(text) > _LONGEST:
        return None
    if not escapes and _HEX.fullmatch(text):
        return bytes.fromhex(text[2:])
    if written := _PYTHON_BYTES.fullmatch(text):
        from ast import literal_eval  # few texts are such

        try:
            value = literal_eval(written[1])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
        return value if isinstance(value, bytes) else None
    if not (_ESCAPED_BY_DUCKDB if escapes else _ESCAPED).fullmatch(text):
        return None
    return re.sub(r"\\x(..)", lambda found: chr(int(found[1], 16)), text).encode("latin-1")


def spelt_nested(text: str, leaves: Leaves) -> Cell:
    """A list or an object: JSON, an array of PostgreSQL (``{1,2}``), or a value of DuckDB (``[a, {'b': 1}]``).

    ``leaves`` reads the contents. None if it is none of these.
    """
    text = text.strip()
    if not text[:1] or text[0] not in "{[" or len(text) > _LONGEST:
        return None
    if text == "{}" and leaves.lists:
        return []
    try:
        found = cell_of_json(text)
    except (ValueError, InvalidOperation, RecursionError):
        pass
    else:
        return _with_leaves(found, leaves, 0)
    try:
        return _Literal(text, leaves).whole()
    except _NoLiteral:
        return None


def nested(cell: Cell, leaves: Leaves) -> Cell:
    """A list or an object with its contents converted; None for any other cell."""
    return _with_leaves(cell, leaves, 0) if isinstance(cell, (list, tuple, Mapping)) else None


def _with_leaves(value: Cell, leaves: Leaves, depth: int) -> Cell:
    if depth > _DEEPEST:
        return value
    if isinstance(value, str):
        return leaves.quoted(value)
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return leaves.number(value)
    if isinstance(value, (Mapping, MapEntries)):
        entries = value.items() if isinstance(value, Mapping) else value
        return map_of((name, _with_leaves(one, leaves, depth + 1)) for name, one in entries)
    if isinstance(value, (list, tuple)):
        return [_with_leaves(one, leaves, depth + 1) for one in value]
    return value


class _NoLiteral(Exception):
    """A text that is not a list or object as engines write them."""


class _Literal:
    """Reads ``{1,NULL,"a b"}``, ``[a, 'b c', NULL]`` and ``{'a': 1, 'b': x}``."""

    def __init__(self, text: str, leaves: Leaves) -> None:
        self._text = text
        self._leaves = leaves
        self._place = 0

    def whole(self) -> Cell:
        value = self._value(0)
        if self._place != len(self._text):
            raise _NoLiteral
        return value

    def _next(self) -> str:
        while self._text[self._place : self._place + 1] == " ":
            self._place += 1
        return self._text[self._place : self._place + 1]

    def _value(self, depth: int) -> Cell:
        sign = self._next()
        if depth > _DEEPEST or not sign:
            raise _NoLiteral
        if sign in "{[":
            return self._items("}" if sign == "{" else "]", depth)
        if sign in "\"'":
            return self._leaves.quoted(self._quoted(sign))
        found = _BARE.match(self._text, self._place)
        if found is None:
            raise _NoLiteral
        self._place = found.end()
        word = found[0].strip()
        return None if word.upper() == "NULL" else self._leaves.bare(word)

    def _items(self, end: str, depth: int) -> Cell:
        self._place += 1
        items: list[Cell] = []
        names: list[str] = []
        while self._next() != end:
            if items:
                self._expect(",")
            if (name := self._name()) is not None:
                names.append(name)
            items.append(self._value(depth + 1))
        self._place += 1
        if not names:
            return items
        if len(names) != len(items):
            raise _NoLiteral
        return map_of(zip(names, items, strict=True))

    def _name(self) -> str | None:
        """The name before a colon, as DuckDB writes it: in single quotes."""
        start = self._place
        if self._next() == "'":
            name = self._quoted("'")
            if self._next() == ":":
                self._place += 1
                return name
        self._place = start
        return None

    def _expect(self, sign: str) -> None:
        if self._next() != sign:
            raise _NoLiteral
        self._place += 1

    def _quoted(self, quote: str) -> str:
        found = re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}", re.DOTALL).match(self._text, self._place)
        if found is None:
            raise _NoLiteral
        self._place = found.end()
        return re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL)
