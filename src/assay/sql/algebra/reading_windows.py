"""Read what looks at other rows or at several groups: window functions, QUALIFY, GROUPING SETS."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Protocol

from msgspec.structs import replace
from sqlglot import exp

from assay.sql.algebra.model import NULL, ONE, Agg, Block, Call, Col, Const, Term, substituted
from assay.sql.algebra.stopping import NotCovered
from assay.sql.algebra.world import World

MOST_SETS = 16
_NUMBERED: dict[type[exp.Expr], str] = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
_NUMBERED |= {exp.PercentRank: "percent_rank", exp.CumeDist: "cume_dist"}
_AT_A_ROW: dict[type[exp.Expr], str] = {
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.NthValue: "nth_value",
    exp.Ntile: "ntile",
}
_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
UNTIED = frozenset({"row_number", "lag", "lead", "first_value", "last_value", "nth_value", "ntile"})
"""Window functions whose value depends on which of two tied rows stands first; so it does where a frame counts rows."""
SO_FAR = "@rows unbounded preceding to current row"
"""The frame that is the default one where no rows tie."""


class ReadsTerms(Protocol):
    """What reads the terms within a window function."""

    def read(self, node: Any) -> Term:
        """The term of an expression. Raises NotCovered."""
        ...


def read_window(node: exp.Window, reader: ReadsTerms) -> Term:
    """A window function; one that rows which tie make open is refused later."""
    if node.args.get("alias") or node.args.get("first"):
        raise NotCovered("a window with a name")
    op, args = _function(node.this, reader)
    parts = tuple(reader.read(one) for one in node.args.get("partition_by") or [])
    order = node.args.get("order")
    keys = [one for one in (order.expressions if order else []) if isinstance(one, exp.Ordered)]
    ups = [bool(one.args.get("desc")) for one in keys]
    firsts = [bool(one.args.get("nulls_first")) for one in keys]
    frame = _frame(node.args.get("spec"), ordered=bool(keys))
    if frame == "@all" and op in ("count", "sum", "avg", "min", "max", "count!", "sum!", "avg!", "min!", "max!"):
        keys, ups, firsts, frame = [], [], [], ""
    flags = "".join("d" if one else "a" for one in ups) + "".join("f" if one else "l" for one in firsts)
    terms = tuple(reader.read(one.this) for one in keys)
    name = f"{op}{frame if op in UNTIED - {'row_number', 'lag', 'lead', 'ntile'} or '@' in frame else ''}"
    return Call(f"window:{name}:{len(args)}:{len(parts)}:{flags}", (*args, *parts, *terms))


def _function(inner: exp.Expr, reader: ReadsTerms) -> tuple[str, tuple[Term, ...]]:
    if type(inner) in _NUMBERED:
        return _NUMBERED[type(inner)], ()
    if type(inner) in _AT_A_ROW:
        given = [inner.this, inner.args.get("offset")]
        return _AT_A_ROW[type(inner)], tuple(reader.read(one) for one in given if one is not None)
    if isinstance(inner, exp.Lag | exp.Lead):
        offset, default = inner.args.get("offset"), inner.args.get("default")
        steps = ONE if offset is None else reader.read(offset)
        if not isinstance(steps, Const) or steps.text.startswith("-"):
            raise NotCovered("LAG or LEAD by a number that is not known")
        other = NULL if default is None else reader.read(default)
        return ("lag" if isinstance(inner, exp.Lag) else "lead"), (reader.read(inner.this), steps, other)
    if isinstance(inner, _AGGREGATES):
        agg = reader.read(inner)
        assert isinstance(agg, Agg)
        return f"{agg.op}{'!' * agg.distinct}", agg.args
    raise NotCovered(f"the window function {inner.key}")


def _frame(spec: exp.Expr | None, *, ordered: bool) -> str:
    """The frame in words; empty for the default one."""
    if spec is None:
        return ""
    if spec.args.get("exclude"):
        raise NotCovered("a frame that excludes rows")
    kind = str(spec.args.get("kind") or "").lower()
    start = _bound(spec.args.get("start"), spec.args.get("start_side"))
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    whole = (start, end) == ("unbounded preceding", "unbounded following")
    if whole or (kind == "range" and not ordered and (start, end) == ("unbounded preceding", "current row")):
        return "@all"
    if kind == "range" and (start, end) == ("unbounded preceding", "current row"):
        return ""
    if kind != "rows":
        raise NotCovered("a frame of RANGE or GROUPS")
    return f"@rows {start} to {end}"


def _bound(bound: object, side: object) -> str:
    if isinstance(bound, exp.Literal) and not bound.is_string and bound.name.isdecimal():
        return f"{bound.name} {str(side).lower()}"
    if not isinstance(bound, str):
        raise NotCovered("a frame whose bound is not a number")
    return f"{bound.lower()} {str(side).lower()}" if side else bound.lower()


def name_windows(node: exp.Select) -> None:
    """Write each window of the WINDOW clause where it is named."""
    known = {one.this.name.lower(): one for one in node.args.get("windows") or []}
    for one in [*node.find_all(exp.Window)] if known else []:
        alias = one.args.get("alias")
        if alias is None or one.find_ancestor(exp.Select) is not node:
            continue
        meant = known.get(alias.name.lower())
        if meant is None or meant.args.get("alias") or any(one.args.get(p) for p in ("partition_by", "order", "spec")):
            raise NotCovered("a window made of another")
        for part in ("partition_by", "order", "spec"):
            value = meant.args.get(part)
            one.set(part, [item.copy() for item in value] if isinstance(value, list) else value and value.copy())
        one.set("alias", None)
    node.set("windows", None)


def qualified(block: Block, conditions: tuple[Term, ...], world: World) -> Block:
    """The rows of a block for which conditions hold that may speak of window functions: a query round it."""
    if block.order or block.cuts:
        raise NotCovered("QUALIFY beside ORDER BY or LIMIT")
    leaves: list[Term] = []
    for term in conditions:
        leaves += _leaves(term)
    extra = tuple(term for term in dict.fromkeys(leaves) if term not in block.outputs)
    inner = replace(block, outputs=(*block.outputs, *extra), distinct=False)
    source = world.source(query=inner)
    new: dict[Term, Term] = {}
    for place, term in enumerate(inner.outputs):
        new.setdefault(term, Col(source.id, str(place)))
    where = tuple(substituted(term, new) for term in conditions)
    outputs = tuple(Col(source.id, str(place)) for place in range(len(block.outputs)))
    return Block(sources=(source,), where=where, outputs=outputs, distinct=block.distinct)


def _leaves(term: Term) -> Iterator[Term]:
    if isinstance(term, Agg | Col) or (isinstance(term, Call) and term.op.startswith("window:")):
        yield term
    elif isinstance(term, Call):
        for arg in term.args:
            yield from _leaves(arg)
    elif not isinstance(term, Const):
        raise NotCovered("a subquery in QUALIFY")


def grouping_sets(node: exp.Select) -> list[exp.Select] | None:
    """One query for each grouping set, the other keys NULL; None where there are no grouping sets."""
    group = node.args.get("group")
    kinds = exp.GroupingSets | exp.Rollup | exp.Cube
    if group is None or not any(isinstance(one, kinds) for one in group.expressions):
        return None
    blocking = ("order", "limit", "offset", "distinct", "qualify", "windows", "with_")
    if any(node.args.get(part) for part in blocking):
        raise NotCovered("GROUPING SETS beside ORDER BY, LIMIT or DISTINCT")
    sets: list[list[exp.Expr]] = [[]]
    for one in group.expressions:
        sets = [[*before, *more] for before in sets for more in _sets_of(one)]
    if len(sets) > MOST_SETS:
        raise NotCovered(f"more than {MOST_SETS} grouping sets")
    every = {key.sql() for keys in sets for key in keys}
    if any(not isinstance(key, exp.Column) for keys in sets for key in keys):
        raise NotCovered("GROUPING SETS of expressions")
    return [_of_set(node, keys, every) for keys in sets]


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


def _of_set(node: exp.Select, keys: list[exp.Expr], every: set[str]) -> exp.Select:
    made = node.copy()
    mine = {key.sql() for key in keys}
    names = {text.rpartition(".")[2].lower() for text in every - mine}
    parts = [*made.expressions, *(one for one in [made.args.get("having")] if one is not None)]
    for part in parts:
        for one in [*part.find_all(exp.Grouping)]:
            zeros = "".join("0" if arg.sql() in mine else "1" for arg in one.expressions)
            one.replace(exp.Literal.number(int(zeros or "0", 2)))
    parts = [*made.expressions, *(one for one in [made.args.get("having")] if one is not None)]
    for part in parts:
        starred = any(not isinstance(star.parent, exp.Count) for star in part.find_all(exp.Star))
        if starred or part.find(exp.Query, exp.Window):
            raise NotCovered("GROUPING SETS beside a subquery, a window or *")
        for column in [*part.find_all(exp.Column)]:
            if column.name.lower() not in names or column.find_ancestor(exp.AggFunc):
                continue
            if column.sql() not in every or column.sql() in mine:
                raise NotCovered("a grouping set's column under two names")
            named = isinstance(column.parent, exp.Select)
            column.replace(exp.alias_(exp.Null(), column.name) if named else exp.Null())
    aggregated = any(part.find(exp.AggFunc) for part in parts)
    if not mine and not aggregated:
        raise NotCovered("an empty grouping set without aggregates")
    made.set(
        "group",
        exp.Group(expressions=[key.copy() for key in {key.sql(): key for key in keys}.values()]) if mine else None,
    )
    return made


__all__ = ["SO_FAR", "UNTIED", "grouping_sets", "name_windows", "qualified", "read_window"]
