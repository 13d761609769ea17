"""A prediction with some clauses replaced by the gold query's, to find out by execution which of them are wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import combinations
from typing import Any

from msgspec import Struct

from assay.sql.differences.leaves import leaves_of, numbered_uses, operators_of, renaming_of, sources_of, table_of
from assay.sql.differences.narrowing import Mixture
from assay.sql.differences.parts import QueryParts, SelectParts, Term, inner_of
from assay.sql.differences.reading import ReadPair
from assay.sql.differences.terms import text_of
from assay.sql.expressions import plain_text
from assay.sql.nodes import exp

_CLAUSES: Mapping[str, tuple[str, ...]] = {
    "DISTINCT": ("distinct",),
    "LIMIT": ("limit", "offset"),
    "ORDER BY": ("order",),
    "GROUP BY": ("group",),
    "HAVING": ("having",),
    "WHERE": ("where",),
    "SELECT": ("expressions",),
    "FROM": ("from_", "joins"),
}
_CLAUSE_ARGS = frozenset(arg for args in _CLAUSES.values() for arg in args)
_WHOLE = "set operation"
_WITH = "WITH"
_MOST_CLAUSES = 3
"""A repair of more clauses explains nothing."""
_MOST_UNITS = 12
_MOST_EDITS = 8
"""A repair of more edits is not narrowed."""


class ClauseRepair(Struct, frozen=True, kw_only=True):
    """One clause of the prediction and of the gold query; an empty text if there is none."""

    clause: str
    before: str
    after: str


class RepairedQuery(Struct, frozen=True, kw_only=True):
    """A prediction with some of its clauses replaced."""

    query: str
    is_gold: bool
    """It is the gold query itself, so it need not be executed."""
    clauses: tuple[str, ...]
    """The names of the replaced clauses."""
    _told: Callable[[], tuple[ClauseRepair, ...]]
    _mixed: Callable[[Mixture], RepairedQuery | None]

    @property
    def steps(self) -> tuple[ClauseRepair, ...]:
        """The clauses before and after: written on demand, since few repairs turn out right."""
        return self._told()

    def narrowed(self, is_right: Callable[[str], bool]) -> RepairedQuery:
        """The repair without the edits that are not needed to correct the prediction (`Mixture`)."""
        every = Mixture()
        self._mixed(every)
        smallest, omitted = self, frozenset[int]()
        for edit in range(every.count if 1 < every.count <= _MOST_EDITS else 0):
            mixed = self._mixed(Mixture(omitted | {edit}))
            if mixed is not None and is_right(mixed.query):
                smallest, omitted = mixed, omitted | {edit}
        return smallest


class _Unit(Struct, frozen=True):
    place: int
    """Which SELECT under the set operations; -1: the outermost level."""
    clause: str
    size: int


def repaired_queries(pair: ReadPair) -> Iterator[RepairedQuery]:
    """The prediction with one clause of the gold query, then with two and three, the smallest change first.

    Repairs that select as many columns as the gold query precede all others, which can only be right if the number of
    columns does not matter. Each text occurs once.
    """
    try:
        workshop = _Workshop(pair)
        units = workshop.units()[:_MOST_UNITS]
        chosen = [some for count in range(1, _MOST_CLAUSES + 1) for some in combinations(units, count)]
        chosen.sort(key=lambda some: (not workshop.fits(some), len(some), sum(unit.size for unit in some)))
        seen = set()
        for some in chosen:
            repaired = workshop.repaired(some)
            if repaired is not None and repaired.query not in seen:
                seen.add(repaired.query)
                yield repaired
    except RecursionError:
        return


class _Workshop:
    """Puts clauses of the gold query into a prediction."""

    def __init__(self, pair: ReadPair) -> None:
        self._pair = pair
        self._given, self._kept = pair.bound
        self._gold, self._predicted = self._given.tree, self._kept.tree
        self._dialect = self._given.bound.dialect
        self._ours = leaves_of(self._gold)
        self._theirs = leaves_of(self._predicted)
        self._differing = 0
        """How many clauses differ."""
        self._alike: list[frozenset[str]] = []
        """The equivalent clauses, by the position of the SELECT."""
        self._moves: dict[tuple[int, str, bool], exp.Expr | list[exp.Expr] | None] = {}
        """What `_moved` made, by the position of the SELECT, the argument, and whether it is for the gold query's FROM.
        """
        self._renamings: list[tuple[Mapping[str, str], Mapping[str, str]]] = []
        """By the position of the SELECT: the gold query's aliases in the prediction's FROM, and vice versa."""
        for ours, theirs in zip(self._ours, self._theirs, strict=False):
            golds, own = numbered_uses(self._given, ours, {}), numbered_uses(self._kept, theirs, pair.uses)
            self._renamings.append((renaming_of(golds, own), renaming_of(own, golds)))

    def units(self) -> list[_Unit]:
        """The clauses that differ, the smallest difference first."""
        found: list[_Unit] = []
        gold, predicted = self._pair.gold, self._pair.predicted
        for place, (ours, theirs) in enumerate(zip(gold.selects, predicted.selects, strict=False)):
            left, right = _said(ours), _said(theirs)
            if _rows_of(ours) == _rows_of(theirs):
                right |= {"FROM": left["FROM"], "WHERE": left["WHERE"]}
            differing = [clause for clause in _CLAUSES if left[clause] != right[clause]]
            self._alike.append(frozenset(_CLAUSES) - frozenset(differing))
            found += [_Unit(place, clause, _size(left[clause], right[clause])) for clause in differing]
        if gold.operators != predicted.operators:
            extra = [plain_text(leaf) for leaf in (*self._ours[1:], *self._theirs[1:])]
            found.append(_Unit(-1, _WHOLE, 8 if len(self._ours) == len(self._theirs) else _size(*extra)))
        if gold.operators or predicted.operators:
            left, right = _tail(gold), _tail(predicted)
            found += [
                _Unit(-1, clause, _size(left[clause], right[clause]))
                for clause in left
                if left[clause] != right[clause]
            ]
        withs = [_with_text(tree) for tree in self._trees]
        if withs[0].lower() != withs[1].lower():
            found.append(_Unit(-1, _WITH, _size(*withs)))
        self._differing = len(found)
        return sorted(found, key=lambda unit: unit.size)

    def fits(self, units: Sequence[_Unit]) -> bool:
        """Whether the prediction with these gold clauses selects as many columns as the gold query."""
        ours, theirs = self._pair.gold.selects[0], self._pair.predicted.selects[0]
        selected = any(unit.clause == "SELECT" and unit.place == 0 for unit in units)
        return selected or len(ours.outputs) == len(theirs.outputs)

    @cached_property
    def _gold_text(self) -> str:
        return self._gold.sql(self._dialect)

    @property
    def _trees(self) -> tuple[exp.Query, exp.Query]:
        return self._gold, self._predicted

    def repaired(self, units: Sequence[_Unit], mixture: Mixture | None = None) -> RepairedQuery | None:
        """The prediction with these gold clauses; None if a clause needs a table that is not there.

        ``mixture``: with clauses between the prediction's and these.
        """
        leaves: list[exp.Expr] = []
        for place, theirs in enumerate(self._theirs):
            wanted = [unit.clause for unit in units if unit.place == place]
            leaf = self._mixed(place, wanted, mixture) if wanted else theirs
            if leaf is None:
                return None
            leaves.append(leaf)
        outer = {unit.clause for unit in units if unit.place == -1}
        alone = len(leaves) == 1 and leaves[0].key == self._predicted.key and not outer
        tree = leaves[0] if alone else self._assembled(leaves, outer, mixture)
        if outer & {_WITH} or any(unit.clause == "FROM" for unit in units):
            _take_with(tree, self._gold, self._predicted, replaced=_WITH in outer)
        query = tree.sql(self._dialect)
        is_gold = len(units) == self._differing and query == self._gold_text
        return RepairedQuery(
            query=query,
            is_gold=is_gold,
            clauses=tuple(unit.clause for unit in units),
            _told=partial(self._steps, units, leaves, tree),
            _mixed=partial(self.repaired, units),
        )

    def _steps(self, units: Sequence[_Unit], leaves: Sequence[exp.Expr], tree: exp.Expr) -> tuple[ClauseRepair, ...]:
        steps = []
        for unit in sorted(units, key=lambda one: (one.place < 0, one.place)):
            if unit.place < 0 and unit.clause in (_WHOLE, _WITH):
                steps.append(self._outer_step(unit.clause))
                continue
            sides = (self._predicted, tree) if unit.place < 0 else (self._theirs[unit.place], leaves[unit.place])
            before, after = (self._shown(side, unit.clause) for side in sides)
            steps.append(ClauseRepair(clause=unit.clause, before=before, after=after))
        return tuple(steps)

    def _assembled(self, leaves: Sequence[exp.Expr], outer: set[str], mixture: Mixture | None) -> exp.Expr:
        """The SELECTs under set operations, the prediction's or the gold query's."""
        skeleton = (self._gold if _WHOLE in outer else self._predicted).copy()
        for place, (leaf, made) in enumerate(zip(leaves_of(skeleton), leaves, strict=False)):
            mine = made.copy() if made is self._theirs[place] else made
            if leaf is skeleton:
                skeleton = mine  # type: ignore[assignment]
            else:
                leaf.replace(mine)
        for clause in outer & {"ORDER BY", "LIMIT"}:
            for arg in _CLAUSES[clause]:
                sides = (self._gold.args.get(arg), self._predicted.args.get(arg))
                value = sides[0] if mixture is None else mixture.of(*sides)
                skeleton.set(arg, None if value is None else value.copy())
        return skeleton

    def _outer_step(self, clause: str) -> ClauseRepair:
        if clause == _WITH:
            return ClauseRepair(clause=clause, before=_with_text(self._predicted), after=_with_text(self._gold))
        texts = []
        for tree, leaves in ((self._predicted, self._theirs), (self._gold, self._ours)):
            others = [leaf.sql(self._dialect) for leaf in leaves[1:]] if len(self._ours) != len(self._theirs) else []
            texts.append(" ".join([*operators_of(tree), *others]))
        return ClauseRepair(clause=clause, before=texts[0], after=texts[1])

    def _mixed(self, place: int, wanted: Sequence[str], mixture: Mixture | None) -> exp.Expr | None:
        """One SELECT of the prediction with these gold clauses.

        Unchanged clauses belong to several such SELECTs; their parent is always the prediction's SELECT.
        """
        ours, theirs = self._ours[place], self._theirs[place]
        made = type(theirs)()
        for arg, value in theirs.args.items():
            if arg not in _CLAUSE_ARGS:
                made.args[arg] = value
        golds_from = "FROM" in wanted
        for clause, args in _CLAUSES.items():
            from_gold = clause in wanted or (golds_from and clause in self._alike[place])
            for arg in args:
                given = (ours if from_gold else theirs).args.get(arg)
                if given is not None and clause != "FROM" and from_gold != golds_from:
                    given = self._moved(given, arg, place, to_gold=golds_from)
                    if given is None:
                        return None
                if mixture is not None and clause in wanted:
                    given = self._between(mixture, given, arg, place, is_golds_from=golds_from)
                if given is not None:
                    made.args[arg] = list(given) if isinstance(given, list) else given
        return made

    def _between(self, mixture: Mixture, given: Any, arg: str, place: int, *, is_golds_from: bool) -> Any:
        """A mixture of a gold clause and the prediction's; the gold clause if they cannot be mixed.

        Joins are mixed if both queries read the same tables in the same order.
        """
        predicted = self._theirs[place].args.get(arg)
        if predicted is not None and is_golds_from and arg != "from_":
            predicted = self._moved(predicted, arg, place, to_gold=True)
            if predicted is None:
                return given
        if arg not in ("from_", "joins"):
            if isinstance(given, list) and isinstance(predicted, list):
                return mixture.elements(given, predicted, by_text=True)
            return mixture.of(given, predicted)
        tables = [
            [table_of(source) for source in sources_of(*side)]
            for side in ((self._given, self._ours[place]), (self._kept, self._theirs[place]))
        ]
        if arg == "from_" or not given or not predicted or tables[0] != tables[1] or "" in tables[0]:
            return given
        return mixture.joins(given, predicted)

    def _moved(
        self, given: exp.Expr | list[exp.Expr], arg: str, place: int, *, to_gold: bool
    ) -> exp.Expr | list[exp.Expr] | None:
        """A copy of a clause for the other FROM, shared by the repairs; None if that FROM lacks one of its tables."""
        key = place, arg, to_gold
        if key not in self._moves:
            made = _copied(given)
            fits = all(self._move(node, place, to_gold=to_gold) for node in _listed(made))
            self._moves[key] = made if fits else None
        return self._moves[key]

    def _move(self, node: exp.Expr, place: int, *, to_gold: bool) -> bool:
        """Point the columns of a clause at the tables of the other FROM. False if one of those is not there."""
        giver, leaf = (self._kept, self._theirs[place]) if to_gold else (self._given, self._ours[place])
        host, other = (self._given, self._ours[place]) if to_gold else (self._kept, self._theirs[place])
        several = len(sources_of(host, other)) > 1
        for column in list(node.find_all(exp.Column)):
            meaning = giver.meaning(column)
            if meaning.source is None or meaning.select is None or meaning.select.node is not leaf:
                continue  # a text, an output, or a column of another SELECT
            alias = self._renamings[place][to_gold].get(meaning.source.alias)
            if alias is None and column.table:
                return False
            if alias is not None and (column.table or several):
                column.set("table", exp.to_identifier(alias))
        return True

    def _shown(self, tree: exp.Expr, clause: str) -> str:
        """A clause in the database's own dialect."""
        given = (tree.args.get(arg) for arg in _CLAUSES[clause])
        pieces = [node.sql(self._dialect).strip().lstrip(",").strip() for some in given for node in _listed(some)]
        return (", " if clause == "SELECT" else " ").join(pieces)


