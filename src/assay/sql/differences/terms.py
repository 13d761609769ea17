"""Expressions and conditions as `Term`, with resolved columns and canonical spelling."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from assay.sql.differences.canonical import MOST_PARTS, conjuncts, disjuncts, in_order, plain, positive, turned
from assay.sql.differences.parts import OrderTerm, QueryParts, SelectParts, Term
from assay.sql.expressions import plain_text
from assay.sql.nodes import exp

Show = Callable[[], str]


class Names(Protocol):
    """What a query's names mean (`reading.Reader`)."""

    def resolved(self, column: exp.Column) -> exp.Expr:
        """What a column stands for, under its table's name."""

    def parts_of(self, query: exp.Expr) -> QueryParts:
        """The parts of a subquery, as the condition around it reads them."""

    def shown(self, node: exp.Expr) -> str:
        """The text of an expression with columns under their tables' names."""


_OPERATORS = {
    "eq": "=",
    "neq": "<>",
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
    "in": "IN",
    "like": "LIKE",
    "ilike": "LIKE",
    "glob": "GLOB",
    "is": "IS",
    "exists": "EXISTS",
}


_COMMUTE = frozenset({"eq", "neq", "add", "mul", "and", "or"})


class Terms:
    """Makes the terms of one SELECT, whose columns ``names`` resolves."""

    def __init__(self, names: Names, keys: frozenset[str] = frozenset()) -> None:
        self._names = names
        self._keys = keys
        """Columns that are never NULL, for example ``singer.id``."""
        self._inner: dict[str, QueryParts] = {}
        """By its text, the query that a text in a term stands for."""
        self.compared: dict[str, Show] = {}
        """Columns that conditions make equal, each with what writes it."""

    def read(self, node: exp.Expr) -> Term:
        """The term of an expression of the query."""
        return self.term(self.resolve(node), partial(self._names.shown, node))

    def resolve(self, node: exp.Expr) -> exp.Expr:
        """A copy in which columns have their tables' names and subqueries are replaced by their parts."""
        if isinstance(node, exp.Column) and not node.is_star:
            return plain(self._names.resolved(node), self._keys)
        whole = exp.Paren(this=node.copy())
        parts = list(whole.this.walk(prune=lambda part: isinstance(part, exp.Query)))
        for one in reversed(parts):  # inner nodes come first
            if isinstance(one, exp.Query):
                made: exp.Expr = self._held(one)
            elif isinstance(one, exp.Column):
                made = self._names.resolved(one)
            else:
                made = plain(one, self._keys)
            if made is not one:
                one.replace(made)
        return plain(whole.this, self._keys)

    def _held(self, query: exp.Expr) -> exp.Expr:
        parts = self._names.parts_of(query)
        name = f"({text_of(parts)})"
        self._inner.setdefault(name, parts)  # the same query twice is one
        made = exp.Var(this=name)
        made.meta.update(query._meta or {})  # it still knows which query it is
        return made

    def term(self, resolved: exp.Expr, show: Show) -> Term:
        """The term of a resolved expression."""
        if isinstance(resolved, exp.Column):
            text = plain_text(resolved)
            return Term(text=text, merged=text, show=show, columns=(text,))
        nodes = list(resolved.walk())
        if any(node.key in _COMMUTE for node in nodes):
            _commuted(nodes)
            nodes = list(resolved.walk())
        text = plain_text(resolved)
        of: dict[str, list[Any]] = defaultdict(list)
        for node in nodes:
            for role in _roles_of(type(node)):  # type: ignore[arg-type]
                of[role].append(node)
        return Term(
            text=text,
            merged=text,
            show=show,
            columns=tuple(map(plain_text, of["column"])),
            literals=tuple(map(plain_text, of["literal"])),
            functions=(*map(_name_of, of["function"]), *("CONCAT" for _ in of["concatenation"])),
            aggregates=tuple(map(_name_of, of["aggregate"])),
            arithmetic=tuple(type(node).__name__ for node in of["arithmetic"]),
            inner=tuple(self._inner[one.name] for one in of["inner"] if one.name in self._inner),
            distinct=bool(of["distinct"]),
            windowed=bool(of["window"]),
        )

    def condition(self, resolved: exp.Expr, show: Show) -> Term:
        """The term of a resolved condition, with its operator and the parts of an OR."""
        one = positive(resolved)
        if isinstance(one, exp.GT | exp.GTE | exp.LT | exp.LTE) and not _has_literal(one):
            one = turned(one) if plain_text(one.this) > plain_text(one.expression) else one
        if isinstance(one, exp.Or):
            parts = tuple(self._all_of(part) for part in disjuncts(one))
            merged = _one_of(parts)
            if merged is not None:
                return replace(merged, show=show)
            texts = sorted({part.text for part in parts})
            together = self.term(one, show)
            text = "(" + " OR ".join(texts) + ")"
            return replace(together, text=text, merged=text, operator="OR", parts=parts)
        negated = isinstance(one, exp.Not)
        core = one.this if negated else one
        operator = _OPERATORS.get(core.key, core.key.upper())
        negated = negated != bool(core.args.get("negate"))
        if isinstance(core, exp.Is):
            operator = "IS NULL" if isinstance(core.expression, exp.Null) else "IS"
        if isinstance(core, exp.In) and core.expressions:
            values = sorted(core.expressions, key=plain_text)
            core.set("expressions", [value.copy() for value in values])
            if not negated and len(values) <= MOST_PARTS:
                whole = self.term(one, show)
                made = (exp.EQ(this=core.this.copy(), expression=value.copy()) for value in values)
                parts = tuple(self.condition(part, partial(self._names.shown, part)) for part in made)
                return replace(whole, operator="IN", parts=parts)
        return replace(self.term(one, show), operator=f"NOT {operator}" if negated else operator)

    def _all_of(self, node: exp.Expr) -> Term:
        parts = tuple(self.condition(one, partial(self._names.shown, one)) for one in conjuncts(node))
        if len(parts) == 1:
            return parts[0]
        text = "(" + " AND ".join(sorted(part.text for part in parts)) + ")"
        together = self.term(node, partial(self._names.shown, node))
        return replace(together, text=text, merged=text, operator="AND", parts=parts)

    def equated(self, resolved: exp.Expr) -> tuple[str, str] | None:
        """The two columns of different tables that a condition makes equal."""
        one = positive(resolved)
        if not isinstance(one, exp.EQ):
            return None
        left, right = one.this, one.expression
        if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
            return None
        if left.table == right.table or "^" in left.table + right.table or not left.table or not right.table:
            return None
        texts = plain_text(left), plain_text(right)
        self.compared |= {text: partial(self._names.shown, one) for text, one in zip(texts, (left, right), strict=True)}
        return texts


