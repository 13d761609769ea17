"""The SELECTs of a query, clause by clause."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct, field

from assay.sql.facts.model import (
    Aggregate,
    Clause,
    ColumnRef,
    Condition,
    Division,
    JoinPair,
    Level,
    Operator,
    OrderKey,
    Output,
    Source,
    Term,
)
from assay.sql.facts.scopes import Scope, Scopes, place_of
from assay.sql.facts.terms import Terms, inside
from assay.sql.shape import outermost

if TYPE_CHECKING:
    from sqlglot import exp


_MOST_DIVISIONS = 100
"""Of a query: each is read with its sides, which a chain of them would repeat."""


class Read(Struct):
    """What was read so far."""

    levels: list[Level] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    aggregates: list[Aggregate] = field(default_factory=list)
    divisions: list[Division] = field(default_factory=list)


def read_levels(scopes: Scopes, terms: Terms) -> Read:
    """Every SELECT of the query."""
    read = Read()
    numbers = count(1)
    top = outermost(scopes.tree)
    for scope in scopes.all:
        first = len(read.conditions)
        for clause, node in _clauses(scope.select):
            _read_clause(scope, clause, node, terms=terms, read=read, numbers=numbers)
        read.levels.append(_level(scope, terms, read.conditions[first:], is_top=scope.select is top))
    return read


def _clauses(select: exp.Select) -> Iterator[tuple[Clause, exp.Expr]]:
    for output in select.expressions:
        yield "output", output
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield "on", join.args["on"]
    for name, clause in (("where", "where"), ("having", "having"), ("qualify", "other"), ("order", "order")):
        if select.args.get(name) is not None:
            yield clause, select.args[name]  # type: ignore[misc]
    group = select.args.get("group")
    if group is not None:
        yield "group", group


class _Above(Struct, frozen=True):
    """What stands above a node within its clause."""

    certain: bool
    conjunction: int
    disjunction: int = 0
    branch: int = 0
    enclosed: bool = False
    """Parentheses stand around the node."""
    denied: bool = False
    """An odd number of NOTs stands above."""

    def below(self, node: exp.Expr, child: exp.Expr, numbers: Iterator[int]) -> _Above:
        """The same for a child of the node."""
        from sqlglot import exp

        if isinstance(node, exp.Paren | exp.Alias):
            return _Above(self.certain, self.conjunction, self.disjunction, enclosed=True, denied=self.denied)
        if isinstance(node, exp.And):
            branch = self.branch or (0 if self.enclosed else self.disjunction)
            return _Above(self.certain, self.conjunction, 0, branch, denied=self.denied)
        if isinstance(node, exp.Not):
            return _Above(certain=False, conjunction=next(numbers), denied=not self.denied)
        if isinstance(node, exp.Or):
            own = self.disjunction or next(numbers)
            return _Above(
                certain=False,
                conjunction=self.conjunction if isinstance(child, exp.Or) else next(numbers),
                disjunction=own,
                denied=self.denied,
            )
        return _Above(certain=False, conjunction=next(numbers))


def _read_clause(
    scope: Scope, clause: Clause, node: exp.Expr, *, terms: Terms, read: Read, numbers: Iterator[int]
) -> None:
    from sqlglot import exp

    start = node.this if isinstance(node, exp.Where | exp.Having) else node
    pending = [(start, _Above(clause in ("where", "having", "on"), next(numbers)))]
    while pending:
        one, above = pending.pop()
        if isinstance(one, exp.Query) and one is not start:
            continue
        if isinstance(one, exp.AggFunc):
            read.aggregates.append(_aggregate(one, scope, clause, terms))
        if isinstance(one, exp.Div) and len(read.divisions) < _MOST_DIVISIONS:
            left, right = terms.term(one.this), terms.term(one.expression)
            kind = terms.type_of(one)
            read.divisions.append(
                Division(
                    left=left, right=right, level=scope.index, type=kind, rounds=_is_undone(one), place=place_of(one)
                )
            )
        if (found := _condition(one, terms)) is not None:
            operator, left, others = found
            negated = above.denied
            read.conditions.append(
                Condition(
                    operator=operator,
                    left=left,
                    right=others,
                    clause=clause,
                    level=scope.index,
                    negated=negated,
                    certain=above.certain or (isinstance(one.parent, exp.Not) and _is_certain_not(one, start)),
                    conjunction=above.conjunction,
                    disjunction=above.disjunction,
                    branch=above.branch,
                    place=place_of(one),
                )
            )
        if isinstance(one, exp.Or) and not above.disjunction:
            above = _Above(above.certain, above.conjunction, next(numbers), denied=above.denied)
        pending += [(child, above.below(one, child, numbers)) for child in one.iter_expressions()]


def _is_undone(division: exp.Div) -> bool:
    """Whether a quotient is multiplied by its own divisor again."""
    from sqlglot import exp

    above, inner = division.parent, division
    while isinstance(above, exp.Paren):
        above, inner = above.parent, above  # type: ignore[assignment]
    if not isinstance(above, exp.Mul):
        return False
    other = above.expression if above.this is inner else above.this
    return inside(other) == inside(division.expression)


def _is_certain_not(node: exp.Expr, start: exp.Expr) -> bool:
    """Whether a negated condition must hold: only AND and parentheses stand above its NOT."""
    from sqlglot import exp

    above = node.parent
    if above is start:
        return True
    above = None if above is None else above.parent
    while isinstance(above, exp.And | exp.Paren) and above is not start:
        above = above.parent
    return above is start or isinstance(above, exp.Where | exp.Having)


def _operators() -> dict[type[exp.Expr], Operator]:
    from sqlglot import exp

    return {
        exp.EQ: "=",
        exp.NEQ: "<>",
        exp.LT: "<",
        exp.LTE: "<=",
        exp.GT: ">",
        exp.GTE: ">=",
        exp.Like: "like",
        exp.ILike: "like",
        exp.Is: "is",
    }


_FLIPPED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _condition(node: exp.Expr, terms: Terms) -> tuple[Operator, Term, tuple[Term, ...]] | None:
    from sqlglot import exp

    if isinstance(node, exp.Between):
        return "between", terms.term(node.this), (terms.term(node.args["low"]), terms.term(node.args["high"]))
    if isinstance(node, exp.In):
        inner = node.args.get("query")
        right = [*node.expressions, *([inner] if inner is not None else [])]
        return "in", terms.term(node.this), tuple(terms.term(one) for one in right)
    operator = _operators().get(type(node))
    if operator is None:
        return None
    left, right_term = terms.term(node.this), terms.term(node.expression)
    if left.kind in ("literal", "null") and right_term.kind not in ("literal", "null") and operator != "like":
        left, right_term, operator = right_term, left, _FLIPPED.get(operator, operator)
    return operator, left, (right_term,)


def _aggregate(node: exp.Expr, scope: Scope, clause: Clause, terms: Terms) -> Aggregate:
    from sqlglot import exp

    argument = node.this
    distinct = isinstance(argument, exp.Distinct)
    if distinct:
        argument = argument.expressions[0] if len(argument.expressions) == 1 else None
    star = argument is None or isinstance(argument, exp.Star)
    return Aggregate(
        function=node.sql_name().lower() if hasattr(node, "sql_name") else node.key,
        argument=None if star or not isinstance(argument, exp.Expression) else terms.term(argument),
        distinct=distinct,
        level=scope.index,
        clause=clause,
        place=place_of(node),
    )


def _level(scope: Scope, terms: Terms, conditions: list[Condition], *, is_top: bool) -> Level:
    from sqlglot import exp

    select = scope.select
    outputs = tuple(Output(term=terms.term(one), alias=one.alias or None) for one in select.expressions)
    group = select.args.get("group")
    order = select.args.get("order")
    limit = select.args.get("limit")
    most = limit.expression if isinstance(limit, exp.Limit) else None
    joins = select.args.get("joins") or ()
    distinct = select.args.get("distinct")
    having = (
        any(aggregate for aggregate in select.args["having"].find_all(exp.AggFunc))
        if select.args.get("having")
        else False
    )
    keys = tuple(_order_key(one, outputs, terms) for one in order.expressions) if order else ()
    above = select.parent
    while isinstance(above, exp.Subquery | exp.Paren | exp.SetOperation):
        above = above.parent
    return Level(
        index=scope.index,
        parent=None if scope.parent is None else scope.parent.index,
        outermost=is_top,
        in_condition=isinstance(above, exp.Predicate | exp.Exists | exp.Not),
        in_exists=isinstance(above, exp.Exists),
        sources=tuple(scope.sources.values()),
        unlinked=_unlinked(scope, terms),
        joins=tuple(_pairs(scope, terms, conditions)),
        inner_only=not any(join.side for join in joins),
        outputs=outputs,
        group=_group_keys(group, outputs, terms),
        order=keys,
        limited=limit is not None,
        limit=int(most.name) if most is not None and most.is_int else None,
        distinct=distinct is not None,
        aggregated=having or any(o.term.aggregated for o in outputs) or any(key.term.aggregated for key in keys),
        place=place_of(select),
        limit_place=None if limit is None else place_of(limit),
        distinct_place=None if distinct is None else place_of(distinct),
    )


def _group_keys(group: exp.Group | None, outputs: tuple[Output, ...], terms: Terms) -> tuple[Term, ...]:
    """The keys of GROUP BY; of GROUP BY ALL, the outputs that are no aggregates."""
    if group is None:
        return ()
    if group.args.get("all") and not group.expressions:
        return tuple(one.term for one in outputs if not one.term.aggregated)
    return tuple(_key(one, outputs, terms) for one in group.expressions)


def _key(node: exp.Expr, outputs: tuple[Output, ...], terms: Terms) -> Term:
    """The term that a key of GROUP BY or ORDER BY means, by position, by alias or as it stands."""
    term = terms.term(node)
    if term.kind == "literal" and term.is_number and (term.value or "").isdigit():
        place = int(term.value or 0)
        return outputs[place - 1].term if 1 <= place <= len(outputs) else term
    if term.column is not None and term.column.table is None:
        named = [one.term for one in outputs if one.alias and one.alias.lower() == term.column.column.lower()]
        return named[0] if named else term
    return term


def _order_key(node: exp.Expr, outputs: tuple[Output, ...], terms: Terms) -> OrderKey:
    from sqlglot import exp

    descending = bool(node.args.get("desc")) if isinstance(node, exp.Ordered) else False
    return OrderKey(
        term=_key(node.this if isinstance(node, exp.Ordered) else node, outputs, terms),
        descending=descending,
        nulls_first=node.args.get("nulls_first") if isinstance(node, exp.Ordered) else None,
    )


def _pairs(scope: Scope, terms: Terms, conditions: list[Condition]) -> Iterator[JoinPair]:
    for condition in conditions:
        left, right = condition.left.column, condition.right[0].column if len(condition.right) == 1 else None
        if condition.operator != "=" or left is None or right is None or not condition.certain or condition.negated:
            continue
        if left.level == right.level == scope.index and left.source != right.source:
            yield JoinPair(left=left, right=right, place=condition.place)
    earlier: list[Source] = []
    by_alias = scope.sources
    joins = {one.this.alias_or_name.lower(): one for one in scope.select.args.get("joins") or ()}
    for alias, source in by_alias.items():
        join = joins.get(alias)
        for name in (join.args.get("using") or ()) if join is not None else ():
            before = next((one for one in earlier if _has(one, name.name, terms)), None)
            if before is not None and before.table and source.table:
                yield JoinPair(
                    left=_named(before, name.name, scope, terms),
                    right=_named(source, name.name, scope, terms),
                    place=place_of(name),
                )
        earlier.append(source)


def _has(source: Source, column: str, terms: Terms) -> bool:
    names = terms.scopes.names
    return source.table is not None and (names is None or names.column(source.table, column) is not None)


def _named(source: Source, column: str, scope: Scope, terms: Terms) -> ColumnRef:
    names = terms.scopes.names
    kind = None if names is None or source.table is None else names.type_of(source.table, column)
    return ColumnRef(column=column, table=source.table, source=source.alias, level=scope.index, type=kind)


def _unlinked(scope: Scope, terms: Terms) -> tuple[Source, ...]:
    """The sources that no condition ties to the first one, those of a single row left out."""
    from sqlglot import exp

    many = [source for source in scope.sources.values() if not source.single_row]
    if len(many) < 2:
        return ()
    group = {source.alias: source.alias for source in many}

    def root(alias: str) -> str:
        while group[alias] != alias:
            alias = group[alias]
        return alias

    def link(aliases: list[str]) -> None:
        for other in aliases[1:]:
            group[root(other)] = root(aliases[0])

    select = scope.select
    before = many[0].alias
    for join in select.args.get("joins") or ():
        alias = (join.this.alias_or_name or "").lower()
        is_free = not isinstance(join.this, exp.Table | exp.Subquery) or _is_function(join.this)
        if (join.args.get("using") or join.method == "NATURAL" or is_free) and alias in group:
            link([before, alias])
    conditions = [join.args["on"] for join in select.args.get("joins") or () if join.args.get("on") is not None]
    conditions += [select.args[name].this for name in ("where", "having") if select.args.get(name) is not None]
    while conditions:
        one = conditions.pop()
        if isinstance(one, exp.And | exp.Paren):
            conditions += list(one.iter_expressions())
            continue
        used: list[str] = []
        for column in one.find_all(exp.Column):
            ref = terms.scopes.column(column)
            if ref is None:
                continue
            if ref.source is None:
                link(list(group))  # it may belong to any of them
            elif ref.source in group:
                used.append(ref.source)
        link(used)
    first = root(many[0].alias)
    return tuple(source for source in many if root(source.alias) != first)


def _is_function(entry: exp.Expr) -> bool:
    """Whether an entry of FROM is a function of columns beside it, such as ``json_each(t.list)``."""
    from sqlglot import exp

    return not isinstance(entry.this, exp.Identifier | exp.Query) and entry.find(exp.Column) is not None


__all__ = ["Read", "inside", "read_levels"]
