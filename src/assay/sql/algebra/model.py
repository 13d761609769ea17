"""What a query means, free of its spelling: terms over sources, and blocks of them.

A block is FROM, WHERE, GROUP BY, HAVING, SELECT, DISTINCT, ORDER BY and LIMIT of one level. A source has a number that
is unique in a proof, so that terms may be moved between levels without a name being caught by another scope.
Conditions are lists of terms each of which must be *true*; what is NULL counts as not true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias, Union

from msgspec import Struct
from msgspec.structs import replace

Term: TypeAlias = Union["Col", "Const", "Call", "Agg", "Sub"]
Query: TypeAlias = Union["Block", "Combined", "Rows", "FullJoin"]


class Col(Struct, frozen=True):
    """A source's column: its name in lower case for a stored table, its place from "0" for a query."""

    source: int
    name: str


class Const(Struct, frozen=True):
    """A literal: its value in one spelling."""

    kind: Literal["integer", "real", "text", "boolean", "null"]
    text: str


class Call(Struct, frozen=True):
    """A function of its arguments alone; operators and conditions too."""

    op: str
    args: tuple[Term, ...]


class Agg(Struct, frozen=True):
    """An aggregate; COUNT(*) has no arguments."""

    op: str
    args: tuple[Term, ...]
    distinct: bool = False


class Sub(Struct, frozen=True):
    """A subquery in a term: its one value, whether it has a row, or (within ``in``) its rows."""

    kind: Literal["scalar", "exists", "rows"]
    query: Query


class Source(Struct, frozen=True):
    """What a FROM names: a stored table, or a query."""

    id: int
    table: str = ""
    query: Query | None = None


class LeftJoin(Struct, frozen=True):
    """What is joined on the left's side: sources that are there where all of ``on`` holds, else NULL."""

    sources: tuple[Source, ...]
    on: tuple[Term, ...]
    lefts: tuple[LeftJoin, ...] = ()


class Key(Struct, frozen=True):
    """One key of an ORDER BY."""

    term: Term
    descending: bool
    nulls_first: bool


class Block(Struct, frozen=True, kw_only=True):
    """One SELECT. ``group`` is None without aggregation, and empty for one group of all rows."""

    sources: tuple[Source, ...]
    lefts: tuple[LeftJoin, ...] = ()
    where: tuple[Term, ...] = ()
    group: tuple[Term, ...] | None = None
    having: tuple[Term, ...] = ()
    outputs: tuple[Term, ...]
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
        """Nothing but joined rows, filtered and projected."""
        return self.group is None and not self.distinct and not self.cuts and not self.windowed

    @property
    def windowed(self) -> bool:
        """Whether an output looks at other rows than its own."""
        terms = (*self.outputs, *(key.term for key in self.order))
        return any(isinstance(part, Call) and part.op.startswith("window:") for one in terms for part in parts_of(one))


class Combined(Struct, frozen=True):
    """UNION, INTERSECT or EXCEPT of queries with equally many outputs."""

    op: Literal["union", "intersect", "except"]
    all: bool
    parts: tuple[Query, ...]


class Rows(Struct, frozen=True):
    """VALUES."""

    rows: tuple[tuple[Term, ...], ...]


class FullJoin(Struct, frozen=True):
    """A FULL JOIN as a query of its own: the left's outputs, then the right's. ``on`` speaks of the two sources."""

    left: Source
    right: Source
    on: tuple[Term, ...]


TRUE, FALSE, NULL = Const("boolean", "1"), Const("boolean", "0"), Const("null", "")
ONE = Const("integer", "1")


def width(query: Query) -> int:
    """How many outputs a query has."""
    if isinstance(query, Block):
        return len(query.outputs)
    if isinstance(query, Combined):
        return width(query.parts[0])
    if isinstance(query, Rows):
        return len(query.rows[0])
    return _width_of(query.left) + _width_of(query.right)


def _width_of(source: Source) -> int:
    return width(source.query) if source.query is not None else 0


def over_source(term: Term, change: Callable[[Term], Term]) -> Term:
    """The term with its direct parts changed."""
    if isinstance(term, Call | Agg):
        args = tuple(change(arg) for arg in term.args)
        return term if args == term.args else replace(term, args=args)
    if isinstance(term, Sub):
        return Sub(term.kind, over_query(term.query, change))
    return term


def over_query(query: Query, change: Callable[[Term], Term]) -> Query:
    """The query with each of its terms changed, those of inner queries too."""
    if isinstance(query, Combined):
        return Combined(query.op, query.all, tuple(over_query(part, change) for part in query.parts))
    if isinstance(query, Rows):
        return Rows(tuple(tuple(change(cell) for cell in row) for row in query.rows))
    if isinstance(query, FullJoin):
        return FullJoin(
            _in_source(query.left, change), _in_source(query.right, change), tuple(change(one) for one in query.on)
        )
    return over_block(query, change)


