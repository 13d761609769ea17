"""A prediction with some of its clauses replaced by gold's, for finding out by execution which of them is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.differences.canonical import conjuncts, plain_text
from assay.sql.differences.leaves import leaves_of, numbered_uses, operators_of, renaming_of, sources_of
from assay.sql.differences.reading import ReadPair
from assay.sql.trees import copied, nodes_of_kind, written

if TYPE_CHECKING:
    from sqlglot import exp

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
"""A repair of more clauses than this explains nothing."""
_MOST_UNITS = 12


class ClauseRepair(Struct, frozen=True, kw_only=True):
    """One clause of a prediction as it stands and as gold has it; an empty text where there is none."""

    clause: str
    before: str
    after: str


class RepairedQuery(Struct, frozen=True, kw_only=True):
    """A prediction with some of its clauses replaced."""

    query: str
    _told: Callable[[], tuple[ClauseRepair, ...]]

    @property
    def steps(self) -> tuple[ClauseRepair, ...]:
        """The clauses before and after: written when asked for, since few repairs turn out right."""
        return self._told()


class _Unit(Struct, frozen=True):
    place: int
    """Which SELECT under the set operations; -1: the outermost level."""
    clause: str
    size: int


def repaired_queries(pair: ReadPair) -> Iterator[RepairedQuery]:
    """The prediction with one clause of gold's, then with two and three, the smallest change first."""
    try:
        workshop = _Workshop(pair)
        units = workshop.units()
    except RecursionError:
        return
    for count in range(1, _MOST_CLAUSES + 1):
        chosen = sorted(combinations(units[:_MOST_UNITS], count), key=lambda some: sum(unit.size for unit in some))
        for some in chosen:
            try:
                repaired = workshop.repaired(some)
            except RecursionError:
                return
            if repaired is not None:
                yield repaired


