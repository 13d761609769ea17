"""UNION ALL of parts that differ only in their conditions."""

from __future__ import annotations

from msgspec.structs import replace

from assay.sql.algebra.conditions import conjunction
from assay.sql.algebra.facts import Facts, Matcher
from assay.sql.algebra.model import FALSE, TRUE, Block, Call, Query, Term
from assay.sql.algebra.parts import divided
from assay.sql.algebra.world import SchemaContext

MOST_PARTS = 12


def merged_parts(parts: list[Query], world: SchemaContext, matcher: Matcher, outer: Facts | None) -> list[Query]:
    """UNION ALL of parts that share no row is one query with OR.

    Side conditions: the parts have the same tables and outputs; their conditions exclude one another; they neither
    group, drop duplicates nor limit.
    """
    if len(parts) > MOST_PARTS:
        return parts
    kept: list[Query] = []
    for part in parts:
        for place, one in enumerate(kept):
            if (merged := _merged(one, part, world, matcher, outer)) is not None:
                kept[place] = merged
                world.used.add("UNION ALL of parts that share no row is one query with OR")
                break
        else:
            kept.append(part)
    return kept


def _merged(one: Query, other: Query, world: SchemaContext, matcher: Matcher, outer: Facts | None) -> Block | None:
    if not isinstance(one, Block) or not isinstance(other, Block):
        return None
    if any(not block.plain or block.lefts or not block.sources for block in (one, other)):
        return None
    facts = outer or Facts(world, matcher)
    moved = matcher.renamed(replace(one, where=()), replace(other, where=()), other, facts)
    if moved is None:
        return None
    shared, first = divided(one.where, lambda term: term in moved.where)
    second = tuple(term for term in moved.where if term not in shared)
    both = conjunction((*one.where, *moved.where), world)
    together = Facts(world, matcher, both, sources=one.sources)
    if not (FALSE in both or together.contradictory or together.implies(FALSE)):
        return None
    cases: tuple[Term, ...] = tuple(Call("and", (TRUE, *terms)) for terms in (first, second))
    return replace(one, where=conjunction((*shared, Call("or", cases)), world), order=())


__all__ = ["merged_parts"]
