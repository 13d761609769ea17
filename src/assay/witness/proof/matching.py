"""Are two queries in normal form one and the same? As bags by a pairing of their tables, as sets by two inclusions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

from assay.sql.normal.algebra import (
    FALSE,
    Agg,
    Block,
    Call,
    Col,
    Combined,
    Const,
    FullJoin,
    Key,
    LeftJoin,
    Query,
    Rows,
    Source,
    Sub,
    Term,
    columns_of,
    left_sources,
    over_block,
    over_source,
    parts_of,
    query_columns,
    query_substituted,
    substituted,
)
from assay.sql.normal.facts import Facts
from assay.sql.normal.joins import drop_parent, merge_same_row
from assay.sql.normal.keys import Closure, unique_on
from assay.sql.normal.stopping import NotCovered
from assay.sql.normal.world import World

MOST_STEPS = 4_000
"""How many pairings of tables are tried."""

Columns = dict[Term, Term]
Oracle = Callable[[Facts, Term], bool]


class Matching:
    """Compares queries that share a `World`. What it says is equal is; what it does not may be equal all the same."""

    def __init__(self, world: World, *, oracle: Oracle | None = None) -> None:
        self.world = world
        self._oracle = oracle
        self._tokens: list[tuple[str, Query, Term]] = []
        self._seen: dict[tuple[str, Query, tuple[Term, ...], frozenset[int]], Term] = {}
        self._ordered: Query | None = None
        self._steps = 0

    # what facts ask

    def token(self, kind: str, query: Query, facts: Facts) -> Term:
        """The same term for queries that are equal where the facts hold."""
        as_set = kind != "scalar"
        seen = (kind, query, facts.terms, facts.padded)
        if seen in self._seen:
            return self._seen[seen]
        found = self._token(kind, query, self._without_subqueries(facts), as_set=as_set)
        self._seen[seen] = found
        return found

    def _token(self, kind: str, query: Query, facts: Facts, *, as_set: bool) -> Term:
        for known_kind, known, term in self._tokens:
            if known_kind == kind and self.pairing(known, query, facts, as_set=as_set, aligned=True) is not None:
                return term
        own = {source.id for source in self._inside(query)}
        outside = tuple(sorted((col for col in query_columns(query) if col.source not in own), key=repr))
        made = Call(f"query:{kind}:{len(self._tokens)}", outside)
        self._tokens.append((kind, query, made))
        return made

    def _without_subqueries(self, facts: Facts) -> Facts:
        """Facts that can be closed without comparing subqueries."""
        terms = [term for term in facts.terms if not any(isinstance(part, Sub) for part in parts_of(term))]
        return Facts(self.world, self, terms, padded=facts.padded, sources=facts.sources)

    def oracle(self, facts: Facts, wanted: Term) -> bool:
        """Whether the solver finds that a condition follows; False where there is none."""
        return self._oracle is not None and self._oracle(facts, wanted)

    def implied(self, wanted: Block, known: Sequence[Block], facts: Facts) -> bool:
        """Whether a block has a row, given the facts, their sources' rows, and blocks that have one."""
        if wanted.group is not None or wanted.cuts or wanted.windowed:
            return any(self.pairing(one, wanted, facts, as_set=True, aligned=True) is not None for one in known)
        plain = [one for one in known if one.group is None and not one.cuts and not one.windowed]
        terms = [term for one in plain for term in one.where if term not in facts.terms]
        padded = frozenset(source.id for one in plain for source in left_sources(one.lefts))
        seen = Facts(
            self.world,
            self,
            (*facts.terms, *terms),
            padded=facts.padded | padded,
            sources=(*facts.sources, *(source for one in plain for source in one.sources)),
            splits=0,
        )
        lefts = tuple(left for one in plain for left in one.lefts)
        return next(self._embeddings(wanted, seen.sources, lefts, seen), None) is not None

    def renamed(self, one: Block, other: Block, whole: Block, facts: Facts) -> Block | None:
        """``whole`` in the columns of ``one``, where ``other``, its rows, are the rows of ``one``; else None."""
        for columns, seen, moved in self._moves(one, other, facts):
            if assigned(one.outputs, moved.outputs, seen, aligned=True) is not None:
                return over_block(whole, lambda term, new=columns: substituted(term, new))  # type: ignore[misc]
        return None

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise NotCovered("too many ways to pair the tables")

    def _inside(self, query: Query) -> Iterator[Source]:
        """Every source inside of a query, at any level."""
        if isinstance(query, Combined):
            for part in query.parts:
                yield from self._inside(part)
            return
        if isinstance(query, Rows):
            return
        own = [query.left, query.right] if isinstance(query, FullJoin) else list(self.world.all_sources(query))
        for source in own:
            yield source
            if source.query is not None:
                yield from self._inside(source.query)
        if isinstance(query, Block):
            terms = [
                *query.where,
                *(query.group or ()),
                *query.having,
                *query.outputs,
                *(key.term for key in query.order),
            ]
            terms += [term for left in query.lefts for term in left.on]
            for term in terms:
                yield from self._inside_term(term)

    def _inside_term(self, term: Term) -> Iterator[Source]:
        if isinstance(term, Sub):
            yield from self._inside(term.query)
        elif isinstance(term, Call | Agg):
            for arg in term.args:
                yield from self._inside_term(arg)

    def equal(self, gold: Query, other: Query, *, ordered: bool) -> bool:
        """Whether every answer of the second query is one that gold allows, columns in any order."""
        self._ordered = gold if ordered and not (isinstance(gold, Block) and gold.cuts) else None
        if ordered and not (isinstance(gold, Block) and isinstance(other, Block)):
            return False
        return self.pairing(gold, other, Facts(self.world, self), as_set=False, aligned=False) is not None

    # queries

    def pairing(self, one: Query, other: Query, facts: Facts, *, as_set: bool, aligned: bool) -> tuple[int, ...] | None:
        """For each output of the first the equal one's place in the second; None where equality is not found.

        ``aligned`` asks for the same order of columns.
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
            if found is not None or not (as_set or (self._drops(one) and self._drops(other))):
                return found
            if one.cuts or other.cuts or one is self._ordered:
                return self._lifted(one, other, facts, aligned=aligned)
        if not isinstance(one, Block) or not isinstance(other, Block):
            found = self._part_by_part(one, other, facts, as_set=as_set, aligned=aligned)
            if found is not None:
                return found
        if as_set or (self._drops(one) and self._drops(other)):
            return self._as_unions(one, other, facts, aligned=aligned)
        return None

    def _lifted(self, one: Block, other: Block, facts: Facts, *, aligned: bool) -> tuple[int, ...] | None:
        """DISTINCT below ORDER BY and LIMIT is a query of its own, where only outputs are ordered by."""
        first, second = self._lift(one), self._lift(other)
        if first is None or second is None:
            return None
        if one is self._ordered:
            self._ordered = first
        return self._blocks(first, second, facts, as_set=False, aligned=aligned)

    def _lift(self, block: Block) -> Block | None:
        if not block.distinct or any(key.term not in block.outputs for key in block.order):
            return None
        inner = replace(block, order=(), limit=None, offset=0)
        source = self.world.source(query=inner)
        outputs = tuple(Col(source.id, str(place)) for place in range(len(block.outputs)))
        order = tuple(replace(key, term=outputs[block.outputs.index(key.term)]) for key in block.order)
        return Block(sources=(source,), outputs=outputs, order=order, limit=block.limit, offset=block.offset)

    def _orders(self, count: int, *, aligned: bool) -> Iterator[tuple[int, ...]]:
        yield tuple(range(count))
        if not aligned and 1 < count <= 5:
            yield from (one for one in permutations(range(count)) if one != tuple(range(count)))

    def _full(self, one: Query, other: Query, facts: Facts) -> tuple[int, ...] | None:
        """FULL JOINs of the same two sides, perhaps the other way round."""
        if not isinstance(one, FullJoin) or not isinstance(other, FullJoin):
            return None
        for left, right in ((other.left, other.right), (other.right, other.left)):
            first, second = self._source_columns(one.left, left, facts), self._source_columns(one.right, right, facts)
            if first is None or second is None:
                continue
            new = {**first, **second}
            on = tuple(substituted(term, new) for term in other.on)
            mine, theirs = Facts(self.world, self, one.on), Facts(self.world, self, on)
            if all(mine.implies(term) for term in on) and all(theirs.implies(term) for term in one.on):
                places = [col for source in (other.left, other.right) for col in self._columns(source)]
                targets: list[Term] = [col for source in (one.left, one.right) for col in self._columns(source)]
                back = {new[col]: place for place, col in enumerate(places)}
                return tuple(back[col] for col in targets)
        return None

    def _columns(self, source: Source) -> list[Col]:
        return [Col(source.id, name) for name in self.world.columns(source)]

    def _source_columns(self, one: Source, other: Source, facts: Facts) -> Columns | None:
        """The second source's columns in terms of the first's, where the two hold the same rows."""
        if one.table or other.table:
            if one.table != other.table:
                return None
            return {Col(other.id, name): Col(one.id, name) for name in self.world.columns(one)}
        assert one.query is not None
        assert other.query is not None
        found = self.pairing(one.query, other.query, facts, as_set=False, aligned=False)
        if found is None:
            return None
        return {Col(other.id, str(theirs)): Col(one.id, str(mine)) for mine, theirs in enumerate(found)}

    def _part_by_part(
        self, one: Query, other: Query, facts: Facts, *, as_set: bool, aligned: bool
    ) -> tuple[int, ...] | None:
        if isinstance(one, Rows) and isinstance(other, Rows):
            for order in self._orders(self.world.width(one), aligned=aligned):
                theirs = [tuple(facts.canonical(row[place]) for place in order) for row in other.rows]
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
        """Whether each part has its equal, in any order but for EXCEPT, whose first part stays first."""
        left = [self._turned(part, order) for part in other.parts]
        if any(part is None for part in left):
            return False
        as_set = as_set if one.op == "union" else not one.all
        for place, part in enumerate(one.parts):
            candidates = left[:1] if one.op == "except" and place == 0 else list(left)
            found = next(
                (
                    candidate
                    for candidate in candidates
                    if candidate is not None
                    and self.pairing(part, candidate, facts, as_set=as_set, aligned=True) is not None
                ),
                None,
            )
            if found is None:
                return False
            left.remove(found)
        return True

    def _turned(self, query: Query, order: tuple[int, ...]) -> Query | None:
        """The query with its outputs in another order."""
        if order == tuple(range(len(order))):
            return query
        if isinstance(query, Block):
            return replace(query, outputs=tuple(query.outputs[place] for place in order))
        if isinstance(query, Rows):
            return Rows(tuple(tuple(row[place] for place in order) for row in query.rows))
        if isinstance(query, Combined):
            parts = [self._turned(part, order) for part in query.parts]
            return Combined(query.op, query.all, tuple(part for part in parts if part is not None))
        return None

    # blocks as bags

    def _blocks(self, one: Block, other: Block, facts: Facts, *, as_set: bool, aligned: bool) -> tuple[int, ...] | None:
        if (one.group is None) != (other.group is None) or (one.limit, one.offset) != (other.limit, other.offset):
            return None
        if one.distinct != other.distinct and (one.cuts or not as_set):
            return None
        for seen, moved in self._pairings(one, other, facts):
            found = self._rest(one, moved, seen, aligned=aligned)
            if found is not None:
                return found
        return None

    def _pairings(self, one: Block, other: Block, facts: Facts) -> Iterator[tuple[Facts, Block]]:
        """The second block in the first's columns, for each pairing of tables under which they join the same rows."""
        for _, seen, moved in self._moves(one, other, facts):
            yield seen, moved

    def _moves(self, one: Block, other: Block, facts: Facts) -> Iterator[tuple[Columns, Facts, Block]]:
        """The second block in the first's columns, for each pairing of tables under which they join the same rows."""
        if len(one.sources) != len(other.sources) or len(one.lefts) != len(other.lefts):
            return
        padded = frozenset(source.id for source in left_sources(one.lefts)) | facts.padded
        sources = (*facts.sources, *one.sources)
        mine = Facts(self.world, self, (*facts.terms, *one.where), padded=padded, sources=sources)
        early = self._early(facts, one) if one.lefts else facts
        for columns in self._source_pairings(one.sources, other.sources, {}, facts):
            for whole in self._left_pairings(one.lefts, other.lefts, columns, early):
                moved = over_block(other, lambda term, new=whole: substituted(term, new))  # type: ignore[misc]
                self._step()
                if not all(mine.implies(term) for term in moved.where):
                    continue
                theirs = Facts(self.world, self, (*facts.terms, *moved.where), padded=padded, sources=sources)
                if all(theirs.implies(term) for term in one.where):
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
                rest = tuple(source for source in others if source is not other)
                yield from self._source_pairings(ones[1:], rest, {**columns, **found}, facts)

    def _left_pairings(
        self, ones: tuple[LeftJoin, ...], others: tuple[LeftJoin, ...], columns: Columns, early: Facts
    ) -> Iterator[Columns]:
        """The ways to pair left joins; ``early`` facts hold of the rows on their left, whatever is joined to these."""
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
                        rest = tuple(left for left in others if left is not other)
                        yield from self._left_pairings(ones[1:], rest, whole, early)

    def _same_on(self, one: LeftJoin, other: LeftJoin, columns: Columns, early: Facts) -> bool:
        """Whether two left joins find the same rows for the rows on their left."""
        on = tuple(substituted(term, columns) for term in other.on)
        sources = (*early.sources, *one.sources)
        padded = early.padded - {source.id for source in one.sources}
        mine = Facts(self.world, self, (*early.terms, *one.on), padded=padded, sources=sources)
        theirs = Facts(self.world, self, (*early.terms, *on), padded=padded, sources=sources)
        return all(mine.implies(term) for term in on) and all(theirs.implies(term) for term in one.on)

    def _early(self, facts: Facts, block: Block) -> Facts:
        """What is true of a block's rows before anything is joined on the left."""
        joined = {source.id for source in left_sources(block.lefts)}
        terms = [term for term in (*facts.terms, *block.where) if not {col.source for col in columns_of(term)} & joined]
        sources = tuple(source for source in (*facts.sources, *block.sources) if source.id not in joined)
        return Facts(self.world, self, terms, padded=facts.padded | joined, sources=sources)

    def _rest(self, one: Block, other: Block, seen: Facts, *, aligned: bool) -> tuple[int, ...] | None:
        """Groups, outputs and cut of two blocks that join the same rows, the second in the first's columns."""
        if one.group is not None and other.group is not None:
            if bool(one.group) != bool(other.group):
                return None
            mine, theirs = Closure(one, seen, one.group), Closure(one, seen, other.group)
            if not all(mine.determines(term) for term in other.group) or not all(
                theirs.determines(term) for term in one.group
            ):
                return None
            seen = self._of_groups(one, seen)
            first, second = seen.extended(one.having), seen.extended(other.having)
            if not all(first.implies(term) for term in other.having) or not all(
                second.implies(term) for term in one.having
            ):
                return None
            seen = first
        order = assigned(one.outputs, other.outputs, seen, aligned=aligned)
        needs_order = one.cuts or one is self._ordered
        if order is None or (needs_order and not refines(other.order, one.order, one, seen)):
            return None
        return order

    def _of_groups(self, block: Block, seen: Facts) -> Facts:
        """What is true of groups: with keys, each has a row."""
        grouped = bool(block.group)
        own = (Call("lt", (Const("integer", "0"), Agg("count", ()))),) if grouped else ()
        terms = seen.terms if grouped else ()
        return (
            Facts(self.world, self, (*terms, *own), padded=seen.padded, sources=seen.sources, grouped=grouped)
            if grouped
            else _Rowless(self.world, self, seen)
        )

    # blocks as sets

    def _drops(self, query: Query) -> bool:
        """Whether no two rows of a query are equal."""
        if isinstance(query, Block) and query.distinct:
            return True
        return unique_on(query, list(range(self.world.width(query))), self.world, self)

    def _as_unions(self, one: Query, other: Query, facts: Facts, *, aligned: bool) -> tuple[int, ...] | None:
        """Whether each part of either is in a part of the other."""
        ones, others = self._union_parts(one), self._union_parts(other)
        if ones is None or others is None:
            return None
        for order in self._orders(self.world.width(one), aligned=aligned):
            turned = [self._turned(part, order) for part in others]
            theirs = [part for part in turned if isinstance(part, Block)]
            if len(theirs) != len(others):
                return None
            if all(self._covered(part, ones, facts, 3) for part in theirs) and all(
                self._covered(part, theirs, facts, 3) for part in ones
            ):
                return order
        return None

    def _union_parts(self, query: Query) -> list[Block] | None:
        """The blocks of which a query is the union; None where it is none of blocks."""
        if isinstance(query, Block):
            return [self._opened(query)]
        if isinstance(query, Combined) and query.op == "union" and all(isinstance(part, Block) for part in query.parts):
            return [self._opened(part) for part in query.parts if isinstance(part, Block)]
        return None

    def _opened(self, block: Block) -> Block:
        """The block with the rows that EXISTS finds joined to it, which is the same as a set, and parents dropped."""
        if block.group is not None or block.cuts or block.windowed:
            return block
        for term in block.where:
            if isinstance(term, Sub) and term.kind == "exists" and isinstance(term.query, Block) and term.query.plain:
                inner = term.query
                rest = tuple(one for one in block.where if one != term)
                return self._opened(
                    replace(
                        block,
                        sources=(*block.sources, *inner.sources),
                        lefts=(*block.lefts, *inner.lefts),
                        where=(*rest, *inner.where),
                    )
                )
        padded = frozenset(source.id for source in left_sources(block.lefts))
        seen = Facts(self.world, self, block.where, padded=padded, sources=block.sources)
        dropped = drop_parent(merge_same_row(block, seen), seen)
        return block if dropped == block else self._opened(dropped)

    def _covered(self, part: Block, parts: Sequence[Block], facts: Facts, splits: int) -> bool:
        """Whether each row of a part is in one of the parts; where a condition is an OR, each of its cases is tried."""
        if (FALSE in part.where and part.group != ()) or any(self._within(part, whole, facts) for whole in parts):
            return True
        for place, term in enumerate(part.where):
            if isinstance(term, Call) and term.op == "or" and splits and len(term.args) <= 12:
                rest = (*part.where[:place], *part.where[place + 1 :])
                cases = [self._opened(replace(part, where=(*rest, *_conjuncts(case)))) for case in term.args]
                return all(self._covered(case, parts, facts, splits - 1) for case in cases)
        return False

    def _within(self, part: Block, whole: Block, facts: Facts) -> bool:
        """Whether each row of the one block is a row of the other: its tables can be mapped into the one's."""
        self._step()
        if any(one.group is not None or one.cuts or one.windowed for one in (part, whole)):
            return self._blocks(whole, part, facts, as_set=True, aligned=True) is not None
        padded = frozenset(source.id for source in left_sources(part.lefts)) | facts.padded
        seen = Facts(
            self.world, self, (*facts.terms, *part.where), padded=padded, sources=(*facts.sources, *part.sources)
        )
        if seen.contradictory:
            return True
        return any(
            assigned(part.outputs, tuple(substituted(term, columns) for term in whole.outputs), seen, aligned=True)
            is not None
            for columns in self._embeddings(whole, seen.sources, part.lefts, seen)
        )

    def _embeddings(
        self, block: Block, sources: tuple[Source, ...], lefts: tuple[LeftJoin, ...], seen: Facts
    ) -> Iterator[Columns]:
        """The ways to find the block's rows among the sources' rows, all its conditions being true of them."""
        if block.lefts and len(lefts) != len(block.lefts):
            return
        early = self._early(seen, Block(sources=(), lefts=lefts, outputs=())) if block.lefts else seen
        for columns in self._into(block.sources, sources, {}, seen):
            for whole in self._left_pairings(lefts, block.lefts, columns, early) if block.lefts else [columns]:
                self._step()
                if all(seen.implies(substituted(term, whole)) for term in block.where):
                    yield whole

    def _into(
        self, wanted: tuple[Source, ...], sources: tuple[Source, ...], columns: Columns, seen: Facts
    ) -> Iterator[Columns]:
        if not wanted:
            yield columns
            return
        for source in sources:
            self._step()
            found = self._source_columns(source, wanted[0], Facts(self.world, self))
            if found is not None:
                yield from self._into(wanted[1:], sources, {**columns, **found}, seen)


