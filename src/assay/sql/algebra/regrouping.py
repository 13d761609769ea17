"""Groups of groups, and conditions on groups that can be applied to rows."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from assay.sql.algebra.conditions import holds
from assay.sql.algebra.facts import Facts
from assay.sql.algebra.grouping import aggregates
from assay.sql.algebra.literals import linked
from assay.sql.algebra.model import COMPARED, FALSE, NULL, TRUE, ZERO, Agg, Block, Call, Col, Const, Term, is_call
from assay.sql.algebra.parts import (
    but,
    columns_of,
    has_aggregate,
    names,
    outside_subqueries,
    over_all,
    over_late,
    substituted,
    unwanted_block,
    wanted_block,
)
from assay.sql.algebra.world import SchemaContext

_OF_PARTS = {("sum", "sum"): "sum", ("sum", "count"): "count", ("max", "max"): "max", ("min", "min"): "min"}


def extremes_to_where(block: Block, facts: Facts) -> Block:
    """HAVING MAX(x) > c is HAVING of a row with x > c, and HAVING COUNT(x) > 0 is HAVING of a row in which x is not
    NULL.

    Side conditions: there are keys; no other condition is on an aggregate; for MAX and MIN, there is no other aggregate
    and x and c are numbers; for COUNT, every aggregate is of x, and so ignores the rows that are dropped.
    """
    late = [term for term in block.having if has_aggregate(term)]
    if not block.group or block.windowed or len(late) != 1 or not isinstance(late[0], Call) or len(late[0].args) != 2:
        return block
    term = late[0]
    asked = next((one for one in term.args if isinstance(one, Agg)), None)
    limit = next((one for one in term.args if isinstance(one, Const)), None)
    if asked is None or limit is None or len(asked.args) != 1:
        return block
    inner = asked.args[0]
    found = aggregates(block)
    early: Term | None = None
    if asked.op == "count" and term == Call("lt", (ZERO, asked)):
        early = Call("notnull", (inner,)) if all(one.args == asked.args for one in found) else None
    elif term.op in ("lt", "le") and all(one == asked for one in found):
        above = term.args[1] is asked
        numbers = limit.kind in ("integer", "real") and facts.world.kind(inner) in ("integer", "real")
        if numbers and asked.op == ("max" if above else "min"):
            early = Call(term.op, (limit, inner) if above else (inner, limit))
    if early is None:
        return block
    return replace(block, where=(*block.where, early), having=but(block.having, term))


def count_of_present(block: Block, facts: Facts) -> Block:
    """COUNT(x) is COUNT(*) of the rows in which x is not NULL.

    Side conditions: there is one group, even without rows, every aggregate is that COUNT, and the rows are of tables.
    """
    if block.group != () or block.windowed or any(source.query is not None for source in block.sources):
        return block
    found = aggregates(block)
    if len(found) != 1 or (count := next(iter(found))).op != "count" or not count.args or count.distinct:
        return block
    every: dict[Term, Term] = {count: Agg("count", ())}
    counted = over_late(block, lambda term: outside_subqueries(term, every.get))
    return replace(counted, where=(*block.where, _present(count.args[0], facts.world)))


def _present(term: Term, world: SchemaContext) -> Term:
    """The condition for a term not to be NULL; for CASE with one WHEN, its condition."""
    if is_call(term, "case") and len(term.args) == 3:
        condition, value, other = term.args
        if other == NULL and isinstance(value, Const) and value != NULL:
            return holds(condition, world)
    return Call("notnull", (term,))


def merge_regrouped(block: Block, _: Facts) -> Block:
    """Groups of groups are groups: SUM of SUM is SUM, SUM of COUNT is COUNT, MAX of MAX is MAX, MIN of MIN is MIN.

    Side conditions: the grouped query is the only source, has keys and no HAVING, and is neither DISTINCT nor limited;
    the outer keys and conditions are of its keys; for COUNT there are outer keys, so that no group is empty.
    """
    source, inner = block.only or (None, None)
    if source is None or block.group is None or block.windowed:
        return block
    if not isinstance(inner, Block) or not inner.group or inner.having or inner.trims:
        return block
    new = source.named(inner.outputs)
    keys = {term: one for term, one in new.items() if not has_aggregate(one)}
    late = {col for col in new if col not in keys}
    plain = (*block.where, *block.group)
    if any(columns_of(term) & late for term in plain):
        return block
    merged = over_all(block, lambda term: _merged(term, new, late, grouped=bool(block.group)), over_late)
    if merged is None:
        return block
    where, group = (tuple(substituted(term, keys) for term in terms) for terms in (block.where, block.group))
    return replace(merged.over(inner), where=(*inner.where, *where), group=group)


def _merged(term: Term, new: Mapping[Term, Term], late: set[Term], *, grouped: bool) -> Term | None:
    """A term of the outer groups as a term of the rows; None if the two differ."""
    if isinstance(term, Agg):
        inside = new.get(term.args[0]) if len(term.args) == 1 else None
        if isinstance(inside, Agg):
            op = _OF_PARTS.get((term.op, inside.op))
            counts = op in ("sum", "count")
            if op is None or (counts and (term.distinct or inside.distinct)) or (op == "count" and not grouped):
                return None
            return Agg(op, inside.args)
        if term.op not in ("min", "max") or any(columns_of(arg) & late for arg in term.args):
            return None
        return Agg(term.op, tuple(substituted(arg, new) for arg in term.args))
    if isinstance(term, Call):
        return over_all(term, lambda arg: _merged(arg, new, late, grouped=grouped))
    return None if columns_of(term) & late else substituted(term, new)


def existence_of_own_row(block: Block, facts: Facts) -> Block:
    """Conditions on a row of the same table with the same values are conditions on the row itself.

    Side conditions: the conditions only use the equal values, or these contain a key that is never NULL; equal values
    have one spelling; they are not NULL, or NULL counts as equal to NULL.
    """
    where = tuple(_of_own_row(term, block, facts.world) for term in block.where)
    return block if where == block.where else replace(block, where=where)


def _of_own_row(term: Term, block: Block, world: SchemaContext) -> Term:
    denied = unwanted_block(term)
    inside = denied or wanted_block(term)
    if inside is None or len(inside.sources) != 1 or not inside.plain or inside.lefts or not inside.sources[0].table:
        return term
    there = inside.sources[0]
    for own in block.sources:
        asked = _asked_of(own.id, there.id, inside, world) if own.table == there.table else None
        if asked is None:
            continue
        every = Call("and", (TRUE, *asked))
        found = every if denied is None else _not_true(every)
        if found is not None:
            return found
    return term


def _asked_of(own: int, there: int, inside: Block, world: SchemaContext) -> tuple[Term, ...] | None:
    """What EXISTS asks of the row itself; None if it may ask it of another."""
    shared: dict[Term, Term] = {}
    asked: list[Term] = []
    for term in inside.where:
        link = linked(term.args, there) if is_call(term, "eq", "same") else None
        if link is not None and link[1] == Col(own, link[0].name):
            theirs, ours = link
            if world.kind(ours) not in ("integer", "real", "text"):
                return None
            shared[theirs] = ours
            if is_call(term, "eq"):
                asked.append(Call("notnull", (ours,)))
            continue
        asked.append(term)
    if not shared:
        return None
    equal = {term.name for term in shared if isinstance(term, Col)}
    table = world.facts(inside.sources[0])
    if table is not None and any(set(key) <= equal & table.not_null for key in table.keys):
        moved = {Col(there, name): Col(own, name) for name in table.kinds}
        asked = [substituted(term, moved) for term in asked]  # there is no other row
    asked = [substituted(term, shared) for term in asked]
    return None if names({there}, *asked) else tuple(asked)


def _not_true(term: Term) -> Term | None:
    """The condition for one not to be true, that is, to be false or NULL; None if that has no simple form."""
    if not isinstance(term, Call):
        return TRUE if term == FALSE else FALSE if term == TRUE else None
    if term.op in ("and", "or"):
        return over_all(Call("or" if term.op == "and" else "and", term.args), _not_true)
    if term.op in ("isnull", "notnull", "same", "nsame"):
        return Call("not", (term,))
    if term.op in COMPARED and all(isinstance(arg, Col | Const) for arg in term.args):
        nulls = tuple(Call("isnull", (arg,)) for arg in term.args)
        return Call("or", (Call("not", (term,)), *nulls))
    return None
