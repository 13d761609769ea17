"""What matters of a subquery under EXISTS or IN: `as_read_by`."""

from __future__ import annotations

from msgspec.structs import replace

from assay.sql.differences.parts import QueryParts


def as_read_by(operator: str, query: QueryParts) -> QueryParts:
    """The query without what the condition that reads it ignores.

    ``EXISTS (SELECT DISTINCT name …)`` and ``EXISTS (SELECT 1 … LIMIT 1)`` both ask whether there is a row. For ``IN
    (SELECT DISTINCT name …)`` and ``IN (SELECT name …)``, duplicates do not matter. ``operator`` is the key of the node
    around the query; empty if that does not read it like EXISTS or IN.
    """
    if len(query.selects) != 1:
        return query
    select = query.selects[0]
    limits = [limit for limit in (query.limit, select.limit) if limit is not None]
    is_cut = bool(limits) or query.offset is not None or select.offset is not None
    if operator in ("in", "any", "all"):
        if is_cut:
            return query  # DISTINCT changes which rows are the first
        return replace(query, selects=(replace(select, distinct=False, order=()),))
    # An aggregate without GROUP BY always gives one row, and a function may give several rows, or none.
    terms = (*select.outputs, *(key.term for key in select.order))
    is_row_by_row = bool(select.group) or not (select.having or any(term.aggregates for term in terms))
    if operator != "exists" or not is_row_by_row or any(output.functions for output in select.outputs):
        return query
    if query.offset is not None or select.offset is not None or not all(map(_keeps_a_row, limits)):
        return query
    return QueryParts(selects=(replace(select, outputs=(), distinct=False, order=(), limit=None),), show=query.show)


def _keeps_a_row(limit: str) -> bool:
    return limit.isdecimal() and int(limit) > 0
