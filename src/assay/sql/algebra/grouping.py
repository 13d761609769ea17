"""Groups that hold one row, groups that only drop duplicates, and conditions that need not wait for the groups."""

from __future__ import annotations

from msgspec.structs import replace

from assay.sql.algebra.facts import Facts, Seen
from assay.sql.algebra.keys import Closure, free_aggregates, key_columns
from assay.sql.algebra.lower_windows import SO_FAR, UNTIED
from assay.sql.algebra.model import (
    NULL,
    ONE,
    Agg,
    Block,
    Call,
    Col,
    Const,
    Sub,
    Term,
    columns_of,
    has_aggregate,
    is_call,
    is_window,
    names,
    outside_subqueries,
    over_late,
    parts_of,
)
from assay.sql.algebra.stopping import NotCovered


def check_determined(block: Block, facts: Seen) -> Block:
    """Refuse a column that a group does not determine: which row's value it takes is left open."""
    if block.group is None:
        return block
    folded = [term for term in block.group if facts.world.kind(term) == "folded"]
    if folded:
        raise NotCovered("GROUP BY a column whose collation holds different texts equal")
    closure = Closure(block, facts, block.group)
    own = {source.id for source in block.all_sources}
    for term in block.late_terms:
        for part in free_aggregates(term):
            needed = [col for col in columns_of(part) if col.source in own]
            if not all(block.group != () and closure.determines(one) for one in needed):
                raise NotCovered("a column that GROUP BY does not determine")
    return block


def counts_rows(block: Block) -> bool:
    """Whether it matters how often a row occurs before grouping: not to MIN, MAX and aggregates with DISTINCT."""
    return not all(one.distinct or one.op in ("min", "max") for one in aggregates(block))


def aggregates(block: Block) -> frozenset[Agg]:
    """The aggregates that are computed for each group."""
    return frozenset(part for term in block.late_terms for part in parts_of(term) if isinstance(part, Agg))


def ungroup(block: Block, facts: Facts) -> Block:
    """Groups of one row each are the rows. Side condition: the keys determine the row of every source."""
    if not block.group:
        return block
    closure = Closure(block, facts, block.group)
    if not closure.determines_rows:
        return block
    known = {term: one for term in block.late_terms if (one := _of_one_row(term, facts)) is not None}
    if not known.keys() >= set(block.late_terms):
        return block
    rows = over_late(block, known.__getitem__)
    return replace(rows, group=None, where=(*block.where, *rows.having), having=())


def _of_one_row(term: Term, facts: Facts) -> Term | None:
    """A grouped term over one row; None where an aggregate's value there is not known."""
    if isinstance(term, Agg):
        if term.op == "count":
            return ONE if not term.args or facts.present(term.args[0]) else _counted(term.args[0])
        if term.op in ("min", "max"):
            return term.args[0]
        if term.op == "sum" and facts.world.kind(term.args[0]) in ("integer", "real"):
            return term.args[0]
        return None
    if isinstance(term, Call):
        args = tuple(one for arg in term.args if (one := _of_one_row(arg, facts)) is not None)
        return Call(term.op, args) if len(args) == len(term.args) else None
    return term


def _counted(term: Term) -> Term:
    return Call("case", (Call("notnull", (term,)), ONE, Const("integer", "0")))


def groups_to_distinct(block: Block, facts: Seen) -> Block:
    """GROUP BY without aggregates is DISTINCT.

    Side condition: the outputs determine the keys, so two groups are never one row; or duplicates are dropped anyway.
    """
    if not block.group or block.windowed or aggregates(block):
        return block
    if not (facts.as_set or block.distinct):
        closure = Closure(block, facts, block.outputs)
        if not closure.determines(*block.group):
            return block
    return replace(block, group=None, where=(*block.where, *block.having), having=(), distinct=True)


def groups_to_existence(block: Block, facts: Facts) -> Block:
    """Groups by a table's key, of which no aggregate is asked, are the table's rows for which the other rows exist.

    Side conditions: the keys determine the row of the table, and its key determines them; nothing else is joined on the
    left; the outputs are the table's.
    """
    if not block.group or block.having or block.lefts or aggregates(block):
        return block
    closure = Closure(block, facts, block.group)
    kept = tuple(source for source in block.sources if closure.has_row(source))
    rest = tuple(source for source in block.sources if not closure.has_row(source))
    keys = key_columns(kept, facts.world)
    if not kept or not rest or keys is None or block.windowed:
        return block
    back = Closure(block, facts, keys)
    moving = {source.id for source in rest}
    if names(moving, *block.late_terms) or not back.determines(*block.group):
        return block
    inside = tuple(term for term in block.where if names(moving, term))
    found = Sub("exists", Block(sources=rest, where=inside, outputs=(ONE,)))
    outside = tuple(term for term in block.where if term not in inside)
    return replace(block, sources=kept, where=(*outside, found), group=None)


def having_to_where(block: Block, _: Seen) -> Block:
    """A condition in HAVING without aggregates may be asked of the rows. Side condition: there are keys."""
    if not block.group:
        return block
    early = tuple(term for term in block.having if not has_aggregate(term))
    if not early:
        return block
    late = tuple(term for term in block.having if has_aggregate(term))
    return replace(block, where=(*block.where, *early), having=late)


