"""A joined table that changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.dialects import DECLARED_KEYS
from assay.sql.predicates import Predicate
from assay.sql.query import Query
from assay.sql.schema import SchemaNames
from assay.sql.select import Select, Source, StoredColumn
from assay.sql.sources import entries_of

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="unused-join",
    severity="note",
    needs="query",
    finds="a table that is joined over its key by a foreign key without NULL, and otherwise unused",
    why="Every row has exactly one partner there: the join adds nothing, and often another one was meant.",
    remedy="Remove the table, or use what it was joined for.",
    bad="SELECT c.year FROM concert AS c JOIN singer AS s ON c.singer_id = s.id",
    good="SELECT year FROM concert",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    if gold.names is None or gold.dialect in DECLARED_KEYS:
        return
    for select in query.selects:
        if len(select.sources) < 2 or any(
            output.is_star and not isinstance(output, exp.AggFunc) for output in select.outputs
        ):
            continue
        for source in select.sources.values():
            pairs = [
                pair for pair in select.join_pairs if source in (_read(query, pair.left), _read(query, pair.right))
            ]
            if len(pairs) != 1 or source.table is None:
                continue
            own, other = pairs[0].left, pairs[0].right
            if _read(query, own) is not source:
                own, other = other, own
            refers = _refers(gold.names, query.stored(other), query.stored(own))
            if refers and not _is_used(query, select, source) and _keeps_rows(gold, query, select, source, other):
                yield Found(
                    evidence=f"{source.table} is joined by the foreign key {query.name_of(other)} and "
                    "otherwise unused.",
                    place=query.span(source.node),
                )


def _read(query: Query, column: exp.Column) -> Source | None:
    return query.meaning(column).source


def _refers(names: SchemaNames, foreign: StoredColumn | None, key: StoredColumn | None) -> bool:
    table = None if foreign is None else names.table(foreign.table)
    if table is None or foreign is None or key is None or not names.is_key(key.table, key.column):
        return False
    return any(
        [name.lower() for name in found.columns] == [foreign.key[1]] and found.table.lower() == key.key[0]
        for found in table.foreign_keys
    )


def _keeps_rows(gold: Gold, query: Query, select: Select, source: Source, foreign: exp.Column) -> bool:
    """Whether joining the source by a foreign key drops no row and adds none."""
    sides = {id(entry): side for entry, side in entries_of(select.node)}
    holder = _read(query, foreign)
    if holder is None or holder.table is None or not {"INNER", "LEFT"}.issuperset(sides.values()):
        return False
    if sides[id(source.node)] == "LEFT":
        return True
    return sides[id(holder.node)] == "INNER" and _is_never_null(gold, query, select, foreign)


def _is_never_null(gold: Gold, query: Query, select: Select, foreign: exp.Column) -> bool:
    """Whether a column of the joined rows holds no NULL: by its constraints, by a condition, or in the database."""
    stored = query.stored(foreign)
    column = None if gold.names is None or stored is None else gold.names.column(*stored.key)
    if column is None:
        return False
    required = (one for one in select.predicates if one.clause == "where" and one.is_required)
    tested = (query.column_of(one.left) for one in required if _drops_nulls(one))
    if column.not_null or query.identity(foreign) in {query.identity(one) for one in tested if one is not None}:
        return True
    values = None if gold.database is None else gold.database.values(stored)
    return values is not None and values.nulls == 0


def _drops_nulls(predicate: Predicate) -> bool:
    if predicate.operator != "is":
        return not predicate.is_negated
    return predicate.is_negated and predicate.right[0].key == "null"


def _is_used(query: Query, select: Select, source: Source) -> bool:
    """Whether a column of the source is used anywhere except in the joins' equalities."""
    joined = {id(side) for pair in select.join_pairs for side in (pair.left, pair.right)}
    return any(id(column) not in joined and query.meaning(column).source is source for column in query.columns)
