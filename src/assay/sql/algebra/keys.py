"""What determines what: keys, functional dependencies, and whether a query returns duplicates."""

from __future__ import annotations

from collections.abc import Iterable

from assay.sql.algebra.facts import Facts, Matcher, block_facts
from assay.sql.algebra.literals import equated
from assay.sql.algebra.model import Agg, Block, Call, Col, Combined, Const, LeftJoin, Query, Rows, Source, Sub, Term
from assay.sql.algebra.parts import columns_of
from assay.sql.algebra.world import NUMBERS, SchemaContext


class Closure:
    """All that some terms determine in the joined rows of a block."""

    def __init__(self, block: Block, facts: Facts, start: Iterable[Term]) -> None:
        self._facts, self._world = facts, facts.world
        self._block = block
        self._own = {source.id for source in block.all_sources}
        self._known = {facts.canonical(term) for term in start}
        self._rows: set[int] = set()
        self._grow()

    def determines(self, *terms: Term) -> bool:
        """Whether each of the terms has one value for given values of the start."""
        return all(self._determines(term) for term in terms)

    def _determines(self, term: Term) -> bool:
        known = self._facts.canonical(term)
        return known in self._known or self._by_parts(known) or self._by_parts(term)

    def _by_parts(self, term: Term) -> bool:
        if term in self._known or isinstance(term, Const):
            return True
        if isinstance(term, Col):
            return (
                term.source not in self._own or term.source in self._rows or self._facts.canonical(term) in self._known
            )
        if isinstance(term, Call):
            return all(self._by_parts(arg) for arg in term.args)
        if isinstance(term, Sub):
            return all(self._by_parts(col) for col in columns_of(term) if col.source in self._own)
        return False

    @property
    def determines_all(self) -> bool:
        """Whether the start determines an output row of the block: the row of every source, or the group."""
        return self.determines_rows if self._block.group is None else self.determines(*self._block.group)

    def settles(self, term: Term) -> bool:
        """Whether output rows of the block that the start leaves tied are tied in a term too."""
        return self.determines(term) or (self._block.group is not None and self.determines_all)

    @property
    def determines_rows(self) -> bool:
        """Whether the start determines the row of every source."""
        return self._rows >= self._own

    def has_row(self, source: Source) -> bool:
        """Whether the start determines the source's row."""
        return source.id in self._rows

    def _grow(self) -> None:
        growing = True
        while growing:
            before = (len(self._rows), len(self._known))
            for source in self._block.all_sources:
                if source.id not in self._rows and self._row_known(source, self._facts):
                    self._rows.add(source.id)
            for left in self._block.lefts:
                self._grow_left(left)
            self._convert()
            growing = before != (len(self._rows), len(self._known))

    def _row_known(self, source: Source, facts: Facts) -> bool:
        """A source's row is known if a key of it is known whose columns are never NULL in a row of it."""
        table = self._world.facts(source)
        if table is None:
            return source.query is not None and self._query_row_known(source, source.query)
        for key in table.keys:
            cols = [Col(source.id, name) for name in key]
            if self.determines(*cols) and all(col.name in table.not_null or facts.present(col) for col in cols):
                return True
        return False

    def _query_row_known(self, source: Source, query: Query) -> bool:
        places = [place for place, col in enumerate(self._world.cols(source)) if self.determines(col)]
        return unique_on(query, places, self._world, self._facts.matcher)

    def _grow_left(self, left: LeftJoin) -> None:
        """A left join's row is known if its condition finds at most one row and the condition's terms are known.

        Side condition: every outer column of the condition is determined.
        """
        if left.ids <= self._rows:
            return
        outside = {col for term in left.on for col in columns_of(term) if col.source in self._own - left.ids}
        if self.determines(*outside) and at_most_one(left, self._facts):
            self._rows |= left.ids

    def _convert(self) -> None:
        """A number is determined by the text that it equals, since reading a text as a number has one result."""
        for term in self._facts.terms:
            sides = equated(term)
            if sides is None or self._world.dialect != "sqlite":
                continue
            for one, other in (sides, sides[::-1]):
                stored = self._world.is_stored(one) and self._world.is_stored(other)
                kinds = self._world.kind(one), self._world.kind(other)
                if stored and kinds[0] == "text" and kinds[1] in NUMBERS and self.determines(one):
                    self._known.add(self._facts.canonical(other))


def at_most_one(left: LeftJoin, facts: Facts) -> bool:
    """Whether a left join finds at most one row for each row on its left."""
    return Closure(left.block, block_facts(facts.world, facts.matcher, left.block), ()).determines_rows


def key_columns(sources: Iterable[Source], world: SchemaContext) -> tuple[Term, ...] | None:
    """Columns that identify the sources' rows; None if a source has no key without NULL."""
    found: list[Term] = []
    for source in sources:
        table = world.facts(source)
        key = next((key for key in table.keys if set(key) <= table.not_null), None) if table else None
        if key is None:
            return None
        found += [Col(source.id, name) for name in key]
    return tuple(found)


def unique_on(query: Query, places: list[int], world: SchemaContext, matcher: Matcher) -> bool:
    """Whether no two rows of a query agree in the outputs at these positions."""
    if isinstance(query, Rows):
        return len(query.rows) == 1
    if isinstance(query, Combined):
        if not query.all and len(places) == world.width(query):
            return True
        return query.op != "union" and unique_on(query.parts[0], places, world, matcher)
    if not isinstance(query, Block):
        return False
    if query.group == () or query.limit in (0, 1):
        return True
    closure = Closure(query, block_facts(world, matcher, query), [query.outputs[place] for place in places])
    return closure.determines_all or (query.distinct and closure.determines(*query.outputs))


def finds_one(inner: Block, facts: Facts) -> bool:
    """Whether a subquery without groups joins at most one row."""
    return Closure(inner, facts.inside(inner), ()).determines_rows


__all__ = ["Agg", "Closure", "at_most_one", "finds_one", "unique_on"]
