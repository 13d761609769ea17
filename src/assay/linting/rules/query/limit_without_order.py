"""A LIMIT that takes any rows."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.expressions import limit_of
from assay.sql.query import Query
from assay.sql.select import Select

RULE = LintRule(
    name="limit-without-order",
    severity="warning",
    needs="query",
    finds="a LIMIT without an ORDER BY that cuts off rows",
    why="The database chooses which rows it returns: a right answer may get others, and be marked wrong.",
    remedy="Order by what the question asks for, or remove the LIMIT.",
    bad="SELECT name FROM singer LIMIT 3",
    good="SELECT name FROM singer ORDER BY age LIMIT 3",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    yield from _after_several(gold, query)
    for select in query.selects:
        limit = select.limit_node
        if limit is None or select.order or select.limit == 0 or not select.sources or _is_in_exists(select):
            continue
        if select.is_aggregated and not select.group:
            continue  # a single row in any case
        if not select.many_rowed:
            continue
        place = query.span(limit)
        if select is query.top and (seen := _left_out(gold, select)) is not None:
            if seen:
                yield Found(evidence=f"LIMIT returns any {select.limit} of {seen:,} rows.", place=place)
            continue
        where = "" if select is query.top else " in a subquery"
        yield Found(evidence=f"The LIMIT{where} has no ORDER BY.", place=place)


def _after_several(gold: Gold, query: Query) -> Iterator[Found]:
    """The LIMIT of a set operation, or of a query in parentheses, without an ORDER BY before it."""
    from sqlglot import exp

    limit, inner = query.tree.args.get("limit"), query.tree
    if limit is None or isinstance(inner, exp.Select) or inner.args.get("order"):
        return
    while isinstance(inner, exp.Subquery):
        inner = inner.this
        if inner.args.get("order"):
            return
    what = "parentheses"
    if isinstance(inner, exp.SetOperation):
        what = inner.key.upper() + ("" if inner.args.get("distinct", True) else " ALL")
    count = limit_of(query.tree)
    if gold.rows is None or (count is not None and len(gold.rows) >= count > 0):
        yield Found(evidence=f"The LIMIT after {what} has no ORDER BY.", place=query.span(limit))


def _is_in_exists(select: Select) -> bool:
    """Whether EXISTS only asks if the SELECT has a row."""
    from sqlglot import exp

    above = select.node.parent
    while isinstance(above, exp.Subquery | exp.Paren | exp.SetOperation):
        above = above.parent
    return isinstance(above, exp.Exists)


def _left_out(gold: Gold, select: Select) -> int | None:
    """How many rows there are without the LIMIT, 0 if it cuts none; None if that cannot be determined."""
    from assay.sql import tie_probes

    if gold.database is None or select.limit is None:
        return None
    rows = gold.rows
    if rows is None:
        return None
    if len(rows) < select.limit:
        return 0
    for probe in tie_probes(gold.text, gold.dialect):
        seen = gold.database.rows(probe.query)
        if seen is not None:
            # If all rows are alike, it does not matter which are returned.
            return len(seen) if len(seen) > len(rows) and len({repr(row) for row in seen}) > 1 else 0
    return None
