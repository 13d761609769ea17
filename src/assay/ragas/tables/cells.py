"""Compare the cells of two columns pair by pair, whole columns at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.ragas.tables.table import Cells, ColumnKind

_NUMERIC = {"number", "boolean"}
_INSTANTS = {"instant", "zoned instant"}


def equal_cells(
    left: Cells,
    right: Cells,
    *,
    kinds: tuple[ColumnKind, ColumnKind],
    abs_tol: float,
    rel_tol: float,
    ignore_case: bool,
    ignore_spaces: bool,
) -> Cells:
    """A boolean for each pair of cells. The tolerance is relative to the right number."""
    import numpy

    types = set(kinds)
    if types <= _NUMERIC:
        return _close(left, right, abs_tol=abs_tol, rel_tol=rel_tol)
    if types <= {"text", "number", "boolean"}:
        plain = {"ignore_case": ignore_case, "ignore_spaces": ignore_spaces}
        sides = [
            normalized(cells, **plain) if kind == "text" else cells
            for cells, kind in zip((left, right), kinds, strict=True)
        ]
        return _written(sides[0], sides[1], kinds=kinds, abs_tol=abs_tol, rel_tol=rel_tol)
    if types <= {"text", "empty"}:
        plain = {"ignore_case": ignore_case, "ignore_spaces": ignore_spaces}
        return _same(normalized(left, **plain), normalized(right, **plain))
    if len(types) == 1 and types <= _INSTANTS:
        same: Cells = (numpy.isnat(left) & numpy.isnat(right)) | (left == right)
        return same
    if "text" in types and types & _INSTANTS:
        if kinds[0] == "text":
            left = instants(left, zoned="zoned instant" in types)
        else:
            right = instants(right, zoned="zoned instant" in types)
        return _same(_objects(left), _objects(right))
    if "empty" in types or "other" in types:
        return _same(_objects(left, kinds[0]), _objects(right, kinds[1]))
    return numpy.zeros(len(left), dtype=bool)


def _written(
    left: Cells, right: Cells, *, kinds: tuple[ColumnKind, ColumnKind], abs_tol: float, rel_tol: float
) -> Cells:
    """Compare texts with texts, numbers or booleans by datacompy's rules.

    Two columns of texts without an absent cell are compared as texts. Any other pair of columns is compared as
    numbers if every cell reads as one, and else by how each cell is written: 2.5 as ``2.5``, an absent cell as
    ``nan``.
    """
    if kinds == ("text", "text") and (
        _begins_with_a_word(left)
        or _begins_with_a_word(right)
        or not (absent(left, "text") | absent(right, "text")).any()
    ):
        return _same(left, right)
    numbers = as_numbers(left, kinds[0]), as_numbers(right, kinds[1])
    if numbers[0] is not None and numbers[1] is not None:
        return _close(numbers[0], numbers[1], abs_tol=abs_tol, rel_tol=rel_tol)
    if kinds == ("text", "text"):
        return _same(left, right)
    return _same(as_texts(left, kinds[0]), as_texts(right, kinds[1]))


def _begins_with_a_word(cells: Cells) -> bool:
    """Whether the first cell already shows that not all cells are numbers, as in most columns of texts."""
    first = next((cell for cell in cells if cell is not None), "0")
    try:
        float(first)
    except ValueError:
        return True
    return False


def as_numbers(cells: Cells, kind: ColumnKind) -> Cells | None:
    """Every cell as a number, NaN where absent; None where some cell is not a number."""
    import numpy

    if kind in _NUMERIC:
        return cells.astype(numpy.float64, copy=False)
    try:
        return numpy.array([math.nan if cell is None else float(cell) for cell in cells.tolist()], dtype=numpy.float64)
    except ValueError:
        return None


def as_texts(cells: Cells, kind: ColumnKind) -> Cells:
    """Every cell as it is written, ``nan`` where absent."""
    import numpy

    texts = numpy.empty(len(cells), dtype=object)
    if kind == "boolean":
        texts[:] = ["nan" if math.isnan(cell) else str(bool(cell)) for cell in cells.tolist()]
    else:
        texts[:] = ["nan" if cell is None else str(cell) for cell in cells.tolist()]
    return texts


def _close(left: Cells, right: Cells, *, abs_tol: float, rel_tol: float) -> Cells:
    import numpy

    left, right = left.astype(numpy.float64, copy=False), right.astype(numpy.float64, copy=False)
    if abs_tol or rel_tol:
        close: Cells = numpy.isclose(left, right, rtol=rel_tol, atol=abs_tol, equal_nan=True)
        return close
    same: Cells = left == right
    if not same.all():
        same |= numpy.isnan(left) & numpy.isnan(right)
    return same


def _same(left: Cells, right: Cells) -> Cells:
    import numpy

    try:
        same: Cells = numpy.equal(left, right).astype(bool)
    except (TypeError, ValueError):  # arrays in cells: their equality is not a single boolean
        same = numpy.array([_equal(a, b) for a, b in zip(left, right, strict=True)], dtype=bool)
    return same


def _equal(left: Any, right: Any) -> bool:
    import numpy

    return bool(numpy.array_equal(left, right)) if left is not None and right is not None else left is right


def _objects(cells: Cells, kind: ColumnKind | None = None) -> Cells:
    """Cells as Python's own values, None where absent."""
    import numpy

    objects = numpy.empty(len(cells), dtype=object)
    if cells.dtype.kind == "M":
        cells = cells.astype("datetime64[us]")
    objects[:] = cells.tolist() if cells.dtype != object else cells
    if kind in _NUMERIC:
        objects[absent(cells, kind)] = None
    return objects


