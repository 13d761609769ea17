"""Read what stands in FROM: tables, queries, and the joins between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import sqlglot
from msgspec import Struct, field
from sqlglot import exp
from sqlglot.errors import SqlglotError

from assay.model import TableSchema
from assay.sql.algebra.literals import compared
from assay.sql.algebra.model import (
    ONE,
    Block,
    Call,
    Col,
    FullJoin,
    LeftJoin,
    Query,
    Source,
    Sub,
    Term,
    substituted,
)
from assay.sql.algebra.reading_terms import TermReader
from assay.sql.algebra.scope import Entry, Scope, entry_of
from assay.sql.algebra.stopping import NotCovered
from assay.sql.algebra.world import TableFacts, World


class From(Struct):
    sources: tuple[Source, ...] = ()
    lefts: tuple[LeftJoin, ...] = ()
    where: tuple[Term, ...] = ()
    entries: list[Entry] = field(default_factory=list)


class FromReader:
    """Reads a FROM; what a query in it is, a subclass says."""

    def __init__(self, world: World, *, quotes_are_text: bool) -> None:
        self.world = world
        self._quotes = quotes_are_text
        self._used_ctes: set[int] = set()

    def query(self, node: exp.Expr, scope: Scope) -> tuple[Query, list[str]]:
        """A query and the names of its outputs."""
        raise NotImplementedError

    def definition(self, view: TableSchema) -> tuple[exp.Expr, list[str]]:
        """A view's query, and the names that it gives to its columns, where it does."""
        raise NotImplementedError

    def terms(self, scope: Scope) -> TermReader:
        """A reader of expressions in which these names are known."""
        return TermReader(scope, lambda node, level: self.query(node, level)[0], quotes_are_text=self._quotes)

    def read_from(self, node: exp.Select, scope: Scope) -> From:
        from_ = node.args.get("from_")
        if from_ is None:
            if node.args.get("joins"):
                raise NotCovered("a JOIN without FROM")
            return From()
        return self._joined(from_.this, node.args.get("joins") or [], scope)

    def _joined(self, first: exp.Expr, joins: list[exp.Join], scope: Scope) -> From:
        found = self._item(first, scope)
        bare = False
        late: list[exp.Expr] = []  # SQLite reads the ON of an inner join like WHERE: it may name tables that follow
        for join in joins:
            side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
            method = (join.args.get("method") or "").upper()
            if kind in ("SEMI", "ANTI") or side in ("SEMI", "ANTI"):
                if (
                    side not in ("", "SEMI", "ANTI")
                    or method
                    or join.args.get("using")
                    or self.world.dialect != "duckdb"
                ):
                    raise NotCovered(f"{kind or side} JOIN")
                found = self._existing(found, join, scope, wanted="SEMI" in (kind, side))
                continue
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
            if side in ("RIGHT", "FULL") and late:
                # What the inner joins before it ask is asked of their rows alone, not of the rows that it adds.
                found, late = self._settled(found, late, scope), []
            if side or join.args.get("using") or method or self.world.dialect != "sqlite" or not join.args.get("on"):
                found = self._join(found, right, join, side, scope)
            else:
                late.append(join.args["on"])
                found = self._join(found, right, exp.Join(this=join.this), side, scope)
        return self._settled(found, late, scope)

    def _existing(self, found: From, join: exp.Join, scope: Scope, *, wanted: bool) -> From:
        """SEMI JOIN keeps the rows for which the other side has one, ANTI JOIN those for which it has none."""
        right = self._item(join.this, scope)
        level = Scope(self.world, found.entries + right.entries, scope.parent, ctes=scope.ctes)
        on = self.terms(level).conjuncts(join.args.get("on"))
        inner = Block(sources=right.sources, lefts=right.lefts, where=(*right.where, *on), outputs=(ONE,))
        exists = Sub("exists", inner)
        asked: Term = exists if wanted else Call("not", (exists,))
        return From(found.sources, found.lefts, (*found.where, asked), found.entries)

    def _settled(self, found: From, late: list[exp.Expr], scope: Scope) -> From:
        level = Scope(self.world, found.entries, scope.parent, ctes=scope.ctes)
        for on in late:
            found.where = (*found.where, *self.terms(level).conjuncts(on))
        return found

    def _join(self, left: From, right: From, join: exp.Join, side: str, scope: Scope) -> From:
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
        on = (*merged, *self.terms(level).conjuncts(join.args.get("on")))
        if side == "LEFT":
            joined = LeftJoin(right.sources, (*right.where, *on), right.lefts)
            return From(left.sources, (*left.lefts, joined), left.where, entries)
        if side == "RIGHT":
            joined = LeftJoin(left.sources, (*left.where, *on), left.lefts)
            return From(right.sources, (*right.lefts, joined), right.where, entries)
        if side == "FULL":
            return self._full(left, right, on)
        where = (*left.where, *right.where, *on)
        return From(left.sources + right.sources, left.lefts + right.lefts, where, entries)

    def _full(self, left: From, right: From, on: tuple[Term, ...]) -> From:
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
        return From((source,), (), (), entries)

    def _as_source(self, found: From, new: dict[Term, Term]) -> Source:
        if len(found.sources) == 1 and not found.lefts and not found.where:
            return found.sources[0]
        outputs = tuple(dict.fromkeys(term for entry in found.entries for _, term in entry.columns))
        block = Block(sources=found.sources, lefts=found.lefts, where=found.where, outputs=outputs)
        source = self.world.source(query=block)
        new.update({term: Col(source.id, str(place)) for place, term in enumerate(outputs)})
        return source

    def _item(self, node: exp.Expr, scope: Scope) -> From:
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

    def _joined_to(self, found: From, joins: list[exp.Join], scope: Scope) -> From:
        for join in joins:
            side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
            if kind not in ("", "INNER", "CROSS", "OUTER"):
                raise NotCovered(f"{kind} JOIN")
            found = self._join(found, self._item(join.this, scope), join, side, scope)
        return found

    def _table(self, node: exp.Table, alias: str, columns: list[str], scope: Scope) -> From:
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
        if name in self.world.views:
            return self._view(self.world.views[name], columns, alias or name)
        known = self.world.tables.get(name)
        if known is None:
            raise NotCovered(f"the table {node.name[:60]}, which is not in the schema")
        source = self.world.source(table=name)
        names = list(known.kinds)
        if columns:
            names = [one.lower() for one in columns] + names[len(columns) :]
        if known.checks:
            self.world.checks[source.id] = tuple(self._checks(source, known))
        return From((source,), entries=[entry_of(source, alias or name, names, self.world)])

    def _checks(self, source: Source, known: TableFacts) -> Iterator[Term]:
        """The CHECK constraints that can be read."""
        own = Scope(self.world, [entry_of(source, known.name, list(known.kinds), self.world)])
        for text in known.checks:
            try:
                yield self.terms(own).read(sqlglot.parse_one(text, dialect=self.world.dialect))
            except (NotCovered, SqlglotError):
                continue

    def _view(self, view: TableSchema, columns: list[str], alias: str) -> From:
        definition, given = self.definition(view)
        key = id(view)
        if key in self._used_ctes and definition.find(exp.Limit, exp.Offset, exp.Fetch):
            raise NotCovered("a view that takes some rows and is used twice")
        self._used_ctes.add(key)
        query, names = self.query(definition, Scope(self.world))
        return self._derived(query, columns or given or names, alias)

    def _derived(self, query: Query, names: list[str], alias: str) -> From:
        source = self.world.source(query=query)
        if len(names) != len(self.world.columns(source)):
            raise NotCovered("a list of columns that does not fit its query")
        return From((source,), entries=[entry_of(source, alias, list(names), self.world)])


def _bare(node: exp.Expr) -> exp.Expr:
    """The query of a FROM's item, without the joins that follow it."""
    if not isinstance(node, exp.Subquery) or not node.args.get("joins"):
        return node
    bare = node.copy()
    bare.set("joins", None)
    return bare


def _col(term: Term) -> Col:
    if not isinstance(term, Col):
        raise NotCovered("a FULL JOIN over merged columns")
    return term
