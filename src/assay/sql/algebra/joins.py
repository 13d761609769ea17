"""Joins that can be simplified."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from msgspec.structs import replace

from assay.sql.algebra.facts import Facts, block_facts
from assay.sql.algebra.keys import Closure, at_most_one, finds_one, key_columns
from assay.sql.algebra.literals import equated
from assay.sql.algebra.model import COMPARED, NULL, Block, Call, Col, LeftJoin, Source, Sub, Term, is_call, swapped
from assay.sql.algebra.parts import but, columns_of, names, substituted, terms_of, wanted_block
from assay.sql.algebra.world import NUMBERS


def _inner(block: Block, left: LeftJoin) -> Block:
    """The block with a left join as a join."""
    lefts = swapped(block.lefts, left, *left.lefts)
    return replace(block, sources=(*block.sources, *left.sources), where=(*block.where, *left.on), lefts=lefts)


def left_to_inner(block: Block, facts: Facts) -> Block:
    """LEFT JOIN is JOIN if a condition cannot be true of a missing row."""
    for left in block.lefts:
        ids = {source.id for source in left.sources}
        named = (col for term in facts.terms for col in columns_of(term))
        if any(col.source in ids and facts.present(col) for col in named):
            return _inner(block, left)
    return block


def left_that_always_matches(block: Block, facts: Facts) -> Block:
    """LEFT JOIN is JOIN over a foreign key that is never NULL.

    Side condition: its condition only equates the foreign key with the key that it refers to.
    """
    for left in block.lefts:
        if len(left.sources) != 1 or left.lefts or not left.on:
            continue
        parent = left.sources[0]
        for child in block.sources:
            for pairs in _references(child, parent, facts):
                asked = {frozenset(pair) for pair in pairs}
                given = {frozenset(sides) for term in left.on if (sides := equated(term)) is not None}
                if asked == given and len(given) == len(left.on) and all(facts.present(own) for own, _ in pairs):
                    return _inner(block, left)
    return block


def _references(child: Source, parent: Source, facts: Facts) -> Iterator[list[tuple[Col, Col]]]:
    """The foreign keys of one source that refer to a key of the other's table, as pairs of columns."""
    mine, theirs = facts.world.facts(child), facts.world.facts(parent)
    if mine is None or theirs is None or child.id == parent.id:
        return
    for table, columns in facts.world.references(mine):
        is_key = table is theirs and any(set(key) == {other for _, other in columns} for key in theirs.keys)
        if is_key and all(_finds_itself(mine.kinds.get(a, ""), theirs.kinds[b], facts) for a, b in columns):
            yield [(Col(child.id, a), Col(parent.id, b)) for a, b in columns]


def _finds_itself(own: str, referenced: str, facts: Facts) -> bool:
    """Whether a comparison finds exactly the row that a foreign key refers to.

    Not if a collation decides, which may differ from the key's; nor if texts are referred to as numbers, since '1' and
    '01' are two texts.
    """
    if facts.world.dialect == "sqlite":
        return "folded" not in (own, referenced) and (referenced in NUMBERS or own == referenced)
    return own == referenced or (own in NUMBERS and referenced in NUMBERS)


def drop_unused_left(block: Block, facts: Facts) -> Block:
    """A left join whose columns are unused is redundant: it keeps each row on its left.

    Side condition: it finds at most one row, or duplicates do not matter.
    """
    for left in block.lefts:
        rest = block.without_left(left)
        if not names(left.ids, rest) and (facts.joined_as_set or at_most_one(left, facts)):
            return rest
    return block


def left_to_absence(block: Block, facts: Facts) -> Block:
    """LEFT JOIN ... WHERE its column IS NULL is NOT EXISTS.

    Side condition: the column cannot be NULL in a row that the join finds. The join's other columns are NULL then.
    """
    for left in block.lefts:
        inside = block_facts(facts.world, facts.matcher, left.block)
        ids = {source.id for source in left.sources}
        for term in block.where:
            if not is_call(term, "isnull"):
                continue
            tested = term.args[0]
            if isinstance(tested, Col) and tested.source in ids and inside.present(tested):
                missing = {col: NULL for source in left.block.all_sources for col in facts.world.cols(source)}
                rest = substituted(replace(block.without_left(left), where=but(block.where, term)), missing)
                return replace(rest, where=(*rest.where, Call("not", (left.block.exists,))))
    return block


def merge_same_row(block: Block, facts: Facts) -> Block:
    """A table joined with itself over a key is the table once."""
    for one, other in combinations(block.sources, 2):
        table = facts.world.facts(one)
        if table is None or other.table != one.table:
            continue
        for key in table.keys:
            pairs = [(Col(one.id, name), Col(other.id, name)) for name in key]
            if all(facts.canonical(a) == facts.canonical(b) and facts.present(a) for a, b in pairs):
                return substituted(
                    block.without(other), dict(zip(facts.world.cols(other), facts.world.cols(one), strict=True))
                )
    return block


