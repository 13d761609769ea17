"""What follows from true conditions: which terms are equal, which cannot be NULL, which other conditions hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from assay.sql.algebra.conditions import between_constants, comparison, is_total, is_truth, rejected
from assay.sql.algebra.model import (
    COMPARED,
    FALSE,
    NULL,
    TRUE,
    Agg,
    Block,
    Call,
    Col,
    Combined,
    Const,
    FullJoin,
    Query,
    Rows,
    Source,
    Sub,
    Term,
    Window,
    is_call,
    optional,
    over,
)
from assay.sql.algebra.parts import but, choices, conjuncts, unwanted_block, wanted_block
from assay.sql.algebra.world import NUMBERS, SchemaContext

_COMMUTATIVE = frozenset({"eq", "ne", "same", "nsame", "add", "mul", "and", "or"})
_MOST_SPLITS = 2
_FIELDS = ("terms", "padded", "sources", "grouped", "splits")


class Matcher(Protocol):
    """Compares the queries inside terms."""

    def token(self, kind: str, query: Query, facts: Facts) -> Term:
        """The same term for queries that are equal given the facts."""
        ...

    def implied(self, wanted: Block, known: Sequence[Block], facts: Facts) -> bool:
        """Whether a block has a row, given the facts, their sources' rows, and blocks that have one."""
        ...

    def renamed(self, one: Block, other: Block, whole: Block, facts: Facts) -> Block | None:
        """``whole`` in the columns of ``one`` if ``other``, its rows, are the rows of ``one``; else None."""
        ...

    def oracle(self, facts: Facts, wanted: Term) -> bool:
        """Whether a solver proves that a condition follows; False without a solver."""
        ...


@lru_cache(maxsize=100_000)
def order_key(term: Term) -> str:
    """Any total order of terms."""
    return repr(term)


