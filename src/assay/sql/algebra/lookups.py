"""Subqueries as values, and joins that look up one row: left joins of one row, groups of a left join, distinct rows."""

from __future__ import annotations

from msgspec.structs import replace

from assay.sql.algebra.conditions import rejected
from assay.sql.algebra.facts import Facts
from assay.sql.algebra.flattening import replaced
from assay.sql.algebra.grouping import grouped_terms
from assay.sql.algebra.keys import Closure, key_columns
from assay.sql.algebra.literals import equated
from assay.sql.algebra.model import (
    ONE,
    Agg,
    Block,
    Call,
    Col,
    Const,
    FullJoin,
    LeftJoin,
    Source,
    Sub,
    Term,
    columns_of,
    left_sources,
    over_source,
    parts_of,
    query_columns,
    terms_of,
)
from assay.sql.algebra.world import World


def scalar_to_left(block: Block, facts: Facts) -> Block:
    """A subquery that looks up one value is a left join.

    Side conditions: it finds at most one row; its output is a column, NULL where there is no row; nothing is grouped.
    """
    if block.group is not None or block.windowed:
        return block
    for term in block.outputs:
        for part in parts_of(term):
            if not isinstance(part, Sub) or part.kind != "scalar" or not isinstance(part.query, Block):
                continue
            inner = part.query
            own = {source.id for source in inner.sources}
            value = inner.outputs[0]
            if not inner.plain or inner.lefts or not inner.sources or not isinstance(value, Col):
                continue
            seen = Facts(facts.world, facts.matcher, inner.where, padded=facts.padded, sources=inner.sources)
            if value.source not in own or not Closure(inner, seen, ()).determines_rows:
                continue
            joined = replace(block, lefts=(*block.lefts, LeftJoin(inner.sources, inner.where)))
            return replace(joined, outputs=tuple(_put(one, part, value) for one in block.outputs))
    return block


def _put(term: Term, old: Term, new: Term) -> Term:
    return new if term == old else term if isinstance(term, Sub) else over_source(term, lambda arg: _put(arg, old, new))


def left_groups_to_scalars(block: Block, facts: Facts) -> Block:
    """Groups of what one left join finds for each row are aggregates as subqueries.

    Side conditions: the keys are the row's, which has a key that is never NULL; every aggregate is of the joined
    columns, passes over the NULLs of a row that finds nothing, and DISTINCT is not asked.
    """
    if not block.group or block.windowed or block.distinct or len(block.lefts) != 1 or block.cuts:
        return block
    left = block.lefts[0]
    moving = {source.id for source in (*left.sources, *left_sources(left.lefts))}
    keys = key_columns(block.sources, facts.world)
    if keys is None or left.lefts or any(columns_of(term) & _of(moving, term) for term in (*block.where, *block.group)):
        return block
    closure, back = Closure(block, facts, block.group), Closure(block, facts, keys)
    if not all(closure.has_row(source) for source in block.sources):
        return block
    if any(closure.has_row(source) for source in left.sources) or not all(back.determines(one) for one in block.group):
        return block
    new: dict[Term, Term] = {}
    for term in grouped_terms(block):
        for part in parts_of(term):
            if isinstance(part, Agg):
                if not _of_joined(part, moving):
                    return block
                new[part] = Sub("scalar", Block(sources=left.sources, where=left.on, group=(), outputs=(part,)))
            elif isinstance(part, Sub) or (isinstance(part, Col) and part.source in moving and not _inside(term, part)):
                return block
    if not new:
        return block

    def value(term: Term) -> Term:
        return new[term] if term in new else term if isinstance(term, Sub) else over_source(term, value)

    return replace(
        block,
        lefts=(),
        group=None,
        having=(),
        where=(*block.where, *(value(term) for term in block.having)),
        outputs=tuple(value(term) for term in block.outputs),
        order=tuple(replace(key, term=value(key.term)) for key in block.order),
    )


def _of(sources: set[int], term: Term) -> frozenset[Col]:
    return frozenset(col for col in columns_of(term) if col.source in sources)


def _inside(term: Term, col: Col) -> bool:
    """Whether a column is named in aggregates alone."""
    if isinstance(term, Agg):
        return True
    if isinstance(term, Call):
        return all(_inside(arg, col) for arg in term.args)
    return term != col


def _of_joined(agg: Agg, moving: set[int]) -> bool:
    """Whether an aggregate is the same with and without a row in which all of the join's columns are NULL."""
    if not agg.args or agg.distinct or any(isinstance(part, Sub | Agg) for part in parts_of(agg.args[0])):
        return False
    used = columns_of(agg.args[0])
    strict = rejected(Call("notnull", agg.args))
    return bool(used) and used <= _of(moving, agg.args[0]) and bool(used & strict)


