"""Read a query's text into blocks. What no rule speaks of stops it, by name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from assay.sql.normal.algebra import (
    Agg,
    Block,
    Call,
    Col,
    Combined,
    Const,
    FullJoin,
    Key,
    LeftJoin,
    Query,
    Rows,
    Source,
    Sub,
    Term,
    has_aggregate,
    substituted,
)
from assay.sql.normal.literals import compared
from assay.sql.normal.reading_terms import TermReader
from assay.sql.normal.scope import Entry, Scope, entry_of
from assay.sql.normal.stopping import NotCovered
from assay.sql.normal.world import World

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
    ]
)
_CHAINS = (exp.And, exp.Or, exp.SetOperation)


@dataclass(slots=True)
class _From:
    sources: tuple[Source, ...] = ()
    lefts: tuple[LeftJoin, ...] = ()
    where: tuple[Term, ...] = ()
    entries: list[Entry] = field(default_factory=list)


def read_query(text: str, world: World) -> Query:
    """The meaning of a query. Raises NotCovered with the construct that stopped it."""
    if len(text) > MOST_CHARACTERS:
        raise NotCovered(f"a text of {len(text):,} characters; the limit is {MOST_CHARACTERS:,}")
    try:
        found = [one for one in sqlglot.parse(text, dialect=world.dialect) if one is not None]
    except (SqlglotError, ValueError):
        raise NotCovered("a text that cannot be parsed") from None
    if len(found) != 1 or not isinstance(found[0], exp.Query | exp.Values):
        raise NotCovered("a text that is not one query")
    if world.dialect == "sqlite" and "+" in text:
        _no_sign(text)
    _bounded(found[0])
    reader = _Reader(world, quotes_are_text=world.dialect == "sqlite" and not {"`", "["} & set(text))
    query, _ = reader.query(found[0], Scope(world))
    if len(world.sources) > MOST_SOURCES:
        raise NotCovered(f"more than {MOST_SOURCES} tables")
    return query


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


class _Reader:
    def __init__(self, world: World, *, quotes_are_text: bool) -> None:
        self.world = world
        self._quotes = quotes_are_text
        self._used_ctes: set[int] = set()

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
            rows = tuple(tuple(self._terms(inner).read(cell) for cell in _cells(row)) for row in node.expressions)
            if not rows or len({len(row) for row in rows}) != 1:
                raise NotCovered("VALUES of uneven rows")
            return Rows(rows), [f"column{place + 1}" for place in range(len(rows[0]))]
        if isinstance(node, exp.Select):
            return self._select(node, inner)
        raise NotCovered(node.key)

    def _terms(self, scope: Scope) -> TermReader:
        return TermReader(scope, lambda node, level: self.query(node, level)[0], quotes_are_text=self._quotes)

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
        for part, value in node.args.items():
            if value and part not in _KNOWN_PARTS:
                raise NotCovered({"windows": "a named window", "qualify": "QUALIFY"}.get(part, part))
        if node.args.get("kind") or (node.args.get("distinct") and node.args["distinct"].args.get("on")):
            raise NotCovered("DISTINCT ON")
        found = self._from(node, scope)
        level = Scope(self.world, found.entries, scope.parent, ctes=scope.ctes)
        terms = self._terms(level)
        names, outputs = self._outputs(node, level, terms)
        aliases: dict[str, Term] = {}
        for one, term in zip(node.expressions, outputs, strict=False):
            if isinstance(one, exp.Alias):
                aliases.setdefault(one.alias.lower(), term)
        if len(node.expressions) != len(outputs):
            aliases = dict(self._aliases(node, terms))
        where_level = Scope(self.world, found.entries, scope.parent, ctes=scope.ctes, aliases=self._fallback(aliases))
        where = self._terms(where_level).conjuncts(node.args["where"].this if node.args.get("where") else None)
        if any(has_aggregate(term) for term in where):
            raise NotCovered("an aggregate in WHERE")
        group = self._group(node, where_level, outputs)
        having = self._terms(where_level).conjuncts(node.args["having"].this if node.args.get("having") else None)
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
        for one in group.expressions:
            if isinstance(one, exp.Tuple | exp.Cube | exp.Rollup | exp.GroupingSets):
                raise NotCovered("GROUP BY of rows")
            if isinstance(one, exp.Literal) and not one.is_string:
                found.append(_at(outputs, one.name))
            else:
                self._no_clash(one, level)
                found.append(self._terms(level).read(one))
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
        return replace(block, order=keys, limit=count, offset=start or 0)

    def _key(self, node: exp.Expr, block: Block, aliases: dict[str, Term], level: Scope) -> Key:
        if not isinstance(node, exp.Ordered) or node.args.get("with_fill"):
            raise NotCovered("an ORDER BY with options")
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            term = _at(block.outputs, inner.name)
        elif isinstance(inner, exp.Column) and not inner.table and inner.name.lower() in aliases:
            term = aliases[inner.name.lower()]
        else:
            term = self._terms(level).read(inner)
        return Key(term, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def _from(self, node: exp.Select, scope: Scope) -> _From:
        from_ = node.args.get("from_")
        if from_ is None:
            if node.args.get("joins"):
                raise NotCovered("a JOIN without FROM")
            return _From()
        return self._joined(from_.this, node.args.get("joins") or [], scope)

    def _joined(self, first: exp.Expr, joins: list[exp.Join], scope: Scope) -> _From:
        found = self._item(first, scope)
        bare = False
        late: list[exp.Expr] = []  # SQLite reads the ON of an inner join like WHERE: it may name tables that follow
        for join in joins:
            side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
            method = (join.args.get("method") or "").upper()
            if (
                kind not in ("", "INNER", "CROSS", "OUTER")
                or method not in ("", "NATURAL")
                or join.args.get("match_condition")
            ):
                raise NotCovered(f"{method or kind} JOIN")
            if side in ("RIGHT", "FULL") and bare and self.world.dialect != "sqlite":
                raise NotCovered("a comma before an outer join")
            bare = bare or kind == "CROSS"
            right = self._item(join.this, scope)
            if side or join.args.get("using") or method or self.world.dialect != "sqlite" or not join.args.get("on"):
                found = self._join(found, right, join, side, scope)
            else:
                late.append(join.args["on"])
                found = self._join(found, right, exp.Join(this=join.this), side, scope)
        level = Scope(self.world, found.entries, scope.parent, ctes=scope.ctes)
        for on in late:
            found.where = (*found.where, *self._terms(level).conjuncts(on))
        return found

    def _join(self, left: _From, right: _From, join: exp.Join, side: str, scope: Scope) -> _From:
        merged: list[Term] = []
        shared = [one.name.lower() for one in join.args.get("using") or []]
        if (join.args.get("method") or "").upper() == "NATURAL":
            mine = {name for entry in left.entries for name, _ in entry.columns if name not in entry.hidden}
            shared = list(dict.fromkeys(name for entry in right.entries for name, _ in entry.columns if name in mine))
        if shared and side in ("RIGHT", "FULL"):
            raise NotCovered(f"{side} JOIN with USING")
        for name in shared:
            one, other = Scope(self.world, left.entries).find(name), Scope(self.world, right.entries).find(name)
            if one is None or other is None:
                raise NotCovered(f"USING ({name}), which is not on both sides")
            merged.append(compared("eq", one, other, self.world))
            for entry in right.entries:
                if any(column == name for column, _ in entry.columns):
                    entry.hidden.add(name)
        entries = left.entries + right.entries
        level = Scope(self.world, entries, scope.parent, ctes=scope.ctes)
        on = (*merged, *self._terms(level).conjuncts(join.args.get("on")))
        if side == "LEFT":
            joined = LeftJoin(right.sources, (*right.where, *on), right.lefts)
            return _From(left.sources, (*left.lefts, joined), left.where, entries)
        if side == "RIGHT":
            joined = LeftJoin(left.sources, (*left.where, *on), left.lefts)
            return _From(right.sources, (*right.lefts, joined), right.where, entries)
        if side == "FULL":
            return self._full(left, right, on)
        where = (*left.where, *right.where, *on)
        return _From(left.sources + right.sources, left.lefts + right.lefts, where, entries)

    def _full(self, left: _From, right: _From, on: tuple[Term, ...]) -> _From:
        new: dict[Term, Term] = {}
        one, other = self._as_source(left, new), self._as_source(right, new)
        full = FullJoin(one, other, tuple(substituted(term, new) for term in on))
        source = self.world.source(query=full)
        places = [Col(one.id, name) for name in self.world.columns(one)] + [
            Col(other.id, name) for name in self.world.columns(other)
        ]
        moved = {place: Col(source.id, str(index)) for index, place in enumerate(places)}
        entries = [
            Entry(entry.alias, [(name, moved[_col(new.get(term, term))]) for name, term in entry.columns], entry.hidden)
            for entry in (*left.entries, *right.entries)
        ]
        return _From((source,), (), (), entries)

    def _as_source(self, found: _From, new: dict[Term, Term]) -> Source:
        if len(found.sources) == 1 and not found.lefts and not found.where:
            return found.sources[0]
        outputs = tuple(dict.fromkeys(term for entry in found.entries for _, term in entry.columns))
        block = Block(sources=found.sources, lefts=found.lefts, where=found.where, outputs=outputs)
        source = self.world.source(query=block)
        new.update({term: Col(source.id, str(place)) for place, term in enumerate(outputs)})
        return source

    def _item(self, node: exp.Expr, scope: Scope) -> _From:
        alias = node.alias
        columns = [one.name for one in node.args["alias"].columns] if node.args.get("alias") else []
        if node.args.get("pivots") or node.args.get("sample") or node.args.get("laterals"):
            raise NotCovered("PIVOT or a sample")
        if columns and self.world.dialect == "sqlite":
            raise NotCovered("a list of columns after an alias, which SQLite does not read")
        if isinstance(node, exp.Table):
            if not isinstance(node.this, exp.Identifier):
                raise NotCovered("a table function")
            found = self._table(node, alias, columns, scope)
        elif (
            isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery) and not alias
        ) or isinstance(node, exp.Paren):
            found = self._item(node.this, scope)
        elif isinstance(node, exp.Subquery | exp.Values | exp.SetOperation):
            query, names = self.query(_bare(node), Scope(self.world, parent=scope.parent, ctes=scope.ctes))
            found = self._derived(query, columns or names, alias)
        else:
            raise NotCovered({"lateral": "LATERAL", "unnest": "UNNEST"}.get(node.key, node.key))
        joins = node.args.get("joins")
        if joins:
            if alias and isinstance(node, exp.Subquery):
                raise NotCovered("an alias of a join")
            return self._joined_to(found, joins, scope)
        return found

    def _joined_to(self, found: _From, joins: list[exp.Join], scope: Scope) -> _From:
        for join in joins:
            side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
            if kind not in ("", "INNER", "CROSS", "OUTER"):
                raise NotCovered(f"{kind} JOIN")
            found = self._join(found, self._item(join.this, scope), join, side, scope)
        return found

    def _table(self, node: exp.Table, alias: str, columns: list[str], scope: Scope) -> _From:
        name = node.name.lower()
        cte = None if node.db else scope.cte(name)
        if cte is not None:
            expression, level = cast("tuple[exp.CTE, Scope]", cte)
            if id(expression) in self._used_ctes and expression.this.find(exp.Limit, exp.Offset, exp.Fetch):
                raise NotCovered("a WITH that takes some rows and is used twice")
            self._used_ctes.add(id(expression))
            query, names = self.query(expression.this, level)
            given = [one.name for one in expression.args["alias"].columns]
            return self._derived(query, columns or given or names, alias or name)
        if node.db and node.db.lower() not in ("main", "public"):
            raise NotCovered(f"the table {node.sql()[:60]}")
        known = self.world.tables.get(name)
        if known is None:
            raise NotCovered(f"the table {node.name[:60]}, which is not in the schema")
        source = self.world.source(table=name)
        names = list(known.kinds)
        if columns:
            names = [one.lower() for one in columns] + names[len(columns) :]
        return _From((source,), entries=[entry_of(source, alias or name, names, self.world)])

    def _derived(self, query: Query, names: list[str], alias: str) -> _From:
        source = self.world.source(query=query)
        if len(names) != len(self.world.columns(source)):
            raise NotCovered("a list of columns that does not fit its query")
        return _From((source,), entries=[entry_of(source, alias, list(names), self.world)])


def _bare(node: exp.Expr) -> exp.Expr:
    """The query of a FROM's item, without the joins that follow it."""
    if not isinstance(node, exp.Subquery) or not node.args.get("joins"):
        return node
    bare = node.copy()
    bare.set("joins", None)
    return bare


def _is_grouped(term: Term, group: tuple[Term, ...]) -> bool:
    """Whether a term is made of keys and aggregates alone."""
    if term in group or isinstance(term, Agg | Const | Sub):
        return True
    return isinstance(term, Call) and all(_is_grouped(arg, group) for arg in term.args)


def _cells(row: exp.Expr) -> list[exp.Expr]:
    return row.expressions if isinstance(row, exp.Tuple) else [row.this if isinstance(row, exp.Paren) else row]


def _col(term: Term) -> Col:
    if not isinstance(term, Col):
        raise NotCovered("a FULL JOIN over merged columns")
    return term


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
