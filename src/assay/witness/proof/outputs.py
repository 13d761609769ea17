"""The outputs of two matched blocks: equal terms, keys in order, and the single group that may have no row."""

from __future__ import annotations

from collections.abc import Iterable

from assay.sql.algebra.facts import Facts, Matcher
from assay.sql.algebra.keys import Closure
from assay.sql.algebra.model import Agg, Block, Call, Key, Sub, Term
from assay.sql.algebra.world import SchemaContext
from assay.witness.proof.oracle import available


class OneGroup(Facts):
    """The facts about the single group without keys, which may have no row: aggregates use the facts about its rows."""

    def __init__(self, world: SchemaContext, matcher: Matcher, rows: Facts) -> None:
        self._rows = rows
        super().__init__(world, matcher, (), padded=rows.padded)

    def extended(self, terms: Iterable[Term]) -> Facts:
        """Conditions on the group are not about its rows; they are compared as written."""
        made = OneGroup(self.world, self.matcher, self._rows)
        made.terms = tuple(terms)
        made._atoms = {made.canonical(term) for term in made.terms}
        return made

    def _built(self, term: Term) -> Term:
        if isinstance(term, Agg):
            return self._rows.canonical(term)
        return super()._built(term)


def assigned(ones: tuple[Term, ...], others: tuple[Term, ...], seen: Facts, *, aligned: bool) -> tuple[int, ...] | None:
    """For each of the terms the index of an equal one among the others, each used once."""
    mine, theirs = [seen.canonical(term) for term in ones], [seen.canonical(term) for term in others]
    if len(mine) != len(theirs):
        return None
    found: list[int] = []
    for place, term in enumerate(mine):
        near = [place] if aligned else [place, *range(len(theirs))]
        free = [index for index in dict.fromkeys(near) if index not in found]
        at = next((index for index in free if theirs[index] == term), None)
        if at is None:
            # A term that equals another is left to it.
            open_ = (index for index in free if aligned or theirs[index] not in mine)
            at = next((index for index in open_ if _same_value(ones[place], others[index], seen)), None)
        if at is None:
            return None
        found.append(at)
    return tuple(found)


def _same_value(one: Term, other: Term, seen: Facts) -> bool:
    """Whether a solver finds that two expressions have the same value whenever the facts hold."""
    made = (one, other)
    if any(isinstance(term, Sub) for term in made) or not any(isinstance(term, Call) for term in made):
        return False
    if not available():
        return False
    from assay.witness.proof.solver import value_type

    types = {value_type(term, seen.world) for term in made} - {"null"}
    if len(types) != 1 or "real" in types:  # 5 equals 5.0, and 0.0 equals -0.0, but expressions with them may differ
        return False
    return seen.matcher.oracle(seen, Call("same", made))


def refines(keys: tuple[Key, ...], wanted: tuple[Key, ...], block: Block, seen: Facts) -> bool:
    """Whether rows in the order of ``keys`` are also in the wanted order, with ties broken in some way.

    Keys determined by earlier keys are ignored.
    """
    mine, theirs = _telling(keys, block, seen), _telling(wanted, block, seen)
    return mine[: len(theirs)] == theirs


def _telling(keys: tuple[Key, ...], block: Block, seen: Facts) -> list[tuple[Term, bool, bool]]:
    found: list[tuple[Term, bool, bool]] = []
    before: list[Term] = []
    for key in keys:
        term = seen.canonical(key.term)
        if Closure(block, seen, before).settles(key.term):
            continue
        found.append((term, key.descending, not seen.present(key.term) and key.nulls_first))
        before.append(key.term)
    return found
