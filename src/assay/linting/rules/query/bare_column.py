"""A selected column that its group does not determine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.column_probes import probe_of_outermost
from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.expressions import has_aggregate
from assay.sql.predicates import Predicate
from assay.sql.query import Query
from assay.sql.select import Select

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="bare-column",
    severity="warning",
    needs="query",
    finds="a selected column that is neither grouped by nor aggregated",
    why="If a group contains several values of it, the database returns any one; most databases refuse the query.",
    remedy="Group by the column too, or say which of its values is meant (MIN, MAX).",
    bad="SELECT country, name, COUNT(*) FROM singer GROUP BY country",
    good="SELECT country, COUNT(*) FROM singer GROUP BY country",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    for select in query.selects:
        if not (select.group or any(map(has_aggregate, select.outputs))):
            continue
        if any(isinstance(node, exp.Window) for node in select.nodes("output")):
            continue
        if gold.dialect == "sqlite" and _picks_a_row(select):
            continue  # SQLite takes such columns from the row that holds the extreme
        if gold.names is None and (select.group or len(select.sources) > 1 or select.predicates):
            continue  # a key that determines all columns cannot be recognised
        decided = _decided(query, select)
        for output in select.outputs:
            for column in query.columns_in(output, bare=True):
                is_own = query.meaning(column).select is select
                if is_own and query.identity(column) not in decided:
                    yield from _doubted(gold, query, select, column)
                    break


def _picks_a_row(select: Select) -> bool:
    from sqlglot import exp

    own = [node for node in select.nodes("output") if isinstance(node, exp.AggFunc)]
    return len(own) == 1 and isinstance(own[0], exp.Min | exp.Max)


def _decided(query: Query, select: Select) -> set[tuple[int, str, str]]:
    """The columns that the keys determine: the keys, what equals them, and all columns of a table with its key among
    them."""
    known = {query.identity(column) for key in select.group if (column := query.column_of(key)) is not None}
    for predicate in select.predicates:
        column = query.column_of(predicate.left)
        if column is not None and predicate.operator == "=" and predicate.is_required and _is_fixed(query, predicate):
            known.add(query.identity(column))
    pairs = [{query.identity(pair.left), query.identity(pair.right)} for pair in select.join_pairs]
    while True:
        before = len(known)
        for pair in pairs:
            if known & pair:
                known |= pair
        for source in select.sources.values():
            table = None if source.table is None or query.names is None else query.names.table(source.table)
            if table is None or not table.primary_key:
                continue
            if all((select.index, source.alias, name.lower()) in known for name in table.primary_key):
                known |= {(select.index, source.alias, column.name.lower()) for column in table.columns}
        if len(known) == before:
            # A part of a computed key is the author's decision.
            return known | {query.identity(column) for key in select.group for column in query.columns_in(key)}


def _is_fixed(query: Query, predicate: Predicate) -> bool:
    """Whether a comparison's right side is one value."""
    from sqlglot import exp

    return isinstance(predicate.right[0], exp.Query) or query.value_of(predicate.right[0]) is not None


def _doubted(gold: Gold, query: Query, select: Select, column: exp.Column) -> Iterator[Found]:
    place = query.span(column)
    keys = ", ".join(query.shown(key) for key in select.group)
    grouped = f"GROUP BY {keys}" if keys else "the whole is one group"
    told = f"{query.name_of(column)} is selected bare with {'GROUP BY ' + keys if keys else 'an aggregate'}"
    if gold.database is not None and select is query.top and gold.execution is not None and gold.execution.succeeded:
        counted = f"COUNT(DISTINCT {column.sql(dialect=gold.dialect)})"
        groups = gold.database.rows(probe_of_outermost(query, [counted]))
        if groups is not None:
            several = sum(1 for row in groups if isinstance(row[0], int) and row[0] > 1)
            if several:
                share = f"{several} of {len(groups)} groups hold" if len(groups) > 1 else "the group holds"
                yield Found(evidence=f"{told}, and {share} several values of it.", place=place)
            return
    yield Found(evidence=f"{told}; {grouped} may not determine it.", place=place, severity="note")
