"""Give the cells of rows their codes, column by column."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import repeat
from operator import is_
from types import NoneType
from typing import Any

import numpy as np
from msgspec import Struct

from assay.comparison.cells import key_of
from assay.comparison.codes.from_columns import codes_of, has_negative_zero
from assay.comparison.codes.layout import NULL, Codes, Flags, Floats, Known, float_codes, integer_codes
from assay.model import Cell, Row
from assay.model.results.columns import ColumnCells, ColumnRows
from assay.platform.memmap import MANY_BYTES

_CODE_BYTES = 8
_PORTION = 1024
"""Rows that are coded together."""
_TURNED = 256
"""Rows that are turned into columns together: few enough for a processor's cache."""
_EXACT_AS_FLOAT = 2**53
_NUMBERS = frozenset({int, float, NoneType})


class CodedColumn(Struct, frozen=True, kw_only=True):
    """One column as codes, with what codes do not say."""

    codes: Codes
    floats: Flags | bool
    """Which cells are floats: a flag for each, or one for all numbers of the column."""
    kinds: frozenset[type]
    """The types of its cells."""
    has_negative_zero: bool = False

    @property
    def any_floats(self) -> bool:
        """Whether a float may be among its cells."""
        return self.floats if isinstance(self.floats, bool) else bool(self.floats.any())

    def is_float(self) -> Flags:
        """For each cell that is a number whether it is a float."""
        return np.full(len(self.codes), self.floats) if isinstance(self.floats, bool) else self.floats


class DictionaryEncoder:
    """Codes results so that they can be compared with one another. Two coders give different codes."""

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
            portion = rows[start : start + _PORTION]
            parts: list[list[Cell]] = [[] for _ in range(width)]
            for turned in range(0, len(portion), _TURNED):
                for part, cells in zip(parts, zip(*portion[turned : turned + _TURNED], strict=True), strict=True):
                    part.extend(cells)
            for column, part in zip(columns, parts, strict=True):
                column.add(start, part)
        return [column.coded() for column in columns]

    def _column(self, column: ColumnCells, *, spills: bool) -> CodedColumn:
        kinds = column.kinds
        codes = codes_of(column, self.known, boolean_is_integer=self.boolean_is_integer, spills=spills)
        return CodedColumn(codes=codes, floats=float in kinds, kinds=kinds, has_negative_zero=has_negative_zero(column))


class _Growing:
    """A column that is coded portion by portion."""

    def __init__(self, coder: DictionaryEncoder, count: int) -> None:
        self._coder = coder
        self._codes: Codes = np.empty(count, dtype=np.uint64)
        self._flags: list[tuple[int, Flags | bool]] = []
        self._kinds: set[type] = set()
        self._negative_zero = False

    def coded(self) -> CodedColumn:
        """The column, once all portions are there."""
        kinds = frozenset(self._kinds)
        floats: Flags | bool = False
        if any(issubclass(kind, float) for kind in kinds):
            floats = True
            if not kinds <= {float, NoneType}:
                floats = np.concatenate([np.full(count, flag) for count, flag in self._flags])
        return CodedColumn(codes=self._codes, floats=floats, kinds=kinds, has_negative_zero=self._negative_zero)

    def add(self, start: int, cells: list[Cell]) -> None:
        """The cells from row ``start`` on."""
        kinds = set(map(type, cells))
        self._kinds |= kinds
        codes = self._numeric(cells, kinds) if kinds <= _NUMBERS else None
        if codes is None:
            codes = self._by_dictionary(cells, kinds)
        self._codes[start : start + len(cells)] = codes

    def _numeric(self, cells: list[Cell], kinds: set[type]) -> Codes | None:
        """The codes of numbers and NULLs by arrays; None where a number is too large for that."""
        filled: list[Any] = [0 if cell is None else cell for cell in cells] if NoneType in kinds else cells
        codes: Codes | None
        try:
            if float in kinds:
                numbers = np.frombuffer(array("d", filled), dtype=np.float64)
                flags: Flags | bool = kinds <= {float, NoneType}
                if int in kinds:
                    flags = np.fromiter(map(is_, map(type, cells), repeat(float)), dtype=np.bool_, count=len(cells))
                    if not (np.abs(numbers[~flags]) < _EXACT_AS_FLOAT).all():
                        return None
                self._negative_zero = self._negative_zero or _has_negative_zero(numbers)
                codes = float_codes(numbers, self._coder.known)
            else:
                flags = False
                codes = integer_codes(np.frombuffer(array("q", filled), dtype=np.int64))
        except OverflowError:
            return None
        if codes is None:
            return None
        if NoneType in kinds:
            codes[np.fromiter(map(is_, cells, repeat(None)), dtype=np.bool_, count=len(cells))] = NULL
        self._flags.append((len(cells), flags))
        return codes

    def _by_dictionary(self, cells: list[Cell], kinds: set[type]) -> Codes:
        boolean = self._coder.boolean_is_integer
        floats = any(issubclass(kind, float) for kind in kinds)
        flags: Flags | bool = False
        if floats:
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