def _commuted(nodes: Sequence[exp.Expr]) -> None:
    """Sort the sides of commutative operators."""
    for node in reversed(nodes):
        if type(node) in (exp.EQ, exp.NEQ) and not _has_literal(node):
            left, right = node.this, node.expression
            if plain_text(left) > plain_text(right):
                node.set("this", right)
                node.set("expression", left)
        elif type(node) in (exp.Add, exp.Mul, exp.And, exp.Or) and type(node.parent) is not type(node):
            in_order(node)


class Merging(Struct):
    """Columns that inner joins make equal."""

    _class_of: dict[str, set[str]] = field(default_factory=dict)

    def equate(self, left: str, right: str) -> bool:
        """Treat two columns as equal."""
        merged = self._class_of.get(left, {left}) | self._class_of.get(right, {right})
        for column in merged:
            self._class_of[column] = merged
        return True

    @property
    def classes(self) -> frozenset[frozenset[str]]:
        """The sets of equal columns."""
        return frozenset(map(frozenset, self._class_of.values()))

    def applied(self, parts: SelectParts) -> SelectParts:
        """The parts with ``merged`` texts, in which equal columns have one name."""
        if not self._class_of:
            return parts
        first = {column: min(same) for column, same in self._class_of.items()}

        def merge(terms: Sequence[Term]) -> tuple[Term, ...]:
            return tuple(_renamed(term, first) for term in terms)

        return replace(
            parts,
            outputs=merge(parts.outputs),
            where=merge(parts.where),
            group=merge(parts.group),
            having=merge(parts.having),
            outer_joins=merge(parts.outer_joins),
            order=tuple(OrderTerm(term=merge([key.term])[0], descending=key.descending) for key in parts.order),
        )


