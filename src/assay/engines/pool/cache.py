"""The cache of a worker, which stores values across cases and counts their bytes."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from marshal import dumps
from operator import attrgetter

from msgspec import Struct, msgpack

from assay.model import Diagnosis, Evidence

_CHUNK = 4096
_ROW_BYTES = 56
_CELL_BYTES = 40
_ENTRY_BYTES = 400
"""The size of an entry besides its key and its value."""
_PLAIN_BYTES = 64
_PER_ENCODED_BYTE = 4
"""Estimated bytes of evidence per byte of its encoded form, which takes a tenth of the time of visiting each of its
parts."""
_DEEPEST = 40
_MANY = 512
_SAMPLE = 128


class ByteCache:
    """Stores values up to about ``most_bytes`` bytes and ``most_values``; the least recently used are evicted first.

    The number is limited since small values take more than their bytes: without it, a worker would grow with each case
    that it scores. Used by one thread.
    """

    def __init__(self, most_bytes: int, *, most_values: int = 4_000) -> None:
        self.most_bytes = most_bytes
        self._most_values = most_values
        self.held_bytes: int = 0
        """About how many bytes the stored values take, including their keys."""
        self._entries: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> object | None:
        """The value under this key, or None."""
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, value: object, *, size: int | None = None) -> list[Hashable]:
        """Store a value, and return the keys evicted for it: its own key if it is too large.

        ``size`` is how many bytes key and value take, if the caller knows.
        """
        size = _ENTRY_BYTES + (_size_of_entry(key, value) if size is None else size)
        before = self._entries.pop(key, None)
        if before is not None:
            self.held_bytes -= before[1]
        if size > self.most_bytes:
            return [key]
        self._entries[key] = (value, size)
        self.held_bytes += size
        dropped = []
        while self.held_bytes > self.most_bytes or len(self._entries) > self._most_values:
            oldest, (_, its_size) = self._entries.popitem(last=False)
            self.held_bytes -= its_size
            dropped.append(oldest)
        return dropped

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()
        self.held_bytes = 0


def _size_of_entry(key: Hashable, value: object) -> int:
    if isinstance(value, Evidence | Diagnosis):
        try:
            return _PER_ENCODED_BYTE * len(msgpack.encode(value))  # the texts of the key are in it
        except (TypeError, ValueError, OverflowError):  # a cell that only Assay's own form of JSON can hold
            pass
    return size_of(key) + size_of(value)


def size_of(value: object) -> int:
    """About how many bytes a value takes, including its content. An object that occurs in it twice counts once.

    Rows are counted as a whole, long lists of anything else from a sample. An object that two values share counts for
    each of them, so that a sum is too large rather than too small.
    """
    total = 0
    seen: set[int] = set()
    waiting: list[tuple[Iterable[object], int]] = [((value,), 0)]
    while waiting:
        items, depth = waiting.pop()
        for item in items:
            if item is None or item is True or item is False or id(item) in seen:
                continue
            seen.add(id(item))
            kind = type(item)
            if kind is str or kind is bytes:
                total += sys.getsizeof(item)
            elif kind is int or kind is float:
                total += _PLAIN_BYTES + sys.getsizeof(item)
            elif isinstance(item, (list, tuple)):
                size = rows_size(item) if _is_table(item) else None
                total += sys.getsizeof(item) if size is None else size
                if size is None and len(item) > _MANY:
                    sample = item[:: len(item) // _SAMPLE]
                    total += sum(map(size_of, sample)) * len(item) // len(sample)
                elif size is None and depth < _DEEPEST:
                    waiting.append((item, depth + 1))
            else:
                total += _PLAIN_BYTES + sys.getsizeof(item)
                if depth < _DEEPEST and (inner := _members(item)):
                    waiting.append((inner, depth + 1))
    return total


def _is_table(values: Sequence[object]) -> bool:
    """Whether these are rows: tuples of one length."""
    if not values or not isinstance(values[0], tuple):
        return False
    return all(issubclass(kind, tuple) for kind in set(map(type, values))) and len(set(map(len, values))) == 1  # type: ignore[arg-type]


def _members(value: object) -> Iterable[object]:
    kind: type = type(value)
    fields_of = _fields_getter(kind)
    if fields_of is not None:
        return fields_of(value)
    if isinstance(value, Mapping):
        return chain(value.keys(), value.values())
    if isinstance(value, (set, frozenset)):
        return value
    return ()


@cache
def _fields_getter(kind: type) -> Callable[[object], tuple[object, ...]] | None:
    """What returns the fields of a Struct, all at once; None for any other type."""
    names = kind.__struct_fields__ if issubclass(kind, Struct) else ()
    if len(names) > 1:
        return attrgetter(*names)
    return None if not names else lambda value: (getattr(value, names[0]),)


def rows_size(rows: Sequence[Sequence[object]]) -> int:
    """Like `size_of`, for a result's rows: tuples of one length, and at least one."""
    width = len(rows[0])
    size = sys.getsizeof(rows) + len(rows) * (_ROW_BYTES + _CELL_BYTES * width)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        try:
            # Several times as fast as asking each cell, and exact for text. It raises for values that it cannot handle.
            size += len(dumps(chunk))  # type: ignore[arg-type]
        except ValueError:  # dates, decimals, lists within cells and the like do not marshal
            size += sum(map(_cell_size, chain.from_iterable(chunk)))
    return size


def _cell_size(cell: object) -> int:
    return size_of(cell) if isinstance(cell, (list, tuple, dict, set, frozenset)) else sys.getsizeof(cell)