def over_block(block: Block, change: Callable[[Term], Term]) -> Block:
    """The block with each of its terms changed."""
    return replace(
        block,
        sources=tuple(_in_source(source, change) for source in block.sources),
        lefts=tuple(_in_left(left, change) for left in block.lefts),
        where=tuple(change(term) for term in block.where),
        group=None if block.group is None else tuple(change(term) for term in block.group),
        having=tuple(change(term) for term in block.having),
        outputs=tuple(change(term) for term in block.outputs),
        order=tuple(replace(key, term=change(key.term)) for key in block.order),
    )


def _in_source(source: Source, change: Callable[[Term], Term]) -> Source:
    return source if source.query is None else replace(source, query=over_query(source.query, change))


def _in_left(left: LeftJoin, change: Callable[[Term], Term]) -> LeftJoin:
    return LeftJoin(
        tuple(_in_source(source, change) for source in left.sources),
        tuple(change(term) for term in left.on),
        tuple(_in_left(one, change) for one in left.lefts),
    )


def substituted(term: Term, new: Mapping[Term, Term]) -> Term:
    """The term with columns, or whole terms, replaced, in subqueries too."""
    if not new:
        return term
    found = new.get(term)
    if found is not None:
        return found
    return over_source(term, lambda part: substituted(part, new))


def query_substituted(query: Query, new: Mapping[Term, Term]) -> Query:
    """The query with columns replaced."""
    return over_query(query, lambda term: substituted(term, new)) if new else query


def terms_of(block: Block) -> Iterator[Term]:
    """The block's own terms: all but those inside its sources."""
    yield from block.where
    for left in block.lefts:
        yield from left_terms(left)
    yield from block.group or ()
    yield from block.having
    yield from block.outputs
    yield from (key.term for key in block.order)


def left_terms(left: LeftJoin) -> Iterator[Term]:
    """The conditions of a left join, and of those in it."""
    yield from left.on
    for one in left.lefts:
        yield from left_terms(one)


def left_sources(lefts: tuple[LeftJoin, ...]) -> Iterator[Source]:
    """All sources of left joins, of those in them too."""
    for left in lefts:
        yield from left.sources
        yield from left_sources(left.lefts)


def parts_of(term: Term) -> Iterator[Term]:
    """The term and all in it, without what is in subqueries."""
    stack = [term]
    while stack:
        one = stack.pop()
        yield one
        if isinstance(one, Call | Agg):
            stack.extend(one.args)


def columns_of(term: Term) -> frozenset[Col]:
    """The columns in a term, in its subqueries too, also those of the subqueries' own sources."""
    found: set[Col] = set()
    for part in parts_of(term):
        if isinstance(part, Col):
            found.add(part)
        elif isinstance(part, Sub):
            found |= query_columns(part.query)
    return frozenset(found)


def query_columns(query: Query) -> frozenset[Col]:
    """The columns anywhere in a query."""
    if isinstance(query, Combined):
        return frozenset().union(*(query_columns(part) for part in query.parts))
    if isinstance(query, Rows):
        return frozenset().union(*(columns_of(cell) for row in query.rows for cell in row))
    if isinstance(query, FullJoin):
        inner = [query_columns(one.query) for one in (query.left, query.right) if one.query is not None]
        return frozenset().union(*inner, *(columns_of(term) for term in query.on))
    found: set[Col] = set()
    for source in (*query.sources, *left_sources(query.lefts)):
        if source.query is not None:
            found |= query_columns(source.query)
    for term in terms_of(query):
        found |= columns_of(term)
    return frozenset(found)


def sources_in(term: Term) -> frozenset[int]:
    """The numbers of the sources that a term speaks of."""
    return frozenset(col.source for col in columns_of(term))


def has_aggregate(term: Term) -> bool:
    """Whether the term holds an aggregate of its own level."""
    return any(isinstance(part, Agg) for part in parts_of(term))


def depth(query: Query) -> int:
    """How many levels of queries there are in a query."""
    if isinstance(query, Combined):
        return 1 + max(depth(part) for part in query.parts)
    if isinstance(query, Rows):
        return 1
    if isinstance(query, FullJoin):
        return 1 + max((depth(one.query) for one in (query.left, query.right) if one.query is not None), default=0)
    inner = [one.query for one in (*query.sources, *left_sources(query.lefts)) if one.query is not None]
    inner += [part.query for term in terms_of(query) for part in parts_of(term) if isinstance(part, Sub)]
    return 1 + max((depth(one) for one in inner), default=0)
