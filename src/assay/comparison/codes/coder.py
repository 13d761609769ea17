"""Give the cells of rows their codes, column by column."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from itertools import repeat
from operator import is_
from types import NoneType
from typing import Any

import numpy as np
from msgspec import Struct

from assay.comparison.cells import key_of
from assay.comparison.codes.from_columns import codes_of, has_negative_zero
from assay.comparison.codes.layout import NULL, Codes, Flags, Floats, Known, float_codes, integer_codes, total
from assay.model import Cell, Row
from assay.model.results.columns import ColumnCells, ColumnRows
from assay.platform.memmap import MANY_BYTES

_CODE_BYTES = 8
_PORTION = 512
"""Rows that are turned into columns together: few enough for a processor's cache."""
_WAITING = 16_384
"""Numbers of one column that are coded together."""
_EXACT_AS_FLOAT = 2**53
_EXACT, _FLOATS = frozenset({int, NoneType}), frozenset({float, NoneType})


class CodedColumn(Struct, frozen=True, kw_only=True, dict=True):
    """One column as codes, with what the codes do not express."""

    codes: Codes
    floats: Flags | bool
    """Which cells are floats: one flag per cell, or one for all numbers of the column."""
    kinds: frozenset[type]
    """The types of its cells."""
    has_negative_zero: bool = False

    @property
    def any_floats(self) -> bool:
        """Whether its cells may include a float."""
        return self.floats if isinstance(self.floats, bool) else bool(self.floats.any())

    def is_float(self) -> Flags:
        """For each cell that is a number, whether it is a float."""
        return np.full(len(self.codes), self.floats) if isinstance(self.floats, bool) else self.floats

    @cached_property
    def total(self) -> int:
        """A number that is equal for equal bags of values, and hardly ever for different ones."""
        return total(self.codes)


class DictionaryEncoder:
    """Codes results so that they can be compared with one another. Codes of two coders are not comparable."""

    def __init__(self, *, boolean_is_integer: bool) -> None:
        self.boolean_is_integer = boolean_is_integer
        self.known: Known = Known()

    def columns(self, rows: Sequence[Row], width: int) -> list[CodedColumn]:
        """The rows' cells as columns of codes."""
        if isinstance(rows, ColumnRows):
            spills = len(rows) * len(rows.columns) * _CODE_BYTES > MANY_BYTES
            return [self._column(column, spills=spills) for column in rows.columns]
        columns = [_Growing(self, len(rows)) for _ in range(width)]
        for start in range(0, len(rows), _PORTION):
            for column, cells in zip(columns, zip(*rows[start : start + _PORTION], strict=True), strict=True):
                column.add(cells)
        return [column.coded() for column in columns]

    def _column(self, column: ColumnCells, *, spills: bool) -> CodedColumn:
        kinds = column.kinds
        codes = codes_of(column, self.known, boolean_is_integer=self.boolean_is_integer, spills=spills)
        return CodedColumn(codes=codes, floats=float in kinds, kinds=kinds, has_negative_zero=has_negative_zero(column))


