"""Fill the columns and tables of a small database that its queries do not read, as in the real data.

A suite is for unknown answers: they may read any column. They are filled with rows of the real data,
so that a correct answer does not fail because a column is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from assay.model import Cell, DatabaseSchema, Row
from assay.witness.constants import Constant
from assay.witness.observed import RealTable, places_of
from assay.witness.plan import Plan, PlanTable
from assay.witness.pools import is_short
from assay.witness.query_facts import ColumnKey, PairFacts, united_classes

_MOST_SAMPLES = 12
_UNREAD_ROWS = 3


class Completer:
    """Completes databases of one plan. ``whole`` is the plan of all tables with all their columns."""

    def __init__(self, whole: Plan, plan: Plan, real: Mapping[str, RealTable]) -> None:
        self._whole = whole
        self._source: list[int | None] = []
        self._given: list[list[int]] = []
        """Per table of ``whole``, the indexes of the columns that the plan gives values."""
        own = {table.name: number for number, table in enumerate(plan.tables)}
        for table in whole.tables:
            number = own.get(table.name)
            self._source.append(number)
            places = {column.key: index for index, column in enumerate(table.columns)}
            columns = plan.tables[number].columns if number is not None else ()
            self._given.append([places[column.key] for column in columns])
        self._samples = [_samples(table, real) for table in whole.tables]

    def complete(self, database: Sequence[Sequence[Row]]) -> list[list[Row]]:
        """Every table, with every column; a few rows of each table that the plan lacks."""
        made: list[list[Row]] = []
        for number, table in enumerate(self._whole.tables):
            source, samples = self._source[number], self._samples[number]
            rows: Sequence[Row] = database[source] if source is not None else [()] * min(_UNREAD_ROWS, len(samples))
            given = self._given[number]
            made.append(self._table(table, rows, given, samples, made))
        return made

    def given(self, database: Sequence[Sequence[Row]]) -> list[list[Row]]:
        """The reverse: the values in a whole database that the plan gives."""
        found: dict[int, list[Row]] = {}
        for number, source in enumerate(self._source):
            if source is not None:
                places = self._given[number]
                found[source] = [tuple([row[index] for index in places]) for row in database[number]]
        return [found[number] for number in range(len(found))]

    @staticmethod
    def _table(
        table: PlanTable,
        rows: Sequence[Row],
        given: Sequence[int],
        samples: Sequence[Row],
        before: Sequence[Sequence[Row]],
    ) -> list[Row]:
        fixed = set(given)
        made: list[Row] = []
        taken: list[set[tuple[Cell, ...]]] = [set() for _ in table.unique]
        for number, row in enumerate(rows):
            cells: list[Cell] = list(samples[number % len(samples)]) if samples else [None] * len(table.columns)
            for index, value in zip(given, row, strict=True):
                cells[index] = value
            for link in table.links:
                if fixed.isdisjoint(link.columns) and link.table < len(before):
                    parents = before[link.table]
                    parent = parents[number % len(parents)] if parents else None
                    for ours, theirs in zip(link.columns, link.others, strict=True):
                        cells[ours] = None if parent is None else parent[theirs]
            for places, seen in zip(table.unique, taken, strict=True):
                _keep_apart(cells, places, fixed, seen, number)
            for index, column in enumerate(table.columns):
                if cells[index] is None and column.never_null and index not in fixed:
                    cells[index] = "" if column.family == "text" else number + 1
            keys = [_key(cells, places) for places in table.unique]
            if fixed or all(None in key or key not in seen for key, seen in zip(keys, taken, strict=True)):
                for key, seen in zip(keys, taken, strict=True):
                    seen.add(key)
                made.append(tuple(cells))
        return made


def _key(cells: Sequence[Cell], places: Sequence[int]) -> tuple[Cell, ...]:
    return tuple([cells[index] for index in places])


def _keep_apart(
    cells: list[Cell], places: Sequence[int], fixed: set[int], seen: set[tuple[Cell, ...]], number: int
) -> None:
    """Change a column that repeats a key, if it was filled in here."""
    free = [place for place in places if place not in fixed]
    if not free or _key(cells, places) not in seen:
        return
    value = cells[free[-1]]
    if isinstance(value, str):
        cells[free[-1]] = f"{value}_{number}"
    elif isinstance(value, int | float):
        cells[free[-1]] = value + 1_000 + number


def _samples(table: PlanTable, real: Mapping[str, RealTable]) -> list[Row]:
    """A few rows of the real table, from all over it, with the plan's columns."""
    rows = real.get(table.schema.name.lower())
    places = None if rows is None else places_of(rows, [column.name for column in table.columns])
    if rows is None or places is None or not rows.rows:
        return []
    step = max(1, len(rows.rows) // _MOST_SAMPLES)
    chosen = ([row[index] for index in places] for row in rows.rows[::step][:_MOST_SAMPLES])
    return [tuple([cell if is_short(cell) else None for cell in row]) for row in chosen]


def united(first: PairFacts, alike: Sequence[PairFacts], changed: Iterable[PairFacts]) -> PairFacts:
    """The facts of all pairs, except the columns that those in ``changed`` equate.

    A mistake in a join equates unrelated columns, which would then share their values.
    """
    classes = united_classes(group for one in (first, *alike) for group in one.classes)
    constants: dict[ColumnKey, dict[Constant, None]] = {}
    loose: dict[Constant, None] = {}
    tables, columns, read, counts = dict.fromkeys(first.tables), set(first.columns), set(first.read), set(first.counts)
    for one in (first, *alike, *changed):
        tables |= dict.fromkeys(one.tables)
        columns |= one.columns
        read |= one.read
        counts |= set(one.counts)
        loose |= dict.fromkeys(one.loose)
        for key, values in one.constants.items():
            constants.setdefault(key, {}).update(dict.fromkeys(values))
    return replace(
        first,
        tables=tuple(tables),
        read=frozenset(read),
        columns=frozenset(columns),
        classes=classes,
        constants={key: tuple(values) for key, values in sorted(constants.items())},
        loose=tuple(loose),
        counts=tuple(sorted(counts)),
    )


def widened(facts: PairFacts, schema: DatabaseSchema) -> PairFacts:
    """As if every column of every table were read."""
    tables = [table for table in schema.tables if table.kind == "table"]
    names = tuple(table.name.lower() for table in tables)
    columns = frozenset((table.name.lower(), column.name.lower()) for table in tables for column in table.columns)
    return replace(facts, tables=names, read=frozenset(names), columns=columns)
