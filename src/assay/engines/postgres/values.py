"""Convert PostgreSQL's values to cells: exact, and of plain types."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types.multirange import MultirangeInfo
from psycopg.types.range import RangeInfo

from assay.model.results.cells import document_of
from assay.model.results.times import clock_of, interval_of, moment_of

_AS_TEXT = ("inet", "cidr", "record")
_OF_TIME = ("date", "timestamp", "timestamptz", "time", "timetz")
_JSON = ("json", "jsonb")


def register(connection: psycopg.Connection[Any]) -> None:
    """Make this connection read values as Assay compares them.

    numeric is Decimal, including NaN and infinities; dates and times beyond Python's range (infinity, BC, after 9999,
    24:00), times of day with a zone, and intervals of months are those of `assay.model.results.times`; json and jsonb
    are decoded, with fractions as Decimal and all entries if keys repeat; arrays are lists; ranges, network
    addresses, enums and composites are text.
    """
    adapters = connection.adapters
    for oid, loader in _loaders():
        adapters.register_loader(oid, loader)
    if has_no_encoding(connection):
        for name in ("text", "varchar", "bpchar", "name"):
            adapters.register_loader(name, _AnyTextLoader)
        adapters.register_loader(0, _AnyTextLoader)


def has_no_encoding(connection: psycopg.Connection[Any]) -> bool:
    """Whether the database stores text as bytes of no known encoding."""
    return connection.info.parameter_status("server_encoding") == "SQL_ASCII"


def is_nested(oid: int) -> bool:
    """Whether values of this type may contain other values."""
    return oid in _nested_oids()


@lru_cache(maxsize=1)
def _loaders() -> tuple[tuple[int, type[Loader]], ...]:
    types = psycopg.postgres.types
    found: list[tuple[int, type[Loader]]] = [(types[name].oid, _AnyTextLoader) for name in _AS_TEXT]
    found += [(kind.oid, _AnyTextLoader) for kind in types if isinstance(kind, RangeInfo | MultirangeInfo)]
    found += [(types[name].oid, _JsonLoader) for name in _JSON]
    found.append((types["interval"].oid, _IntervalLoader))
    for name in _OF_TIME:
        oid = types[name].oid
        base = psycopg.adapters.get_loader(oid, Format.TEXT)
        assert base is not None, name
        found.append((oid, _or_beyond_python(base)))
    return tuple(found)


@lru_cache(maxsize=1)
def _nested_oids() -> frozenset[int]:
    types = psycopg.postgres.types
    return frozenset([types[name].oid for name in _JSON] + [kind.array_oid for kind in types if kind.array_oid])


def _or_beyond_python(base: Callable[..., Any]) -> type[Loader]:
    """A loader that returns a value of `assay.model.results.times` if the Python type cannot hold the value."""

    class BeyondPythonLoader(Loader):
        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            self._load = base(oid, context).load

        def load(self, data: Any) -> object:
            try:
                return self._load(data)
            except (psycopg.DataError, ValueError, OverflowError):
                return _first(bytes(data).decode(), moment_of, clock_of)

    return BeyondPythonLoader


def _first(text: str, *readers: Callable[[str], object]) -> object:
    """What the first of these readers makes of a text; the text itself if none reads it."""
    return next((value for read in readers if (value := read(text)) is not None), text)


class _AnyTextLoader(Loader):
    """Text as it is; in a database without an encoding, invalid UTF-8 becomes surrogate escapes."""

    seen = False

    def load(self, data: Any) -> str:
        try:
            return bytes(data).decode()
        except UnicodeDecodeError:
            _AnyTextLoader.seen = True
            return bytes(data).decode("utf-8", "surrogateescape")


def undecodable_text_seen() -> bool:
    """Whether some text since `forget_undecodable_text` was not valid UTF-8."""
    return _AnyTextLoader.seen


def forget_undecodable_text() -> None:
    """Reset the flag at the start of a query."""
    _AnyTextLoader.seen = False


class _JsonLoader(Loader):
    def load(self, data: Any) -> object:
        return document_of(bytes(data).decode())


class _IntervalLoader(Loader):
    def load(self, data: Any) -> object:
        return _first(bytes(data).decode(), interval_of)  # an infinite one is text
