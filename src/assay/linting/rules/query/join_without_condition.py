"""Tables joined without a condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.expressions import is_distinct
from assay.sql.query import Query
from assay.sql.select import Select, Source, StoredColumn

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="join-without-condition",
    severity="error",
    needs="query",
    finds="tables in one FROM that no condition links",
    why="Every row of one is combined with every row of the other: values are repeated, sums and counts are multiples.",
    remedy="Add the join condition, or remove the unnecessary table.",
    bad="SELECT s.name FROM singer AS s JOIN concert AS c WHERE c.year = 2014",
    good="SELECT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id WHERE c.year = 2014",
)


def check_query(_: Gold, query: Query) -> Iterator[Found]:
    for select in query.selects:
        unlinked = select.unlinked_sources
        if unlinked and not _is_harmless(query, select):
            first = next(source for source in select.many_rowed if source not in unlinked)
            others = ", ".join(source.table or source.alias for source in unlinked)
            yield Found(
                evidence=f"Nothing links {others} to {first.table or first.alias}: each row of one is "
                "combined with all "
                "rows of the other.",
                place=query.span(unlinked[0].node),
                severity="note" if all(map(_is_crossed, unlinked)) else None,
            )


def _is_crossed(source: Source) -> bool:
    """Whether a source is read by an explicit CROSS JOIN."""
    return str(source.node.parent.args.get("kind") or "").upper() == "CROSS"


def _is_harmless(query: Query, select: Select) -> bool:
    """Whether repeated rows change nothing, or the tables are two named things of one kind that are compared."""
    from sqlglot import exp

    aggregates = select.aggregates
    if (
        aggregates
        and not select.group
        and all(is_distinct(aggregate) or isinstance(aggregate, exp.Min | exp.Max) for aggregate in aggregates)
    ):
        return not any(query.columns_in(output, bare=True) for output in select.outputs)
    pins = {_pin(query, select, source) for source in select.many_rowed}
    return len(pins) == 1 and None not in pins


def _pin(query: Query, select: Select, source: Source) -> StoredColumn | None:
    """The column by whose value a source is chosen, in the SELECT or in the source: ``mountain.name = 'Everest'``."""
    for one in query.predicates:
        column = query.column_of(one.left)
        if column is None or one.operator != "=" or one.is_negated or not one.is_required:
            continue
        if query.value_of(one.right[0]) is None or one.right[0].is_number:
            continue
        is_own = one.select == select.index and query.meaning(column).source is source
        if is_own or _is_within(one.node, source.node):
            return query.stored(column)
    return None


def _is_within(node: exp.Expr | None, outer: exp.Expr) -> bool:
    while node is not None and node is not outer:
        node = node.parent
    return node is outer
