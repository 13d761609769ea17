"""Tables with named columns, and what counts as a difference between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    import numpy

    Cells: TypeAlias = numpy.ndarray[Any, numpy.dtype[Any]]

ColumnKind = Literal["number", "boolean", "text", "instant", "zoned instant", "empty", "other"]
Tolerance: TypeAlias = float | Mapping[str, float]


class TableColumn(Struct, frozen=True, kw_only=True, eq=False):
    """One column as an array of one type.

    ``number``: integers or floats, NaN where absent. ``boolean``: floats 0 and 1, NaN where absent.
    ``instant``: datetime64, NaT where absent; ``zoned instant`` the same in UTC. ``text``, ``empty``
    (nothing but absent cells, of no known type) and ``other``: objects, None where absent.
    """

    name: str
    kind: ColumnKind
    cells: Cells


class Table(Struct, frozen=True, kw_only=True, eq=False):
    """Columns of equal length. Only tables whose names differ in lower case can be compared."""

    columns: tuple[TableColumn, ...]
    row_count: int


class TableOptions(Struct, frozen=True, kw_only=True):
    """What counts as a difference between two tables. The defaults are those of ragas."""

    join_columns: tuple[str, ...] = ()
    """The key that pairs rows; without one, rows are paired by position. Equal keys pair in their order."""
    abs_tol: Tolerance = 0.0
    """For all columns, or by column name, with ``default`` for all other columns."""
    rel_tol: Tolerance = 0.0
    """As ``abs_tol``; it is multiplied by the response's number."""
    ignore_case: bool = False
    """Does not apply to keys."""
    ignore_spaces: bool = False
    """Ignores blanks around a text, also in keys."""
    sample_rows: int = 10
    """How many differences to keep per column, and how many unpaired rows per side."""