class _Rowless(Facts):
    """What is true of the one group without keys, which may have no row: aggregates know what its rows say."""

    def __init__(self, world: World, matching: Matching, rows: Facts) -> None:
        self._rows = rows
        super().__init__(world, matching, (), padded=rows.padded)

    def extended(self, terms: object, *, splits: int | None = None) -> Facts:  # noqa: ARG002 - as in Facts
        """Conditions on the group say nothing of rows; they are compared as they stand."""
        made = _Rowless(self.world, self.matcher, self._rows)  # type: ignore[arg-type]
        made.terms = tuple(terms)  # type: ignore[arg-type]
        made._atoms = {made.canonical(term) for term in made.terms}
        return made

    def _built(self, term: Term) -> Term:
        if isinstance(term, Agg):
            return self._rows.canonical(term)
        return super()._built(term)


def _conjuncts(term: Term) -> tuple[Term, ...]:
    return term.args if isinstance(term, Call) and term.op == "and" else (term,)


def assigned(ones: tuple[Term, ...], others: tuple[Term, ...], seen: Facts, *, aligned: bool) -> tuple[int, ...] | None:
    """For each of the terms the place of an equal one among the others, each used once."""
    mine, theirs = [seen.canonical(term) for term in ones], [seen.canonical(term) for term in others]
    if len(mine) != len(theirs):
        return None
    if aligned:
        return tuple(range(len(mine))) if mine == theirs else None
    found: list[int] = []
    for place, term in enumerate(mine):
        near = [place, *range(len(theirs))]
        at = next((index for index in near if index not in found and theirs[index] == term), None)
        if at is None:
            return None
        found.append(at)
    return tuple(found)