class _Growing:
    """A column that is coded while its cells arrive in batches.

    Batches of only integers, or only floats, with or without NULLs, are collected in an array until there are many,
    since arrays are fast when they are long. Any other batch is coded at once, after those collected.
    """

    def __init__(self, coder: DictionaryEncoder, count: int) -> None:
        self._coder = coder
        self._codes: Codes = np.empty(count, dtype=np.uint64)
        self._done = 0
        self._waiting: array[Any] = array("q")
        self._nulls = bytearray()
        """For each collected number, whether it is NULL; shorter if the last ones are not NULL."""
        self._flags: list[tuple[int, Flags | bool]] = []
        self._kinds: set[type] = set()
        self._negative_zero = False

    def coded(self) -> CodedColumn:
        """The column, once all batches have arrived."""
        self._code_waiting()
        kinds = frozenset(self._kinds)
        floats: Flags | bool = False
        if any(issubclass(kind, float) for kind in kinds):
            floats = True
            if not kinds <= _FLOATS:
                floats = np.concatenate([np.full(count, flag) for count, flag in self._flags])
        return CodedColumn(codes=self._codes, floats=floats, kinds=kinds, has_negative_zero=self._negative_zero)

    def add(self, cells: tuple[Cell, ...]) -> None:
        """The next cells."""
        kinds = set(map(type, cells))
        self._kinds |= kinds
        if (kinds <= _EXACT or kinds <= _FLOATS) and self._waits(cells, kinds):
            return
        self._code_waiting()
        codes = self._of_both_kinds(cells, kinds) if kinds <= _EXACT | _FLOATS and float in kinds else None
        if codes is None:
            codes = self._by_dictionary(cells, kinds)
        self._put(codes)

    def _waits(self, cells: tuple[Cell, ...], kinds: set[type]) -> bool:
        """Add numbers of one type to those collected; False if a number is too large for an array."""
        code: Any = "d" if float in kinds else "q" if int in kinds else self._waiting.typecode
        if code != self._waiting.typecode or len(self._waiting) >= _WAITING:
            self._code_waiting()
            self._waiting = array(code)
        try:
            if NoneType not in kinds:
                self._waiting.extend(array(code, cells))
                return True
            numbers: array[Any] = array(code, [0 if cell is None else cell for cell in cells])
        except OverflowError:
            return False
        self._nulls.extend(bytes(len(self._waiting) - len(self._nulls)))
        self._nulls.extend(map(is_, cells, repeat(None)))
        self._waiting.extend(numbers)
        return True

    def _code_waiting(self) -> None:
        count = len(self._waiting)
        if not count:
            return
        floats = self._waiting.typecode == "d"
        codes: Codes | None
        if floats:
            numbers = np.frombuffer(self._waiting, dtype=np.float64)
            self._negative_zero = self._negative_zero or _has_negative_zero(numbers)
            codes = float_codes(numbers, self._coder.known)
        else:
            codes = integer_codes(np.frombuffer(self._waiting, dtype=np.int64))
            if codes is None:
                codes = self._coder.known.codes_of(self._waiting.tolist())
        if self._nulls:
            codes[: len(self._nulls)][np.frombuffer(self._nulls, dtype=np.bool_)] = NULL
        self._flags.append((count, floats))
        self._put(codes)
        self._waiting, self._nulls = array(self._waiting.typecode), bytearray()

    def _put(self, codes: Codes) -> None:
        self._codes[self._done : self._done + len(codes)] = codes
        self._done += len(codes)

    def _of_both_kinds(self, cells: tuple[Cell, ...], kinds: set[type]) -> Codes | None:
        """The codes of integers and floats by arrays; None if an integer is too large for that."""
        filled: list[Any] = [0.0 if cell is None else cell for cell in cells]
        try:
            numbers = np.frombuffer(array("d", filled), dtype=np.float64)
        except OverflowError:
            return None
        flags = np.fromiter(map(is_, map(type, cells), repeat(float)), dtype=np.bool_, count=len(cells))
        if not (np.abs(numbers[~flags]) < _EXACT_AS_FLOAT).all():
            return None
        self._negative_zero = self._negative_zero or _has_negative_zero(numbers)
        codes = float_codes(numbers, self._coder.known)
        if NoneType in kinds:
            codes[np.fromiter(map(is_, cells, repeat(None)), dtype=np.bool_, count=len(cells))] = NULL
        self._flags.append((len(cells), flags))
        return codes

    def _by_dictionary(self, cells: tuple[Cell, ...], kinds: set[type]) -> Codes:
        boolean = self._coder.boolean_is_integer
        flags: Flags | bool = False
        if any(issubclass(kind, float) for kind in kinds):
            flags = np.fromiter((isinstance(cell, float) for cell in cells), dtype=np.bool_, count=len(cells))
            numbers = np.array([cell for cell in cells if isinstance(cell, float)], dtype=np.float64)
            self._negative_zero = self._negative_zero or _has_negative_zero(numbers)
        self._flags.append((len(cells), flags))
        known = self._coder.known
        if kinds <= {str, NoneType}:
            return known.codes_of(cells)
        return known.codes_of([key_of(cell, boolean_is_integer=boolean) for cell in cells])


def _has_negative_zero(numbers: Floats) -> bool:
    zeros = numbers[numbers == 0]
    return bool(len(zeros) and np.signbit(zeros).any())
