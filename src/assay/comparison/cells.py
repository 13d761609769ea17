"""When two cells are the same value. Cells become keys; equal cells have equal keys.

Rules (the verdict's first): NULL equals only NULL; numbers compare as numbers, regardless of type; text and bytes
exactly; a date equals the midnight timestamp; NaN equals NaN; text never equals a number or a date; maps by their
entries, in any order. For tolerance, see `assay.comparison.tolerance`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from operator import itemgetter, ne
from typing import TypeAlias, cast
from uuid import UUID

from assay.model import Cell, Row
from assay.model.results.cells import MapEntries

Key: TypeAlias = Hashable
Column: TypeAlias = Sequence[Key]

_NAN: Key = ("nan",)
_AS_THEY_ARE = frozenset({int, str, bytes, type(None), datetime, time, timedelta, UUID})
"""Types that hash by value and whose Python equality is the verdict's."""
_MAYBE_NAN = frozenset({float, Decimal})
_AS_THEY_ARE_BUT_NAN = _AS_THEY_ARE | _MAYBE_NAN

_NOT_COMPARABLE = (bool, list, tuple, dict, set, frozenset, bytearray, memoryview)
_MIDNIGHT = time()
_PORTION = 1024
"""Rows that are processed together: few enough for a processor's cache."""


def key_of(cell: Cell, *, boolean_is_integer: bool) -> Key:
    """The key of one cell: two cells are the same value if and only if their keys are equal."""
    kind = type(cell)
    if kind in _AS_THEY_ARE:
        return cell
    if kind is float or kind is Decimal:
        return _NAN if cell != cell else cell  # noqa: PLR0124 - only NaN differs from itself
    if isinstance(cell, bool):
        return int(cell) if boolean_is_integer else ("bool", cell)
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime.combine(cell, _MIDNIGHT)
    return _rare_key(cell, boolean_is_integer)


def _rare_key(cell: Cell, boolean_is_integer: bool) -> Key:  # noqa: FBT001 - private, one caller
    if isinstance(cell, (float, Decimal)) and cell != cell:  # noqa: PLR0124 - only NaN differs from itself
        return _NAN
    if isinstance(cell, (bytearray, memoryview)):
        return bytes(cell)
    if isinstance(cell, Mapping):
        return _map_key(cell.items(), boolean_is_integer)
    if isinstance(cell, MapEntries):
        return _map_key(cell, boolean_is_integer)
    if isinstance(cell, (list, tuple)):
        return ("list", tuple(key_of(value, boolean_is_integer=boolean_is_integer) for value in cell))
    if isinstance(cell, (set, frozenset)):
        return ("set", frozenset(key_of(value, boolean_is_integer=boolean_is_integer) for value in cell))
    try:
        hash(cell)
    except TypeError:
        return ("repr", type(cell).__qualname__, repr(cell))
    return cell


def _map_key(entries: Iterable[tuple[Cell, Cell]], boolean_is_integer: bool) -> Key:  # noqa: FBT001 - private
    """The order of different keys does not matter; the order of the values of a repeated key does."""
    values: dict[Key, list[Key]] = defaultdict(list)
    for name, value in entries:
        key = key_of(name, boolean_is_integer=boolean_is_integer)
        values[key].append(key_of(value, boolean_is_integer=boolean_is_integer))
    members = [
        (key, of_key[0]) if len(of_key) == 1 else (("repeated", key), ("list", tuple(of_key)))
        for key, of_key in values.items()
    ]
    return ("map", frozenset(members))


def cell_types(rows: Iterable[Row]) -> set[type]:
    """The types that occur in these rows."""
    return set(map(type, chain.from_iterable(rows)))


def comparable_as_they_are(types: set[type]) -> bool:
    """Whether Python equality can prove that rows of these types are equal.

    It may miss an equality (NaN, a date and a timestamp), but must never report a false one. It would for booleans,
    which are integers in Python, and for types that may contain them. Unhashable types cannot be compared this way.
    """
    return not any(issubclass(kind, _NOT_COMPARABLE) for kind in types)


def to_columns(rows: Sequence[Row], width: int, *, boolean_is_integer: bool) -> tuple[list[Column], bool]:
    """The rows' cells as columns of keys, and whether every cell is its own key.

    ``width`` columns of ``len(rows)`` keys.
    """
    if not rows:
        return [() for _ in range(width)], True
    # In batches: the cells of a row are close in memory, so they stay in the processor's cache.
    columns: list[list[Cell]] = [[] for _ in range(width)]
    are_keys = [True] * width
    getters = [itemgetter(index) for index in range(width)]
    for start in range(0, len(rows), _PORTION):
        portion = rows[start : start + _PORTION]
        for index, get in enumerate(getters):
            part = list(map(get, portion))
            columns[index] += part
            are_keys[index] = are_keys[index] and _are_keys(part)
    keyed = [
        column if plain else [key_of(cell, boolean_is_integer=boolean_is_integer) for cell in column]
        for column, plain in zip(columns, are_keys, strict=True)
    ]
    return cast("list[Column]", keyed), all(are_keys)


def _are_keys(cells: list[Cell]) -> bool:
    """Whether each of these cells is its own key."""
    types = set(map(type, cells))
    return types <= _AS_THEY_ARE_BUT_NAN and not (types & _MAYBE_NAN and any(map(ne, cells, cells)))
