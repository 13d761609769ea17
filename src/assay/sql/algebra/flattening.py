"""Queries in FROM that need not be separate queries."""

from __future__ import annotations

from msgspec.structs import replace

from assay.sql.algebra.facts import Facts, output_present
from assay.sql.algebra.keys import key_columns
from assay.sql.algebra.model import (
    ONE,
    Agg,
    Block,
    Call,
    Col,
    Combined,
    LeftJoin,
    Query,
    Rows,
    Source,
    Sub,
    Term,
    parts_of,
    swapped,
    windows_of,
)
from assay.sql.algebra.parts import columns_of, divided, has_aggregate, substituted, terms_of
from assay.sql.algebra.world import SchemaContext


def merge_plain(block: Block, facts: Facts) -> Block:
    """A query in FROM that only joins, filters and projects is its tables and conditions.

    Its DISTINCT may be dropped if duplicates in the surrounding rows do not matter.
    """
    for source in block.sources:
        inner = source.query
        if isinstance(inner, Rows) and len(inner.rows) == 1:
            return substituted(block.without(source), source.named(inner.rows[0]))
        if not isinstance(inner, Block) or inner.group is not None or inner.cuts or inner.windowed:
            continue
        if inner.distinct and not facts.joined_as_set:
            continue
        merged = block.swapped(source, *inner.sources)
        merged = replace(merged, lefts=(*inner.lefts, *block.lefts), where=(*inner.where, *block.where))
        return substituted(merged, source.named(inner.outputs))
    return block


def merge_plain_in_left(block: Block, _: Facts) -> Block:
    """A query in a left join is its tables. Side condition: outputs are NULL exactly if its row is missing."""
    for left in block.lefts:
        for source in left.sources:
            inner = source.query
            if not isinstance(inner, Block) or not inner.plain or inner.lefts:
                continue
            ids = {one.id for one in inner.sources}
            if not all(isinstance(term, Col) and term.source in ids for term in inner.outputs):
                continue
            sources = swapped(left.sources, source, *inner.sources)
            merged = LeftJoin(sources, (*inner.where, *left.on), left.lefts)
            opened = replace(block, lefts=swapped(block.lefts, left, merged))
            return substituted(opened, source.named(inner.outputs))
    return block


def merge_grouped(block: Block, facts: Facts) -> Block:
    """Filtering and projecting a grouped query is HAVING and SELECT. With tables joined to it, it is also grouped by
    their keys.

    Side conditions: the query is neither DISTINCT nor limited, nothing is grouped again, and no subquery has an
    aggregate. Every other source is a table with a key that is never NULL; the query then has keys. So a group contains
    one row of each table and the rows of one group of the query.
    """
    grouped = [
        (one, one.query) for one in block.sources if isinstance(one.query, Block) and one.query.group is not None
    ]
    if len(grouped) != 1 or block.lefts or block.group is not None:
        return block
    source, inner = grouped[0]
    others = block.without(source)
    keys = key_columns(others.sources, facts.world)
    if keys is None or inner.trims or (others.sources and (block.windowed or not inner.group)):
        return block
    if _aggregates_in_subqueries(block, source, inner):
        return block
    moved = substituted(others, source.named(inner.outputs))
    late, early = divided(moved.where, lambda term: not inner.group or has_aggregate(term))
    return replace(
        moved,
        sources=(*moved.sources, *inner.sources),
        lefts=inner.lefts,
        where=(*inner.where, *early),
        group=(*keys, *(inner.group or ())),
        having=(*inner.having, *late),
    )


def _aggregates_in_subqueries(block: Block, source: Source, inner: Block) -> bool:
    """Whether a subquery of the block names an aggregate of a query in FROM: it would become the subquery's own
    aggregate."""
    late = {col for col, term in source.named(inner.outputs).items() if has_aggregate(term)}
    return any(isinstance(part, Sub) and columns_of(part) & late for term in terms_of(block) for part in parts_of(term))