class _Workshop:
    """Puts clauses of gold into a prediction."""

    def __init__(self, pair: ReadPair) -> None:
        self._given, self._kept = pair.bound
        self._gold, self._predicted = self._given.tree, self._kept.tree
        self._dialect = self._given.bound.dialect
        self._ours = leaves_of(self._gold)
        self._theirs = leaves_of(self._predicted)
        self._renamings: list[tuple[Mapping[str, str], Mapping[str, str]]] = []
        """By the place of the SELECT: gold's aliases in the prediction's FROM, and the prediction's in gold's."""
        for ours, theirs in zip(self._ours, self._theirs, strict=False):
            golds, own = numbered_uses(self._given, ours, {}), numbered_uses(self._kept, theirs, pair.uses)
            self._renamings.append((renaming_of(golds, own), renaming_of(own, golds)))

    def units(self) -> list[_Unit]:
        """The clauses that differ, in any order."""
        found: list[_Unit] = []
        for place, (ours, theirs) in enumerate(zip(self._ours, self._theirs, strict=False)):
            aliases = self._renamings[place][0]
            for clause, args in _CLAUSES.items():
                if not any(leaf.args.get(arg) for leaf in (ours, theirs) for arg in args):
                    continue
                left = _text(ours, clause, aliases, plain_text)
                right = _text(theirs, clause, {}, plain_text)
                if clause == "FROM" and _from_key(ours, aliases) == _from_key(theirs, {}):
                    continue
                if _alike(left) != _alike(right):
                    found.append(_Unit(place, clause, _size(left, right)))
        if len(self._ours) > 1 or len(self._theirs) > 1:
            if operators_of(self._gold) != operators_of(self._predicted):
                extra = [plain_text(leaf) for leaf in (*self._ours[1:], *self._theirs[1:])]
                found.append(_Unit(-1, _WHOLE, 8 if len(self._ours) == len(self._theirs) else _size(*extra)))
            for clause in ("ORDER BY", "LIMIT"):
                texts = [_text(tree, clause, {}, plain_text) for tree in (self._gold, self._predicted)]
                if len(set(map(_alike, texts))) > 1 and not all(tree.key == "select" for tree in self._trees):
                    found.append(_Unit(-1, clause, _size(*texts)))
        withs = [_with_text(tree) for tree in self._trees]
        if withs[0].lower() != withs[1].lower():
            found.append(_Unit(-1, _WITH, _size(*withs)))
        return sorted(found, key=lambda unit: unit.size)

    @property
    def _trees(self) -> tuple[exp.Query, exp.Query]:
        return self._gold, self._predicted

    def repaired(self, units: Sequence[_Unit]) -> RepairedQuery | None:
        """The prediction with these clauses of gold's; None where a clause needs a table that is not there."""
        leaves: list[exp.Expr] = []
        for place, theirs in enumerate(self._theirs):
            wanted = [unit.clause for unit in units if unit.place == place]
            leaf = self._mixed(place, wanted) if wanted else copied(theirs)
            if leaf is None:
                return None
            leaves.append(leaf)
        outer = {unit.clause for unit in units if unit.place == -1}
        alone = len(leaves) == 1 and leaves[0].key == self._predicted.key and not outer
        tree = leaves[0] if alone else self._assembled([copied(leaf) for leaf in leaves], outer)
        if outer & {_WITH} or any(unit.clause == "FROM" for unit in units):
            _take_with(tree, self._gold, self._predicted, anew=_WITH in outer)
        return RepairedQuery(query=written(tree, self._dialect), _told=partial(self._steps, units, leaves))

    def _steps(self, units: Sequence[_Unit], leaves: Sequence[exp.Expr]) -> tuple[ClauseRepair, ...]:
        steps = []
        for unit in sorted(units, key=lambda one: (one.place < 0, one.place)):
            if unit.place < 0:
                steps.append(self._outer_step(unit.clause))
                continue
            before = self._shown(self._theirs[unit.place], unit.clause, {})
            after = self._shown(leaves[unit.place], unit.clause, {})
            steps.append(ClauseRepair(clause=unit.clause, before=before, after=after))
        return tuple(steps)

    def _assembled(self, leaves: Sequence[exp.Expr], outer: set[str]) -> exp.Expr:
        skeleton = copied(self._gold if _WHOLE in outer else self._predicted)
        own = leaves_of(skeleton)
        for place, leaf in enumerate(own):
            if place >= len(leaves):
                break
            if leaf is skeleton:
                skeleton = leaves[place]  # type: ignore[assignment]
            else:
                leaf.replace(leaves[place])
        for clause in outer & {"ORDER BY", "LIMIT"}:
            for arg in _CLAUSES[clause]:
                found = self._gold.args.get(arg)
                skeleton.set(arg, copied(found) if found is not None else None)
        return skeleton

    def _outer_step(self, clause: str) -> ClauseRepair:
        if clause == _WITH:
            return ClauseRepair(clause=clause, before=_with_text(self._predicted), after=_with_text(self._gold))
        if clause != _WHOLE:
            before, after = (self._shown(tree, clause, {}) for tree in (self._predicted, self._gold))
            return ClauseRepair(clause=clause, before=before, after=after)
        texts = []
        for tree, leaves in ((self._predicted, self._theirs), (self._gold, self._ours)):
            others = (
                [written(leaf, self._dialect) for leaf in leaves[1:]] if len(self._ours) != len(self._theirs) else []
            )
            texts.append(" ".join([*operators_of(tree), *others]))
        return ClauseRepair(clause=clause, before=texts[0], after=texts[1])

    def _mixed(self, place: int, wanted: Sequence[str]) -> exp.Expr | None:
        """One SELECT of the prediction with these clauses of gold's.

        Clauses that stay as they are belong to several such SELECTs: writing one as text copies it first.
        """
        ours, theirs = self._ours[place], self._theirs[place]
        made = type(theirs)()
        for arg, value in theirs.args.items():
            if arg not in _CLAUSE_ARGS:
                made.set(arg, value)
        golds_from = "FROM" in wanted
        for clause, args in _CLAUSES.items():
            for arg in args:
                given = (ours if clause in wanted else theirs).args.get(arg)
                given = list(given) if isinstance(given, list) else given
                if clause != "FROM" and (clause in wanted) != golds_from:
                    given = _copied(given)
                    if not all(self._moved(node, place, to_gold=golds_from) for node in _listed(given)):
                        return None
                made.set(arg, given)
        return made

    def _moved(self, node: exp.Expr, place: int, *, to_gold: bool) -> bool:
        """Point the columns of a clause at the tables of the other FROM. False where one of those is not there."""
        from sqlglot import exp

        giver, leaf = (self._kept, self._theirs[place]) if to_gold else (self._given, self._ours[place])
        host, other = (self._given, self._ours[place]) if to_gold else (self._kept, self._theirs[place])
        several = len(sources_of(host, other)) > 1
        for column in nodes_of_kind(node, exp.Column):
            meaning = giver.meaning(column)
            if meaning.source is None or meaning.select is None or meaning.select.node is not leaf:
                continue  # a text, an output, or a column of another SELECT
            alias = self._renamings[place][to_gold].get(meaning.source.alias)
            if alias is None and column.table:
                return False
            if alias is not None and (column.table or several):
                column.set("table", exp.to_identifier(alias))
        return True

    def _shown(self, tree: exp.Expr, clause: str, renaming: Mapping[str, str]) -> str:
        """A clause in the database's own dialect."""
        return _text(tree, clause, renaming, lambda node: written(node, self._dialect))


