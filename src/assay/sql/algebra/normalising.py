"""Bring a query into its normal form: apply the rules of this package until none of them changes anything."""

from __future__ import annotations

from msgspec.structs import replace

from assay.sql.algebra.conditions import conjunction
from assay.sql.algebra.facts import Facts, Matcher, Rule
from assay.sql.algebra.flattening import (
    combined_to_block,
    count_distinct_rows,
    filter_below_windows,
    merge_grouped,
    merge_plain,
    merge_plain_in_left,
    merge_trivial,
    prune_outputs,
)
from assay.sql.algebra.grouping import (
    check_determined,
    check_windows,
    counts_rows,
    drop_cut_of_one,
    drop_distinct,
    drop_null_test,
    drop_sure_having,
    groups_to_distinct,
    groups_to_existence,
    having_to_where,
    plain_aggregates,
    shorten_windows,
    ungroup,
)
from assay.sql.algebra.joins import (
    drop_parent,
    drop_unused_left,
    existence_of_own_group,
    join_existing,
    join_existing_group,
    left_that_always_matches,
    left_to_absence,
    left_to_inner,
    merge_same_row,
)
from assay.sql.algebra.lookups import (
    distinct_to_existence,
    full_to_left,
    grouped_left_to_scalar,
    left_groups_to_scalars,
    scalar_to_left,
)
from assay.sql.algebra.model import (
    FALSE,
    NULL,
    TRUE,
    Agg,
    Block,
    Call,
    Combined,
    FullJoin,
    LeftJoin,
    Query,
    Rows,
    Source,
    Sub,
    Term,
    is_call,
    over,
    parts_of,
)
from assay.sql.algebra.parts import but, outside_subqueries, over_late, substituted, unwanted_block, wanted_block
from assay.sql.algebra.regrouping import count_of_present, existence_of_own_row, extremes_to_where, merge_regrouped
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.unions import merged_parts
from assay.sql.algebra.world import SchemaContext

_MOST_ROUNDS = 60


_RULES: tuple[Rule, ...] = (
    merge_plain,
    merge_plain_in_left,
    full_to_left,
    distinct_to_existence,
    scalar_to_left,
    grouped_left_to_scalar,
    left_to_inner,
    left_that_always_matches,
    drop_unused_left,
    left_to_absence,
    join_existing,
    join_existing_group,
    existence_of_own_row,
    existence_of_own_group,
    merge_same_row,
    drop_parent,
    check_determined,
    check_windows,
    shorten_windows,
    drop_null_test,
    having_to_where,
    drop_sure_having,
    extremes_to_where,
    count_of_present,
    plain_aggregates,
    ungroup,
    left_groups_to_scalars,
    groups_to_existence,
    groups_to_distinct,
    drop_distinct,
    drop_cut_of_one,
    filter_below_windows,
    prune_outputs,
    count_distinct_rows,
    merge_grouped,
    merge_regrouped,
    merge_trivial,
)


