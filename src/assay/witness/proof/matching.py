"""Whether two normalized queries are equivalent: as bags by a pairing of their tables, as sets by two inclusions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from assay.sql.algebra.facts import Facts, block_facts
from assay.sql.algebra.joins import drop_parent, merge_same_row
from assay.sql.algebra.keys import unique_on
from assay.sql.algebra.model import (
    FALSE,
    Block,
    Call,
    Combined,
    LeftJoin,
    Query,
    Source,
    Sub,
    Term,
    is_call,
    parts_of,
    walk,
)
from assay.sql.algebra.parts import but, columns_of, conjuncts, depth, substituted, wanted_block
from assay.witness.proof.bags import BagMatching, Columns
from assay.witness.proof.outputs import assigned


class Matching(BagMatching):
    """Compares queries that share a `SchemaContext`. If it finds two equal, they are; it may miss others."""

    def token(self, kind: str, query: Query, facts: Facts) -> Term:
        """The same term for queries that are equal under the facts."""
        as_set = kind != "scalar"
        seen = (kind, query, facts.terms, facts.padded)
        if seen in self._seen:
            return self._seen[seen]
        found = self._token(kind, query, self._without_subqueries(facts), as_set=as_set)
        self._seen[seen] = found
        return found

    def _token(self, kind: str, query: Query, facts: Facts, *, as_set: bool) -> Term:
        """Compare a query with those that have a token; only with equally nested ones, so that it terminates."""
        deep = depth(query)
        for known_kind, known_deep, known, term in self._tokens:
            alike = known_kind == kind and known_deep == deep
            if not alike or self.pairing(known, query, facts, as_set=as_set, aligned=True) is None:
                continue
            # If a LIMIT leaves a choice open, the first must not allow more than the second, either.
            choice = self.world.open_choice
            if not choice or self.pairing(query, known, facts, as_set=as_set, aligned=True) is not None:
                return term
        own = {one.id for one in walk(query) if isinstance(one, Source)}
        outside = tuple(sorted((col for col in columns_of(query) if col.source not in own), key=repr))
        made = Call(f"query:{kind}:{len(self._tokens)}", outside)
        self._tokens.append((kind, deep, query, made))
        return made

    def _without_subqueries(self, facts: Facts) -> Facts:
        """Facts that can be closed without comparing subqueries."""
        terms = (term for term in facts.terms if not any(isinstance(part, Sub) for part in parts_of(term)))
        return Facts(self.world, self, terms, padded=facts.padded, sources=facts.sources)

    def oracle(self, facts: Facts, wanted: Term) -> bool:
        """Whether the solver finds that a condition follows; False without a solver."""
        return self._oracle is not None and self._oracle(facts, wanted)

    def implied(self, wanted: Block, known: Sequence[Block], facts: Facts) -> bool:
        """Whether a block has a row, given the facts, their sources' rows, and blocks that have one."""
        if wanted.group is not None or wanted.cuts or wanted.windowed:
            return any(self.pairing(one, wanted, facts, as_set=True, aligned=True) is not None for one in known)
        plain = [one for one in known if one.group is None and not one.cuts and not one.windowed]
        whole = Block(sources=())
        for one in plain:
            whole = whole.joined(one, whole.where)
        seen = facts.changed(splits=0).with_rows(whole)
        return next(self._embeddings(wanted, seen.sources, whole.lefts, seen), None) is not None

    def renamed(self, one: Block, other: Block, whole: Block, facts: Facts) -> Block | None:
        """``whole`` in the columns of ``one``, if the rows of ``other`` are the rows of ``one``; otherwise None."""
        for columns, seen, moved in self._moves(one, other, facts):
            if assigned(one.outputs, moved.outputs, seen, aligned=True) is not None:
                return substituted(whole, columns)
        return None

    def equal(self, gold: Query, other: Query, *, ordered: bool) -> bool:
        """Whether every answer of the second query is one that the gold query allows, columns in any order."""
        self._ordered = gold if ordered and not (isinstance(gold, Block) and gold.cuts) else None
        if ordered and not (isinstance(gold, Block) and isinstance(other, Block)):
            return False
        return self.pairing(gold, other, Facts(self.world, self), as_set=False, aligned=False) is not None

    def drops(self, query: Query) -> bool:
        """Whether no two rows of a query are equal."""
        if isinstance(query, Block) and query.distinct:
            return True
        return unique_on(query, list(range(self.world.width(query))), self.world, self)

    def as_unions(self, one: Query, other: Query, facts: Facts, *, aligned: bool) -> tuple[int, ...] | None:
        """Whether each part of either is in a part of the other."""
        ones, others = self._union_parts(one), self._union_parts(other)
        if ones is None or others is None:
            return None
        for order in self._orders(self.world.width(one), aligned=aligned):
            turned = (self._turned(part, order) for part in others)
            theirs = [part for part in turned if isinstance(part, Block)]
            if all(self._covered(part, ones, facts, 3) for part in theirs) and all(
                self._covered(part, theirs, facts, 3) for part in ones
            ):
                return order
        return None

    def _union_parts(self, query: Query) -> list[Block] | None:
        """The blocks that a query is a union of; None if it is not a union of blocks."""
        parts = query.parts if isinstance(query, Combined) and query.op == "union" else (query,)
        blocks = [self._opened(part) for part in parts if isinstance(part, Block)]
        return blocks if len(blocks) == len(parts) else None

    def _opened(self, block: Block) -> Block:
        """The block joined with the rows that EXISTS finds, which is the same as a set, and without parents."""
        if block.group is not None or block.cuts or block.windowed:
            return block
        for term in block.where:
            inner = wanted_block(term)
            if inner is not None and inner.plain:
                return self._opened(block.joined(inner, but(block.where, term)))
        seen = block_facts(self.world, self, block)
        dropped = drop_parent(merge_same_row(block, seen), seen)
        return block if dropped == block else self._opened(dropped)

    def _covered(self, part: Block, parts: Sequence[Block], facts: Facts, splits: int) -> bool:
        """Whether each row of a part is in one of the parts; if a condition is an OR, each of its cases is tried."""
        if (FALSE in part.where and part.group != ()) or any(self._within(part, whole, facts) for whole in parts):
            return True
        for term in part.where:
            if is_call(term, "or") and splits and len(term.args) <= 12:
                rest = but(part.where, term)
                cases = [self._opened(replace(part, where=(*rest, *conjuncts(case)))) for case in term.args]
                return all(self._covered(case, parts, facts, splits - 1) for case in cases)
        return False

    def _within(self, part: Block, whole: Block, facts: Facts) -> bool:
        """Whether each row of the one block is a row of the other: its tables can be mapped into the one's."""
        self._step()
        if any(one.group is not None or one.cuts or one.windowed for one in (part, whole)):
            return self._blocks(whole, part, facts, as_set=True, aligned=True) is not None
        seen = facts.with_rows(part)
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
        """The ways to find the block's rows among the sources' rows, with all its conditions true."""
        if block.lefts and len(lefts) != len(block.lefts):
            return
        early = self._early(seen, Block(sources=(), lefts=lefts, outputs=())) if block.lefts else seen
        for columns in self._into(block.sources, sources, {}, seen):
            for whole in self._left_pairings(lefts, block.lefts, columns, early) if block.lefts else [columns]:
                self._step()
                if seen.implies(*(substituted(term, whole) for term in block.where)):
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


__all__ = ["Matching"]
