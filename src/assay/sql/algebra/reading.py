"""Read a query's text into blocks. What no rule speaks of stops it, by name."""

from __future__ import annotations

import sqlglot
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from assay.model import TableSchema
from assay.sql.algebra.model import (
    Agg,
    Block,
    Call,
    Combined,
    Const,
    Key,
    Query,
    Rows,
    Sub,
    Term,
    has_aggregate,
)
from assay.sql.algebra.reading_from import FromReader
from assay.sql.algebra.reading_terms import TermReader
from assay.sql.algebra.reading_windows import grouping_sets, name_windows, qualified
from assay.sql.algebra.scope import Scope, entry_of
from assay.sql.algebra.stopping import NotCovered
from assay.sql.algebra.world import World

MOST_CHARACTERS = 20_000
"""A longer query is not read: no rule's time grows slower than its length."""
MOST_LEVELS = 60
"""A query of more nested expressions is not read."""
MOST_SOURCES = 40
MOST_CONDITIONS = 400

_KNOWN_PARTS = frozenset(
    [
        "kind",
        "hint",
        "distinct",
        "expressions",
        "limit",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "offset",
        "with_",
        "operation_modifiers",
        "qualify",
    ]
)
_CHAINS = (exp.And, exp.Or, exp.SetOperation)


def read_query(text: str, world: World) -> Query:
    """The meaning of a query. Raises NotCovered with the construct that stopped it."""
    found = _parsed(text, world)
    if not isinstance(found, exp.Query | exp.Values):
        raise NotCovered("a text that is not one query")
    reader = _Reader(world, quotes_are_text=world.dialect == "sqlite" and not {"`", "["} & set(text))
    query, _ = reader.query(found, Scope(world))
    if len(world.sources) > MOST_SOURCES:
        raise NotCovered(f"more than {MOST_SOURCES} tables")
    return query


def _parsed(text: str, world: World) -> exp.Expr:
    """One statement, of bounded size."""
    if len(text) > MOST_CHARACTERS:
        raise NotCovered(f"a text of {len(text):,} characters; the limit is {MOST_CHARACTERS:,}")
    try:
        found = [one for one in sqlglot.parse(text, dialect=world.dialect) if one is not None]
    except (SqlglotError, ValueError):
        raise NotCovered("a text that cannot be parsed") from None
    if len(found) != 1:
        raise NotCovered("a text that is not one query")
    if world.dialect == "sqlite" and "+" in text:
        _no_sign(text)
    _bounded(found[0])
    return found[0]


_ENDS = frozenset({"VAR", "IDENTIFIER", "NUMBER", "STRING", "R_PAREN", "END", "NULL"})


def _no_sign(text: str) -> None:
    """Refuse a plus sign before an operand: SQLite takes the column's type from it, and the parser drops the sign."""
    before = ""
    for token in sqlglot.tokenize(text, dialect="sqlite"):
        if token.token_type.name == "PLUS" and before not in _ENDS:
            raise NotCovered("a plus sign")
        before = token.token_type.name


def _bounded(root: exp.Expr) -> None:
    """Refuse what is nested deeply; chains of one connective count once."""
    stack, conditions = [(root, 0)], 0
    while stack:
        node, depth = stack.pop()
        if depth > MOST_LEVELS:
            raise NotCovered(f"expressions nested more than {MOST_LEVELS} levels deep")
        conditions += isinstance(node, exp.Predicate | exp.Join)
        for child in node.iter_expressions():
            chained = isinstance(node, _CHAINS) and type(child) is type(node)
            stack.append((child, depth if chained else depth + 1))
    if conditions > MOST_CONDITIONS:
        raise NotCovered(f"more than {MOST_CONDITIONS} conditions and joins")