class Facts:
    """Conditions that are true of some rows, and what follows from them.

    ``padded``: the numbers of sources whose columns may be NULL because a left join found no row for them.
    """

    as_set = False
    """For a rule: duplicates in the output of the block, to which it is applied, do not matter."""
    joined_as_set = False
    """For a rule: duplicates among the joined rows of the block do not matter."""

    def __init__(
        self,
        world: SchemaContext,
        matcher: Matcher,
        terms: Iterable[Term] = (),
        *,
        padded: frozenset[int] = frozenset(),
        sources: tuple[Source, ...] = (),
        grouped: bool = False,
        splits: int = _MOST_SPLITS,
    ) -> None:
        self.world, self.matcher = world, matcher
        self.terms = tuple(terms)
        self.padded, self.sources, self.grouped = padded, sources, grouped
        self.splits = splits
        self._parent: dict[Term, Term] = {}
        self._canonical: dict[Term, Term] = {}
        self._present: set[Term] = set()
        for term in self.terms:
            self._present |= rejected(term)
        self._close()
        self._atoms = {self.canonical(term) for term in self.terms}
        self._known_present = {self.canonical(term) for term in self._present}
        self.contradictory = self._contradiction()

    def extended(self, terms: Iterable[Term]) -> Facts:
        """These facts and more."""
        return self.changed(terms=(*self.terms, *terms))

    def changed(self, **changes: Any) -> Facts:
        """These facts with other terms, padded sources or other fields."""
        return Facts(self.world, self.matcher, **{name: getattr(self, name) for name in _FIELDS} | changes)

    def with_rows(self, block: Block) -> Facts:
        """These facts, and what is true of a block's rows before they are grouped."""
        return self.changed(
            terms=(*self.terms, *block.where),
            padded=self.padded | optional(block.lefts),
            sources=(*self.sources, *block.sources),
            grouped=False,
        )

    def inside(self, block: Block) -> Facts:
        """What is true of a subquery's rows before they are grouped. Its outer rows may be missing as these may."""
        return Facts(self.world, self.matcher, padded=self.padded).with_rows(block)

    # one value

    def _find(self, term: Term) -> Term:
        while term in self._parent:
            term = self._parent[term]
        return term

    def _close(self) -> None:
        """Merge terms that equalities make one value, until their functions are merged too."""
        for _ in range(len(self.terms) + 2):
            merged = False
            for term in self.terms:
                pair = self._merging(term)
                if pair is None:
                    continue
                one, other = (self.canonical(side) for side in pair)
                if one != other and not (isinstance(one, Const) and isinstance(other, Const)):
                    keep, drop = sorted((one, other), key=lambda side: (not isinstance(side, Const), order_key(side)))
                    self._parent[drop] = keep
                    self._canonical.clear()
                    merged = True
            if not merged:
                return

    def _merging(self, term: Term) -> tuple[Term, Term] | None:
        """The two terms that a condition makes one value.

        Side condition: if they are equal, they are identical: of one type, and not folded by a collation.
        """
        if is_call(term, "isnull"):
            return term.args[0], NULL
        if is_call(term, "eq", "same") and self.world.same_values(*term.args):
            return term.args[0], term.args[1]
        return None

    def canonical(self, term: Term) -> Term:
        """The term with one chosen term per value, and commutative operators sorted."""
        found = self._canonical.get(term)
        if found is None:
            found = self._find(self._built(term))
            self._canonical[term] = found
        return found

    def _built(self, term: Term) -> Term:
        if isinstance(term, Sub):
            return self.matcher.token(term.kind, self.seen_from_inside(term.query), self)
        built = over(term, self.canonical)
        if isinstance(built, Agg):
            return self._aggregate(built)
        if isinstance(built, Call):
            if built.op in _COMMUTATIVE:
                built = Call(built.op, tuple(sorted(built.args, key=order_key)))
            if built.op in COMPARED and NULL not in built.args:
                return comparison(built.op, *built.args)
            if built.op in ("and", "or"):
                args = tuple(dict.fromkeys(built.args))
                return args[0] if len(args) == 1 and is_truth(args[0]) else Call(built.op, args)
            if built.op == "coalesce" and built.args and self._is_present(built.args[0]):
                return built.args[0]
            if built.op == "nullif" and self._family(built.args[0]) == self._family(built.args[1]) != "":
                return Call("case", (Call("eq", built.args), NULL, built.args[0]))
            if built.op == "case" and len(built.args) == 3:
                return _null_spelt_out(built)
        return built

    def seen_from_inside(self, query: Query) -> Query:
        """A subquery in which outer columns are replaced by the chosen ones."""

        def chosen(term: Term) -> Term:
            return self._find(term) if isinstance(term, Col) else over(term, chosen)

        return over(query, chosen) if self._parent else query

    def _aggregate(self, agg: Agg) -> Term:
        """COUNT of a term that cannot be NULL counts rows; MIN and MAX ignore duplicates."""
        if agg.op in ("min", "max") and agg.distinct:
            agg = Agg(agg.op, agg.args)
        if agg.op == "count" and agg.args and not agg.distinct and self._is_present(agg.args[0]):
            return Agg("count", ())
        return agg

    # not NULL

    def present(self, term: Term) -> bool:
        """Whether a term cannot be NULL."""
        return self._is_present(term) or self._is_present(self.canonical(term))

    def _is_present(self, term: Term) -> bool:
        if isinstance(term, Const):
            return term.kind != "null"
        known = getattr(self, "_known_present", self._present)
        if term in known or term in self._present:
            return True
        if isinstance(term, Col):
            return self._column_present(term) or any(
                isinstance(one, Col) and self._find(one) == term and (one in self._present or self._column_present(one))
                for one in tuple(self._parent)
            )
        if isinstance(term, Agg):
            return term.op == "count" or (
                self.grouped and term.op in ("min", "max", "sum", "avg") and self._is_present(term.args[0])
            )
        if isinstance(term, Sub):
            return term.kind == "exists" or output_present(self.world, self.matcher, term.query, 0, single=True)
        if isinstance(term, Window):
            return False
        if term.op in ("isnull", "notnull", "same", "nsame"):
            return True
        if term.op == "coalesce":
            return any(self._is_present(arg) for arg in term.args)
        if term.op == "case":
            return all(map(self._is_present, choices(term)))
        return is_total(term, self.world) and all(self._is_present(arg) for arg in term.args)

    def _column_present(self, col: Col) -> bool:
        if col.source in self.padded:
            return False
        source = self.world.sources[col.source]
        known = self.world.facts(source)
        if known is not None:
            return col.name in known.not_null
        return source.query is not None and output_present(self.world, self.matcher, source.query, int(col.name))

    # what follows

    def _contradiction(self) -> bool:
        return NULL in self._known_present or any(map(self._is_impossible, self._atoms))

    def _is_impossible(self, atom: Term) -> bool:
        if is_call(atom, "lt", "ne") and (atom.args[0] == atom.args[1] or atom.op == "lt"):
            return atom.args[0] == atom.args[1] or self._reaches(atom.args[1], atom.args[0], strict=False)
        if is_call(atom, "isnull"):
            return self._is_present(atom.args[0])
        return atom in (FALSE, Call("notnull", (NULL,)))

    def implies(self, *terms: Term) -> bool:
        """Whether conditions are true if these are."""
        return all(self.implies_plainly(term) or self.matcher.oracle(self, term) for term in terms)

    def _by_cases(self, term: Term) -> bool:
        for known in self.terms if self.splits else ():
            if is_call(known, "or") and len(known.args) <= 8:
                rest = but(self.terms, known)
                cases = (self.changed(terms=(*rest, *conjuncts(part)), splits=self.splits - 1) for part in known.args)
                if all(case.implies_plainly(term) for case in cases):
                    return True
        return False

    def implies_plainly(self, term: Term) -> bool:
        """Like `implies`, without asking a solver."""
        return self.contradictory or self._implies(term) or self._by_cases(term)

    def _implies(self, term: Term) -> bool:
        if term == TRUE:
            return True
        if (wanted := wanted_block(term)) is not None:
            return self._exists(wanted)
        if not isinstance(term, Call):
            return self.canonical(term) in self._atoms
        if term.op == "and":
            return all(self._implies(part) for part in term.args)
        if (denied := unwanted_block(term)) is not None:
            return self._absent(denied)
        known = self.canonical(term)
        if known == TRUE or known in self._atoms:
            return True
        if term.op == "or":
            return any(self._implies(part) for part in term.args)
        args = tuple(self.canonical(arg) for arg in term.args)
        if term.op == "notnull":
            return self.present(term.args[0])
        if term.op == "isnull":
            return args[0] == NULL
        if term.op in ("same", "eq", "le") and args[0] == args[1]:
            return term.op == "same" or self.present(term.args[0])
        if term.op == "same":
            return self._implies(Call("eq", term.args))
        if term.op == "ne":
            return self._reaches(*args, strict=True) or self._reaches(args[1], args[0], strict=True)
        return term.op in ("lt", "le") and self._reaches(*args, strict=term.op == "lt")

    def _reaches(self, start: Term, goal: Term, *, strict: bool) -> bool:
        """Whether known comparisons lead from one term up to another, with a strict one if required.

        Side condition: all of them compare numbers, or all compare texts in the same order.
        """
        family = self._family(start)
        if not family or self._family(goal) != family:
            return False
        known = [atom for atom in self._atoms if is_call(atom, "lt", "le", "eq")]
        edges = [(atom.args[0], atom.args[1], atom.op == "lt") for atom in known]
        edges += [(atom.args[1], atom.args[0], False) for atom in known if atom.op == "eq"]
        values = {one for one in (start, goal, *(arg for atom in known for arg in atom.args)) if isinstance(one, Const)}
        todo, seen = [(start, False)], set()
        while todo:
            at, passed = todo.pop()
            if (at, passed) in seen:
                continue
            seen.add((at, passed))
            if at == goal and (passed or not strict):
                return True
            todo += [(up, passed or below) for low, up, below in edges if low == at and self._family(up) == family]
            if isinstance(at, Const):
                todo += [(up, True) for up in values if up != at and self._below(at, up)]
        return False

    def _below(self, one: Const, other: Const) -> bool:
        if one.kind == other.kind == "text":
            return self.world.dialect in ("sqlite", "duckdb") and one.text < other.text
        return between_constants("lt", one, other) is True

    def _family(self, term: Term) -> str:
        kind = self.world.kind(term)
        return "number" if kind in NUMBERS else kind if kind not in ("any", "folded") else ""

    def _exists(self, wanted: Block) -> bool:
        known = [block for term in self.terms if (block := wanted_block(term)) is not None]
        return self.matcher.implied(wanted, known, self)

    def _absent(self, wanted: Block) -> bool:
        """NOT EXISTS follows from that of a block which has a row if this one has."""
        denied = [block for term in self.terms if (block := unwanted_block(term)) is not None]
        return any(self.matcher.implied(block, [wanted], self) for block in denied)


