"""Subqueries as values, and joins that look up one row: left joins of one row, groups of a left join, distinct rows."""

from __future__ import annotations

from msgspec.structs import replace

from assay.sql.algebra.conditions import rejected
from assay.sql.algebra.facts import Facts
from assay.sql.algebra.keys import Closure, key_columns
from assay.sql.algebra.literals import equated, linked
from assay.sql.algebra.model import (
    ZERO,
    Agg,
    Block,
    Call,
    Col,
    FullJoin,
    LeftJoin,
    Source,
    Sub,
    Term,
    is_call,
    parts_of,
)
from assay.sql.algebra.parts import columns_of, leaves_of, names, outside_subqueries, over_late, substituted, terms_of


def scalar_to_left(block: Block, facts: Facts) -> Block:
    """A subquery that looks up one value is a left join.

    Side conditions: it finds at most one row; its output is a column, NULL if there is no row; nothing is grouped.
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
            if value.source not in own or not Closure(inner, facts.inside(inner), ()).determines_rows:
                continue
            outputs = tuple(outside_subqueries(one, {part: value}.get) for one in block.outputs)  # type: ignore[arg-type]
            return replace(block, lefts=(*block.lefts, LeftJoin(inner.sources, inner.where)), outputs=outputs)
    return block


def left_groups_to_scalars(block: Block, facts: Facts) -> Block:
    """Groups of what one left join finds for each row are aggregates as subqueries.

    Side conditions: the keys are the row's, which has a key that is never NULL; every aggregate is of the joined
    columns, ignores the NULLs of a row that finds nothing, and has no DISTINCT.
    """
    if not block.group or block.windowed or block.distinct or len(block.lefts) != 1 or block.cuts:
        return block
    left = block.lefts[0]
    keys = key_columns(block.sources, facts.world)
    if keys is None or left.lefts or names(left.ids, *block.where, *block.group):
        return block
    closure, back = Closure(block, facts, block.group), Closure(block, facts, keys)
    if not all(closure.has_row(source) for source in block.sources):
        return block
    if any(closure.has_row(source) for source in left.sources) or not back.determines(*block.group):
        return block
    new: dict[Term, Term] = {}
    for term in block.late_terms:
        for part in parts_of(term):
            if isinstance(part, Agg):
                if not _of_joined(part, left.ids):
                    return block
                new[part] = Sub("scalar", replace(left.block, group=(), outputs=(part,)))
            elif isinstance(part, Sub):
                return block
        if any(isinstance(leaf, Col) and leaf.source in left.ids for leaf in leaves_of(term)):
            return block
    if not new:
        return block
    changed = over_late(block, lambda term: outside_subqueries(term, new.get))
    return replace(changed, lefts=(), group=None, having=(), where=(*block.where, *changed.having))


def _of_joined(agg: Agg, moving: frozenset[int]) -> bool:
    """Whether an aggregate is the same with and without a row in which all of the join's columns are NULL."""
    if not agg.args or agg.distinct or any(isinstance(part, Sub | Agg) for part in parts_of(agg.args[0])):
        return False
    used = columns_of(agg.args[0])
    strict = rejected(Call("notnull", agg.args))
    return bool(used & strict) and all(col.source in moving for col in used)


def grouped_left_to_scalar(block: Block, facts: Facts) -> Block:
    """A left join with groups, by all of their keys, is their aggregates as subqueries.

    Side conditions: every key of the groups is equated with something, and there is no other condition; only aggregates
    of the join that are NULL without rows, or COALESCE(COUNT, 0), are used.
    """
    if block.group is not None or block.windowed:
        return block
    for left in block.lefts:
        found = _looked_up(left, facts)
        if found is None:
            continue
        source, inner, links = found
        outputs = source.named(inner.outputs)
        found_row = replace(inner, where=(*inner.where, *links), group=(), having=(), order=())

        def value(term: Term) -> Term | None:
            aggregate = _looked_up_aggregate(term, outputs)  # noqa: B023 - called before the next
            return None if aggregate is None else Sub("scalar", replace(found_row, outputs=(aggregate,)))  # noqa: B023

        rest = block.without_left(left)
        changed = over_late(rest, lambda term: outside_subqueries(term, value))
        changed = replace(changed, where=tuple(outside_subqueries(term, value) for term in rest.where))
        if not names({source.id}, *terms_of(changed)):
            return changed
    return block


