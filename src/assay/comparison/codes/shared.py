"""Codes of the results of one case, made once for the comparison and all metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.model import Row

if TYPE_CHECKING:
    from assay.comparison.codes.coder import CodedColumn, Coder
    from assay.comparison.codes.layout import Known

MANY = 100_000
"""From this many cells of both results on codes pay, numpy's import included."""
_MOST_RESULTS = 4
"""How many results of one case are kept as codes; a prediction and its golds are two, mostly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedColumns:
    """The columns of two results, whose codes can be compared."""

    gold: list[CodedColumn]
    predicted: list[CodedColumn]
    known: Known

    @property
    def nested(self) -> bool:
        """Whether a cell holds other cells, among which there may be floats."""
        return any(issubclass(kind, (list, tuple, dict)) for kind in self.kinds)

    @property
    def kinds(self) -> frozenset[type]:
        """The types of all cells."""
        return frozenset().union(*(column.kinds for column in (*self.gold, *self.predicted)))


class _Store:
    def __init__(self) -> None:
        self._coders: dict[bool, Coder] = {}
        self._coded: dict[tuple[int, bool], tuple[Sequence[Row], list[CodedColumn]]] = {}

    def pair(
        self, gold: Sequence[Row], predicted: Sequence[Row], widths: tuple[int, int], *, boolean_is_integer: bool
    ) -> CodedColumns:
        for flag in (boolean_is_integer, not boolean_is_integer):
            found = [self._coded.get((id(rows), flag)) for rows in (gold, predicted)]
            if found[0] and found[1] and (flag == boolean_is_integer or not _has_booleans(found[0][1] + found[1][1])):
                return CodedColumns(gold=found[0][1], predicted=found[1][1], known=self._coders[flag].known)
        if len(self._coded) > _MOST_RESULTS:
            self._coded.clear()
            self._coders.clear()
        ours, theirs = (
            self._of(rows, width, boolean_is_integer) for rows, width in zip((gold, predicted), widths, strict=True)
        )
        return CodedColumns(gold=ours, predicted=theirs, known=self._coders[boolean_is_integer].known)

    def _of(self, rows: Sequence[Row], width: int, flag: bool) -> list[CodedColumn]:  # noqa: FBT001 - private
        from assay.comparison.codes.coder import Coder

        coder = self._coders.get(flag)
        if coder is None:
            coder = self._coders[flag] = Coder(boolean_is_integer=flag)
        known = self._coded.get((id(rows), flag))
        if known is None:
            known = self._coded[id(rows), flag] = (rows, coder.columns(rows, width))
        return known[1]


def _has_booleans(columns: list[CodedColumn]) -> bool:
    """Whether it matters for codes if booleans are integers: nested cells may hold some."""
    return any(issubclass(kind, (bool, list, tuple, dict, set, frozenset)) for one in columns for kind in one.kinds)


_store: ContextVar[_Store | None] = ContextVar("assay_codes", default=None)


@contextmanager
def shared_codes() -> Iterator[None]:
    """While this is open, each result is coded once; then its codes are let go."""
    if _store.get() is not None:
        yield
        return
    token = _store.set(_Store())
    try:
        yield
    finally:
        _store.reset(token)


def coded_columns(
    gold: Sequence[Row], predicted: Sequence[Row], widths: tuple[int, int], *, boolean_is_integer: bool
) -> CodedColumns:
    """The codes of two results, which are these very objects each time they are asked for."""
    store = _store.get() or _Store()
    return store.pair(gold, predicted, widths, boolean_is_integer=boolean_is_integer)


def cell_count(gold: Sequence[Row], predicted: Sequence[Row]) -> int:
    """How many cells both results have together."""
    return sum(len(rows) * len(rows[0]) for rows in (gold, predicted) if rows)
