"""What an expression of a parsed query consists of, regardless of what its names mean."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from assay.sql.nodes import exp

if TYPE_CHECKING:
    from sqlglot import Generator


_KINDS = """
column identifier literal star var null boolean paren and or not eq neq gt gte lt lte is like in between add sub mul
count sum avg min max
"""
_UNCHANGED = frozenset(_KINDS.split())
"""The kinds of nodes that the generator does not change."""


@cache
def _writer() -> Generator:
    """sqlglot's own generator. Making one takes ten times as long as writing a column."""
    from sqlglot import Dialect

    return Dialect.get_or_raise(None).generator()


def plain_text(node: exp.Expr) -> str:
    """A tree as dialect-independent text, the same for equal trees."""
    # Copying takes ten times as long as writing, which changes a few kinds of nodes, for example divisions.
    changes = any(part.key not in _UNCHANGED for part in node.walk())
    return str(_writer().generate(node, copy=changes))


def inside(node: exp.Expr) -> exp.Expr:
    """The expression without parentheses around it, and without an alias."""
    while isinstance(node, exp.Paren | exp.Alias) or (isinstance(node, exp.Subquery) and not node.alias):
        node = node.this
    return node


def parts_of(node: exp.Expr) -> Iterator[tuple[exp.Expr, bool]]:
    """The nodes of an expression in text order, without subqueries.

    True: the node is inside an aggregate function or a window.
    """
    waiting = [(node, False)]
    while waiting:
        part, is_covered = waiting.pop()
        if isinstance(part, exp.Query):
            continue
        yield part, is_covered
        covers = is_covered or isinstance(part, exp.AggFunc | exp.WithinGroup | exp.Window)
        waiting += reversed([(child, covers) for child in part.iter_expressions()])


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an expression has an aggregate function that is not a window function."""
    return any(
        isinstance(part, exp.AggFunc | exp.WithinGroup) and not is_covered for part, is_covered in parts_of(node)
    )


def limit_of(query: exp.Expr) -> int | None:
    """The number in a query's LIMIT, if it is a plain number and limits the rows of the whole result."""
    limit = query.args.get("limit")
    # LIMIT 2 BY x and LIMIT 2 WITH TIES may give more rows.
    if not isinstance(limit, exp.Limit) or limit.expressions or limit.args.get("limit_options"):
        return None
    number = limit.expression
    return int(number.name) if number is not None and number.is_int else None


def argument_of(aggregate: exp.AggFunc) -> exp.Expr | None:
    """The argument of an aggregate function, without DISTINCT; None for COUNT(*) and for several expressions."""
    argument = aggregate.this
    if isinstance(argument, exp.Distinct):
        argument = argument.expressions[0] if len(argument.expressions) == 1 else None
    return None if not isinstance(argument, exp.Expr) or isinstance(argument, exp.Star) else inside(argument)


def is_distinct(aggregate: exp.AggFunc) -> bool:
    """Whether an aggregate function takes each value once."""
    return isinstance(aggregate.this, exp.Distinct)
