"""The rows of a large result, kept as columns of arrays: each row is made when somebody asks for it.

What a row shows is what the engine's client would have given, type and value. Nothing here imports numpy: the arrays
come from the engine that fetched them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import chain, pairwise
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, TypeAlias, overload

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Cells: TypeAlias = list[Any]

_PORTION = 8_192
_CONTENT = 16 * 1024 * 1024
_FIRST_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime.fromisoformat("1970-01-01")


class ColumnCells(Struct, frozen=True, kw_only=True, eq=False):
    """The cells of one column: an array of values, and which of them are NULL; None where none is."""

    values: NDArray[Any]
    nulls: NDArray[np.bool_] | None = None

    kind: ClassVar[type] = int
    """The type of its cells as a row has them."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return _bytes(self.values, self.nulls)

    @property
    def kinds(self) -> frozenset[type]:
        """The types that its cells have."""
        if self.nulls is None or not len(self):
            return frozenset({self.kind} if len(self) else ())
        return frozenset({NoneType} if self.nulls.all() else {self.kind, NoneType})

    def cells(self, start: int, stop: int) -> Cells:
        """These cells as a row has them."""
        found = self._made(start, stop)
        if self.nulls is not None:
            for place in self.nulls[start:stop].nonzero()[0].tolist():
                found[place] = None
        return found

    def equals(self, other: ColumnCells) -> bool | None:
        """Whether Python's ``==`` holds for each pair of cells; None if the arrays do not tell."""
        if type(other) is not type(self):
            return None
        one, two = self.nulls, other.nulls
        if one is None and two is None:
            return bool((self.values == other.values).all())
        if one is None or two is None or not bool((one == two).all()):
            return False
        return bool(((self.values == other.values) | one).all())

    def _made(self, start: int, stop: int) -> Cells:
        found: Cells = self.values[start:stop].tolist()
        return found


class IntegerCells(ColumnCells, frozen=True, kw_only=True, eq=False):
    """Integers, signed or unsigned, of up to 64 bits."""


class BooleanCells(ColumnCells, frozen=True, kw_only=True, eq=False):
    """Booleans."""

    kind: ClassVar[type] = bool


class FloatCells(ColumnCells, frozen=True, kw_only=True, eq=False):
    """Floats of 64 bits."""

    kind: ClassVar[type] = float


class DecimalCells(ColumnCells, frozen=True, kw_only=True, eq=False):
    """Decimals: integers of 64 bits, with one number of decimal places for all."""

    scale: int

    kind: ClassVar[type] = Decimal

    def equals(self, other: ColumnCells) -> bool | None:
        """Whether Python's ``==`` holds for each pair of cells; None if the arrays do not tell."""
        return super().equals(other) if isinstance(other, DecimalCells) and other.scale == self.scale else None

    def _made(self, start: int, stop: int) -> Cells:
        scale = self.scale
        numbers = self.values[start:stop].tolist()
        if not scale:
            return list(map(Decimal, numbers))
        least = scale + 1
        texts = (str(number).zfill(least) if number >= 0 else f"-{str(-number).zfill(least)}" for number in numbers)
        return [Decimal(f"{text[:-scale]}.{text[-scale:]}") for text in texts]


class DateCells(ColumnCells, frozen=True, kw_only=True, eq=False):
    """Dates: days since 1970."""

    kind: ClassVar[type] = date

    def _made(self, start: int, stop: int) -> Cells:
        known: dict[int, date] = {}
        found: Cells = []
        for day in self.values[start:stop].tolist():
            if day not in known:
                known[day] = date.fromordinal(day + _FIRST_DAY)
            found.append(known[day])
        return found


class TimestampCells(ColumnCells, frozen=True, kw_only=True, eq=False):
    """Timestamps without time zone: microseconds since 1970."""

    kind: ClassVar[type] = datetime

    def _made(self, start: int, stop: int) -> Cells:
        return [_EPOCH + timedelta(microseconds=moment) for moment in self.values[start:stop].tolist()]


class TextCells(ColumnCells, frozen=True, kw_only=True, eq=False):
    """Texts in UTF-8, one after the other in ``content``; ``values`` contains the end of each."""

    content: bytes | bytearray | NDArray[np.uint8]

    kind: ClassVar[type] = str

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return _bytes(self.values, self.nulls) + len(self.content)

    def equals(self, other: ColumnCells) -> bool | None:
        """Whether Python's ``==`` holds for each pair of cells; None if the arrays do not tell."""
        # The text of a NULL is empty, so equal cells mean equal arrays.
        if not (is_equal := super().equals(other)) or not isinstance(other, TextCells):
            return is_equal
        starts = range(0, len(self.content), _CONTENT)
        return all(self.between(start, start + _CONTENT) == other.between(start, start + _CONTENT) for start in starts)

    def between(self, begin: int, end: int) -> bytes:
        """These bytes of the content."""
        return bytes(self.content[begin:end])

    def _made(self, start: int, stop: int) -> Cells:
        first = int(self.values[start - 1]) if start else 0
        ends = self.values[start:stop].tolist()
        raw = self.between(first, ends[-1]) if ends else b""
        edges = pairwise([first, *ends])
        if raw.isascii():
            text = raw.decode("ascii")
            return [text[one - first : two - first] for one, two in edges]
        return [raw[one - first : two - first].decode() for one, two in edges]


def _bytes(*arrays: NDArray[Any] | None) -> int:
    return sum(int(array.nbytes) for array in arrays if array is not None)


class ColumnRows(Sequence["tuple[object, ...]"]):
    """Rows that are columns: a row is a tuple made when it is asked for, and is not kept.

    It compares and hashes as the tuple of its rows. To look at many rows, in no order, use ``tuple(rows)``.
    """

    __slots__ = ("_count", "columns")

    def __init__(self, columns: Sequence[ColumnCells]) -> None:
        self.columns: tuple[ColumnCells, ...] = tuple(columns)
        """At least one, all of the same length."""
        self._count = len(self.columns[0])

    @property
    def nbytes(self) -> int:
        """The bytes of all columns."""
        return sum(column.nbytes for column in self.columns)

    @property
    def kinds(self) -> frozenset[type]:
        """The types of all cells."""
        return frozenset().union(*(column.kinds for column in self.columns))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: SupportsIndex) -> tuple[object, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[object, ...], ...]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> tuple[object, ...] | tuple[tuple[object, ...], ...]:
        if isinstance(index, slice):
            places = range(*index.indices(self._count))
            if places.step == 1:
                return tuple(self._between(places.start, max(places.start, places.stop)))
            return tuple([self[place] for place in places])
        place = range(self._count)[index]
        return next(iter(self._between(place, place + 1)))

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return chain.from_iterable(
            self._between(start, min(start + _PORTION, self._count)) for start in range(0, self._count, _PORTION)
        )

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if not isinstance(other, (ColumnRows, tuple)):
            return NotImplemented
        if len(other) != self._count:
            return False
        if isinstance(other, ColumnRows):
            if len(self.columns) != len(other.columns):
                return False
            found = [one.equals(two) for one, two in zip(self.columns, other.columns, strict=True)]
            if False in found:
                return False
            if None not in found:
                return True
        return all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)

    def _between(self, start: int, stop: int) -> Iterator[tuple[object, ...]]:
        return zip(*(column.cells(start, stop) for column in self.columns), strict=True)
