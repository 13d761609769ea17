"""Cells that can be looked up: DuckDB gives lists, structures and maps as Python's lists and dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.model.result import Cell, Row


class FrozenMap(dict[Any, Any]):
    """A structure or a map as a key. Nobody changes it."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]  # a dictionary has none
        return hash(tuple(self.items()))


def frozen_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows with cells that have a hash; most have, and these rows stay as they are."""
    return list(map(_frozen_row, rows))


def _frozen_row(row: Row) -> Row:
    try:
        hash(row)
    except TypeError:
        return tuple(map(_frozen, row))
    return row


def _frozen(cell: Cell) -> Cell:
    match cell:
        case list() | tuple():
            return tuple(map(_frozen, cell))
        case dict():
            return FrozenMap({_frozen(key): _frozen(value) for key, value in cell.items()})
        case _:
            return cell