def _text(tree: exp.Expr, clause: str, renaming: Mapping[str, str], write: Callable[[exp.Expr], str]) -> str:
    """A clause as text, with other aliases where those are given."""
    from sqlglot import exp

    pieces: list[str] = []
    for arg in _CLAUSES[clause]:
        given = tree.args.get(arg)
        found = _copied(given) if renaming else given
        for node in _listed(found):
            for part in nodes_of_kind(node, exp.Column, exp.Table) if renaming else []:
                _relabel(part, renaming)
            pieces.append(write(node).strip().lstrip(",").strip())
    return (", " if clause == "SELECT" else " ").join(pieces)


def _from_key(leaf: exp.Expr, renaming: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The tables of a FROM and the conditions of its joins, in no order: equal where the FROMs say the same."""
    from sqlglot import exp

    start = leaf.args.get("from_")
    joins = [copied(join) for join in leaf.args.get("joins") or ()]
    items = [] if start is None else [("", copied(start.this))]
    items += [(str(join.args.get("side") or ""), join.this) for join in joins]
    conditions: list[exp.Expr] = [
        one for join in joins for one in conjuncts(join.args.get("on")) if join.args.get("on") is not None
    ]
    conditions += [join for join in joins if join.args.get("using") or join.args.get("method")]
    for node in [*conditions, *(item for _, item in items)]:
        for part in nodes_of_kind(node, exp.Column, exp.Table):
            _relabel(part, renaming)
    texts = []
    for one in conditions:
        sides = [plain_text(one.this), plain_text(one.expression)] if isinstance(one, exp.EQ) else [plain_text(one)]
        texts.append(" = ".join(sorted(map(_alike, sides))))
    sided = any(side for side, _ in items)
    tables = [_alike(f"{side} {plain_text(item)}") for side, item in items]
    return tables if sided else sorted(tables), sorted(texts)


def _alike(text: str) -> str:
    """A clause's text without the case of its words; texts in quotes keep theirs."""
    return "".join(part if place % 2 else part.lower() for place, part in enumerate(text.split("'")))


def _relabel(part: exp.Expr, renaming: Mapping[str, str]) -> None:
    from sqlglot import exp

    if isinstance(part, exp.Column) and part.table.lower() in renaming:
        part.set("table", exp.to_identifier(renaming[part.table.lower()]))
    elif isinstance(part, exp.Table) and part.alias_or_name.lower() in renaming:
        alias = renaming[part.alias_or_name.lower()]
        part.set("alias", None if alias == part.name.lower() else exp.TableAlias(this=exp.to_identifier(alias)))


def _copied(found: exp.Expr | list[exp.Expr] | None) -> exp.Expr | list[exp.Expr] | None:
    if isinstance(found, list):
        return [copied(node) for node in found]
    return copied(found) if found is not None else None


def _listed(found: exp.Expr | list[exp.Expr] | None) -> list[exp.Expr]:
    return found if isinstance(found, list) else [] if found is None else [found]


def _with_text(tree: exp.Expr) -> str:
    with_ = tree.args.get("with_")
    return "" if with_ is None else plain_text(with_)


def _take_with(tree: exp.Expr, gold: exp.Expr, predicted: exp.Expr, *, anew: bool) -> None:
    """Give a query the CTEs of both, gold's where both have one of that name and ``anew`` says so."""
    from sqlglot import exp

    named: dict[str, exp.Expr] = {}
    for giver in (gold, predicted) if not anew else (predicted, gold):
        with_ = giver.args.get("with_")
        named |= {cte.alias.lower(): copied(cte) for cte in (with_.expressions if with_ is not None else ())}
    if named:
        recursive = any(
            bool(with_.args.get("recursive"))
            for with_ in (giver.args.get("with_") for giver in (gold, predicted))
            if with_ is not None
        )
        tree.set("with_", exp.With(expressions=list(named.values()), recursive=recursive))


def _size(*texts: str) -> int:
    """How much two texts have that the other lacks, in words."""
    left, right = (Counter(text.lower().split()) for text in (texts[0], texts[1] if len(texts) > 1 else ""))
    return max(1, sum(((left - right) + (right - left)).values()))
