"""What a query means, regardless of its spelling: terms over sources, and blocks of them.

A block is FROM, WHERE, GROUP BY, HAVING, SELECT, DISTINCT, ORDER BY and LIMIT of one level. A source has a number that
is unique in a proof, so that terms can be moved between levels without capturing names. Conditions are lists of terms
that must all be *true*; NULL counts as not true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import is_
from typing import Any, Literal, TypeAlias, TypeGuard, TypeVar, Union, cast

from msgspec import Struct
from msgspec.structs import replace

Term: TypeAlias = Union["Col", "Const", "Call", "Agg", "Window", "Sub"]
Query: TypeAlias = Union["Block", "Combined", "Rows", "FullJoin"]


class Col(Struct, frozen=True):
    """A source's column: its name in lower case for a stored table, its position from "0" for a query."""

    source: int
    name: str


class Const(Struct, frozen=True):
    """A literal: its value in one spelling."""

    kind: Literal["integer", "real", "text", "boolean", "null"]
    text: str


class Call(Struct, frozen=True):
    """A function of its arguments only, including operators and conditions."""

    op: str
    args: tuple[Term, ...]


class Agg(Struct, frozen=True):
    """An aggregate; COUNT(*) has no arguments."""

    op: str
    args: tuple[Term, ...]
    distinct: bool = False


class Window(Struct, frozen=True, kw_only=True):
    """A window function; ``frame`` is empty for the default one, and begins with ``rows`` if it counts rows."""

    op: str
    args: tuple[Term, ...]
    distinct: bool = False
    partition: tuple[Term, ...]
    order: tuple[Key, ...]
    frame: str


class Sub(Struct, frozen=True):
    """A subquery in a term: its one value, whether it has a row, or (within ``in``) its rows."""

    kind: Literal["scalar", "exists", "rows"]
    query: Query


class Source(Struct, frozen=True):
    """An item of FROM: a stored table, or a query."""

    id: int
    table: str = ""
    query: Query | None = None

    def named(self, outputs: Iterable[Term]) -> dict[Term, Term]:
        """The term at the position of each column of a query in FROM."""
        return {Col(self.id, str(place)): term for place, term in enumerate(outputs)}


class LeftJoin(Struct, frozen=True):
    """What a left join adds: sources whose rows are present if all of ``on`` holds, else NULL."""

    sources: tuple[Source, ...]
    on: tuple[Term, ...]
    lefts: tuple[LeftJoin, ...] = ()

    @property
    def ids(self) -> frozenset[int]:
        """The numbers of its sources, including those of the joins in it."""
        return optional((self,))

    @property
    def block(self) -> Block:
        """The rows that it finds, as a block."""
        return Block(sources=self.sources, lefts=self.lefts, where=self.on)


class Key(Struct, frozen=True):
    """One key of an ORDER BY."""

    term: Term
    descending: bool
    nulls_first: bool


TRUE, FALSE, NULL = Const("boolean", "1"), Const("boolean", "0"), Const("null", "")
ZERO, ONE = Const("integer", "0"), Const("integer", "1")
COMPARED = frozenset({"eq", "ne", "lt", "le"})
"""Comparisons that are NULL if a side is."""


