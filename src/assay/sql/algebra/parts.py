"""Find, change, replace and divide the parts of terms and blocks."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from assay.sql.algebra.model import (
    QUERIES,
    TERMS,
    Agg,
    Block,
    Col,
    Const,
    LeftJoin,
    Sub,
    Term,
    children,
    is_call,
    over,
    parts_of,
    swapped,
    walk,
)

_Node = TypeVar("_Node", bound=Struct)
_Part = TypeVar("_Part")


def over_late(block: Block, change: Callable[[Term], Term]) -> Block:
    """The block with its outputs, HAVING and ORDER BY changed."""
    outputs, having = (tuple(change(term) for term in terms) for terms in (block.outputs, block.having))
    return replace(block, outputs=outputs, having=having, order=tuple(over(key, change) for key in block.order))


def over_all(
    node: _Node,
    change: Callable[[Term], Term | None],
    apply: Callable[[_Node, Callable[[Term], Term]], _Node] = over,
) -> _Node | None:
    """The node with its parts changed by ``apply``; None if it returns None for one of them."""
    missing = []

    def changed(part: Term) -> Term:
        found = change(part)
        if found is None:
            missing.append(part)
        return found or part

    made = apply(node, changed)
    return None if missing else made


def outside_subqueries(term: Term, change: Callable[[Term], Term | None]) -> Term:
    """The term with parts replaced for which there is a replacement; not in subqueries."""
    found = change(term)
    if found is not None or isinstance(term, Sub):
        return found or term
    return over(term, lambda part: outside_subqueries(part, change))


def substituted(node: _Node, new: Mapping[Any, Term]) -> _Node:
    """The term or query with columns, or whole terms, replaced, including in subqueries."""
    if not new:
        return node

    def change(term: Term) -> Term:
        found = new.get(term)
        return over(term, change) if found is None else found

    return cast("_Node", change(node)) if isinstance(node, TERMS) else over(node, change)


def depth(node: Struct) -> int:
    """How many levels of queries there are in a term or query."""
    return isinstance(node, QUERIES) + max(map(depth, children(node)), default=0)


def leaves_of(term: Term, *others: type[Term]) -> Iterator[Term]:
    """The columns, constants, aggregates, subqueries and other opaque nodes of a term."""
    waiting: list[Struct] = [term]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (Col, Const, Agg, Sub, *others)):
            yield cast("Term", part)
        else:
            waiting += children(part)


def columns_of(node: Struct) -> frozenset[Col]:
    """The columns anywhere in a term or query, including the sources of its subqueries."""
    return frozenset(one for one in walk(node) if isinstance(one, Col))


def names(ids: Container[int], *nodes: Struct) -> bool:
    """Whether terms or queries name a column of the sources with these numbers."""
    return any(isinstance(one, Col) and one.source in ids for node in nodes for one in walk(node))


def wanted_block(term: Term) -> Block | None:
    """The block for whose row a condition asks; None if it is not EXISTS of a block."""
    return term.query if isinstance(term, Sub) and term.kind == "exists" and isinstance(term.query, Block) else None


def unwanted_block(term: Term) -> Block | None:
    """The block that must have no row for a condition to be true."""
    return wanted_block(term.args[0]) if is_call(term, "not") else None


def conjuncts(term: Term) -> tuple[Term, ...]:
    """The conditions that AND joins."""
    return term.args if is_call(term, "and") else (term,)


def choices(term: Term) -> tuple[Term, ...]:
    """The terms one of which is the value of a CASE, COALESCE or NULLIF; none of another term."""
    if is_call(term, "case"):
        return (*term.args[1::2], term.args[-1])
    return term.args if is_call(term, "coalesce", "nullif") else ()


def but(items: Iterable[_Part], left_out: _Part) -> tuple[_Part, ...]:
    """The items without one."""
    return swapped(items, left_out)


def divided(items: Iterable[_Part], test: Callable[[_Part], bool]) -> tuple[tuple[_Part, ...], tuple[_Part, ...]]:
    """The items for which the test is true, and the others."""
    found = [(item, test(item)) for item in items]
    return tuple(item for item, passed in found if passed), tuple(item for item, passed in found if not passed)


def has_aggregate(term: Term) -> bool:
    """Whether the term contains an aggregate of its own level."""
    return any(isinstance(part, Agg) for part in parts_of(term))


def terms_of(block: Block) -> Iterator[Term]:
    """The block's own terms: all but those inside its sources."""
    yield from block.where
    yield from left_terms(block.lefts)
    yield from block.group or ()
    yield from block.late_terms


def left_terms(lefts: tuple[LeftJoin, ...]) -> Iterator[Term]:
    """The conditions of left joins, including nested ones."""
    for left in lefts:
        yield from left.on
        yield from left_terms(left.lefts)
