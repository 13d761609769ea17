"""The comparisons of a clause, and how AND, OR and NOT combine them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from assay.sql.expressions import inside

if TYPE_CHECKING:
    from sqlglot import exp

Clause: TypeAlias = Literal["output", "on", "where", "having", "qualify", "order", "group"]
Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">=", "like", "in", "between", "is"]
_FLIPPED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
REQUIRED: frozenset[Clause] = frozenset({"where", "having", "on"})
"""Clauses whose conditions a row must meet."""


class Predicate(Struct, frozen=True, kw_only=True, eq=False):
    """One comparison, and how its clause combines it with others. In ``1 < x``, the left side is ``x``."""

    node: Any
    select: int
    """The number of its SELECT."""
    clause: Clause
    operator: Operator
    left: Any
    right: tuple[Any, ...]
    """Several for IN and BETWEEN. Parentheses around either side are omitted."""
    is_required: bool
    """It must hold for every row: only AND, and a NOT of its own, are above it."""
    is_negated: bool
    """An odd number of NOTs is above it."""
    conjunction: Any
    """The node at which the ANDs above it end. Predicates with one conjunction hold together."""
    disjunction: Any
    """The topmost of the ORs that make it one of several alternatives; None if there is none."""


def predicates_of(
    select: int, clause: Clause, root: exp.Expr, is_constant: Callable[[exp.Expr], bool]
) -> Iterator[Predicate]:
    """Every comparison of one clause in text order, including those within expressions, without subqueries."""
    from sqlglot import exp

    waiting: list[tuple[exp.Expr, _Above]] = [(root, _Above(is_required=clause in REQUIRED, conjunction=root))]
    while waiting:
        node, above = waiting.pop()
        if isinstance(node, exp.Query):
            continue
        sides = _sides(node, is_constant)
        if sides is not None:
            operator, left, right = sides
            yield Predicate(
                node=node,
                select=select,
                clause=clause,
                operator=operator,
                left=left,
                right=right,
                is_required=above.is_required,
                is_negated=above.is_negated,
                conjunction=above.conjunction,
                disjunction=above.disjunction,
            )
        waiting += reversed([(child, above.below(node, child)) for child in node.iter_expressions()])


def _sides(
    node: exp.Expr, is_constant: Callable[[exp.Expr], bool]
) -> tuple[Operator, exp.Expr, tuple[exp.Expr, ...]] | None:
    """The operator and the sides of a comparison; None for any other node."""
    from sqlglot import exp

    if isinstance(node, exp.Between):
        return "between", inside(node.this), (inside(node.args["low"]), inside(node.args["high"]))
    if isinstance(node, exp.In):
        inner = node.args.get("query")
        values = node.expressions if inner is None else [*node.expressions, inner]
        return "in", inside(node.this), tuple(inside(value) for value in values)
    operator = _operators().get(type(node))
    if operator is None:
        return None
    left, right = inside(node.this), inside(node.expression)
    if operator != "like" and is_constant(left) and not is_constant(right):
        return _FLIPPED.get(operator, operator), right, (left,)
    return operator, left, (right,)


class _Above(Struct, frozen=True, kw_only=True):
    """What is above a node within its clause."""

    is_required: bool
    conjunction: Any
    is_negated: bool = False
    disjunction: Any = None

    def below(self, node: exp.Expr, child: exp.Expr) -> _Above:
        """The same for a child of the node."""
        from sqlglot import exp

        match node:
            case exp.Paren() | exp.Alias():
                return self
            case exp.And():
                return _Above(is_required=self.is_required, is_negated=self.is_negated, conjunction=self.conjunction)
            case exp.Or():
                own = node if self.disjunction is None else self.disjunction
                return _Above(is_required=False, is_negated=self.is_negated, conjunction=child, disjunction=own)
            case exp.Not():
                is_required = self.is_required and not isinstance(child.unnest(), exp.Connector)
                return _Above(is_required=is_required, is_negated=not self.is_negated, conjunction=child)
            case _:
                return _Above(is_required=False, conjunction=child)


@lru_cache(maxsize=1)
def _operators() -> dict[type[exp.Expr], Operator]:
    from sqlglot import exp

    return {
        exp.EQ: "=",
        exp.NEQ: "<>",
        exp.LT: "<",
        exp.LTE: "<=",
        exp.GT: ">",
        exp.GTE: ">=",
        exp.Like: "like",
        exp.ILike: "like",
        exp.Is: "is",
    }
