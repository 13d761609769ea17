"""Where a query may leave its answer to the engine: to the order in which rows are stored, or to chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.sql.shape import cutting
from assay.sql.witness_facts.model import Doubt

if TYPE_CHECKING:
    from sqlglot import exp

_COLLECTING = frozenset(
    {"group_concat", "string_agg", "listagg", "array_agg", "json_group_array", "json_group_object", "json_agg"}
    | {"json_arrayagg", "json_objectagg", "list", "first", "last", "arg_max", "arg_min", "max_by", "min_by", "mode"}
)
_ANY = frozenset({"any_value", "arbitrary"})
_SAFE_WINDOWS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})


def takes_any(tree: exp.Query) -> bool:
    """Whether an aggregate may return any of its values."""
    from sqlglot import exp

    return any(_name(node) in _ANY or isinstance(node, exp.AnyValue) for node in tree.find_all(exp.Func))


def doubts_of(tree: exp.Query) -> frozenset[Doubt]:
    """The constructs that may make the answer depend on the order of stored rows."""
    from sqlglot import exp

    found: set[Doubt] = set()
    outer = cutting(tree)
    for node in tree.find_all(exp.Limit, exp.Fetch, exp.Offset):
        found.add("limit" if any(node.parent is one for one in outer) else "inner_limit")
    for function in tree.find_all(exp.Func):
        if _name(function) in _COLLECTING or isinstance(function, exp.GroupConcat | exp.ArrayAgg):
            found.add("collected")
    for window in tree.find_all(exp.Window):
        if not _is_safe(window):
            found.add("window")
    for select in tree.find_all(exp.Select):
        if _has_bare_column(select):
            found.add("bare_column")
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            found.add("distinct_on")
        if _is_scalar(select) and not _gives_one_row(select):
            found.add("scalar_subquery")
    return frozenset(found)


def _name(node: exp.Func) -> str:
    from sqlglot import exp

    return node.name.lower() if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) else node.key


def _is_safe(window: exp.Window) -> bool:
    """Whether rows that tie in a window's order get the same value: ranks, and aggregates over whole partitions."""
    from sqlglot import exp

    function = window.this
    name = _name(function) if isinstance(function, exp.Func) else ""
    if name in _SAFE_WINDOWS or isinstance(function, exp.Rank | exp.DenseRank):
        return True
    return isinstance(function, exp.AggFunc) and not window.args.get("order") and not window.args.get("spec")


def _has_bare_column(select: exp.Select) -> bool:
    """Whether a column stands beside aggregates, or in a grouped query, without being grouped or aggregated."""
    from sqlglot import exp

    group = select.args.get("group")
    parts = list(select.expressions)
    for clause in ("having", "order"):
        part = select.args.get(clause)
        parts += [part] if part is not None else []
    own = [node for part in parts for node in _within(part)]
    aggregates = any(isinstance(node, exp.AggFunc) and not isinstance(node.parent, exp.Window) for node in own)
    if group is None and not aggregates:
        return False
    grouped = {one.sql().lower() for one in group.expressions} if group is not None else set()
    names = (
        {one.name.lower() for one in group.expressions if isinstance(one, exp.Column)} if group is not None else set()
    )
    places = {int(one.name) for one in group.expressions if one.is_int} if group is not None else set()
    aliases = {output.alias.lower() for output in select.expressions if isinstance(output, exp.Alias)}
    for place, output in enumerate(select.expressions, start=1):
        if place in places:
            grouped |= {node.sql().lower() for node in _within(output)}
            names |= {node.name.lower() for node in _within(output) if isinstance(node, exp.Column)}
    for part in parts:
        clause_of_names = not any(part is output for output in select.expressions)
        for node in _within(part):
            if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
                return True
            if not isinstance(node, exp.Column) or node.name.lower() in names or node.sql().lower() in grouped:
                continue
            if clause_of_names and node.name.lower() in aliases:
                continue
            if not _is_covered(node, part, grouped):
                return True
    return False


def _is_covered(node: exp.Expr, part: exp.Expr, grouped: set[str]) -> bool:
    from sqlglot import exp

    above = node.parent
    while above is not None and above is not part.parent:
        if isinstance(above, exp.AggFunc) or above.sql().lower() in grouped:
            return True
        above = above.parent
    return False


def _within(part: exp.Expr) -> list[exp.Expr]:
    """The nodes of a part, those of its subqueries left out."""
    from sqlglot import exp

    found: list[exp.Expr] = []
    waiting = [part]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query) and node is not part:
            continue
        found.append(node)
        waiting += list(node.iter_expressions())
    return found


def _is_scalar(select: exp.Select) -> bool:
    """Whether the query stands where one value is wanted."""
    from sqlglot import exp

    above = select.parent
    if not isinstance(above, exp.Subquery) or isinstance(above.parent, exp.From | exp.Join | exp.SetOperation):
        return False
    return not isinstance(above.parent, exp.In | exp.Exists | exp.All | exp.Any | exp.Lateral)


def _gives_one_row(select: exp.Select) -> bool:
    from sqlglot import exp

    limit = select.args.get("limit")
    if isinstance(limit, exp.Limit) and limit.expression is not None and limit.expression.name == "1":
        return True
    if select.args.get("group"):
        return False
    return any(isinstance(node, exp.AggFunc) for output in select.expressions for node in _within(output))
