"""Lower constructs that read other rows or several groups: window functions, QUALIFY, GROUPING SETS."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from msgspec.structs import replace
from sqlglot import exp

from assay.sql.algebra.model import NULL, ONE, Agg, Block, Const, Key, Sub, Term, Window, is_call, over
from assay.sql.algebra.parts import leaves_of, over_late, substituted
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import SchemaContext

MOST_SETS = 16
AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})
_WINDOWS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
_AT_A_ROW = (exp.FirstValue, exp.LastValue, exp.NthValue, exp.Ntile)
UNTIED = frozenset({"row_number", "lag", "lead", "first_value", "last_value", "nth_value", "ntile"})
"""Window functions whose value depends on the order of tied rows; so do those with a frame that counts rows."""
SO_FAR = "rows unbounded preceding to current row"
"""The frame that is the default one if no rows tie."""


def lower_window(node: exp.Window, term: Callable[[exp.Expr], Term]) -> Term:
    """A window function. One that tied rows make ambiguous is refused later. ``term`` lowers an expression."""
    over = _defined(node)
    op, args, distinct = _function(node.this, term)
    partition = tuple(term(one) for one in over.args.get("partition_by") or [])
    order = tuple(
        key_of(one, term(one.this))
        for one in (over.args.get("order") or exp.Order()).expressions
        if isinstance(one, exp.Ordered)
    )
    frame = _frame(over.args.get("spec"), ordered=bool(order))
    if frame == "all" and op in AGGREGATES:
        order, frame = (), ""
    return Window(op=op, args=args, distinct=distinct, partition=partition, order=order, frame=frame)


def key_of(node: exp.Ordered, term: Term) -> Key:
    """A key of ORDER BY whose expression was lowered."""
    return Key(term, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def _defined(node: exp.Window) -> exp.Window:
    """The window that defines the rows; taken from the WINDOW clause if it is named."""
    parts = ("partition_by", "order", "spec")
    alias = node.args.get("alias")
    if alias is None:
        return node
    select = node.find_ancestor(exp.Select)
    known = {one.this.name.lower(): one for one in (select.args.get("windows") if select else None) or []}
    found: exp.Window | None = known.get(alias.name.lower())
    if found is None:
        raise UnsupportedSQL("a window with a name")
    if found.args.get("alias") or any(node.args.get(part) for part in parts):
        raise UnsupportedSQL("a window based on another")
    return found


def _function(inner: exp.Expr, term: Callable[[exp.Expr], Term]) -> tuple[str, tuple[Term, ...], bool]:
    """Its name, its arguments, and whether it drops duplicates of them."""
    if inner.args.get("from_first") is not None:
        raise UnsupportedSQL("NTH_VALUE with FROM FIRST or FROM LAST")
    if isinstance(inner, _WINDOWS + _AT_A_ROW):
        given = [inner.this, inner.args.get("offset")] if isinstance(inner, _AT_A_ROW) else []
        return inner.sql_name().lower(), tuple(term(one) for one in given if one is not None), False
    if isinstance(inner, exp.Lag | exp.Lead):
        offset, default = inner.args.get("offset"), inner.args.get("default")
        steps = ONE if offset is None else term(offset)
        if not isinstance(steps, Const) or steps.text.startswith("-"):
            raise UnsupportedSQL("LAG or LEAD by an unknown number")
        return inner.key, (term(inner.this), steps, NULL if default is None else term(default)), False
    if inner.key in AGGREGATES:
        agg = term(inner)
        assert isinstance(agg, Agg)
        return agg.op, agg.args, agg.distinct
    raise UnsupportedSQL(f"the window function {inner.key}")


def _frame(spec: exp.Expr | None, *, ordered: bool) -> str:
    """The frame as text; empty for the default one."""
    if spec is None:
        return ""
    kind = str(spec.args.get("kind") or "").lower()
    start = _bound(spec.args.get("start"), spec.args.get("start_side"))
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    whole = (start, end) == ("unbounded preceding", "unbounded following")
    if whole or (kind == "range" and not ordered and (start, end) == ("unbounded preceding", "current row")):
        return "all"
    if kind == "range" and (start, end) == ("unbounded preceding", "current row"):
        return ""
    if kind != "rows":
        raise UnsupportedSQL("a frame of RANGE or GROUPS")
    return f"rows {start} to {end}"


def _bound(bound: object, side: object) -> str:
    if isinstance(bound, exp.Literal) and not bound.is_string and bound.name.isdecimal():
        return f"{bound.name} {str(side).lower()}"
    if not isinstance(bound, str):
        raise UnsupportedSQL("a frame whose bound is not a number")
    return f"{bound.lower()} {str(side).lower()}" if side else bound.lower()


def qualified(block: Block, conditions: tuple[Term, ...], world: SchemaContext) -> Block:
    """The rows of a block for which conditions hold that may contain window functions: a surrounding query."""
    if block.order or block.cuts:
        raise UnsupportedSQL("QUALIFY with ORDER BY or LIMIT")
    leaves = [leaf for term in conditions for leaf in leaves_of(term, Window) if not isinstance(leaf, Const)]
    if any(isinstance(leaf, Sub) for leaf in leaves):
        raise UnsupportedSQL("a subquery in QUALIFY")
    extra = tuple(term for term in dict.fromkeys(leaves) if term not in block.outputs)
    inner = replace(block, outputs=(*block.outputs, *extra), distinct=False)
    source = world.source(query=inner)
    new = {term: col for col, term in reversed(source.named(inner.outputs).items())}
    where = tuple(substituted(term, new) for term in conditions)
    outputs = tuple(world.cols(source)[: len(block.outputs)])
    return Block(sources=(source,), where=where, outputs=outputs, distinct=block.distinct)


def grouping_sets(node: exp.Select) -> list[list[exp.Expr]]:
    """The keys of each grouping set; empty without grouping sets."""
    group = node.args.get("group")
    if group is None or not any(isinstance(one, exp.GroupingSets | exp.Rollup | exp.Cube) for one in group.expressions):
        return []
    blocking = ("order", "limit", "offset", "distinct", "qualify", "windows", "with_")
    if any(node.args.get(part) for part in blocking):
        raise UnsupportedSQL("GROUPING SETS with ORDER BY, LIMIT or DISTINCT")
    parts = [one for one in (*node.expressions, node.args.get("having")) if one is not None]
    starred = any(not isinstance(star.parent, exp.Count) for part in parts for star in part.find_all(exp.Star))
    if starred or any(part.find(exp.Query, exp.Window) for part in parts):
        raise UnsupportedSQL("GROUPING SETS with a subquery, a window or *")
    sets: list[list[exp.Expr]] = [[]]
    for one in group.expressions:
        sets = [[*before, *more] for before in sets for more in _sets_of(one)]
    if len(sets) > MOST_SETS:
        raise UnsupportedSQL(f"more than {MOST_SETS} grouping sets")
    if any(not isinstance(key, exp.Column) for keys in sets for key in keys):
        raise UnsupportedSQL("GROUPING SETS of expressions")
    aggregated = any(not isinstance(one, exp.Grouping) for part in parts for one in part.find_all(exp.AggFunc))
    if not (aggregated or all(sets)):
        raise UnsupportedSQL("an empty grouping set without aggregates")
    return sets


def _sets_of(node: exp.Expr) -> list[list[exp.Expr]]:
    if isinstance(node, exp.GroupingSets):
        return [keys for one in node.expressions for keys in _sets_of(one)]
    if isinstance(node, exp.Rollup | exp.Cube):
        parts = [_keys(one) for one in node.expressions]
        chosen: list[tuple[list[exp.Expr], ...]] = []
        for size in range(len(parts), -1, -1):
            chosen += [tuple(parts[:size])] if isinstance(node, exp.Rollup) else combinations(parts, size)
        return [[key for part in one for key in part] for one in chosen]
    return [_keys(node)]


def _keys(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Tuple):
        return [key for one in node.expressions for key in _keys(one)]
    return [node.unnest()]


def of_set(block: Block, every: set[Term]) -> Block:
    """The groups of one grouping set: keys of ``every`` that are not its own are NULL outside of aggregates."""
    own = set(block.group or ())

    def seen(term: Term) -> Term:
        if is_call(term, "grouping"):
            return Const("integer", str(int("".join("10"[arg in own] for arg in term.args), 2)))
        if term in every - own:
            return NULL
        return term if isinstance(term, Agg) else over(term, seen)

    return over_late(block, seen)


__all__ = ["AGGREGATES", "SO_FAR", "UNTIED", "grouping_sets", "lower_window", "of_set", "qualified"]
