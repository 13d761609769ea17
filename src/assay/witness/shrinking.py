"""Make a database smaller as long as it shows the same: fewest tables, rows and unusual cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.model import Cell, Row
from assay.witness.plan import Plan, loosely
from assay.witness.pools import Pool

Keeps = Callable[[list[list[Row]]], bool]
_MOST_STEPS = 600


class Shrinker:
    """Shrinks databases of one plan. ``keeps`` says whether a database still shows what the whole one did."""

    def __init__(self, plan: Plan, pools: Sequence[Sequence[Pool]], keeps: Keeps) -> None:
        self._plan = plan
        self._pools = pools
        self._keeps = keeps
        self._steps = 0

    def shrink(self, database: list[list[Row]]) -> list[list[Row]]:
        """The smallest database that was found; the given one if nothing can be removed."""
        smaller = database
        while self._steps < _MOST_STEPS:
            before = smaller
            smaller = self._without_tables(smaller)
            smaller = self._without_rows(smaller)
            smaller = self._plainer(smaller)
            if smaller == before:
                break
        return smaller

    def _tried(self, database: list[list[Row]]) -> bool:
        self._steps += 1
        return self._steps <= _MOST_STEPS and links_hold(self._plan, database) and self._keeps(database)

    def _without_tables(self, database: list[list[Row]]) -> list[list[Row]]:
        for number in reversed(range(len(database))):
            if database[number]:
                fewer = self._cascaded([*database[:number], [], *database[number + 1 :]])
                if self._tried(fewer):
                    database = fewer
        return database

    def _without_rows(self, database: list[list[Row]]) -> list[list[Row]]:
        for number in reversed(range(len(database))):
            size = max(1, len(database[number]) // 2)
            while size:
                start = 0
                while start < len(database[number]):
                    rows = database[number]
                    fewer = [*database[:number], rows[:start] + rows[start + size :], *database[number + 1 :]]
                    if self._tried(fewer) or self._tried(fewer := self._cascaded(fewer)):
                        database = fewer
                    else:
                        start += size
                size //= 2
        return database

    def _cascaded(self, database: list[list[Row]]) -> list[list[Row]]:
        """Without the rows that refer to removed rows."""
        smaller = [list(rows) for rows in database]
        changed = True
        while changed:
            changed = False
            for number, table in enumerate(self._plan.tables):
                for link in table.links:
                    there = {_key(row, link.others) for row in smaller[link.table]}
                    kept = [row for row in smaller[number] if None in (key := _key(row, link.columns)) or key in there]
                    if len(kept) < len(smaller[number]):
                        smaller[number] = kept
                        changed = True
        return smaller

    def _plainer(self, database: list[list[Row]]) -> list[list[Row]]:
        """Each cell as plain as possible: the first value of the column that keeps the difference."""
        for number, table in enumerate(self._plan.tables):
            for row in range(len(database[number])):
                for index in range(len(table.columns)):
                    for value in self._simpler(number, index, database[number][row][index]):
                        changed = list(database[number][row])
                        old, changed[index] = changed[index], value
                        rows = [*database[number][:row], tuple(changed), *database[number][row + 1 :]]
                        whole = [*database[:number], rows, *database[number + 1 :]]
                        if self._tried(whole) or self._tried(
                            whole := self._renamed(database, number, index, old, value)
                        ):
                            database = whole
                            break
        return database

    def _simpler(self, number: int, place: int, value: Cell) -> list[Cell]:
        """Values plainer than this one, the plainest first."""
        pool = self._pools[number][place]
        plain = [pool.fresh(0), pool.fresh(1), pool.fresh(2)]
        usual = [one for one in (*plain, *pool.hits[:2]) if one in pool.values or one in plain]
        if value is None:
            return list(dict.fromkeys([*usual, *pool.values[:4]]))
        if value in plain:
            return plain[: plain.index(value)]
        return usual[:3] if value not in pool.hits else plain[:2]

    def _renamed(self, database: list[list[Row]], number: int, place: int, old: Cell, new: Cell) -> list[list[Row]]:
        """With the value replaced wherever it links rows of this column with others."""
        places = {(number, place)}
        for of, table in enumerate(self._plan.tables):
            for link in table.links:
                for ours, theirs in zip(link.columns, link.others, strict=True):
                    if (of, ours) in places or (link.table, theirs) in places:
                        places |= {(of, ours), (link.table, theirs)}
        return [
            [
                tuple([new if (of, at) in places and cell == old else cell for at, cell in enumerate(row)])
                for row in rows
            ]
            for of, rows in enumerate(database)
        ]


def links_hold(plan: Plan, database: Sequence[Sequence[Row]]) -> bool:
    """Whether every row refers to an existing row, and to another one if it must."""
    for number, table in enumerate(plan.tables):
        if table.filled and not database[number]:
            return False
        for link in table.links:
            if not database[number]:
                continue
            there = {_key(row, link.others) for row in database[link.table]}
            for row in database[number]:
                key = _key(row, link.columns)
                if None not in key and (key not in there or (link.to_another and key == _key(row, link.others))):
                    return False
    return True


def _key(row: Row, places: Sequence[int]) -> tuple[Cell, ...]:
    return tuple([loosely(row[index]) for index in places])


def keys_hold(plan: Plan, database: Sequence[Sequence[Row]]) -> bool:
    """Whether keys are unique, and every NOT NULL column is filled."""
    for table, rows in zip(plan.tables, database, strict=True):
        for places in table.unique:
            keys = [key for row in rows if None not in (key := tuple([row[index] for index in places]))]
            if len(set(keys)) < len(keys):
                return False
        for place, column in enumerate(table.columns):
            if column.never_null and any(row[place] is None for row in rows):
                return False
    return True