Rule: TypeAlias = Callable[[Block, Facts], Block]
"""Returns the block in another form, or the block itself; the first line of its docstring describes the rule."""


def _null_spelt_out(case: Call) -> Call:
    """CASE WHEN x IS NULL THEN y ELSE x END is COALESCE(x, y)."""
    condition, yes, no = case.args
    if is_call(condition, "isnull", "notnull"):
        kept, other = (no, yes) if condition.op == "isnull" else (yes, no)
        if kept == condition.args[0]:
            return Call("coalesce", (kept, other))
    return case


def output_present(world: SchemaContext, matcher: Matcher, query: Query, place: int, *, single: bool = False) -> bool:
    """Whether an output of a query cannot be NULL; with ``single``, also not because a row is missing."""
    if isinstance(query, Block):
        if single and not (query.group == () and not query.having and not query.cuts):
            return False
        return block_facts(world, matcher, query, grouped=bool(query.group)).present(query.outputs[place])
    if single or isinstance(query, FullJoin):
        return False
    if isinstance(query, Combined):
        parts = query.parts if query.op == "union" else query.parts[:1]
        return all(output_present(world, matcher, part, place) for part in parts)
    assert isinstance(query, Rows)
    return all(isinstance(row[place], Const) and row[place] != NULL for row in query.rows)


def block_facts(world: SchemaContext, matcher: Matcher, block: Block, *, grouped: bool = False) -> Facts:
    """What is true of a block's rows before they are grouped; with ``grouped``, of groups that have rows."""
    return Facts(world, matcher, block.where, padded=optional(block.lefts), sources=block.sources, grouped=grouped)