class Block(Struct, frozen=True, kw_only=True):
    """One SELECT. ``group`` is None without aggregation, and empty for one group of all rows."""

    sources: tuple[Source, ...]
    lefts: tuple[LeftJoin, ...] = ()
    where: tuple[Term, ...] = ()
    group: tuple[Term, ...] | None = None
    having: tuple[Term, ...] = ()
    outputs: tuple[Term, ...] = (ONE,)
    distinct: bool = False
    order: tuple[Key, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def cuts(self) -> bool:
        """Whether it takes only some of its rows."""
        return self.limit is not None or self.offset > 0

    @property
    def plain(self) -> bool:
        """Whether it consists only of joined rows, filtered and projected."""
        return self.group is None and not self.trims

    @property
    def trims(self) -> bool:
        """Whether it drops duplicates, takes only some of its rows, or reads rows other than its own."""
        return self.distinct or self.cuts or self.windowed

    @property
    def windowed(self) -> bool:
        """Whether an output reads rows other than its own."""
        return bool(windows_of(self))

    @property
    def all_sources(self) -> tuple[Source, ...]:
        """Its sources, including those of left joins."""
        return (*self.sources, *left_sources(self.lefts))

    @property
    def only(self) -> tuple[Source, Query] | None:
        """The only source and its query, if that is a query; else None."""
        query = self.sources[0].query if len(self.sources) == 1 and not self.lefts else None
        return None if query is None else (self.sources[0], query)

    @property
    def late_terms(self) -> tuple[Term, ...]:
        """The terms that are computed per output row or group: outputs, HAVING and ORDER BY."""
        return (*self.outputs, *self.having, *(key.term for key in self.order))

    @property
    def exists(self) -> Sub:
        """Whether it has a row: its outputs and their order do not matter."""
        return Sub("exists", replace(self, outputs=(ONE,), distinct=False, order=()))

    def joined(self, other: Block, where: tuple[Term, ...]) -> Block:
        """The block over the other's joined rows too, with other conditions of its own."""
        sources, lefts = (*self.sources, *other.sources), (*self.lefts, *other.lefts)
        return replace(self, sources=sources, lefts=lefts, where=(*where, *other.where))

    def over(self, other: Block) -> Block:
        """The block over the other's joined rows instead of its own."""
        return replace(self, sources=other.sources, lefts=other.lefts, where=other.where)

    def swapped(self, source: Source, *others: Source) -> Block:
        """The block with other sources in place of one."""
        return replace(self, sources=swapped(self.sources, source, *others))

    def without(self, source: Source) -> Block:
        """The block without one of its sources."""
        return self.swapped(source)

    def without_left(self, left: LeftJoin) -> Block:
        """The block without one of its left joins."""
        return replace(self, lefts=swapped(self.lefts, left))


class Combined(Struct, frozen=True):
    """UNION, INTERSECT or EXCEPT of queries with equally many outputs."""

    op: Literal["union", "intersect", "except"]
    all: bool
    parts: tuple[Query, ...]


class Rows(Struct, frozen=True):
    """VALUES."""

    rows: tuple[tuple[Term, ...], ...]


class FullJoin(Struct, frozen=True):
    """A FULL JOIN as a query: the left's outputs, then the right's. ``on`` refers to the two sources."""

    left: Source
    right: Source
    on: tuple[Term, ...]


TERMS = (Col, Const, Call, Agg, Window, Sub)
_LEAVES = (Col, Const)
_WITHOUT_PARTS = (Col, Const, Sub)
QUERIES = (Block, Combined, Rows, FullJoin)
_Node = TypeVar("_Node", bound=Struct)
_Part = TypeVar("_Part")


def over(node: _Node, change: Callable[[Term], Term]) -> _Node:
    """A term with its direct parts changed; or a query with all of its terms changed, including those of
    inner queries."""
    if isinstance(node, _LEAVES):
        return node
    old = {name: getattr(node, name) for name in node.__struct_fields__}
    new = {name: value for name, part in old.items() if (value := _over(part, change)) is not part}
    return replace(node, **new) if new else node


def _over(value: Any, change: Callable[[Term], Term]) -> Any:
    if isinstance(value, tuple):
        parts = tuple(_over(part, change) for part in value)
        return value if all(map(is_, parts, value)) else parts
    if isinstance(value, TERMS):
        return change(value)
    return over(value, change) if isinstance(value, Struct) else value


def children(node: Struct) -> Iterator[Struct]:
    """The direct parts of a node."""
    waiting: list[Any] = [getattr(node, name) for name in node.__struct_fields__]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += part
        elif isinstance(part, Struct):
            yield part


def walk(node: Struct, *, subqueries: bool = True) -> Iterator[Struct]:
    """The node and all in it; without ``subqueries``, nothing that is in one."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, _LEAVES if subqueries else _WITHOUT_PARTS):
            waiting += children(part)


def parts_of(term: Term) -> Iterator[Term]:
    """The term and all in it, except subqueries."""
    return cast("Iterator[Term]", walk(term, subqueries=False))


def is_call(term: Term, *ops: str) -> TypeGuard[Call]:
    """Whether a term is a call of one of these operators."""
    return isinstance(term, Call) and term.op in ops


def windows_of(block: Block) -> list[Window]:
    """The window functions among a block's outputs and ORDER BY keys."""
    terms = (*block.outputs, *(key.term for key in block.order))
    return [part for term in terms for part in parts_of(term) if isinstance(part, Window)]


def swapped(items: Iterable[_Part], old: _Part, *new: _Part) -> tuple[_Part, ...]:
    """The items with others, or none, in place of one."""
    return tuple(part for item in items for part in (new if item == old else (item,)))


def left_sources(lefts: tuple[LeftJoin, ...]) -> Iterator[Source]:
    """All sources of left joins, including nested ones."""
    for left in lefts:
        yield from left.sources
        yield from left_sources(left.lefts)


def optional(lefts: tuple[LeftJoin, ...]) -> frozenset[int]:
    """The numbers of the sources for which left joins may find no row, so that their columns may be NULL."""
    return frozenset(source.id for source in left_sources(lefts))
