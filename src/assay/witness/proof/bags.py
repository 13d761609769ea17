"""Whether two queries are the same bag of rows: they are if their tables can be paired."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations

from msgspec.structs import replace

from assay.sql.algebra.facts import Facts, Matcher
from assay.sql.algebra.keys import Closure
from assay.sql.algebra.model import (
    ZERO,
    Agg,
    Block,
    Call,
    Combined,
    FullJoin,
    LeftJoin,
    Query,
    Rows,
    Source,
    Term,
    optional,
)
from assay.sql.algebra.parts import but, names, substituted
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import SchemaContext
from assay.witness.proof.outputs import OneGroup, assigned, refines

MOST_STEPS = 12_000
"""The maximum number of pairings of tables that are tried."""

Columns = dict[Term, Term]
Oracle = Callable[[Facts, Term], bool]


class BagMatching(Matcher):
    """Compares queries as bags; comparing them as sets, and subqueries in terms, is left to a subclass."""

    def __init__(self, world: SchemaContext, *, oracle: Oracle | None = None) -> None:
        self.world = world
        self._oracle = oracle
        self._tokens: list[tuple[str, int, Query, Term]] = []
        self._seen: dict[tuple[str, Query, tuple[Term, ...], frozenset[int]], Term] = {}
        self._ordered: Query | None = None
        self._steps = 0

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise UnsupportedSQL("too many ways to pair the tables")

    def pairing(self, one: Query, other: Query, facts: Facts, *, as_set: bool, aligned: bool) -> tuple[int, ...] | None:
        """For each output of the first the index of the equal one in the second; None if equality is not found.

        ``aligned`` requires the same order of columns.
        """
        self._step()
        if self.world.width(one) != self.world.width(other):
            return None
        if isinstance(one, FullJoin) or isinstance(other, FullJoin):
            found = self._full(one, other, facts)
            straight = found is None or found == tuple(range(len(found)))
            return found if straight or not aligned else None
        if isinstance(one, Block) and isinstance(other, Block):
            found = self._blocks(one, other, facts, as_set=as_set, aligned=aligned)
            if found is not None or not (as_set or (self.drops(one) and self.drops(other))):
                return found
            if one.cuts or other.cuts or one is self._ordered:
                # DISTINCT below ORDER BY and LIMIT is a separate query, if it is ordered only by outputs.
                first, second = self._lift(one), self._lift(other)
                if first is None or second is None:
                    return None
                if one is self._ordered:
                    self._ordered = first
                return self._blocks(first, second, facts, as_set=False, aligned=aligned)
        if not isinstance(one, Block) or not isinstance(other, Block):
            found = self._part_by_part(one, other, facts, as_set=as_set, aligned=aligned)
            if found is not None:
                return found
        if as_set or (self.drops(one) and self.drops(other)):
            return self.as_unions(one, other, facts, aligned=aligned)
        return None

    def _lift(self, block: Block) -> Block | None:
        if not block.distinct or any(key.term not in block.outputs for key in block.order):
            return None
        inner = replace(block, order=(), limit=None, offset=0)
        source = self.world.source(query=inner)
        outputs = tuple(self.world.cols(source))
        order = tuple(replace(key, term=outputs[block.outputs.index(key.term)]) for key in block.order)
        return Block(sources=(source,), outputs=outputs, order=order, limit=block.limit, offset=block.offset)

    def _orders(self, count: int, *, aligned: bool) -> Iterator[tuple[int, ...]]:
        same = tuple(range(count))
        yield from [same] if aligned or count > 5 else permutations(same)  # these begin with the same order

    def _full(self, one: Query, other: Query, facts: Facts) -> tuple[int, ...] | None:
        """FULL JOINs of the same two sides, perhaps swapped."""
        if not isinstance(one, FullJoin) or not isinstance(other, FullJoin):
            return None
        for left, right in ((other.left, other.right), (other.right, other.left)):
            first, second = self._source_columns(one.left, left, facts), self._source_columns(one.right, right, facts)
            if first is None or second is None:
                continue
            new = {**first, **second}
            if self._alike(one.on, tuple(substituted(term, new) for term in other.on), Facts(self.world, self)):
                places = {new[col]: index for index, col in enumerate(self.world.both(other))}
                return tuple(places[col] for col in self.world.both(one))
        return None

    def _alike(self, ones: tuple[Term, ...], others: tuple[Term, ...], facts: Facts) -> bool:
        """Whether all of some conditions are true exactly when all of the others are, given the facts."""
        return facts.extended(ones).implies(*others) and facts.extended(others).implies(*ones)

    def _source_columns(self, one: Source, other: Source, facts: Facts) -> Columns | None:
        """The second source's columns in terms of the first's, if the two have the same rows."""
        mine, theirs = self.world.cols(one), self.world.cols(other)
        if one.query is None or other.query is None:
            return dict(zip(theirs, mine, strict=True)) if one.table == other.table else None
        found = self.pairing(one.query, other.query, facts, as_set=False, aligned=False)
        return None if found is None else {theirs[index]: col for index, col in zip(found, mine, strict=True)}

    def _part_by_part(
        self, one: Query, other: Query, facts: Facts, *, as_set: bool, aligned: bool
    ) -> tuple[int, ...] | None:
        if isinstance(one, Rows) and isinstance(other, Rows):
            for order in self._orders(self.world.width(one), aligned=aligned):
                theirs = [tuple(facts.canonical(row[index]) for index in order) for row in other.rows]
                mine = [tuple(facts.canonical(cell) for cell in row) for row in one.rows]
                if sorted(mine, key=repr) == sorted(theirs, key=repr) or (as_set and set(mine) == set(theirs)):
                    return order
            return None
        if not isinstance(one, Combined) or not isinstance(other, Combined):
            return None
        if (one.op, one.all) != (other.op, other.all) or len(one.parts) != len(other.parts):
            return None
        for order in self._orders(self.world.width(one), aligned=aligned):
            if self._parts(one, other, order, facts, as_set=as_set or not one.all):
                return order
        return None

    def _parts(self, one: Combined, other: Combined, order: tuple[int, ...], facts: Facts, *, as_set: bool) -> bool:
        """Whether each part has an equal one, in any order except for EXCEPT, whose first part stays first."""
        left = [self._turned(part, order) for part in other.parts]
        as_set = as_set if one.op == "union" else not one.all
        for place, part in enumerate(one.parts):
            candidates = left[:1] if one.op == "except" and place == 0 else left
            equal = (self.pairing(part, other, facts, as_set=as_set, aligned=True) is not None for other in candidates)
            at = next((index for index, found in enumerate(equal) if found), None)
            if at is None:
                return False
            del left[at]
        return True

    def _turned(self, query: Query, order: tuple[int, ...]) -> Query:
        """The query with its outputs in another order."""
        if isinstance(query, Rows):
            return Rows(tuple(tuple(row[index] for index in order) for row in query.rows))
        if isinstance(query, Combined):
            return replace(query, parts=tuple(self._turned(part, order) for part in query.parts))
        if isinstance(query, FullJoin):
            source = self.world.source(query=query)
            query = Block(sources=(source,), outputs=tuple(self.world.cols(source)))
        return replace(query, outputs=tuple(query.outputs[index] for index in order))

    def _blocks(self, one: Block, other: Block, facts: Facts, *, as_set: bool, aligned: bool) -> tuple[int, ...] | None:
        if (one.group is None) != (other.group is None) or (one.limit, one.offset) != (other.limit, other.offset):
            return None
        if one.distinct != other.distinct and (one.cuts or not as_set):
            return None
        for _, seen, moved in self._moves(one, other, facts):
            found = self._rest(one, moved, seen, aligned=aligned)
            if found is not None:
                return found
        return None

    def _moves(self, one: Block, other: Block, facts: Facts) -> Iterator[tuple[Columns, Facts, Block]]:
        """The second block in the first's columns, for each pairing of tables under which they join the same rows."""
        if len(one.sources) != len(other.sources) or len(one.lefts) != len(other.lefts):
            return
        mine = facts.with_rows(one)
        early = self._early(facts, one) if one.lefts else facts
        for columns in self._source_pairings(one.sources, other.sources, {}, facts):
            for whole in self._left_pairings(one.lefts, other.lefts, columns, early):
                moved = substituted(other, whole)
                self._step()
                if mine.implies(*moved.where):
                    theirs = facts.with_rows(replace(one, where=moved.where))
                    if theirs.implies(*one.where):
                        yield whole, mine, moved

    def _source_pairings(
        self, ones: tuple[Source, ...], others: tuple[Source, ...], columns: Columns, facts: Facts
    ) -> Iterator[Columns]:
        if not ones:
            yield columns
            return
        for other in others:
            self._step()
            found = self._source_columns(ones[0], other, facts)
            if found is not None:
                yield from self._source_pairings(ones[1:], but(others, other), {**columns, **found}, facts)

    def _left_pairings(
        self, ones: tuple[LeftJoin, ...], others: tuple[LeftJoin, ...], columns: Columns, early: Facts
    ) -> Iterator[Columns]:
        """The ways to pair left joins; ``early`` facts hold for the rows on their left, whatever is joined to these."""
        if not ones:
            yield columns
            return
        one = ones[0]
        for other in others:
            self._step()
            if len(one.sources) != len(other.sources) or len(one.lefts) != len(other.lefts):
                continue
            for inner in self._source_pairings(one.sources, other.sources, columns, early):
                for whole in self._left_pairings(one.lefts, other.lefts, inner, early):
                    if self._same_on(one, other, whole, early):
                        yield from self._left_pairings(ones[1:], but(others, other), whole, early)

    def _same_on(self, one: LeftJoin, other: LeftJoin, columns: Columns, early: Facts) -> bool:
        """Whether two left joins find the same rows for the rows on their left."""
        padded = early.padded - {source.id for source in one.sources}
        facts = early.changed(padded=padded, sources=(*early.sources, *one.sources))
        return self._alike(one.on, tuple(substituted(term, columns) for term in other.on), facts)

    def _early(self, facts: Facts, block: Block) -> Facts:
        """The facts about a block's rows before any left join."""
        joined = optional(block.lefts)
        terms = tuple(term for term in (*facts.terms, *block.where) if not names(joined, term))
        sources = tuple(source for source in (*facts.sources, *block.sources) if source.id not in joined)
        return facts.changed(terms=terms, padded=facts.padded | joined, sources=sources)

    def _rest(self, one: Block, other: Block, seen: Facts, *, aligned: bool) -> tuple[int, ...] | None:
        """The groups, outputs and limit of two blocks that join the same rows, the second in the first's columns."""
        if one.group is not None and other.group is not None:
            if bool(one.group) != bool(other.group):
                return None
            mine, theirs = Closure(one, seen, one.group), Closure(one, seen, other.group)
            if not mine.determines(*other.group) or not theirs.determines(*one.group):
                return None
            seen = self._of_groups(one, seen)
            if not self._alike(one.having, other.having, seen):
                return None
            seen = seen.extended(one.having)
        order = assigned(one.outputs, other.outputs, seen, aligned=aligned)
        needs_order = one.cuts or one is self._ordered
        if order is None or (needs_order and not refines(other.order, one.order, one, seen)):
            return None
        return order

    def _of_groups(self, block: Block, seen: Facts) -> Facts:
        """The facts about groups: with keys, each has a row."""
        if not block.group:
            return OneGroup(self.world, self, seen)
        has_row = Call("lt", (ZERO, Agg("count", ())))
        return seen.changed(terms=(*seen.terms, has_row), grouped=True)

    # the subclass's answer

    def as_unions(self, one: Query, other: Query, facts: Facts, *, aligned: bool) -> tuple[int, ...] | None:
        """The order of columns in which two queries are the same set."""
        raise NotImplementedError

    def drops(self, query: Query) -> bool:
        """Whether no two rows of a query are equal."""
        raise NotImplementedError