def merge_trivial(block: Block, _: Facts) -> Block:
    """A query that only selects among the columns of one other query is that query.

    Side conditions: the outer query neither filters, groups, limits nor drops duplicates; the inner one keeps its
    DISTINCT only if each of its columns is selected once.
    """
    source, inner = block.only or (None, None)
    if source is None or not isinstance(inner, Block) or inner.plain or block.where or not block.plain:
        return block
    new = source.named(inner.outputs)
    if inner.distinct and sorted(map(repr, block.outputs)) != sorted(map(repr, new)):
        return block
    if (block.order and inner.cuts) or _aggregates_in_subqueries(block, source, inner):
        return block
    moved = substituted(replace(block, sources=()), new)
    return replace(inner, outputs=moved.outputs, order=moved.order or inner.order)


def filter_below_windows(block: Block, facts: Facts) -> Block:
    """A filter on the partition keys of all windows of a query in FROM is a filter of its rows.

    Side conditions: the query neither groups, drops duplicates nor limits, and is the only source.
    """
    source, inner = block.only or (None, None)
    if source is None or not isinstance(inner, Block) or not block.where:
        return block
    if not inner.windowed or inner.group is not None or inner.distinct or inner.cuts:
        return block
    new = source.named(inner.outputs)
    shared = set.intersection(*({*window.partition} for window in windows_of(inner)))
    early, late = divided(
        block.where,
        lambda term: (
            bool(named := columns_of(term))
            and all(new.get(col) in shared for col in named)
            and not any(isinstance(part, Sub) for part in parts_of(term))
        ),
    )
    if not early:
        return block
    where = (*inner.where, *(substituted(term, new) for term in early))
    filtered = facts.world.source(query=replace(inner, where=where))
    rest = replace(block, sources=(filtered,), where=late)
    return substituted(rest, source.named(facts.world.cols(filtered)))


def prune_outputs(block: Block, facts: Facts) -> Block:
    """Unused outputs of a query in FROM can be dropped. Side condition: it does not drop duplicates by them."""
    used = {col for term in terms_of(block) for col in columns_of(term)}
    for source in block.sources:
        inner = source.query
        if not isinstance(inner, Block) or inner.distinct:
            continue
        kept = {col: term for col, term in source.named(inner.outputs).items() if col in used}
        if len(kept) == len(inner.outputs) or (not kept and inner.outputs == (ONE,)):
            continue
        pruned = facts.world.source(query=replace(inner, outputs=tuple(kept.values()) or (ONE,)))
        return substituted(block.swapped(source, pruned), dict(zip(kept, facts.world.cols(pruned), strict=False)))
    return block


def count_distinct_rows(block: Block, facts: Facts) -> Block:
    """COUNT over a query of DISTINCT values is COUNT(DISTINCT).

    Side conditions: the query is the only source, has one output and is only counted; the value cannot be NULL if
    COUNT(*) counts it.
    """
    source, inner = block.only or (None, None)
    if source is None or block.group != () or block.where:
        return block
    if not isinstance(inner, Block) or not inner.distinct or inner.group is not None or len(inner.outputs) != 1:
        return block
    if inner.cuts or inner.windowed:
        return block
    value, col = inner.outputs[0], Col(source.id, "0")
    counts = {Agg("count", (col,)), Agg("count", (col,), distinct=True)}
    if output_present(facts.world, facts.matcher, inner, 0):
        counts.add(Agg("count", ()))
    parts = [part for term in (*block.outputs, *block.having) for part in parts_of(term)]
    if any(isinstance(part, Sub) or (isinstance(part, Agg) and part not in counts) for part in parts):
        return block
    counted = Agg("count", (value,), distinct=True)
    return substituted(replace(block, order=()), dict.fromkeys(counts, counted)).over(inner)


def combined_to_block(query: Combined, world: SchemaContext) -> Query:
    """INTERSECT and EXCEPT keep the left side's rows for which the right side has, or has not, an equal one.

    Side conditions: duplicates are dropped, and the columns contain values of one kind, so that the operator does not
    affect the comparison. NULL is equal to NULL here.
    """
    if query.all or query.op == "union":
        return query
    first, *others = query.parts
    left = world.source(query=first)
    outputs = tuple(world.cols(left))
    where: list[Term] = []
    for other in others:
        right = world.source(query=other)
        pairs = list(zip(outputs, world.cols(right), strict=True))
        if not all(world.same_values(*pair) for pair in pairs):
            return query
        same = tuple(Call("same", pair) for pair in pairs)
        found = Block(sources=(right,), where=same).exists
        where.append(found if query.op == "intersect" else Call("not", (found,)))
    return Block(sources=(left,), where=tuple(where), outputs=outputs, distinct=True)