def grouped_left_to_scalar(block: Block, facts: Facts) -> Block:
    """A left join of groups by what they are looked up by is their aggregates as subqueries.

    Side conditions: every key of the groups is asked to be equal to something, and nothing else is asked; of the join
    nothing is named but aggregates that are NULL of no rows, or COALESCE(COUNT, 0).
    """
    if block.group is not None or block.windowed:
        return block
    for left in block.lefts:
        found = _looked_up(left, facts)
        if found is None:
            continue
        source, inner, links = found
        outputs = dict(
            zip((Col(source.id, str(place)) for place in range(len(inner.outputs))), inner.outputs, strict=True)
        )
        rest = replace(block, lefts=tuple(one for one in block.lefts if one is not left))

        def value(term: Term) -> Term:
            known = _counted_or_zero(term, outputs)  # noqa: B023 - called before the next
            known = known or (outputs[term] if isinstance(term, Col) and term in outputs else None)  # noqa: B023
            if not isinstance(known, Agg) or (known.op == "count" and isinstance(term, Col)):
                return term if isinstance(term, Sub) else over_source(term, value)
            where = (*inner.where, *links)  # noqa: B023
            return Sub("scalar", replace(inner, where=where, group=(), having=(), outputs=(known,), order=()))  # noqa: B023

        changed = replace(
            rest,
            where=tuple(value(term) for term in rest.where),
            outputs=tuple(value(term) for term in rest.outputs),
            order=tuple(replace(key, term=value(key.term)) for key in rest.order),
        )
        if not any(col.source == source.id for term in terms_of(changed) for col in columns_of(term)):
            return changed
    return block


def _counted_or_zero(term: Term, outputs: dict[Col, Term]) -> Term | None:
    zero = Const("integer", "0")
    if isinstance(term, Call) and term.op == "coalesce" and len(term.args) == 2 and term.args[1] == zero:
        found = outputs.get(term.args[0]) if isinstance(term.args[0], Col) else None
        return found if isinstance(found, Agg) and found.op == "count" else None
    return None


def _looked_up(left: LeftJoin, facts: Facts) -> tuple[Source, Block, tuple[Term, ...]] | None:
    """The grouped query that a left join looks up by all of its keys, and the conditions that look it up."""
    if len(left.sources) != 1 or left.lefts or not isinstance(left.sources[0].query, Block):
        return None
    source, inner = left.sources[0], left.sources[0].query
    assert isinstance(inner, Block)
    if not inner.group or inner.having or inner.distinct or inner.cuts or inner.windowed:
        return None
    asked: list[Term] = []
    links: list[Term] = []
    for term in left.on:
        if not isinstance(term, Call) or term.op != "eq" or not facts.world.same_values(*term.args):
            return None
        mine, theirs = sorted(term.args, key=lambda arg: isinstance(arg, Col) and arg.source == source.id)
        if (
            not isinstance(theirs, Col)
            or theirs.source != source.id
            or source.id in {c.source for c in columns_of(mine)}
        ):
            return None
        asked.append(inner.outputs[int(theirs.name)])
        links.append(Call("eq", (mine, asked[-1])))
    return (source, inner, tuple(links)) if set(asked) == set(inner.group) else None


def distinct_to_existence(block: Block, facts: Facts) -> Block:
    """A join with distinct rows that are equal to what is there already is EXISTS.

    Side conditions: each of its columns is asked to be equal to something else, for which it stands.
    """
    if block.windowed:
        return block
    for source in block.sources:
        inner = source.query
        if (
            not isinstance(inner, Block)
            or not inner.distinct
            or inner.group is not None
            or inner.cuts
            or inner.windowed
        ):
            continue
        links: dict[Col, tuple[Term, Term]] = {}
        for term in block.where:
            for one, other in (sides, sides[::-1]) if (sides := equated(term)) else ():
                free = source.id not in {col.source for col in columns_of(other)}
                if isinstance(one, Col) and one.source == source.id and free and facts.world.same_values(one, other):
                    links.setdefault(one, (term, other))
        columns = [Col(source.id, str(place)) for place in range(len(inner.outputs))]
        if set(links) != set(columns):
            continue
        others = [
            one for one in (*block.sources, *left_sources(block.lefts)) if one != source and one.query is not None
        ]
        if any(col.source == source.id for one in others if one.query for col in query_columns(one.query)):
            continue
        used = {term for term, _ in links.values()}
        asked = tuple(Call("eq", (value, links[col][1])) for col, value in zip(columns, inner.outputs, strict=True))
        found = Sub("exists", replace(inner, where=(*inner.where, *asked), outputs=(ONE,), distinct=False, order=()))
        rest = replace(
            block,
            sources=tuple(one for one in block.sources if one != source),
            where=tuple(term for term in block.where if term not in used),
        )
        rest = replaced(rest, {col: other for col, (_, other) in links.items()})
        return replace(rest, where=(*rest.where, found))
    return block


def full_to_left(block: Block, world: World) -> Block:
    """FULL JOIN is LEFT JOIN where a condition cannot be true of a row that its left side lacks."""
    for source in block.sources:
        full = source.query
        if not isinstance(full, FullJoin):
            continue
        for kept, other in ((full.left, full.right), (full.right, full.left)):
            places = [Col(one.id, name) for one in (full.left, full.right) for name in world.columns(one)]
            new: dict[Term, Term] = {Col(source.id, str(place)): col for place, col in enumerate(places)}
            asked = {col for term in block.where for col in rejected(term) if isinstance(col, Col)}
            if not any(isinstance(one := new.get(col), Col) and one.source == kept.id for col in asked):
                continue
            sources = tuple(kept if one == source else one for one in block.sources)
            opened = replace(block, sources=sources, lefts=(LeftJoin((other,), full.on), *block.lefts))
            return replaced(opened, new)
    return block


__all__ = [
    "distinct_to_existence",
    "full_to_left",
    "grouped_left_to_scalar",
    "left_groups_to_scalars",
    "scalar_to_left",
]
