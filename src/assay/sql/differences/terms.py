"""Expressions and conditions as `Term`: columns resolved, spellings made alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from assay.sql.differences.parts import OrderTerm, QueryParts, SelectParts, Term
from assay.sql.differences.scopes import Scope
from assay.sql.differences.spelling import MOST_PARTS, conjuncts, disjuncts, in_order, plain, positive, turned
from assay.sql.differences.writing import plain_text
from assay.sql.trees import copied, nodes_of, written

if TYPE_CHECKING:
    from sqlglot import exp

_MOST_CHARACTERS = 1_000
"""A derived column is not replaced by an expression longer than this: repeated, that would grow without end."""
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


class _Reads(Protocol):
    def query(self, tree: exp.Expr, outer: Scope | None, ctes: Any) -> QueryParts: ...


class Terms:
    """Makes the terms of one SELECT."""

    def __init__(self, reader: _Reads, scope: Scope, dialect: str, keys: frozenset[str], ctes: object) -> None:
        self._reader = reader
        self._scope = scope
        self._dialect = dialect
        self._keys = keys
        self._ctes = ctes
        self._inner: dict[str, QueryParts] = {}
        self.joined: set[tuple[str, str]] = set()
        """The columns, by alias, that a star leaves out since USING or NATURAL has them already."""

    def read(self, node: exp.Expr) -> Term:
        """The term of an expression as its author wrote it."""
        return self.term(self.resolve(node), written(node, self._dialect))

    def resolve(self, node: exp.Expr) -> exp.Expr:
        """A copy in which columns stand under their tables' names and subqueries are replaced by their parts."""
        from sqlglot import exp

        whole = exp.Paren(this=copied(node))
        nodes = nodes_of(whole)
        queries = [found for found in nodes if isinstance(found, exp.Query) and _is_outermost(found)]
        for query in queries:
            query.replace(self._held(query))
        if queries:
            nodes = nodes_of(whole)
        for one in reversed(nodes[1:]):  # what is inside comes first
            made = self._column(one) if isinstance(one, exp.Column) else plain(one, self._keys)
            if made is not one:
                one.replace(made)
        return plain(whole.this, self._keys)

    def _held(self, query: exp.Expr) -> exp.Expr:
        from sqlglot import exp

        parts = self._reader.query(query, self._scope, self._ctes)
        name = f"({text_of(parts)})"
        self._inner[name] = parts
        return exp.Var(this=name)

    def _column(self, column: exp.Column) -> exp.Expr:
        from sqlglot import exp

        name, table = column.name.lower(), column.table.lower()
        if isinstance(column.this, exp.Star):
            return column
        found = self._scope.find(name, table)
        if found is None:
            if not table and name in self._scope.aliases:
                return copied(self._scope.aliases[name])
            if not table and column.this.args.get("quoted") and self._dialect == "sqlite":
                return exp.Literal.string(column.name)  # SQLite takes a quoted name that is no column for a text
            return exp.column(name, table=table or None)
        source, depth = found
        if source.table and source.columns is not None and name not in source.columns and not table:
            return exp.column(name)
        derived = source.outputs.get(name)
        if derived is not None and len(plain_text(derived)) <= _MOST_CHARACTERS:
            return copied(derived)
        return exp.column(name, table="^" * depth + source.name)

    def output(self, node: exp.Expr, outputs: Sequence[exp.Expr]) -> exp.Expr:
        """What a key of GROUP BY or ORDER BY stands for: an output by its number, or the expression itself."""
        from sqlglot import exp

        if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
            place = int(node.name) - 1
            return outputs[place] if 0 <= place < len(outputs) else node
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self._scope.aliases:
            return self._scope.aliases[node.name.lower()]
        return node

    def term(self, resolved: exp.Expr, shown: str) -> Term:
        """The term of a resolved expression."""
        from sqlglot import exp

        nodes = nodes_of(resolved)
        for node in nodes:
            if type(node) in (exp.EQ, exp.NEQ) and not _has_literal(node):
                left, right = node.this, node.expression
                if plain_text(left) > plain_text(right):
                    node.set("this", right)
                    node.set("expression", left)
            elif type(node) in (exp.Add, exp.Mul) and type(node.parent) is not type(node):
                in_order(node)
        text = plain_text(resolved)
        nodes = nodes_of(resolved)
        functions = [
            node
            for node in nodes
            if isinstance(node, exp.Func)
            and not isinstance(node, exp.AggFunc | exp.Connector | exp.Predicate | exp.Not | exp.Binary)
        ]
        return Term(
            text=text,
            merged=text,
            shown=shown,
            columns=tuple(plain_text(one) for one in nodes if isinstance(one, exp.Column)),
            literals=tuple(plain_text(one) for one in nodes if isinstance(one, exp.Literal)),
            functions=(
                *(_name_of(node) for node in functions),
                *("CONCAT" for node in nodes if isinstance(node, exp.DPipe)),
            ),
            aggregates=tuple(_name_of(node) for node in nodes if isinstance(node, exp.AggFunc)),
            arithmetic=tuple(type(node).__name__ for node in nodes if isinstance(node, _arithmetic())),
            inner=tuple(self._inner[one.name] for one in nodes if isinstance(one, exp.Var) and one.name in self._inner),
            distinct=any(isinstance(one, exp.Distinct) for one in nodes),
            windowed=any(isinstance(one, exp.Window) for one in nodes),
        )

    def condition(self, resolved: exp.Expr, shown: str) -> Term:
        """The term of a resolved condition, with its operator and the parts of an OR."""
        from sqlglot import exp

        one = positive(resolved)
        if isinstance(one, exp.GT | exp.GTE | exp.LT | exp.LTE) and not _has_literal(one):
            one = turned(one) if plain_text(one.this) > plain_text(one.expression) else one
        if isinstance(one, exp.Or):
            parts = tuple(self._all_of(part) for part in disjuncts(one))
            merged = _one_of(parts)
            if merged is not None:
                return replace(merged, shown=shown)
            texts = sorted({part.text for part in parts})
            together = self.term(one, shown)
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
            core.set("expressions", [copied(value) for value in values])
            if not negated and len(values) <= MOST_PARTS:
                whole = self.term(one, shown)
                made = (exp.EQ(this=copied(core.this), expression=copied(value)) for value in values)
                parts = tuple(self.condition(part, written(part, self._dialect)) for part in made)
                return replace(whole, operator="IN", parts=parts)
        return replace(self.term(one, shown), operator=f"NOT {operator}" if negated else operator)

    def _all_of(self, node: exp.Expr) -> Term:
        parts = tuple(self.condition(one, written(one, self._dialect)) for one in conjuncts(node))
        if len(parts) == 1:
            return parts[0]
        text = "(" + " AND ".join(sorted(part.text for part in parts)) + ")"
        return replace(
            self.term(node, written(node, self._dialect)), text=text, merged=text, operator="AND", parts=parts
        )

    def equated(self, resolved: exp.Expr) -> tuple[str, str] | None:
        """The two columns of different tables that a condition makes equal."""
        from sqlglot import exp

        one = positive(resolved)
        if not isinstance(one, exp.EQ):
            return None
        left, right = one.this, one.expression
        if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
            return None
        if left.table == right.table or "^" in left.table + right.table or not left.table or not right.table:
            return None
        return plain_text(left), plain_text(right)

    def using(self, join: exp.Expr) -> Iterator[tuple[str, str]]:
        """The columns that USING or NATURAL makes equal."""
        joined = self._scope.sources.get(join.this.alias_or_name.lower())
        if joined is None:
            return
        before = [source for source in self._scope.sources.values() if source is not joined]
        names = [name.name.lower() for name in join.args.get("using") or ()]
        if join.args.get("method") == "NATURAL":
            names = [name for name in joined.columns or () if any(name in (one.columns or ()) for one in before)]
        for name in names:
            other = next((one for one in before if one.columns is None or name in one.columns), None)
            if other is not None:
                self.joined.add((join.this.alias_or_name.lower(), name))
                yield f"{other.name}.{name}", f"{joined.name}.{name}"


