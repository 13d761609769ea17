"""Small changes of a query that a careless author could make, and that a test of the query should detect.

After the neighbor queries of Zhong, Yu and Klein, "Semantic Evaluation for Text-to-SQL with Distilled Test Suites"
(EMNLP 2020). The same query always has the same mutants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from assay.model import DatabaseSchema
from assay.sql.query import Query, Unreadable, read_query
from assay.sql.schema import names_of, type_family

if TYPE_CHECKING:
    from sqlglot import exp

MutantKind = Literal[
    "constant", "operator", "aggregate", "column", "join", "distinct", "limit", "order", "condition", "group", "set"
]
_Change: TypeAlias = tuple[MutantKind, "Callable[[Any], exp.Expr | None]"]
"""What a copy of the node becomes; None: the copy itself is changed, or removed."""


class Mutant(Struct, frozen=True, kw_only=True):
    """A query that differs from another in one small change."""

    query: str
    kind: MutantKind


def mutants_of(query: str, schema: DatabaseSchema, dialect: str, *, most: int = 60) -> tuple[Mutant, ...]:
    """Up to ``most`` mutants, about equally many of each kind; empty if the query cannot be parsed."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    read = read_query(query, dialect, names_of(schema))
    if isinstance(read, Unreadable):
        return ()
    try:
        by_kind: dict[MutantKind, list[tuple[exp.Expr, _Change]]] = {}
        for node in read.all_of(exp.Expr):
            for change in _changes(node, read):
                by_kind.setdefault(change[0], []).append((node, change))
        found = {read.tree.sql(dialect): Mutant(query=query, kind="constant")}
        for changed in chain.from_iterable(zip_longest(*by_kind.values())):
            if changed is not None:
                node, (kind, change_copy) = changed
                text = _changed(read.tree, node, change_copy, dialect)
                found.setdefault(text, Mutant(query=text, kind=kind))
            if len(found) > most:
                break
    except (RecursionError, SqlglotError, ValueError):
        return ()
    return tuple(found.values())[1:]


def _changed(tree: exp.Query, node: exp.Expr, change: Callable[[Any], exp.Expr | None], dialect: str) -> str:
    copy: exp.Expr = tree.copy()
    twin = next(twin for part, twin in zip(tree.walk(), copy.walk(), strict=True) if part is node)
    made = change(twin)
    if made is not None and node is tree:
        copy = made
    elif made is not None:
        twin.replace(made)
    return copy.sql(dialect, copy=False)


def _changes(node: exp.Expr, query: Query) -> Iterator[_Change]:
    from sqlglot import exp

    match node:
        case exp.Literal():
            yield from _of_literal(node)
        case exp.Column():
            yield from _of_column(node, query)
        case exp.Count(this=exp.Distinct()):
            yield "aggregate", lambda count: count.set("this", count.this.expressions[0])
        case exp.Count(this=exp.Expr()) if not isinstance(node.this, exp.Star):
            yield "aggregate", lambda count: count.set("this", exp.Distinct(expressions=[count.this]))
            yield "aggregate", _sets("this", exp.Star())
        case exp.Join() if node.args.get("on") or node.args.get("using"):
            if node.side in ("", "LEFT"):
                yield "join", _sets("side", None if node.side else "LEFT")
        case exp.Ordered():
            yield "order", _turned
        case exp.SetOperation():
            yield from _of_set(node)
        case exp.Select():
            yield from _of_select(node)
        case exp.And() | exp.Or():
            yield "condition", lambda both: both.this
            yield "condition", lambda both: both.expression
        case exp.Between():
            yield "operator", _without_ends
        case exp.Not():
            yield "operator", lambda negation: negation.this
        case exp.In() | exp.Like() if not isinstance(node.parent, exp.Not):
            yield "operator", lambda condition: exp.Not(this=condition.copy())
    is_join_condition = isinstance(node, exp.Predicate) and isinstance(node.args.get("expression"), exp.Column)
    if not is_join_condition or node.find_ancestor(exp.Join) is None:
        kind: MutantKind = "aggregate" if isinstance(node, exp.AggFunc) else "operator"
        for other in _others(node):
            yield kind, _as(other)


def _others(node: exp.Expr) -> tuple[type[exp.Expr], ...]:
    """What may be mistaken for an aggregate, a comparison or a connector."""
    from sqlglot import exp

    others: dict[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
        exp.Sum: (exp.Avg, exp.Count),
        exp.Avg: (exp.Sum, exp.Max),
        exp.Min: (exp.Max,),
        exp.Max: (exp.Min,),
        exp.And: (exp.Or,),
        exp.Or: (exp.And,),
        exp.GT: (exp.GTE, exp.LT),
        exp.GTE: (exp.GT, exp.LTE),
        exp.LT: (exp.LTE, exp.GT),
        exp.LTE: (exp.LT, exp.GTE),
        exp.EQ: (exp.NEQ, exp.GTE),
        exp.NEQ: (exp.EQ,),
    }
    return others.get(type(node), ())


