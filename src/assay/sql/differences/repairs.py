"""A prediction with some of its clauses replaced by gold's, for finding out by execution which of them is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.differences.leaves import (
    aliases_of,
    is_inner,
    leaves_of,
    operators_of,
    renaming_of,
)
from assay.sql.differences.reading import pair_trees
from assay.sql.differences.spelling import conjuncts
from assay.sql.differences.writing import plain_text
from assay.sql.schema_names import SchemaNames
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


def repaired_queries(gold: str, predicted: str, dialect: str, names: SchemaNames) -> Iterator[RepairedQuery]:
    """The prediction with one clause of gold's, then with two and three, the smallest change first.

    Nothing where one of them cannot be parsed, or is too long or too deep.
    """
    trees = pair_trees(gold, predicted, dialect, names)
    if trees is None:
        return
    try:
        workshop = _Workshop(*trees, dialect, names)
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

    def __init__(self, gold: exp.Query, predicted: exp.Query, dialect: str, names: SchemaNames) -> None:
        self._gold = _prepared(gold, names)
        self._predicted = _prepared(predicted, names)
        self._dialect = dialect
        self._names = names
        self._ours = leaves_of(self._gold)
        self._theirs = leaves_of(self._predicted)
        self._renamings: dict[tuple[int, int], dict[str, str]] = {}

    def units(self) -> list[_Unit]:
        """The clauses that differ, in any order."""
        found: list[_Unit] = []
        for place, (ours, theirs) in enumerate(zip(self._ours, self._theirs, strict=False)):
            aliases = self._renaming(ours, theirs)
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
            leaf = self._mixed(self._ours[place], theirs, wanted) if wanted else copied(theirs)
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

    def _renaming(self, giver: exp.Expr, host: exp.Expr) -> Mapping[str, str]:
        """As `renaming_of`, once for each two SELECTs, which live as long as this."""
        key = (id(giver), id(host))
        if key not in self._renamings:
            self._renamings[key] = renaming_of(giver, host)
        return self._renamings[key]

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

    def _mixed(self, ours: exp.Expr, theirs: exp.Expr, wanted: Sequence[str]) -> exp.Expr | None:
        """One SELECT of the prediction with these clauses of gold's.

        Clauses that stay as they are belong to several such SELECTs: writing one as text copies it first.
        """
        made = type(theirs)()
        for arg, value in theirs.args.items():
            if arg not in _CLAUSE_ARGS:
                made.set(arg, value)
        host = ours if "FROM" in wanted else theirs
        for clause, args in _CLAUSES.items():
            giver = ours if clause in wanted else theirs
            moves = giver is not host and clause != "FROM"
            renaming = self._renaming(giver, host) if moves else {}
            for arg in args:
                given = giver.args.get(arg)
                given = _copied(given) if moves else list(given) if isinstance(given, list) else given
                for node in _listed(given) if moves else ():
                    if not self._rename(node, renaming, giver, host):
                        return None
                made.set(arg, given)
        return made

    def _rename(self, node: exp.Expr, renaming: Mapping[str, str], giver: exp.Expr, host: exp.Expr) -> bool:
        """Point the columns of a clause at the tables of another FROM. False where one of those is not there."""
        from sqlglot import exp

        given = aliases_of(giver)
        for column in nodes_of_kind(node, exp.Column):
            table = column.table.lower()
            if is_inner(column, table, node):
                continue
            if table in renaming:
                column.set("table", exp.to_identifier(renaming[table]))
            elif table and table in given:
                return False
            elif not table:
                self._qualify(column, giver, host, renaming)
        return True

    def _qualify(self, column: exp.Column, giver: exp.Expr, host: exp.Expr, renaming: Mapping[str, str]) -> None:
        """Say whose a bare column is, where several tables of the other FROM have one of that name."""
        from sqlglot import exp

        name = column.name.lower()
        holding = [one for one, table in aliases_of(host).items() if name in self._names.columns.get(table, ())]
        own = [one for one, table in aliases_of(giver).items() if name in self._names.columns.get(table, ())]
        if len(holding) > 1 and own and own[0] in renaming:
            column.set("table", exp.to_identifier(renaming[own[0]]))

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


def _prepared(tree: exp.Query, names: SchemaNames) -> exp.Query:
    """A copy whose ORDER BY, GROUP BY and HAVING name no outputs but repeat what those compute."""
    from sqlglot import exp

    made = copied(tree)
    for leaf in leaves_of(made):
        given = {
            output.alias.lower(): output.this
            for output in leaf.args.get("expressions") or ()
            if isinstance(output, exp.Alias)
        }
        columns = {name for table in aliases_of(leaf).values() for name in names.columns.get(table, ())}
        for arg in ("order", "group", "having"):
            clause = leaf.args.get(arg)
            for column in nodes_of_kind(clause, exp.Column) if clause is not None else ():
                name = column.name.lower()
                if not column.table and name in given and name not in columns:
                    column.replace(copied(given[name]))
    return made


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