class Merging(Struct):
    """Columns that inner joins make equal."""

    _class_of: dict[str, set[str]] = field(default_factory=dict)

    def equate(self, left: str, right: str) -> bool:
        """Take two columns for equal."""
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


def outputs_of(tree: exp.Select, scope: Scope, terms: Terms) -> list[tuple[str, exp.Expr]]:
    """Each output's name in small letters and its resolved expression; a star stands for the columns it selects."""
    from sqlglot import exp

    found: list[tuple[str, exp.Expr]] = []
    for output in tree.expressions:
        bare = output.unalias()
        star = isinstance(bare, exp.Star) or (isinstance(bare, exp.Column) and isinstance(bare.this, exp.Star))
        if star:
            wanted = bare.table.lower() if isinstance(bare, exp.Column) else ""
            left_out = _left_out(bare)
            sources = [one for alias, one in scope.sources.items() if not wanted or alias == wanted]
            if sources and all(one.columns is not None for one in sources):
                found += [
                    (name, terms.resolve(exp.column(name, table=alias)))
                    for alias, one in scope.sources.items()
                    if one in sources
                    for name in one.columns or ()
                    if name not in left_out and (wanted or (alias, name) not in terms.joined)
                ]
                continue
        found.append((output.alias_or_name.lower(), terms.resolve(bare)))
    return found


def _left_out(star: exp.Expr) -> frozenset[str]:
    """The columns that a star names as left out."""
    from sqlglot import exp

    bare = star.this if isinstance(star, exp.Column) else star
    return frozenset(name.name.lower() for name in bare.args.get("except_") or ())


def text_of(query: QueryParts) -> str:
    """A query's parts as one text: two queries with equal texts say the same."""
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
    """One IN for comparisons of the same column with several values; None where that is not what they are."""
    if not all(part.operator in ("=", "IN") and len(part.columns) == 1 and part.literals for part in parts):
        return None
    if len({part.columns for part in parts}) != 1 or any(part.functions or part.inner for part in parts):
        return None
    literals = tuple(sorted({literal for part in parts for literal in part.literals}))
    text = f"{parts[0].columns[0]} IN ({', '.join(literals)})"
    return replace(parts[0], text=text, merged=text, literals=literals, operator="IN", parts=tuple(parts))


def _arithmetic() -> tuple[type[exp.Expr], ...]:
    from sqlglot import exp

    return (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)


def _name_of(node: exp.Func) -> str:
    from sqlglot import exp

    return node.name.upper() if isinstance(node, exp.Anonymous) else str(type(node).sql_name())


def _has_literal(node: exp.Expr) -> bool:
    from sqlglot import exp

    return any(isinstance(side, exp.Literal | exp.Var) for side in (node.this, node.expression))


def _is_outermost(query: exp.Expr) -> bool:
    """Whether a query stands in no other one."""
    from sqlglot import exp

    return query.find_ancestor(exp.Query) is None
