"""How every probe is made: copy a query's tree, change some nodes, write it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from assay.sql.nodes import exp
from assay.sql.query import Query, Unreadable, levels_of, read_tree
from assay.sql.shape import cutting, deterministic_keys, parse_with_signs

_Node = TypeVar("_Node", bound="exp.Expr")

_MOST_LEVELS = 100
"""Writing a tree takes a few nested calls per level. Few texts that can be parsed have more levels."""


class Edit:
    """A copy of a query's tree to change::

    edit = Edit(query)
    edit.twin(query.top.node).append("expressions", rank)
    edit.written()
    """

    def __init__(self, query: Query) -> None:
        self._dialect = query.dialect
        self._twins: dict[int, exp.Expr] = {}
        self.tree = self.copy_again(query.tree)

    def twin(self, node: _Node) -> _Node:
        """The copy of a node of the query."""
        return self._twins[id(node)]  # type: ignore[return-value]

    def copy_again(self, node: _Node) -> _Node:
        """One more copy of a node of the query, whose parts are the twins from now on."""
        made = node.copy()
        self._twins |= {id(part): twin for part, twin in zip(node.walk(), made.walk(), strict=True)}
        return made

    def written(self) -> str:
        """The changed query. Must be the last call on an edit."""
        return self.tree.sql(self._dialect, copy=False)


@lru_cache(maxsize=128)
def read_for_probes(text: str, dialect: str) -> Query | None:
    """Read a query without its schema; None if it cannot be read.

    Redundant signs are kept, since they affect which output a key of ORDER BY stands for.
    """
    parsed = parse_with_signs(text, dialect)
    if parsed is None or _is_deep(parsed.tree):
        return None
    query = read_tree(parsed.tree, text, dialect)
    return None if isinstance(query, Unreadable) else query


def _is_deep(tree: exp.Expr) -> bool:
    """Whether a tree has too many levels to be written. A chain of one operator is one level."""
    nodes = list(tree.walk())
    if len(nodes) <= _MOST_LEVELS or levels_of(tree, nodes) <= _MOST_LEVELS:
        return False
    level = [tree]
    for _ in range(_MOST_LEVELS):
        if not level:
            return False
        below: list[exp.Expr] = []
        for node in level:  # it grows meanwhile
            for child in node.iter_expressions():
                is_chain = isinstance(node, exp.Binary) and type(child) is type(node)
                (level if is_chain else below).append(child)
        level = below
    return True


def alone(query: exp.Query) -> exp.Query:
    """A copy of a query inside another that can be executed by itself: with the CTEs that it reads."""
    copy = query.copy()
    own = copy.args.get("with_")
    ctes: list[exp.Expr] = [] if own is None else list(own.expressions)
    is_recursive = own is not None and bool(own.recursive)
    below: exp.Expr = query
    while below.parent is not None:
        above = below.parent
        with_ = above if isinstance(above, exp.With) else above.args.get("with_")
        if isinstance(with_, exp.With) and with_ is not below:
            before = with_.expressions[: below.index] if with_ is above else with_.expressions
            ctes = [*(cte.copy() for cte in before), *ctes]
            is_recursive = is_recursive or bool(with_.recursive)
        below = above
    if ctes:
        copy.set("with_", exp.With(expressions=ctes, recursive=is_recursive))
    return copy


def uncut(tree: exp.Query) -> exp.Query:
    """The tree itself, without its LIMIT and OFFSET."""
    for part in cutting(tree):
        part.set("limit", None)
        part.set("offset", None)
    return tree


def order_further(node: _Node, keys: Iterable[exp.Expr]) -> _Node:
    """The query or window itself, ordered by its own keys up to a random one, and then by further ones."""
    node.set("order", exp.Order(expressions=[*deterministic_keys(node), *keys]))
    return node


def breaking_keys(terms: Sequence[exp.Expr], dialect: str, *, downwards: bool) -> list[exp.Expr]:
    """Keys of ORDER BY that distinguish all different rows; downwards exactly reverses the order."""
    if dialect == "sqlite":  # whose columns may have collations that treat different texts as equal
        terms = [exp.Collate(this=term, expression=exp.var("BINARY")) for term in terms]
    return [exp.Ordered(this=term, desc=downwards, nulls_first=not downwards) for term in terms]


def places(width: int) -> list[exp.Expr]:
    """The positions of this many outputs, as keys of ORDER BY."""
    return [exp.Literal.number(place) for place in range(1, width + 1)]


def from_subquery(query: exp.Query, alias: str) -> exp.Select:
    """``SELECT * FROM (query) AS alias``."""
    # sqlglot's own builder would parse each part that it gets as a text.
    inner = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner))


def cut_to(query: _Node, rows: int, *, offset: int | None = None) -> _Node:
    """The query itself, its LIMIT and OFFSET replaced."""
    query.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
    query.set("offset", None if offset is None else exp.Offset(expression=exp.Literal.number(offset)))
    return query


def window(name: str, keys: Sequence[exp.Expr], alias: str) -> exp.Expr:
    """``NAME() OVER (ORDER BY keys) AS alias``."""
    made = exp.Window(this=exp.Anonymous(this=name), order=exp.Order(expressions=list(keys)), over="OVER")
    return exp.alias_(made, alias, copy=False)
