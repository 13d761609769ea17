"""What several queries read and compare, taken together: for databases on which many queries are tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from assay.model import DatabaseSchema
from assay.witness.constants import Constant
from assay.witness.query_facts import ColumnKey, PairFacts, united_classes


def united(first: PairFacts, alike: Sequence[PairFacts], changed: Iterable[PairFacts]) -> PairFacts:
    """The facts of all pairs. Of those in ``changed`` it does not count which columns they equate.

    A slip in a join equates columns that have nothing to do with one another, which would then share their values.
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