class Normaliser:
    """Rewrites queries. ``outer`` facts are true of the rows around a subquery."""

    def __init__(self, world: SchemaContext, matcher: Matcher) -> None:
        self.world, self.matcher = world, matcher

    def normal(self, query: Query, *, as_set: bool, outer: Facts | None = None) -> Query:
        """The normal form; with ``as_set``, duplicates do not matter."""
        if isinstance(query, Combined):
            return self._combined(query, as_set=as_set, outer=outer)
        if isinstance(query, Rows):
            rows = tuple(tuple(self._term(cell, outer) for cell in row) for row in query.rows)
            return Rows(tuple(dict.fromkeys(rows)) if as_set else rows)
        if isinstance(query, FullJoin):
            left, right = (self._source(one, as_set=False) for one in (query.left, query.right))
            return FullJoin(left, right, conjunction((self._term(term, outer) for term in query.on), self.world))
        return self._block(query, as_set=as_set, outer=outer)

    def root(self, query: Query, *, ordered: bool) -> Query:
        """The normal form of a whole query, whose order matters only if it is requested, or limits rows."""
        normal = self.normal(query, as_set=False)
        if isinstance(normal, Block) and not ordered and not normal.cuts:
            normal = replace(normal, order=())
        return _unwrapped(normal, self.world)

    def _combined(self, query: Combined, *, as_set: bool, outer: Facts | None) -> Query:
        drops = as_set or not query.all
        parts_as_set = drops if query.op == "union" else not query.all
        parts = [self.normal(part, as_set=parts_as_set, outer=outer) for part in query.parts]
        folded = any(self.world.output_kind(query, place) == "folded" for place in range(self.world.width(query)))
        if query.op != "union":
            if folded:
                raise UnsupportedSQL("INTERSECT or EXCEPT over a folding collation")
            block = combined_to_block(replace(query, parts=tuple(parts)), self.world)
            return self._block(block, as_set=as_set, outer=outer) if isinstance(block, Block) else block
        if drops and folded:
            raise UnsupportedSQL("UNION over a folding collation")
        flat: list[Query] = []
        for part in parts:
            same = isinstance(part, Combined) and part.op == "union" and (drops or part.all)
            flat += part.parts if same and isinstance(part, Combined) else (part,)
        kept = [part for part in flat if not (isinstance(part, Block) and _is_empty(part))]
        kept = kept or flat[:1]
        if not drops:
            kept = merged_parts(kept, self.world, self.matcher, outer)
        if len(kept) == 1 and isinstance(kept[0], Block) and not drops:
            return kept[0]
        return Combined("union", not drops, tuple(kept))

    def _source(self, source: Source, *, as_set: bool, outer: Facts | None = None) -> Source:
        if source.query is None:
            return source
        normal = Source(source.id, "", self.normal(source.query, as_set=as_set, outer=outer))
        self.world.sources[source.id] = normal
        return normal

    def _left(self, left: LeftJoin, outer: Facts | None) -> LeftJoin:
        return LeftJoin(
            tuple(self._source(source, as_set=False) for source in left.sources),
            conjunction((self._term(term, outer) for term in left.on), self.world),
            tuple(self._left(one, outer) for one in left.lefts),
        )

    def _term(self, term: Term, outer: Facts | None) -> Term:
        if isinstance(term, Sub):
            return Sub(term.kind, self.normal(term.query, as_set=term.kind != "scalar", outer=outer))
        return over(term, lambda part: self._term(part, outer))

    def _block(self, block: Block, *, as_set: bool, outer: Facts | None) -> Query:
        joined_as_set = _joined_as_set(block, as_set=as_set)
        block = replace(
            block,
            sources=tuple(self._source(source, as_set=joined_as_set, outer=outer) for source in block.sources),
            having=conjunction(block.having, self.world),
        )
        block = self._with_subqueries(block, outer)
        for _ in range(_MOST_ROUNDS):
            before = block
            block = self._round(block, as_set=as_set, outer=outer)
            if block == before:
                break
        else:
            raise UnsupportedSQL("a query that has too many forms")
        if not block.cuts and block.order and outer is not None:
            block = replace(block, order=())
        return self._distributed(block, as_set=as_set, outer=outer)

    def _distributed(self, block: Block, *, as_set: bool, outer: Facts | None) -> Query:
        """Filtering and projecting a UNION is the UNION of the filtered and projected parts.

        Side conditions: it is the only source, nothing is grouped or limited, and either all rows are kept, or
        duplicates are dropped, or every column is selected.
        """
        source, union = block.only or (None, None)
        if source is None or block.group is not None or block.cuts or block.windowed or block.order:
            return block
        if not isinstance(union, Combined) or union.op != "union":
            return block
        drops = as_set or block.distinct
        if not drops and not union.all:
            if not set(self.world.cols(source)).issubset(block.outputs):
                return block
            drops = True  # distinct rows stay distinct
        parts: list[Query] = []
        for part in union.parts:
            one = self.world.source(query=part)
            new = source.named(self.world.cols(one))
            parts.append(substituted(replace(block, sources=(one,), distinct=False), new))
        self.world.used.add("A filter on UNION is a filter on its parts")
        return self._combined(Combined("union", not drops, tuple(parts)), as_set=as_set, outer=outer)

    def _with_subqueries(self, block: Block, outer: Facts | None) -> Block:
        """The block with its conditions reduced to what must be true, and its subqueries in normal form."""
        where = conjunction(block.where, self.world)
        seen = self._facts(replace(block, where=where), outer)
        block = over_late(block, lambda term: self._term(term, seen))
        return replace(
            block,
            where=conjunction((self._condition(term, where, block, outer) for term in where), self.world),
            lefts=tuple(self._left(left, None) for left in block.lefts),
            group=None if block.group is None else tuple(self._term(term, seen) for term in block.group),
        )

    def _condition(self, term: Term, where: tuple[Term, ...], block: Block, outer: Facts | None) -> Term:
        """A condition's subqueries may use the facts of the other conditions."""
        if not any(isinstance(part, Sub) for part in parts_of(term)):
            return term
        return self._term(term, self._facts(replace(block, where=but(where, term)), outer))

    def _facts(self, block: Block, outer: Facts | None) -> Facts:
        return (outer or Facts(self.world, self.matcher)).with_rows(block)

    def _round(self, block: Block, *, as_set: bool, outer: Facts | None) -> Block:
        """One application of each rule."""
        block = replace(block, where=conjunction(block.where, self.world), having=conjunction(block.having, self.world))
        if block.group != () and (FALSE in block.where or self._facts(block, outer).contradictory):
            return Block(sources=(), where=(FALSE,), outputs=tuple(NULL for _ in block.outputs))
        block = replace(block, where=self._simplified(block, outer))
        seen = self._seen(block, outer, as_set=as_set)
        for rule in _RULES:
            changed = rule(block, seen)
            if changed is block or changed == block:
                continue
            said = (rule.__doc__ or rule.__name__).partition("\n")[0]  # without docstrings (-OO), its name
            self.world.used.add(said.rstrip("."))
            if rule is left_to_absence:
                where = tuple(self._condition(term, changed.where, changed, outer) for term in changed.where)
                changed = replace(changed, where=where)
            block, seen = changed, self._seen(changed, outer, as_set=as_set)
        return block

    def _seen(self, block: Block, outer: Facts | None, *, as_set: bool) -> Facts:
        seen = self._facts(block, outer)
        seen.as_set = as_set
        seen.joined_as_set = _joined_as_set(block, as_set=as_set)
        return seen

    def _simplified(self, block: Block, outer: Facts | None) -> tuple[Term, ...]:
        """The conditions without tests for NULL that the columns themselves decide."""
        declared = self._facts(replace(block, where=()), outer)
        return conjunction((_decided(term, declared) for term in block.where), self.world)