def refines(keys: tuple[Key, ...], wanted: tuple[Key, ...], block: Block, seen: Facts) -> bool:
    """Whether rows in the order of ``keys`` are in the wanted order too, ties in it broken in some way.

    Keys that the ones before them determine say nothing.
    """
    mine, theirs = _telling(keys, block, seen), _telling(wanted, block, seen)
    return mine[: len(theirs)] == theirs


def _telling(keys: tuple[Key, ...], block: Block, seen: Facts) -> list[tuple[Term, bool, bool]]:
    found: list[tuple[Term, bool, bool]] = []
    before: list[Term] = []
    for key in keys:
        term = seen.canonical(key.term)
        if _determined(key.term, before, block, seen):
            continue
        found.append((term, key.descending, not seen.present(key.term) and key.nulls_first))
        before.append(key.term)
    return found


def _determined(term: Term, before: list[Term], block: Block, seen: Facts) -> bool:
    if any(seen.canonical(term) == seen.canonical(one) for one in before):
        return True
    if block.group == ():
        return True
    if block.group is None:
        return Closure(block, seen, before).determines(term)
    keys = Closure(block, seen, before)
    return bool(block.group) and all(keys.determines(one) for one in block.group)


__all__ = ["Matching", "Sub", "assigned", "over_source", "query_substituted", "refines"]
