"""Groups that contain one row, groups that only drop duplicates, and conditions that can be applied before grouping."""

from __future__ import annotations

from msgspec.structs import replace

from assay.sql.algebra.facts import Facts
from assay.sql.algebra.keys import Closure, key_columns
from assay.sql.algebra.lowering.windows import SO_FAR, UNTIED
from assay.sql.algebra.model import (
    NULL,
    ONE,
    ZERO,
    Agg,
    Block,
    Call,
    Col,
    Const,
    Key,
    Sub,
    Term,
    Window,
    is_call,
    parts_of,
    windows_of,
)
from assay.sql.algebra.parts import (
    columns_of,
    divided,
    has_aggregate,
    leaves_of,
    names,
    outside_subqueries,
    over_all,
    over_late,
)
from assay.sql.algebra.stopping import UnsupportedSQL


def check_determined(block: Block, facts: Facts) -> Block:
    """Refuse a column that a group does not determine: its value may come from any row."""
    if block.group is None:
        return block
    folded = [term for term in block.group if facts.world.kind(term) == "folded"]
    if folded:
        raise UnsupportedSQL("GROUP BY a column whose collation treats different texts as equal")
    closure = Closure(block, facts, block.group)
    own = {source.id for source in block.all_sources}
    free = {leaf for term in block.late_terms for leaf in leaves_of(term) if isinstance(leaf, Col | Sub)}
    needed = [col for part in free for col in columns_of(part) if col.source in own]
    if needed and not (block.group and closure.determines(*needed)):
        raise UnsupportedSQL("a column that GROUP BY does not determine")
    return block


def counts_rows(block: Block) -> bool:
    """Whether duplicates before grouping matter: not to MIN, MAX and aggregates with DISTINCT."""
    return not all(one.distinct or one.op in ("min", "max") for one in aggregates(block))


def aggregates(block: Block) -> frozenset[Agg]:
    """The aggregates that are computed per group."""
    return frozenset(part for term in block.late_terms for part in parts_of(term) if isinstance(part, Agg))


def ungroup(block: Block, facts: Facts) -> Block:
    """Groups of one row each are the rows. Side condition: the keys determine the row of every source."""
    if not block.group:
        return block
    closure = Closure(block, facts, block.group)
    if not closure.determines_rows:
        return block
    rows = over_all(block, lambda term: _of_one_row(term, facts), over_late)
    if rows is None:
        return block
    return replace(rows, group=None, where=(*block.where, *rows.having), having=())


def _of_one_row(term: Term, facts: Facts) -> Term | None:
    """A grouped term over one row; None if an aggregate's value there is not known."""
    if isinstance(term, Agg):
        if term.op == "count":
            return ONE if not term.args or facts.present(term.args[0]) else _counted(term.args[0])
        if term.op == "sum" and facts.world.kind(term.args[0]) in ("integer", "real"):
            return term.args[0]
        return None
    return term if isinstance(term, Sub) else over_all(term, lambda part: _of_one_row(part, facts))


def _counted(term: Term) -> Term:
    return Call("case", (Call("notnull", (term,)), ONE, ZERO))


def groups_to_distinct(block: Block, facts: Facts) -> Block:
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
    """Groups by a table's key without aggregates of it are the table's rows for which the other rows exist.

    Side conditions: the keys determine the table's row, and its key determines them; there is no other left join; the
    outputs are the table's.
    """
    if not block.group or block.having or block.lefts or aggregates(block):
        return block
    closure = Closure(block, facts, block.group)
    kept, rest = divided(block.sources, closure.has_row)
    keys = key_columns(kept, facts.world)
    if not kept or not rest or keys is None or block.windowed:
        return block
    back = Closure(block, facts, keys)
    moving = {source.id for source in rest}
    if names(moving, *block.late_terms) or not back.determines(*block.group):
        return block
    inside, outside = divided(block.where, lambda term: names(moving, term))
    found = Block(sources=rest, where=inside).exists
    return replace(block, sources=kept, where=(*outside, found), group=None)


def having_to_where(block: Block, _: Facts) -> Block:
    """A condition in HAVING without aggregates is a condition in WHERE. Side condition: there are keys."""
    if not block.group:
        return block
    late, early = divided(block.having, has_aggregate)
    return replace(block, where=(*block.where, *early), having=late)


def plain_aggregates(block: Block, facts: Facts) -> Block:
    """MIN and MAX of a value that a group determines are that value; COUNT(DISTINCT) of a unique value is COUNT.

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


def drop_null_test(block: Block, _: Facts) -> Block:
    """WHERE x IS NOT NULL is redundant if only x is aggregated: aggregates ignore NULL.

    Side condition: there is one group, even without rows, and every aggregate is of x itself.
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


def shorten_windows(block: Block, facts: Facts) -> Block:
    """A key of a window's order that is determined by the keys before it and the partition is redundant."""
    if not block.windowed:
        return block

    def shorter(term: Term) -> Term | None:
        if not isinstance(term, Window):
            return term if isinstance(term, Agg) else None
        op, order = term.op, term.order
        frame = "" if term.frame == SO_FAR else term.frame  # no rows tie there
        if op == "lead" and not frame:  # "following" in an order is "preceding" in the reversed order
            op, order = "lag", tuple(Key(key.term, not key.descending, not key.nulls_first) for key in order)
        kept = []
        for place, key in enumerate(order):
            before = (*term.partition, *(other.term for other in order[:place]))
            if not Closure(block, facts, before).settles(key.term):
                kept.append(replace(key, nulls_first=key.nulls_first and not facts.present(key.term)))
        partition = tuple(sorted(term.partition, key=repr))
        return replace(term, op=op, partition=partition, order=tuple(kept), frame=frame)

    return over_late(block, lambda term: outside_subqueries(term, shorter))


def drop_sure_having(block: Block, _: Facts) -> Block:
    """HAVING COUNT(*) > 0 is redundant. Side condition: there are keys, so no group is empty; or the bound
    is below 0."""
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


def check_windows(block: Block, facts: Facts) -> Block:
    """Refuse a window function that distinguishes rows that its keys leave tied."""
    for window in windows_of(block):
        if window.op not in UNTIED and not window.frame.startswith("rows"):
            continue
        if not Closure(block, facts, (*window.partition, *(key.term for key in window.order))).determines_all:
            raise UnsupportedSQL(f"{window.op.upper()} over tied rows")
    return block


def drop_distinct(block: Block, facts: Facts) -> Block:
    """DISTINCT is redundant if no two rows are equal, or if duplicates are dropped outside."""
    if not block.distinct:
        return block
    if any(facts.world.kind(term) == "folded" for term in block.outputs):
        raise UnsupportedSQL("DISTINCT over a column whose collation treats different texts as equal")
    if facts.as_set and not block.cuts:
        return replace(block, distinct=False)
    return replace(block, distinct=False) if Closure(block, facts, block.outputs).determines_all else block


def drop_cut_of_one(block: Block, facts: Facts) -> Block:
    """LIMIT is redundant if there is at most one row."""
    if not block.cuts or block.offset or block.limit == 0:
        return block
    return replace(block, limit=None, order=()) if Closure(block, facts, ()).determines_all else block


__all__ = ["NULL", "Col", "check_determined", "counts_rows"]