def _joined_as_set(block: Block, *, as_set: bool) -> bool:
    """Whether duplicates among the joined rows do not matter."""
    if block.windowed:
        return False
    if block.group is not None:
        return not counts_rows(block)
    return (as_set and not block.cuts) or block.distinct


def _decided(term: Term, facts: Facts) -> Term:
    """The condition, or one that is true in exactly the same cases."""
    if is_call(term, "and", "or"):
        return over(term, lambda part: _decided(part, facts))
    if is_call(term, "isnull", "notnull") and facts.present(term.args[0]):
        return TRUE if term.op == "notnull" else FALSE
    denied = unwanted_block(term)
    if denied is not None:
        cases = _of_union(denied)
        if cases is not None:
            return Call("and", tuple(Call("not", (case,)) for case in cases.args))
        found = term if denied.group == () else _decided(Sub("exists", denied), facts)
        return FALSE if found == TRUE else TRUE if found == FALSE else term
    block = wanted_block(term)
    if block is None:
        return term
    if block.group == () and not block.cuts:
        return _of_one_group(block)
    if block.group is not None:
        return term
    if FALSE in block.where:
        return FALSE
    if not block.sources and not block.where:
        return TRUE
    return _listed(block) or _of_union(block) or term


def _listed(query: Block) -> Term | None:
    """EXISTS over a list of values is OR."""
    source, listed = query.only or (None, None)
    if source is None or query.cuts or not isinstance(listed, Rows) or len(listed.rows) > 50:
        return None
    asked = Call("and", (TRUE, *query.where))
    return Call("or", tuple(substituted(asked, source.named(row)) for row in listed.rows))


def _of_union(query: Block) -> Call | None:
    """EXISTS over a UNION is EXISTS over one of its parts."""
    source, union = (query.only if query.plain else None) or (None, None)
    if source is None or not isinstance(union, Combined) or union.op != "union":
        return None
    cases: list[Term] = []
    for part in union.parts:
        if not isinstance(part, Block) or part.group is not None or part.cuts or part.windowed:
            return None
        new = source.named(part.outputs)
        where = (*part.where, *(substituted(term, new) for term in query.where))
        cases.append(replace(part, where=where).exists)
    return Call("or", tuple(cases))


def _of_one_group(query: Block) -> Term:
    """EXISTS over the one group that always exists is its HAVING, of the aggregates as subqueries."""

    def value(term: Term) -> Term | None:
        if not isinstance(term, Agg):
            return None
        return Sub("scalar", replace(query, outputs=(term,), having=(), distinct=False, order=()))

    return Call("and", (TRUE, *(outside_subqueries(term, value) for term in query.having)))


def _unwrapped(query: Query, world: SchemaContext) -> Query:
    """The query that a block only passes through."""
    if not isinstance(query, Block) or query.order or not query.plain or query.where or query.only is None:
        return query
    source, inner = query.only
    return inner if query.outputs == tuple(world.cols(source)) else query


def _is_empty(block: Block) -> bool:
    return FALSE in block.having or (FALSE in block.where and block.group != ())


__all__ = ["Normaliser"]