def plain_aggregates(block: Block, facts: Facts) -> Block:
    """MIN and MAX of what a group determines are that value; COUNT(DISTINCT) of what no two rows share is COUNT.

    Side condition of the first: there are keys, so no group is empty.
    """
    if block.group is None:
        return block
    closure = Closure(block, facts, block.group)

    def simpler(term: Term) -> Term | None:
        if not isinstance(term, Agg) or not term.args:
            return None
        if term.op in ("min", "max") and block.group and closure.determines(term.args[0]):
            return term.args[0]
        if term.distinct and Closure(block, facts, (*(block.group or ()), term.args[0])).determines_rows:
            return Agg(term.op, term.args)
        return term

    return over_late(block, lambda term: outside_subqueries(term, simpler))


def drop_null_test(block: Block, _: Seen) -> Block:
    """WHERE x IS NOT NULL says nothing where x is all that is aggregated: aggregates pass over NULL.

    Side condition: there is one group whether it has rows or not, and every aggregate is of x itself.
    """
    if block.group != ():
        return block
    found = aggregates(block)
    if not found or any(isinstance(part, Sub) for term in block.late_terms for part in parts_of(term)):
        return block
    where = tuple(
        term for term in block.where if not (is_call(term, "notnull") and all(one.args == term.args for one in found))
    )
    return replace(block, where=where)


_TURNED = str.maketrans("adfl", "dalf")


def shorten_windows(block: Block, facts: Facts) -> Block:
    """A key of a window's order that the keys before it determine goes, with those of the partition."""
    if not block.windowed:
        return block

    def shorter(term: Term) -> Term | None:
        if not is_window(term):
            return term if isinstance(term, Agg) else None
        _, name, values, parts, flags = term.op.split(":")
        name = name.removesuffix(SO_FAR)  # no rows tie there
        if name == "lead":  # what follows in an order is what stands before in the order turned round
            name, flags = "lag", flags.translate(_TURNED)
        first, count = int(values) + int(parts), len(flags) // 2
        keys, kept = term.args[first:], list(range(count))
        for place in range(count - 1, -1, -1):
            before = (*term.args[int(values) : first], *(keys[one] for one in kept if one < place))
            closure = Closure(block, facts, before)
            grouped = block.group is not None and closure.determines(*block.group)
            if grouped or (block.group is None and closure.determines(keys[place])):
                kept.remove(place)
        told = "".join(flags[place] for place in kept)
        told += "".join("l" if facts.present(keys[place]) else flags[count + place] for place in kept)
        own = (*term.args[: int(values)], *sorted(term.args[int(values) : first], key=repr))
        return Call(f"window:{name}:{values}:{parts}:{told}", (*own, *(keys[place] for place in kept)))

    return over_late(block, lambda term: outside_subqueries(term, shorter))


def drop_sure_having(block: Block, _: Seen) -> Block:
    """HAVING COUNT(*) > 0 says nothing. Side condition: there are keys, so no group is empty; or it is above less."""
    if block.group is None:
        return block

    def says_nothing(term: Term) -> bool:
        if not is_call(term, "lt"):
            return False
        least, count = term.args
        if not isinstance(least, Const) or least.kind != "integer":
            return False
        if not isinstance(count, Agg) or count.op != "count":
            return False
        return int(least.text) < 0 or (least.text == "0" and bool(block.group) and not count.args)

    having = tuple(term for term in block.having if not says_nothing(term))
    return block if having == block.having else replace(block, having=having)


def check_windows(block: Block, facts: Seen) -> Block:
    """Refuse a window function that tells rows apart which its keys leave tied."""
    for term in (*block.outputs, *(key.term for key in block.order)):
        for part in parts_of(term):
            if not is_window(part):
                continue
            _, name, values, *_ = part.op.split(":")
            if name.partition("@")[0] not in UNTIED and "@rows" not in name:
                continue
            closure = Closure(block, facts, part.args[int(values) :])
            total = closure.determines_rows if block.group is None else closure.determines(*block.group)
            if not total:
                raise NotCovered(f"{name.partition('@')[0].upper()} over rows that tie")
    return block


def drop_distinct(block: Block, facts: Seen) -> Block:
    """DISTINCT goes where no two rows are equal, or where duplicates are dropped round it."""
    if not block.distinct:
        return block
    if any(facts.world.kind(term) == "folded" for term in block.outputs):
        raise NotCovered("DISTINCT over a column whose collation holds different texts equal")
    if facts.as_set and not block.cuts:
        return replace(block, distinct=False)
    closure = Closure(block, facts, block.outputs)
    if block.group is None:
        return replace(block, distinct=False) if closure.determines_rows else block
    determined = closure.determines(*block.group)
    return replace(block, distinct=False) if determined else block


def drop_cut_of_one(block: Block, facts: Facts) -> Block:
    """LIMIT goes where there is at most one row."""
    if not block.cuts or block.offset or block.limit == 0:
        return block
    single = block.group == () or (block.group is None and Closure(block, facts, ()).determines_rows)
    if block.group:
        closure = Closure(block, facts, ())
        single = closure.determines(*block.group)
    return replace(block, limit=None, order=()) if single else block


__all__ = ["NULL", "Col", "check_determined", "counts_rows"]