def drop_parent(block: Block, facts: Facts) -> Block:
    """A join over a foreign key to an otherwise unused table is redundant; the foreign key is not NULL then.

    Side conditions: the columns that it refers to are a key, so there is exactly one row; only these columns of the
    table are used, and they equal the foreign key.
    """
    for parent in block.sources:
        for child in block.sources:
            for pairs in _references(child, parent, facts):
                found = _parent_dropped(block, parent, pairs, facts)
                if found is not None:
                    return found
    return block


def _parent_dropped(block: Block, parent: Source, pairs: list[tuple[Col, Col]], facts: Facts) -> Block | None:
    direct: set[Term] = set()
    movable: dict[Col, Term] = {}
    for own, other in pairs:
        links = {term for term in block.where if equated(term) in ((own, other), (other, own))}
        if facts.world.same_values(own, other) and facts.canonical(own) == facts.canonical(other):
            movable[other] = own
        elif not links:
            return None
        direct |= links
    rest = replace(block.without(parent), where=tuple(term for term in block.where if term not in direct))
    used = {col for term in terms_of(rest) for col in columns_of(term) if col.source == parent.id}
    if used - movable.keys() or names({parent.id}, *rest.all_sources):
        return None
    present = tuple(Call("notnull", (own,)) for own, _ in pairs)
    return substituted(replace(rest, where=(*rest.where, *present)), movable)


def join_existing(block: Block, facts: Facts) -> Block:
    """EXISTS is a join if it finds at most one row, or if duplicates do not matter.

    The same for a comparison with a subquery of at most one row: without a row it is not true.
    """
    for term in block.where:
        rest = but(block.where, term)
        inner = wanted_block(term)
        if inner is not None:
            if inner.group is not None or inner.cuts or block.windowed:
                continue
            if facts.joined_as_set or finds_one(inner, facts):
                return block.joined(inner, rest)
        if not is_call(term, *COMPARED):
            continue
        for side in term.args:
            if not isinstance(side, Sub) or side.kind != "scalar" or not isinstance(side.query, Block):
                continue
            if side.query.plain and finds_one(side.query, facts):
                asked = Call(term.op, swapped(term.args, side, side.query.outputs[0]))
                return block.joined(side.query, (*rest, asked))
    return block


def join_existing_group(block: Block, facts: Facts) -> Block:
    """EXISTS of a group is the joined rows, grouped by the outer tables' keys too.

    Side conditions: every source is a table with a key that is never NULL; there is at most one such group per row, or
    duplicates do not matter; it is the only one of its kind, and nothing else is grouped.
    """
    found = [(term, inner) for term in block.where if (inner := wanted_block(term)) and inner.group and not inner.cuts]
    keys = key_columns(block.sources, facts.world)
    if len(found) != 1 or keys is None or block.lefts or block.group is not None or block.windowed:
        return block
    term, inner = found[0]
    group = inner.group or ()
    if not facts.joined_as_set and not Closure(inner, facts.inside(inner), ()).determines(*group):
        return block
    joined = block.joined(inner, but(block.where, term))
    return replace(joined, group=(*keys, *group), having=inner.having)


def existence_of_own_group(block: Block, facts: Facts) -> Block:
    """EXISTS of a group of the rows that are being grouped is HAVING.

    Side conditions: it groups the same joined rows by the same key, and looks for the row's own key, so that the group
    it finds is the row's own.
    """
    if not block.group or len(block.group) != 1:
        return block
    key = block.group[0]
    for term in block.where:
        inner = wanted_block(term)
        if inner is None or inner.cuts or inner.group is None or len(inner.group) != 1:
            continue
        sides = {key, *inner.group}
        links = [one for one in inner.where if is_call(one, "eq") and set(one.args) == sides]
        if len(links) != 1 or not facts.world.same_values(*links[0].args):
            continue
        rest = but(block.where, term)
        mine = Block(sources=block.sources, lefts=block.lefts, where=rest, outputs=(key,))
        free = replace(inner, where=but(inner.where, links[0]))
        if names({source.id for source in block.sources}, free):
            continue
        moved = facts.matcher.renamed(mine, replace(free, group=None, having=(), outputs=inner.group), free, facts)
        if moved is not None:
            present = Call("notnull", (key,))
            return replace(block, where=(*rest, present), having=(*block.having, *moved.having))
    return block


__all__ = [
    "drop_parent",
    "drop_unused_left",
    "join_existing",
    "left_that_always_matches",
    "left_to_absence",
    "left_to_inner",
    "merge_same_row",
]