def _sets(name: str, value: object) -> Callable[[exp.Expr], None]:
    return lambda node: node.set(name, value)


def _as(kind: type[exp.Expr], **more: bool) -> Callable[[exp.Expr], exp.Expr]:
    """The same operands with another function or operator."""
    return lambda node: kind(this=node.this, expression=node.args.get("expression"), **more)


def _without_last(clause: str) -> Callable[[exp.Expr], None]:
    return lambda select: select.args[clause].set("expressions", select.args[clause].expressions[:-1])


def _turned(key: exp.Expr) -> None:
    """Sort in the opposite direction, with NULLs at the other end."""
    key.set("desc", not key.args.get("desc"))
    key.set("nulls_first", not key.args.get("nulls_first"))


def _without_ends(between: exp.Between) -> exp.Expr:
    """Between two values, and neither of them."""
    from sqlglot import exp

    above = exp.GT(this=between.this, expression=between.args["low"])
    below = exp.LT(this=between.this.copy(), expression=between.args["high"])
    return exp.paren(exp.and_(above, below))


def _of_literal(node: exp.Literal) -> Iterator[_Change]:
    from sqlglot import exp

    if node.find_ancestor(exp.DataType, exp.Interval) is not None or isinstance(node.parent, exp.Ordered | exp.Group):
        return  # a type's length, or the position of an output
    if node.find_ancestor(exp.Limit, exp.Offset, exp.Fetch) is not None:
        if node.name.isdigit():
            yield "limit", _sets("this", str(int(node.name) + 1))
        return
    texts = []
    if not node.is_string:
        try:
            texts = [str(int(node.name) + step if node.name.isdigit() else float(node.name) + step) for step in (1, -1)]
        except ValueError:
            return
    elif isinstance(node.parent, exp.Like) and "%" in node.name:
        texts += [node.name[1:]] if node.name.startswith("%") else []
        texts += [node.name[:-1]] if node.name.endswith("%") else []
    else:
        texts.append(node.name + "x")
    for text in texts:
        if node.is_string or not text.startswith("-"):
            yield "constant", _sets("this", text)


def _of_column(node: exp.Column, query: Query) -> Iterator[_Change]:
    from sqlglot import exp

    source = None if node.is_star else query.meaning(node).source
    if source is None or source.table is None or query.names is None:
        return  # a subquery may lack the other columns
    table, name = query.names.tables.get(source.table.lower()), node.name.lower()
    if table is None or name not in table.columns:
        return
    family = type_family(table.columns[name].type)
    others = [column for other, column in table.columns.items() if other != name]
    alike = [column for column in others if type_family(column.type) == family]
    # An output of an inner query keeps its name, by which the outer query knows it.
    is_named = isinstance(node.parent, exp.Select) and node.arg_key == "expressions" and node.parent.parent is not None
    for column in (alike or others)[:3]:
        identifier = exp.to_identifier(column.name, quoted=not column.name.isidentifier())
        yield "column", _renamed(identifier) if is_named else _sets("this", identifier)


def _renamed(identifier: exp.Identifier) -> Callable[[exp.Expr], exp.Expr]:
    """Another column under the name of the one that it replaces."""
    from sqlglot import exp

    def change(column: exp.Expr) -> exp.Expr:
        other = column.copy()
        other.set("this", identifier)
        return exp.alias_(other, column.this)

    return change


def _of_set(node: exp.SetOperation) -> Iterator[_Change]:
    from sqlglot import exp

    if isinstance(node, exp.Union):
        yield "set", _sets("distinct", not node.args.get("distinct"))
    kinds: tuple[type[exp.SetOperation], ...] = (exp.Union, exp.Intersect, exp.Except)
    for kind in kinds:
        if type(node) is not kind:
            yield "set", _as(kind, distinct=True)
    if type(node.left) is exp.Select:
        yield "set", lambda operation: operation.this


def _of_select(node: exp.Select) -> Iterator[_Change]:
    from sqlglot import exp

    yield "distinct", _sets("distinct", None if node.args.get("distinct") else exp.Distinct())
    if node.args.get("limit"):
        yield "limit", _sets("limit", None)
    order, group = node.args.get("order"), node.args.get("group")
    if order is not None:
        yield "order", _sets("order", None)
        if len(order.expressions) > 1:
            yield "order", _without_last("order")
    if group is not None:
        yield "group", _without_last("group") if len(group.expressions) > 1 else _sets("group", None)
    for clause in ("where", "having"):
        if node.args.get(clause):
            yield "condition", _sets(clause, None)
