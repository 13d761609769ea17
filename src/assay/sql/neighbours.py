"""Small changes of a query, each of which a careless author could make: what a test of the query should tell apart.

After the neighbour queries of Zhong, Yu and Klein, "Semantic Evaluation for Text-to-SQL with Distilled Test Suites"
(EMNLP 2020). The same query has the same neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from assay.model import DatabaseSchema
from assay.sql.query import Query, Unreadable, read_query
from assay.sql.schema_names import names_of, type_family

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

NeighbourKind = Literal[
    "constant", "operator", "aggregate", "column", "join", "distinct", "limit", "order", "condition", "group", "set"
]


class Neighbour(Struct, frozen=True, kw_only=True):
    """A query that differs from another in one small thing."""

    query: str
    kind: NeighbourKind


_Change = tuple[int, "Callable[[exp.Expr], exp.Expr | None]"]
"""The place of a node in the walk over the tree, and what becomes of it; None: it is changed in place, or removed."""


def neighbours_of(query: str, schema: DatabaseSchema, dialect: str, *, most: int = 60) -> tuple[Neighbour, ...]:
    """Up to ``most`` neighbours, of each kind about as many; none where the query cannot be parsed."""
    from sqlglot.errors import SqlglotError

    read = read_query(query, dialect, names_of(schema))
    if isinstance(read, Unreadable):
        return ()
    try:
        tree = read.tree
        by_kind: dict[NeighbourKind, list[_Change]] = {}
        for place, node in enumerate(tree.walk()):
            for kind, change in _changes(node, read):
                by_kind.setdefault(kind, []).append((place, change))
        found: dict[str, Neighbour] = {tree.sql(dialect=dialect): Neighbour(query=query, kind="constant")}
        rounds = zip_longest(*[[(kind, one) for one in changes] for kind, changes in by_kind.items()])
        for entry in chain.from_iterable(rounds):
            if entry is None:
                continue
            kind, placed = entry
            text = _changed(tree, placed, dialect)
            if text is not None:
                found.setdefault(text, Neighbour(query=text, kind=kind))
            if len(found) > most:
                break
    except (RecursionError, SqlglotError, ValueError):
        return ()
    return tuple(found.values())[1:]


def _changed(tree: exp.Query, change: _Change, dialect: str) -> str | None:
    place, make = change
    copy = tree.copy()
    node = next((one for number, one in enumerate(copy.walk()) if number == place), None)
    if node is None:
        return None
    made = make(node)
    if made is not None and made is not node:
        if node is copy:
            copy = made  # type: ignore[assignment]
        else:
            node.replace(made)
    return copy.sql(dialect=dialect)


def _changes(node: exp.Expr, query: Query) -> Iterator[tuple[NeighbourKind, Callable[[exp.Expr], exp.Expr | None]]]:
    from sqlglot import exp

    match node:
        case exp.Literal():
            yield from _of_literal(node)
        case exp.Column():
            yield from _of_column(node, query)
        case exp.AggFunc():
            yield from _of_aggregate(node)
        case exp.Join():
            yield from _of_join(node)
        case exp.Ordered():
            yield "order", _turned
        case exp.SetOperation():
            yield from _of_set(node)
        case exp.Select():
            yield from _of_select(node)
        case exp.Predicate() | exp.Connector() | exp.In() | exp.Between() | exp.Not():
            yield from _of_condition(node)


def _becomes(made: exp.Expr) -> Callable[[exp.Expr], exp.Expr | None]:
    return lambda _: made.copy()


def _sets(name: str, value: exp.Expr | None) -> Callable[[exp.Expr], exp.Expr | None]:
    def change(node: exp.Expr) -> None:
        node.set(name, value)

    return change


def _of_kind(kind: type[exp.Expr]) -> Callable[[exp.Expr], exp.Expr | None]:
    return lambda node: kind(this=node.this.copy())


def _paired(kind: type[exp.Expr], **more: bool) -> Callable[[exp.Expr], exp.Expr | None]:
    return lambda node: kind(this=node.this.copy(), expression=node.expression.copy(), **more)


def _turned(node: exp.Expr) -> None:
    """Sort the other way, NULLs at the other end."""
    node.set("desc", not node.args.get("desc"))
    node.set("nulls_first", not node.args.get("nulls_first"))


def _of_literal(node: exp.Literal) -> Iterator[tuple[NeighbourKind, Callable[[exp.Expr], exp.Expr | None]]]:
    from sqlglot import exp

    if node.find_ancestor(exp.DataType, exp.Interval) is not None or isinstance(node.parent, exp.Ordered | exp.Group):
        return  # a type's length, or the place of an output
    if node.find_ancestor(exp.Limit, exp.Offset, exp.Fetch) is not None:
        if node.name.isdigit():
            yield "limit", lambda one: exp.Literal.number(int(one.name) + 1)
        return
    if not node.is_string:
        try:
            value = float(node.name)
        except ValueError:
            return
        whole = node.name.isdigit()
        for step in (1, -1):
            text = str(int(node.name) + step) if whole else repr(value + step)
            if not text.startswith("-"):
                yield "constant", _becomes(exp.Literal.number(text))
        return
    if isinstance(node.parent, exp.Like) and "%" in node.name:
        if node.name.startswith("%"):
            yield "constant", lambda one: exp.Literal.string(one.name[1:])
        if node.name.endswith("%"):
            yield "constant", lambda one: exp.Literal.string(one.name[:-1])
        return
    yield "constant", lambda one: exp.Literal.string(one.name + "x")


def _of_column(node: exp.Column, query: Query) -> Iterator[tuple[NeighbourKind, Callable[[exp.Expr], exp.Expr | None]]]:
    from sqlglot import exp

    source = None if isinstance(node.this, exp.Star) else query.meaning(node).source
    # A subquery may lack the other columns.
    table = None if source is None or source.table is None or query.names is None else query.names.table(source.table)
    own = None if table is None else next((one for one in table.columns if one.name.lower() == node.name.lower()), None)
    if table is None or own is None:
        return
    alike = [
        one.name
        for one in table.columns
        if one is not own and type_family(one.type or "") == type_family(own.type or "")
    ]
    others = alike or [one.name for one in table.columns if one is not own]
    # An output of an inner query keeps its name, by which the query around it knows it.
    is_named = isinstance(node.parent, exp.Select) and node.arg_key == "expressions" and node.parent.parent is not None
    for name in others[:3]:
        identifier = exp.to_identifier(name, quoted=not name.isidentifier())
        if is_named:
            other = node.copy()
            other.set("this", identifier)
            yield "column", _becomes(exp.alias_(other, node.this.copy()))
        else:
            yield "column", _sets("this", identifier)


def _of_aggregate(node: exp.AggFunc) -> Iterator[tuple[NeighbourKind, Callable[[exp.Expr], exp.Expr | None]]]:
    from sqlglot import exp

    if isinstance(node, exp.Count):
        if isinstance(node.this, exp.Distinct):
            yield "aggregate", lambda one: one.set("this", one.this.expressions[0].copy())
        elif node.this is not None and not isinstance(node.this, exp.Star):
            yield "aggregate", lambda one: one.set("this", exp.Distinct(expressions=[one.this.copy()]))
            yield "aggregate", lambda one: one.set("this", exp.Star())
        return
    others: tuple[type[exp.AggFunc], ...] = {
        exp.Sum: (exp.Avg, exp.Count),
        exp.Avg: (exp.Sum, exp.Max),
        exp.Min: (exp.Max,),
        exp.Max: (exp.Min,),
    }.get(type(node), ())
    for kind in others:
        yield "aggregate", _of_kind(kind)


def _of_join(node: exp.Join) -> Iterator[tuple[NeighbourKind, Callable[[exp.Expr], exp.Expr | None]]]:
    if not node.args.get("on") and not node.args.get("using"):
        return
    side = str(node.args.get("side") or "").upper()
    if side in ("", "LEFT"):
        yield "join", lambda one: one.set("side", None if side else "LEFT")


def _of_set(node: exp.SetOperation) -> Iterator[tuple[NeighbourKind, Callable[[exp.Expr], exp.Expr | None]]]:
    from sqlglot import exp

    if isinstance(node, exp.Union):
        yield "set", lambda one: one.set("distinct", not one.args.get("distinct"))
    kinds: tuple[type[exp.SetOperation], ...] = (exp.Union, exp.Intersect, exp.Except)
    for kind in kinds:
        if type(node) is not kind:
            yield "set", _paired(kind, distinct=True)
    if type(node.left) is exp.Select:
        yield "set", lambda one: one.this.copy()


def _of_select(node: exp.Select) -> Iterator[tuple[NeighbourKind, Callable[[exp.Expr], exp.Expr | None]]]:
    from sqlglot import exp

    if node.args.get("distinct"):
        yield "distinct", lambda one: one.set("distinct", None)
    else:
        yield "distinct", lambda one: one.set("distinct", exp.Distinct())
    if node.args.get("limit"):
        yield "limit", lambda one: one.set("limit", None)
    order = node.args.get("order")
    if order is not None:
        yield "order", lambda one: one.set("order", None)
        if len(order.expressions) > 1:
            yield "order", lambda one: one.args["order"].set("expressions", one.args["order"].expressions[:-1])
    group = node.args.get("group")
    if group is not None:
        if len(group.expressions) > 1:
            yield "group", lambda one: one.args["group"].set("expressions", one.args["group"].expressions[:-1])
        else:
            yield "group", lambda one: one.set("group", None)
    for clause in ("where", "having"):
        if node.args.get(clause):
            yield "condition", _sets(clause, None)


def _of_condition(node: exp.Expr) -> Iterator[tuple[NeighbourKind, Callable[[exp.Expr], exp.Expr | None]]]:
    from sqlglot import exp

    match node:
        case exp.And() | exp.Or():
            yield "condition", lambda one: one.this.copy()
            yield "condition", lambda one: one.expression.copy()
            other: type[exp.Expr] = exp.Or if isinstance(node, exp.And) else exp.And
            yield "operator", _paired(other)
        case exp.Between():
            yield (
                "operator",
                lambda one: exp.paren(
                    exp.and_(
                        exp.GT(this=one.this.copy(), expression=one.args["low"].copy()),
                        exp.LT(this=one.this.copy(), expression=one.args["high"].copy()),
                    )
                ),
            )
        case exp.Not():
            yield "operator", lambda one: one.this.copy()
        case exp.In() | exp.Like():
            if not isinstance(node.parent, exp.Not):
                yield "operator", lambda one: exp.Not(this=one.copy())
        case exp.GT() | exp.GTE() | exp.LT() | exp.LTE() | exp.EQ() | exp.NEQ():
            if node.find_ancestor(exp.Join) is not None and isinstance(node.expression, exp.Column):
                return
            others: dict[type[exp.Expr], tuple[type[exp.Binary], ...]] = {
                exp.GT: (exp.GTE, exp.LT),
                exp.GTE: (exp.GT, exp.LTE),
                exp.LT: (exp.LTE, exp.GT),
                exp.LTE: (exp.LT, exp.GTE),
                exp.EQ: (exp.NEQ, exp.GTE),
                exp.NEQ: (exp.EQ,),
            }
            for kind in others[type(node)]:
                yield "operator", _paired(kind)
