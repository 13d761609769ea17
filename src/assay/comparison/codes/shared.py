"""Codes of the results of one case, made once for the comparison and all metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field

from assay.model import Row

if TYPE_CHECKING:
    from assay.comparison.codes.coder import CodedColumn, DictionaryEncoder
    from assay.comparison.codes.layout import Integers, Known

_T = TypeVar("_T")

MANY = 100_000
"""From this many cells of both results on, codes are faster, including numpy's import."""
_MANY_ROWS = 2_000
_FEW_CELLS = 5_000
"""Up to this many cells are compared again in less time than caching the result takes."""
_MOST_RESULTS = 4
"""How many results of one case are cached as codes; usually a prediction and its gold results are two."""


class CodedColumns(Struct, frozen=True, kw_only=True):
    """The columns of two results, whose codes can be compared."""

    gold: list[CodedColumn]
    predicted: list[CodedColumn]
    known: Known
    _made: dict[str, Any] = field(default_factory=dict)

    @property
    def nested(self) -> bool:
        """Whether a cell contains other cells, which may include floats."""
        return any(issubclass(kind, (list, tuple, dict)) for kind in self.kinds)

    @property
    def kinds(self) -> frozenset[type]:
        """The types of all cells."""
        return frozenset().union(*(column.kinds for column in (*self.gold, *self.predicted)))

    def once(self, name: str, make: Callable[[], _T]) -> _T:
        """The result of ``make``, computed on first use of this name."""
        if name not in self._made:
            self._made[name] = make()
        found: _T = self._made[name]
        return found

    def row_numbers(self, our_count: int, their_count: int) -> tuple[Integers, Integers] | None:
        """A number per row of both, equal if the rows are; None if the numbers of columns differ."""
        from assay.comparison.codes.side import row_numbers

        if len(self.gold) != len(self.predicted):
            return None
        sides = [[column.codes for column in side] for side in (self.gold, self.predicted)]
        return self.once("row numbers", lambda: row_numbers(sides[0], sides[1], our_count, their_count))


class _Store:
    def __init__(self) -> None:
        self._coders: dict[bool, DictionaryEncoder] = {}
        self._coded: dict[tuple[int, bool], tuple[Sequence[Row], list[CodedColumn]]] = {}
        self._pairs: dict[tuple[int, int, bool], CodedColumns] = {}
        self._equal: dict[tuple[int, int], tuple[bool, Sequence[Row], Sequence[Row]]] = {}

    def same_lists(self, ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
        key = (id(ours), id(theirs))
        if key not in self._equal:
            self._equal[key] = (
                ours == theirs,
                ours,
                theirs,
            )  # the rows stay referenced, so that their ids are not reused
        return self._equal[key][0]

    def pair(
        self, gold: Sequence[Row], predicted: Sequence[Row], widths: tuple[int, int], *, boolean_is_integer: bool
    ) -> CodedColumns:
        for flag in (boolean_is_integer, not boolean_is_integer):
            found = [self._coded.get((id(rows), flag)) for rows in (gold, predicted)]
            if found[0] and found[1] and (flag == boolean_is_integer or not _has_booleans(found[0][1] + found[1][1])):
                return self._paired(gold, predicted, found[0][1], found[1][1], flag)
        if len(self._coded) > _MOST_RESULTS:
            self._coded.clear()
            self._coders.clear()
            self._pairs.clear()
        ours, theirs = (
            self._of(rows, width, boolean_is_integer) for rows, width in zip((gold, predicted), widths, strict=True)
        )
        return self._paired(gold, predicted, ours, theirs, boolean_is_integer)

    def _paired(
        self,
        gold: Sequence[Row],
        predicted: Sequence[Row],
        ours: list[CodedColumn],
        theirs: list[CodedColumn],
        flag: bool,  # noqa: FBT001 - private
    ) -> CodedColumns:
        key = (id(gold), id(predicted), flag)
        if key not in self._pairs:
            self._pairs[key] = CodedColumns(gold=ours, predicted=theirs, known=self._coders[flag].known)
        return self._pairs[key]

    def _of(self, rows: Sequence[Row], width: int, flag: bool) -> list[CodedColumn]:  # noqa: FBT001 - private
        from assay.comparison.codes.coder import DictionaryEncoder

        coder = self._coders.get(flag)
        if coder is None:
            coder = self._coders[flag] = DictionaryEncoder(boolean_is_integer=flag)
        known = self._coded.get((id(rows), flag))
        if known is None:
            known = self._coded[id(rows), flag] = (rows, coder.columns(rows, width))
        return known[1]


def _has_booleans(columns: list[CodedColumn]) -> bool:
    """Whether it matters for codes that booleans are integers: nested cells may contain some."""
    return any(issubclass(kind, (bool, list, tuple, dict, set, frozenset)) for one in columns for kind in one.kinds)


_store: ContextVar[_Store | None] = ContextVar("assay_codes", default=None)


@contextmanager
def shared_codes() -> Iterator[None]:
    """While this is open, each result is coded once; afterwards its codes are released."""
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
    """The codes of two results, the same objects on each call."""
    store = _store.get() or _Store()
    return store.pair(gold, predicted, widths, boolean_is_integer=boolean_is_integer)


def same_lists(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """Whether ``ours == theirs``. While codes are shared, large results are compared once."""
    store = _store.get()
    if store is None or len(ours) != len(theirs) or len(ours) < _MANY_ROWS:
        return ours == theirs
    return ours is theirs or store.same_lists(ours, theirs)


def are_few(*results: Sequence[Row]) -> bool:
    """Whether the results are too small for caching to pay off."""
    for rows in results:  # noqa: SIM110 - every case passes here: a generator takes longer
        if rows and len(rows) * len(rows[0]) > _FEW_CELLS:
            return False
    return True


def cell_count(gold: Sequence[Row], predicted: Sequence[Row]) -> int:
    """How many cells both results have together."""
    return sum(len(rows) * len(rows[0]) for rows in (gold, predicted) if rows)