def _renamed(term: Term, names: Mapping[str, str]) -> Term:
    mine = {column for column in term.columns if column in names}
    if not mine:
        return term
    either = "|".join(re.escape(column) for column in sorted(mine, key=len, reverse=True))
    text = re.sub(rf"(?<![\w.#^])(?:{either})(?![\w#])", lambda found: names[found.group()], term.text)
    return replace(term, merged=text)


def text_of(query: QueryParts) -> str:
    """A query's parts as one text: queries with equal texts are equivalent."""
    pieces: list[str] = []
    for place, select in enumerate(query.selects):
        if place:
            pieces.append(query.operators[place - 1])
        pieces.append("SELECT DISTINCT" if select.distinct else "SELECT")
        pieces.append(", ".join(term.merged for term in select.outputs))
        sources = sorted(one.name if one.join == "INNER" else f"{one.join} JOIN {one.name}" for one in select.sources)
        pieces.append("FROM " + ", ".join(sources))
        pieces += [f"({text_of(inner)})" for inner in select.inner]
        joins = sorted("=".join(sorted(same)) for same in (*select.joins, *select.outer_equal))
        conditions = sorted(term.merged for term in chain(select.where, select.outer_joins))
        pieces += ["WHERE " + " AND ".join([*joins, *conditions])] if joins or conditions else []
        pieces += ["GROUP BY " + ", ".join(sorted(term.merged for term in select.group))] if select.group else []
        pieces += ["HAVING " + " AND ".join(sorted(term.merged for term in select.having))] if select.having else []
        pieces += _tail(select.order, select.limit, select.offset)
    pieces += _tail(query.order, query.limit, query.offset)
    return " ".join(pieces)


def _tail(order: Sequence[OrderTerm], limit: str | None, offset: str | None) -> list[str]:
    keys = ", ".join(key.term.merged + (" DESC" if key.descending else "") for key in order)
    found = [f"ORDER BY {keys}"] if keys else []
    found += [f"LIMIT {limit}"] if limit is not None else []
    return found + ([f"OFFSET {offset}"] if offset is not None else [])


def _one_of(parts: Sequence[Term]) -> Term | None:
    """One IN for comparisons of the same column with several values; None if they are not that."""
    if not all(part.operator in ("=", "IN") and len(part.columns) == 1 and part.literals for part in parts):
        return None
    if len({part.columns for part in parts}) != 1 or any(part.functions or part.inner for part in parts):
        return None
    literals = tuple(sorted({literal for part in parts for literal in part.literals}))
    text = f"{parts[0].columns[0]} IN ({', '.join(literals)})"
    return replace(parts[0], text=text, merged=text, literals=literals, operator="IN", parts=tuple(parts))


@cache
def _roles_of(kind: type[exp.Expr]) -> tuple[str, ...]:
    """What a term counts the nodes of a kind as."""
    kinds: dict[str, tuple[type[exp.Expr], ...]] = {
        "column": (exp.Column,),
        "literal": (exp.Literal,),
        "concatenation": (exp.DPipe,),
        "aggregate": (exp.AggFunc,),
        "arithmetic": (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg),
        "inner": (exp.Var,),
        "distinct": (exp.Distinct,),
        "window": (exp.Window,),
    }
    no_functions = (exp.AggFunc, exp.Connector, exp.Predicate, exp.Not, exp.Binary)
    is_function = issubclass(kind, exp.Func) and not issubclass(kind, no_functions)
    return tuple([role for role, some in kinds.items() if issubclass(kind, some)] + ["function"] * is_function)


def _name_of(node: exp.Func) -> str:
    return node.name.upper() if isinstance(node, exp.Anonymous) else str(type(node).sql_name())


def _has_literal(node: exp.Expr) -> bool:
    return any(isinstance(side, exp.Literal | exp.Var) for side in (node.this, node.expression))