def _said(select: SelectParts) -> dict[str, str]:
    """The meaning of each clause: equal clauses can be exchanged."""
    inner = [f"({text_of(query)})" for query in select.inner]
    sources = sorted(f"{one.join} JOIN {one.table or one.name}" for one in select.sources)
    return {
        "SELECT": ", ".join(term.text for term in select.outputs),
        "DISTINCT": "DISTINCT" * select.distinct,
        "FROM": " ".join([*sources, *inner, *(f"ON {one}" for one in sorted(select.written_on))]),
        "WHERE": _clause("WHERE ", " AND ", sorted(select.written_where)) + " ".join(_read_inside(select.where)),
        "GROUP BY": _clause("GROUP BY ", ", ", sorted(term.text for term in select.group)),
        "HAVING": _clause("HAVING ", " AND ", sorted(term.text for term in select.having)),
        **_tail(select),
    }


def _read_inside(conditions: Iterable[Term]) -> list[str]:
    """The tables that subqueries of conditions read: texts of conditions may give them the names of others."""
    inner = [select for term in conditions for query in inner_of(term) for select in query.all_selects]
    return sorted(source.table for select in inner for source in select.sources)


def _tail(parts: SelectParts | QueryParts) -> dict[str, str]:
    """The meaning of ORDER BY and LIMIT."""
    order = [key.term.text + (" DESC" if key.descending else " ASC") for key in parts.order]
    limit = [] if parts.limit is None else [f"LIMIT {parts.limit}"]
    limit += [] if parts.offset is None else [f"OFFSET {parts.offset}"]
    return {"ORDER BY": _clause("ORDER BY ", ", ", order), "LIMIT": " ".join(limit)}