def normalized(cells: Cells, *, ignore_case: bool, ignore_spaces: bool) -> Cells:
    """Texts without surrounding whitespace, and in upper case, where that is asked for."""
    if not ignore_case and not ignore_spaces:
        return cells
    import numpy

    plain = numpy.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells.tolist()):
        if cell is not None:
            text = cell.strip() if ignore_spaces else cell
            plain[place] = text.upper() if ignore_case else text
    return plain


def instants(cells: Cells, *, zoned: bool) -> Cells:
    """Texts read as ISO dates and times; any other text stays a text, which equals no instant."""
    import numpy

    read = numpy.empty(len(cells), dtype=object)
    read[:] = [None if cell is None else _instant(cell, zoned=zoned) for cell in cells.tolist()]
    return read


def _instant(text: str, *, zoned: bool) -> Any:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    if zoned != (moment.tzinfo is not None):
        return text
    return moment.astimezone(UTC).replace(tzinfo=None) if zoned else moment


def absent(cells: Cells, kind: ColumnKind) -> Cells:
    """A boolean for each cell: whether it is absent."""
    import numpy

    nothing: Cells
    if kind in _NUMERIC:
        nothing = numpy.isnan(cells) if cells.dtype.kind == "f" else numpy.zeros(len(cells), dtype=bool)
    elif kind in _INSTANTS:
        nothing = numpy.isnat(cells)
    elif kind == "text":
        nothing = (cells == numpy.array(None, dtype=object)).astype(bool)
    else:
        nothing = numpy.array([cell is None for cell in cells], dtype=bool)
    return nothing


def largest_difference(left: Cells, right: Cells, kinds: tuple[ColumnKind, ColumnKind]) -> float | None:
    """The largest finite distance between two paired numbers; None where no pair has one."""
    if not set(kinds) <= _NUMERIC:
        return None
    import numpy

    with numpy.errstate(invalid="ignore", over="ignore"):
        distance = numpy.abs(left.astype(numpy.float64) - right.astype(numpy.float64))
    finite = distance[numpy.isfinite(distance)]
    return float(finite.max()) if len(finite) else None


def shown(cell: Any, kind: ColumnKind) -> Any:
    """One cell as Python's own value, None where absent."""
    value = cell.item() if hasattr(cell, "item") and kind in _NUMERIC else cell
    if kind in _INSTANTS:
        value = cell.astype("datetime64[us]").item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return bool(value) if kind == "boolean" else value