def _looked_up_aggregate(term: Term, outputs: dict[Term, Term]) -> Agg | None:
    """The aggregate that a term gives if there is a group, and its value if there is none: NULL, or 0 for COUNT."""
    counted = is_call(term, "coalesce") and term.args[1:] == (ZERO,)
    found = outputs.get(term.args[0] if counted and isinstance(term, Call) else term)
    return found if isinstance(found, Agg) and (found.op == "count") == counted else None


def _looked_up(left: LeftJoin, facts: Facts) -> tuple[Source, Block, tuple[Term, ...]] | None:
    """The grouped query that a left join looks up by all of its keys, and the conditions that look it up."""
    if len(left.sources) != 1 or left.lefts or not isinstance(left.sources[0].query, Block):
        return None
    source, inner = left.sources[0], left.sources[0].query
    assert isinstance(inner, Block)
    if not inner.group or inner.having or inner.trims:
        return None
    asked: list[Term] = []
    links: list[Term] = []
    for term in left.on:
        if not is_call(term, "eq") or not facts.world.same_values(*term.args):
            return None
        link = linked(term.args, source.id)
        if link is None:
            return None
        asked.append(inner.outputs[int(link[0].name)])
        links.append(Call("eq", (link[1], asked[-1])))
    return (source, inner, tuple(links)) if set(asked) == set(inner.group) else None


def distinct_to_existence(block: Block, facts: Facts) -> Block:
    """A join with distinct rows that equal what is there already is EXISTS.

    Side conditions: each of its columns is equated with something else, which can replace it.
    """
    if block.windowed:
        return block
    for source in block.sources:
        inner = source.query
        if not isinstance(inner, Block) or not inner.distinct or inner.group is not None:
            continue
        if inner.cuts or inner.windowed:
            continue
        links: dict[Term, tuple[Term, Term]] = {}
        for term in block.where:
            link = linked(equated(term) or (), source.id)
            if link is not None and facts.world.same_values(*link):
                links.setdefault(link[0], (term, link[1]))
        outputs = source.named(inner.outputs)
        rest = block.without(source)
        if links.keys() != outputs.keys() or names({source.id}, *rest.all_sources):
            continue
        used = {term for term, _ in links.values()}
        asked = tuple(Call("eq", (value, links[col][1])) for col, value in outputs.items())
        found = replace(inner, where=(*inner.where, *asked)).exists
        rest = replace(rest, where=tuple(term for term in block.where if term not in used))
        rest = substituted(rest, {col: other for col, (_, other) in links.items()})
        return replace(rest, where=(*rest.where, found))
    return block


def full_to_left(block: Block, facts: Facts) -> Block:
    """FULL JOIN is LEFT JOIN if a condition cannot be true of a row without a left side."""
    for source in block.sources:
        full = source.query
        if not isinstance(full, FullJoin):
            continue
        for kept, other in ((full.left, full.right), (full.right, full.left)):
            new = source.named(facts.world.both(full))
            asked = {col for term in block.where for col in rejected(term) if isinstance(col, Col)}
            if not any(isinstance(one := new.get(col), Col) and one.source == kept.id for col in asked):
                continue
            opened = replace(block.swapped(source, kept), lefts=(LeftJoin((other,), full.on), *block.lefts))
            return substituted(opened, new)
    return block


__all__ = [
    "distinct_to_existence",
    "full_to_left",
    "grouped_left_to_scalar",
    "left_groups_to_scalars",
    "scalar_to_left",
]