def _clause(word: str, between: str, said: Sequence[str]) -> str:
    return word + between.join(said) if said else ""


def _rows_of(select: SelectParts) -> tuple[object, ...]:
    """The meaning of FROM and WHERE together, regardless of which of them contains the conditions."""
    sources = sorted((one.name, one.table, one.join) for one in select.sources)
    conditions = sorted(term.text for term in (*select.where, *select.outer_joins)) + _read_inside(select.where)
    return sources, select.joins, select.outer_equal, conditions, [text_of(query) for query in select.inner]


def _copied(found: exp.Expr | list[exp.Expr]) -> exp.Expr | list[exp.Expr]:
    return [node.copy() for node in found] if isinstance(found, list) else found.copy()


def _listed(found: exp.Expr | list[exp.Expr] | None) -> list[exp.Expr]:
    return found if isinstance(found, list) else [] if found is None else [found]


def _with_text(tree: exp.Expr) -> str:
    with_ = tree.args.get("with_")
    return "" if with_ is None else plain_text(with_)


def _take_with(tree: exp.Expr, gold: exp.Expr, predicted: exp.Expr, *, replaced: bool) -> None:
    """Give a query the CTEs of both; if both have one of that name, the gold query's if ``replaced``."""
    named: dict[str, exp.Expr] = {}
    for giver in (gold, predicted) if not replaced else (predicted, gold):
        with_ = giver.args.get("with_")
        named |= {cte.alias.lower(): cte.copy() for cte in (with_.expressions if with_ is not None else ())}
    if named:
        recursive = any(
            bool(with_.args.get("recursive"))
            for with_ in (giver.args.get("with_") for giver in (gold, predicted))
            if with_ is not None
        )
        tree.set("with_", exp.With(expressions=list(named.values()), recursive=recursive))


def _size(*texts: str) -> int:
    """How much two texts differ, in words."""
    left, right = (Counter(text.lower().split()) for text in (texts[0], texts[1] if len(texts) > 1 else ""))
    return max(1, sum(abs(left[word] - right[word]) for word in left.keys() | right.keys()))