class _Reader(FromReader):
    def definition(self, view: TableSchema) -> tuple[exp.Expr, list[str]]:
        """A view's query, and the names that it gives to its columns, where it does."""
        made = _parsed(view.ddl, self.world) if view.ddl else None
        query = made.expression if isinstance(made, exp.Create) else made
        if not isinstance(query, exp.Query):
            raise NotCovered(f"the view {view.name[:60]}, whose definition is not known")
        named = made.this if isinstance(made, exp.Create) else None
        return query, [one.name for one in named.expressions] if isinstance(named, exp.Schema) else []

    def query(self, node: exp.Expr, scope: Scope) -> tuple[Query, list[str]]:
        """A query and the names of its outputs."""
        inner = Scope(self.world, parent=scope, ctes=self._ctes(node, scope))
        if isinstance(node, exp.Subquery):
            if any(node.args.get(part) for part in ("joins", "pivots", "sample", "laterals")):
                raise NotCovered("a join after a subquery")
            query, names = self.query(node.this, inner)
            return self._trimmed(query, names, node, inner)
        if isinstance(node, exp.SetOperation):
            query, names = self._combined(node, inner)
            return self._trimmed(query, names, node, inner)
        if isinstance(node, exp.Values):
            rows = tuple(tuple(self.terms(inner).read(cell) for cell in _cells(row)) for row in node.expressions)
            if not rows or len({len(row) for row in rows}) != 1:
                raise NotCovered("VALUES of uneven rows")
            return Rows(rows), [f"column{place + 1}" for place in range(len(rows[0]))]
        if isinstance(node, exp.Select):
            if (sets := grouping_sets(node)) is not None:
                read = [self._select(one, inner) for one in sets]
                parts = tuple(part for part, _ in read)
                return (Combined("union", all=True, parts=parts) if parts[1:] else parts[0]), read[0][1]
            return self._select(node, inner)
        raise NotCovered(node.key)

    def _ctes(self, node: exp.Expr, scope: Scope) -> dict[str, object]:
        with_: exp.With | None = node.args.get("with_")
        found: dict[str, object] = {}
        for cte in () if with_ is None else with_.expressions:
            name = cte.alias.lower()
            if (
                with_ is not None
                and with_.args.get("recursive")
                and any(one.name.lower() == name for one in cte.this.find_all(exp.Table))
            ):
                raise NotCovered("a recursive WITH")
            found[name] = (cte, Scope(self.world, parent=scope, ctes=dict(found)))
        return found

    def _combined(self, node: exp.SetOperation, scope: Scope) -> tuple[Query, list[str]]:
        """A chain of one operator is one of many parts; it is read without recursion down its left side."""
        op = node.key
        all_ = not node.args.get("distinct")
        if any(node.args.get(part) for part in ("by_name", "on", "side", "kind")):
            raise NotCovered(f"{op.upper()} by name")
        right: list[exp.Expr] = []
        left: exp.Expr = node
        while (
            type(left) is type(node)
            and bool(left.args.get("distinct")) != all_
            and (left is node or not any(left.args.get(part) for part in ("order", "limit", "offset", "with_")))
        ):
            right.append(left.args["expression"])
            left = left.this
            if op == "except":
                break
        for part in (left, *right):
            if isinstance(part, exp.Subquery) and self.world.dialect == "sqlite":
                raise NotCovered(f"{op.upper()} of a query in parentheses, which SQLite does not read")
            mixed = isinstance(part, exp.SetOperation) and "intersect" in (op, part.key) and op != part.key
            if mixed and self.world.dialect == "sqlite":
                raise NotCovered("INTERSECT beside another operator, which SQLite reads from left to right")
        read = [self.query(part, scope) for part in (left, *reversed(right))]
        if len({self.world.width(query) for query, _ in read}) != 1:
            raise NotCovered(f"{op.upper()} of different widths")
        return Combined(op, all_, tuple(query for query, _ in read)), read[0][1]  # type: ignore[arg-type]

    def _trimmed(self, query: Query, names: list[str], node: exp.Expr, scope: Scope) -> tuple[Query, list[str]]:
        """The query under the ORDER BY and LIMIT that stand round it."""
        if not any(node.args.get(part) for part in ("order", "limit", "offset")):
            return query, names
        source = self.world.source(query=query)
        entry = entry_of(source, "", names, self.world)
        outputs = tuple(term for _, term in entry.columns)
        level = Scope(self.world, [entry], scope)
        block = Block(sources=(source,), outputs=outputs)
        return self._ended(block, names, node, level), names

    def _select(self, node: exp.Select, scope: Scope) -> tuple[Query, list[str]]:
        name_windows(node)
        for part, value in node.args.items():
            if value and part not in _KNOWN_PARTS:
                raise NotCovered(part)
        if node.args.get("kind") or (node.args.get("distinct") and node.args["distinct"].args.get("on")):
            raise NotCovered("DISTINCT ON")
        found = self.read_from(node, scope)
        level = Scope(self.world, found.entries, scope.parent, ctes=scope.ctes)
        terms = self.terms(level)
        names, outputs = self._outputs(node, level, terms)
        aliases: dict[str, Term] = {}
        for one, term in zip(node.expressions, outputs, strict=False):
            if isinstance(one, exp.Alias):
                aliases.setdefault(one.alias.lower(), term)
        if len(node.expressions) != len(outputs):
            aliases = dict(self._aliases(node, terms))
        where_level = Scope(self.world, found.entries, scope.parent, ctes=scope.ctes, aliases=self._fallback(aliases))
        where = self.terms(where_level).conjuncts(node.args["where"].this if node.args.get("where") else None)
        if any(has_aggregate(term) for term in where):
            raise NotCovered("an aggregate in WHERE")
        group = self._group(node, where_level, outputs)
        having = self.terms(where_level).conjuncts(node.args["having"].this if node.args.get("having") else None)
        block = Block(
            sources=found.sources,
            lefts=found.lefts,
            where=(*found.where, *where),
            group=group,
            having=having,
            outputs=outputs,
            distinct=bool(node.args.get("distinct")),
        )
        order_level = replace(where_level, aliases=aliases)
        block = self._ended(block, names, node, order_level, aliases)
        used = (*block.outputs, *block.having, *(key.term for key in block.order))
        if self.world.dialect == "duckdb" and group is not None and not all(_is_grouped(term, group) for term in used):
            raise NotCovered("a column outside of GROUP BY, which DuckDB refuses")
        if group is None and any(has_aggregate(term) for term in used):
            block = replace(block, group=())
        elif group is None and having:
            raise NotCovered("HAVING without GROUP BY")
        if node.args.get("qualify"):
            block = qualified(block, self.terms(where_level).conjuncts(node.args["qualify"].this), self.world)
        return block, names

    def _aliases(self, node: exp.Select, terms: TermReader) -> list[tuple[str, Term]]:
        return [
            (one.alias.lower(), terms.read(one.this))
            for one in reversed(node.expressions)
            if isinstance(one, exp.Alias)
        ]

    def _fallback(self, aliases: dict[str, Term]) -> dict[str, Term]:
        """Outputs that may be named by alias outside ORDER BY, where no column has the name."""
        return aliases if self.world.dialect in ("sqlite", "duckdb", "mysql") else {}

    def _outputs(self, node: exp.Select, level: Scope, terms: TermReader) -> tuple[list[str], tuple[Term, ...]]:
        names: list[str] = []
        outputs: list[Term] = []
        for one in node.expressions:
            starred = isinstance(one, exp.Star) or (isinstance(one, exp.Column) and isinstance(one.this, exp.Star))
            if starred:
                star = one if isinstance(one, exp.Star) else one.this
                if any(star.args.get(part) for part in ("except_", "replace", "rename", "except")):
                    raise NotCovered("* with EXCEPT or REPLACE")
                table = one.table.lower() if isinstance(one, exp.Column) else ""
                offered = [entry for entry in level.entries if not table or entry.alias == table]
                if not offered:
                    raise NotCovered(f"{table}.*, which names no table")
                for entry in offered:
                    kept = [(name, term) for name, term in entry.columns if table or name not in entry.hidden]
                    names += [name for name, _ in kept]
                    outputs += [term for _, term in kept]
                continue
            bare = one.this if isinstance(one, exp.Alias) else one
            names.append(one.alias_or_name.lower())
            outputs.append(terms.read(bare))
        if not outputs:
            raise NotCovered("a SELECT of nothing")
        return names, tuple(outputs)

    def _group(self, node: exp.Select, level: Scope, outputs: tuple[Term, ...]) -> tuple[Term, ...] | None:
        group = node.args.get("group")
        if group is None:
            return None
        if any(value for part, value in group.args.items() if part != "expressions"):
            raise NotCovered("GROUPING SETS, CUBE, ROLLUP or GROUP BY ALL")
        found = []
        for one in (each.unnest() for each in group.expressions):
            if isinstance(one, exp.Tuple | exp.Cube | exp.Rollup | exp.GroupingSets):
                raise NotCovered("GROUP BY of rows")
            if isinstance(one, exp.Literal) and not one.is_string:
                found.append(_at(outputs, one.name))
            else:
                self._no_clash(one, level)
                found.append(self.terms(level).read(one))
        if any(has_aggregate(term) for term in found):
            raise NotCovered("an aggregate in GROUP BY")
        return tuple(found)

    def _no_clash(self, node: exp.Expr, level: Scope) -> None:
        """A name that is a column and another output's alias is read one way here and another way there."""
        for column in node.find_all(exp.Column):
            name = column.name.lower()
            if self.world.dialect == "sqlite" or column.table or name not in level.aliases:
                continue
            here = Scope(self.world, level.entries).find(name)
            if here is not None and here != level.aliases[name]:
                raise NotCovered(f"the name {name}, which is a column and an alias")

    def _ended(
        self, block: Block, names: list[str], node: exp.Expr, level: Scope, aliases: dict[str, Term] | None = None
    ) -> Block:
        """The block with the node's ORDER BY and LIMIT."""
        order = node.args.get("order")
        named = dict(zip(names, block.outputs, strict=True)) if aliases is None else aliases
        keys = tuple(self._key(one, block, named, level) for one in (order.expressions if order else []))
        limit, offset = node.args.get("limit"), node.args.get("offset")
        count = start = None
        if limit is not None:
            if not isinstance(limit, exp.Limit) or limit.args.get("limit_options") or limit.expressions:
                raise NotCovered("FETCH, or LIMIT with options")
            count = _whole(limit.expression)
            offset = limit.args.get("offset") or offset
        if offset is not None:
            start = _whole(offset.expression if isinstance(offset, exp.Offset) else offset)
        if count is not None or start:
            self.world.open_choice = True
            if not keys and any(_ordered(one.query) for one in block.sources):
                raise NotCovered("a LIMIT over a query that is ordered")
        return replace(block, order=keys, limit=count, offset=start or 0)

    def _key(self, node: exp.Expr, block: Block, aliases: dict[str, Term], level: Scope) -> Key:
        if not isinstance(node, exp.Ordered) or node.args.get("with_fill"):
            raise NotCovered("an ORDER BY with options")
        inner = node.this.unnest()
        if isinstance(inner, exp.Literal) and not inner.is_string:
            term = _at(block.outputs, inner.name)
        elif isinstance(inner, exp.Column) and not inner.table and inner.name.lower() in aliases:
            term = aliases[inner.name.lower()]
        else:
            term = self.terms(level).read(inner)
        return Key(term, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def _is_grouped(term: Term, group: tuple[Term, ...]) -> bool:
    """Whether a term is made of keys and aggregates alone."""
    if term in group or isinstance(term, Agg | Const | Sub):
        return True
    return isinstance(term, Call) and all(_is_grouped(arg, group) for arg in term.args)


def _ordered(query: Query | None) -> bool:
    """Whether a query in FROM orders rows of which the query round it takes some."""
    if not isinstance(query, Block):
        return False
    return (bool(query.order) and not query.cuts) or (
        query.group is None and any(_ordered(one.query) for one in query.sources)
    )


def _cells(row: exp.Expr) -> list[exp.Expr]:
    return row.expressions if isinstance(row, exp.Tuple) else [row.this if isinstance(row, exp.Paren) else row]


def _at(outputs: tuple[Term, ...], place: str) -> Term:
    if not place.isdecimal() or not 1 <= int(place) <= len(outputs):
        raise NotCovered(f"the place {place[:20]}")
    return outputs[int(place) - 1]


def _whole(node: exp.Expr) -> int:
    if isinstance(node, exp.Paren):
        return _whole(node.this)
    if not isinstance(node, exp.Literal) or not node.name.isdecimal():
        raise NotCovered("a LIMIT that is not a number")
    return int(node.name)


__all__ = ["read_query"]
