"""Generate small random databases that respect keys and links: the same seed gives the same databases."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from msgspec import Struct

from assay.model import Cell, Row
from assay.witness.plan import Link, Plan, PlanTable, loosely
from assay.witness.pools import Pool

_TRIES = 4
_MOST_ROWS = 220
_ROUNDS = 3
_T = TypeVar("_T")


class _Style(Struct):
    """The properties of the databases in one trial."""

    null: float
    empty: int
    """The index of a column that is NULL in most rows, over all tables; -1: none."""
    near: float
    """The probability that a row is a copy of another, except for a cell or two."""
    hit: float
    """The probability of a value that a condition accepts."""
    skew: float
    """The probability that a row refers to the first parent."""
    narrow: int
    """The maximum number of different values per column; 0: unlimited."""


class DatabaseGenerator:
    """Generates databases for one plan. Each is a list of rows per table of the plan, with the plan's columns."""

    def __init__(
        self,
        plan: Plan,
        pools: Sequence[Sequence[Pool]],
        counts: Sequence[int],
        real: Sequence[Sequence[Row]],
        rng: Random,
    ) -> None:
        self._plan = plan
        self._pools = pools
        self._counts = [count for count in counts if count + 2 <= _MOST_ROWS]
        self._real = real
        """Rows of the real data by table, for databases that are parts of it; empty if there are none."""
        self._rng = rng
        self._narrowed: dict[tuple[Cell, ...], Sequence[Cell]] = {}
        self._style = _Style(null=0, empty=-1, near=0, hit=0, skew=0, narrow=0)
        self._alone = {
            table.name: frozenset(places[0] for places in table.unique if len(places) == 1) for table in plan.tables
        }
        """The columns of each table that are unique by themselves."""
        self._first: dict[str, int] = {}
        """The index of each table's first column among all columns."""
        self._nullable: list[int] = []
        count = 0
        for table in plan.tables:
            self._first[table.name] = count
            self._nullable += [
                count + index for index, column in enumerate(table.columns) if column.used and not column.never_null
            ]
            count += len(table.columns)
        self._late = [
            (number, link) for number, table in enumerate(plan.tables) for link in table.links if link.table >= number
        ]

    def make(self) -> list[list[Row]] | None:
        """One database; None if the links could not be satisfied this time."""
        rng = self._rng
        self._narrowed.clear()
        kind = rng.random()
        real = bool(self._real) and kind < 0.25
        self._style = _Style(
            null=_pick(rng, (0.0, 0.0, 0.0, 0.15, 0.15, 0.5)),
            empty=_pick(rng, self._nullable) if self._nullable and rng.random() < 0.25 else -1,
            near=_pick(rng, (0.0, 0.0, 0.5, 0.5, 0.85)),
            hit=_pick(rng, (0.2, 0.6, 0.6, 0.9)),
            skew=_pick(rng, (0.0, 0.0, 0.7, 0.9)),
            narrow=_pick(rng, (0, 2, 2, 3)),
        )
        sizes = self._sizes()
        database: list[list[Row]] = []
        for number, table in enumerate(self._plan.tables):
            source = self._real[number] if real else ()
            database.append(self._rows(table, self._pools[number], sizes[number], database, source))
        return database if self._settle(database) else None

    def _sizes(self) -> list[int]:
        rng = self._rng
        kind = rng.random()
        tables = self._plan.tables
        if not tables:
            return []
        if self._counts and kind > 0.8:
            wanted = _pick(rng, self._counts) + _pick(rng, (0, 1, 1, 2, -1))
            large = rng.randrange(len(tables)) if tables else 0
            both = rng.random() < 0.3
            return [max(wanted, 1) if both or number == large else rng.randrange(1, 4) for number in range(len(tables))]
        low, high = (0, 2) if kind < 0.12 else (1, 4) if kind < 0.55 else (1, 6)
        sizes = [rng.randrange(low, high + 1) for _ in tables]
        if kind > 0.7:  # many children to few parents
            sizes = [min(size, 2) if table.links == () else size + 2 for size, table in zip(sizes, tables, strict=True)]
        if rng.random() < 0.1:
            sizes[rng.randrange(len(sizes))] = 0
        sizes = [size if table.read else min(size, 2) for size, table in zip(sizes, tables, strict=True)]
        return [max(size, 1) if table.filled else size for size, table in zip(sizes, tables, strict=True)]

    def _rows(
        self, table: PlanTable, pools: Sequence[Pool], size: int, database: Sequence[Sequence[Row]], real: Sequence[Row]
    ) -> list[Row]:
        rows: list[Row] = []
        taken: list[tuple[tuple[int, ...], set[object]]] = [(places, set()) for places in table.unique]
        parents = [
            [row for row in database[link.table] if all(row[index] is not None for index in link.others)]
            if link.table < len(database)
            else None
            for link in table.links
        ]
        for _ in range(size):
            for attempt in range(_TRIES):
                row = self._row(table, pools, rows, parents, real, attempt)
                if row is None:
                    continue
                keys = []
                for places, seen in taken:
                    key = row[places[0]] if len(places) == 1 else _key(row, places)
                    if key is not None and key in seen:
                        break
                    keys.append(key)
                else:
                    for key, (_, seen) in zip(keys, taken, strict=True):
                        seen.add(key)
                    rows.append(tuple(row))
                    break
        return rows

    def _row(  # noqa: PLR0917 - the innermost step, called a hundred thousand times a second
        self,
        table: PlanTable,
        pools: Sequence[Pool],
        rows: Sequence[Row],
        parents: Sequence[Sequence[Row] | None],
        real: Sequence[Row],
        attempt: int,
    ) -> list[Cell] | None:
        """``parents`` are for each link the rows that may be referred to; None if these come later."""
        rng, style = self._rng, self._style
        near = rows and rng.random() < style.near
        if near:
            row = list(_pick(rng, rows))
            changed = {rng.randrange(len(row)) for _ in range(1 + (rng.random() < 0.4))} if row else set()
        elif real and rng.random() < 0.85:
            row = list(_pick(rng, real))
            changed = {rng.randrange(len(row))} if row and rng.random() < 0.25 else set()
        else:
            row = [None] * len(table.columns)
            changed = set(range(len(row)))
        if near:
            for places in table.unique:  # a copy would repeat the key: change one of its columns
                if changed.isdisjoint(places):
                    changed.add(_pick(rng, places))
        for index in changed:
            row[index] = self._cell(table, pools, index, len(rows), attempt)
        for link, fitting in zip(table.links, parents, strict=True):
            if fitting is not None and not self._refer(row, link, fitting, table, changed):
                return None
        for first, second in table.dependencies:
            if row[first] is not None:
                row[second] = next((other[second] for other in rows if other[first] == row[first]), row[second])
        return row

    def _cell(self, table: PlanTable, pools: Sequence[Pool], place: int, number: int, attempt: int) -> Cell:
        rng, style = self._rng, self._style
        column, pool = table.columns[place], pools[place]
        if not column.never_null:
            if style.null and rng.random() < style.null:
                return None
            if style.empty == self._first[table.name] + place and rng.random() < 0.7:
                return None
        alone = place in self._alone[table.name]
        if alone and (attempt == _TRIES - 1 or not (column.used or pool.hits) or rng.random() < 0.4):
            return pool.fresh(number + (attempt * 7 if attempt else 0))
        if pool.hits and rng.random() < style.hit:
            return _pick(rng, pool.hits)
        values = pool.values
        if not values:
            return None if not column.never_null else pool.fresh(number)
        if style.narrow and len(values) > style.narrow and not alone:
            if (few := self._narrowed.get(values)) is None:
                few = self._narrowed[values] = [_pick(rng, values) for _ in range(style.narrow)]
            values = tuple(few)
        return _pick(rng, values)

    def _refer(self, row: list[Cell], link: Link, fitting: Sequence[Row], table: PlanTable, changed: set[int]) -> bool:
        """Make the row refer to one of the parents, or to none if that is allowed. False if it is required but
        impossible."""
        rng = self._rng
        own = [row[index] for index in link.columns]
        if None in own:
            if rng.random() < 0.8:
                return True
        elif changed.isdisjoint(link.columns):
            for parent in fitting:
                if [parent[index] for index in link.others] == own:
                    return True
        if not fitting:
            free = [index for index in link.columns if not table.columns[index].never_null]
            if not free:
                return False
            row[free[0]] = None
            return True
        parent = fitting[0] if rng.random() < self._style.skew else _pick(rng, fitting)
        for ours, theirs in zip(link.columns, link.others, strict=True):
            row[ours] = parent[theirs]
        return True

    def _settle(self, database: list[list[Row]]) -> bool:
        """Satisfy the links to the table itself and to later tables. False if that fails."""
        for _ in range(_ROUNDS):
            broken = False
            for number, link in self._late:
                broken = self._mend(database, number, link) or broken
            if not broken:
                break
        else:
            return False
        return all(not table.filled or rows for table, rows in zip(self._plan.tables, database, strict=True))

    def _mend(self, database: list[list[Row]], number: int, link: Link) -> bool:
        """Change rows with dangling references. Returns whether there were any."""
        there = {key for row in database[link.table] if (key := _key(row, link.others)) is not None}
        table = self._plan.tables[number]
        broken = False
        for index, row in enumerate(database[number]):
            key = _key(row, link.columns)
            own = _loosely(_key(row, link.others)) if link.to_another else None
            if key is None or (key in there and (own is None or _loosely(key) != own)):
                continue
            broken = True
            if not link.declared and self._add_child(database, link, row, link.columns):
                there.add(key)
                continue
            cells = list(row)
            free = [column for column in link.columns if not table.columns[column].never_null]
            others = sorted((one for one in there if own is None or _loosely(one) != own), key=repr)
            if others and (not free or self._rng.random() < 0.7):
                chosen = _pick(self._rng, others)
                for one, cell in zip(link.columns, chosen if isinstance(chosen, tuple) else (chosen,), strict=True):
                    cells[one] = cell
            elif free:
                cells[free[0]] = None
            else:
                cells = []
            database[number][index] = tuple(cells)
        database[number] = self._sound(table, database[number])
        return broken

    def _add_child(self, database: list[list[Row]], link: Link, parent: Row, columns: Sequence[int]) -> bool:
        """Add a row to the other table that has the referenced values."""
        table, rows = self._plan.tables[link.table], database[link.table]
        if len(rows) >= _MOST_ROWS or not rows:
            return False
        row = list(_pick(self._rng, rows))
        for theirs, ours in zip(link.others, columns, strict=True):
            row[theirs] = parent[ours]
        for places in table.unique:
            if len(places) == 1 and places[0] not in link.others:
                row[places[0]] = self._pools[link.table][places[0]].fresh(len(rows) + 50)
        rows.append(tuple(row))
        return len(self._sound(table, rows)) == len(rows) or bool(rows.pop() and False)

    @staticmethod
    def _sound(table: PlanTable, rows: Sequence[Row]) -> list[Row]:
        """The rows without duplicate keys."""
        taken: list[set[object]] = [set() for _ in table.unique]
        kept = []
        for row in rows:
            if not row and table.columns:
                continue
            keys = [_key(row, places) for places in table.unique]
            if all(key is None or key not in seen for key, seen in zip(keys, taken, strict=True)):
                kept.append(row)
                for key, seen in zip(keys, taken, strict=True):
                    seen.add(key)
        return kept


def _key(row: Sequence[Cell], places: Sequence[int]) -> object:
    """The values at these indexes; None if one is NULL."""
    if len(places) == 1:
        return row[places[0]]
    key = tuple([row[index] for index in places])
    return None if None in key else key


def _loosely(key: Any) -> object:
    """A key as foreign keys compare it: a number equals its text."""
    return tuple(map(loosely, key)) if isinstance(key, tuple) else loosely(key)


def _pick(rng: Random, values: Sequence[_T]) -> _T:
    return values[int(rng.random() * len(values))]
