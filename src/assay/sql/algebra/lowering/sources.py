"""Lower FROM: tables, queries, and the joins between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from assay.model import TableSchema
from assay.sql import select as written
from assay.sql.algebra.literals import compared
from assay.sql.algebra.lowering.limits import check_limits
from assay.sql.algebra.lowering.terms import LowersTerms
from assay.sql.algebra.model import Block, Call, Col, FullJoin, LeftJoin, Query, Source, Term
from assay.sql.algebra.parts import substituted
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import SchemaContext, TableFacts
from assay.sql.dialects import DECLARED_KEYS
from assay.sql.reader import first_statement


class Entry(Struct):
    """One item of FROM: its columns in order, by their names in lower case."""

    source: written.Source
    columns: list[tuple[str, Term]]
    hidden: set[str] = field(default_factory=set)
    """Columns that USING or NATURAL merged into those of an item before it."""

    def called(self, name: str, *, shown: bool = True) -> list[Term]:
        """The columns of this name; with ``shown``, only those that are not merged into another."""
        return [] if shown and name in self.hidden else [term for column, term in self.columns if column == name]


class From(Struct):
    """Some items of FROM, joined; the block's outputs are not set."""

    block: Block = Block(sources=())
    entries: list[Entry] = field(default_factory=list)

    def filtered(self, *terms: Term) -> From:
        """The joined rows for which conditions also hold."""
        return From(replace(self.block, where=(*self.block.where, *terms)), self.entries)


class Level(Struct):
    """What is known of one SELECT while it is lowered."""

    select: written.Select
    entries: list[Entry] = field(default_factory=list)
    """The items of FROM whose columns may be named now."""
    outputs: dict[int, Term] = field(default_factory=dict)
    """What is selected, by the id of its expression, once all of it is lowered."""

    def source_of(self, node: exp.Expr) -> written.Source | None:
        """The source that an item of FROM is; None if it is not a source of its own, or its name is used before."""
        return next((source for source in self.select.sources.values() if source.node is node), None)


class LowersFrom(LowersTerms):
    """Lowers a FROM."""

    def __init__(self, world: SchemaContext, used: set[int | str]) -> None:
        super().__init__(world)
        self.used = used
        """The CTEs, by their ids, and views, by their names, that were named before."""
        self._within: set[int] = set()

    def view(self, view: TableSchema) -> tuple[Query, list[str]]:
        """The query of a view, and the names of its columns. Raises NotCovered."""
        raise NotImplementedError

    def lower_from(self, level: Level) -> From:
        """The FROM of a SELECT. From then on, its items can be named at the level."""
        select = level.select.node
        from_, joins = select.args.get("from_"), select.args.get("joins") or []
        if from_ is None:
            if joins:
                raise UnsupportedSQL("a JOIN without FROM")
            return From()
        found = self._joined(self._item(from_.this, level), joins, level)
        level.entries = found.entries
        return found

    def _joined(self, found: From, joins: list[exp.Join], level: Level) -> From:
        sqlite = self.world.dialect == "sqlite"
        late: list[exp.Expr] = []  # SQLite reads the ON of an inner join like WHERE: it may name later tables
        after_comma = False
        for join in joins:
            side, kind, method = join.side, join.kind, join.method
            using, on = join.args.get("using"), join.args.get("on")
            if {"SEMI", "ANTI"} & {kind, side}:
                if side not in ("", "SEMI", "ANTI") or method or using or self.world.dialect != "duckdb":
                    raise UnsupportedSQL(f"{kind or side} JOIN")
                found = self._existing(found, join, level, wanted="SEMI" in (kind, side))
                continue
            if kind not in ("", "INNER", "CROSS", "OUTER") or method not in ("", "NATURAL"):
                raise UnsupportedSQL(f"{method or kind} JOIN")
            if side in ("RIGHT", "FULL") and after_comma and not sqlite:
                raise UnsupportedSQL("a comma before an outer join")
            # A comma is a join without a keyword and a condition. This matters if it has lower precedence than JOIN.
            after_comma = after_comma or (kind in ("", "CROSS") and not (side or method or using or on))
            right = self._item(join.this, level)
            if side in ("RIGHT", "FULL") and late:
                # The conditions of earlier inner joins apply to their rows only, not to the rows that this join adds.
                found, late = self._settled(found, late, level), []
            waits = sqlite and not (side or using or method)
            if waits and on is not None:
                late.append(on)
            found = self._join(found, right, join, level, waits=waits)
        return self._settled(found, late, level)

    def _on(self, on: exp.Expr | None, level: Level, *sides: From) -> tuple[Term, ...]:
        """The conditions of an ON, in which these items can be named."""
        level.entries = [entry for side in sides for entry in side.entries]
        return self.conjuncts(on)

    def _existing(self, found: From, join: exp.Join, level: Level, *, wanted: bool) -> From:
        """SEMI JOIN keeps the rows for which the other side has a row, ANTI JOIN the others."""
        right = self._item(join.this, level)
        exists = right.filtered(*self._on(join.args.get("on"), level, found, right)).block.exists
        return found.filtered(exists if wanted else Call("not", (exists,)))

    def _settled(self, found: From, late: list[exp.Expr], level: Level) -> From:
        for on in late:
            found = found.filtered(*self._on(on, level, found))
        return found

    def _join(self, left: From, right: From, join: exp.Join, level: Level, *, waits: bool = False) -> From:
        """Two items joined; with ``waits``, without the condition in ON."""
        side, on = join.side, None if waits else join.args.get("on")
        entries = left.entries + right.entries
        asked = (*self._merged(left, right, join), *self._on(on, level, left, right))
        if side == "FULL":
            return self._full(left, right, asked)
        if side in ("LEFT", "RIGHT"):
            kept, other = (left, right) if side == "LEFT" else (right, left)
            joined = LeftJoin(other.block.sources, (*other.block.where, *asked), other.block.lefts)
            return From(replace(kept.block, lefts=(*kept.block.lefts, joined)), entries)
        return From(left.block.joined(right.block, left.block.where), entries).filtered(*asked)

    def _merged(self, left: From, right: From, join: exp.Join) -> list[Term]:
        """The equalities that USING or NATURAL imply. The right side's columns can no longer be named."""
        shared = [one.name.lower() for one in join.args.get("using") or []]
        if join.method == "NATURAL":
            names = dict.fromkeys(name for entry in right.entries for name, _ in entry.columns)
            shared = [name for name in names if any(entry.called(name) for entry in left.entries)]
        if shared and join.side in ("RIGHT", "FULL"):
            raise UnsupportedSQL(f"{join.side} JOIN with USING")
        merged: list[Term] = []
        for name in shared:
            one, other = (only(name, entries) for entries in (left.entries, right.entries))
            if one is None or other is None:
                raise UnsupportedSQL(f"USING ({name}), which is not on both sides")
            merged.append(compared("eq", one, other, self.world))
            for entry in right.entries:
                entry.hidden.add(name)
        return merged

    def _full(self, left: From, right: From, on: tuple[Term, ...]) -> From:
        new: dict[Term, Term] = {}
        one, other = self._as_source(left, new), self._as_source(right, new)
        full = FullJoin(one, other, tuple(substituted(term, new) for term in on))
        source = self.world.source(query=full)
        moved = dict(zip(self.world.both(full), self.world.cols(source), strict=True))
        entries = [*left.entries, *right.entries]
        for entry in entries:
            if any(new.get(term, term) not in moved for _, term in entry.columns):
                raise UnsupportedSQL("a FULL JOIN over merged columns")
            entry.columns = [(name, moved[new.get(term, term)]) for name, term in entry.columns]
        return From(Block(sources=(source,)), entries)

    def _as_source(self, found: From, new: dict[Term, Term]) -> Source:
        if found.block == Block(sources=found.block.sources[:1]):
            return found.block.sources[0]
        outputs = tuple(dict.fromkeys(term for entry in found.entries for _, term in entry.columns))
        source = self.world.source(query=replace(found.block, outputs=outputs))
        new.update(zip(outputs, self.world.cols(source), strict=True))
        return source

    def _item(self, node: exp.Expr, level: Level) -> From:
        named = node.args.get("alias")
        if named and named.columns and self.world.dialect == "sqlite":
            raise UnsupportedSQL("a list of columns after an alias, which SQLite does not support")
        source = level.source_of(node)
        joins = node.args.get("joins") or []
        if isinstance(node, exp.Subquery | exp.Paren) and source is None and not node.alias:
            found = self._item(node.this, level)
        elif source is None:
            raise UnsupportedSQL(f"two tables called {node.alias_or_name}")
        elif isinstance(node, exp.Table):
            if not isinstance(node.this, exp.Identifier):
                raise UnsupportedSQL("a table function")
            found = self._table(node, source)
        elif isinstance(node, exp.Subquery | exp.Values | exp.SetOperation):
            if joins and node.alias and isinstance(node, exp.Subquery):
                raise UnsupportedSQL("an alias of a join")
            found = self._derived(source, *self.query(node, joined=True))
        else:
            raise UnsupportedSQL({"lateral": "LATERAL", "unnest": "UNNEST"}.get(node.key, node.key))
        return self._joined(found, joins, level)

    def _table(self, node: exp.Table, source: written.Source) -> From:
        name = node.name.lower()
        if source.cte is not None:
            return self._derived(source, *self._cte(source.cte))
        is_own = node.db.lower() in ("", "main", "public") and (not node.db or self.world.dialect not in DECLARED_KEYS)
        if not is_own or node.catalog:
            raise UnsupportedSQL(f"the table {node.sql()[:60]}")
        if name in self.world.views:
            return self._derived(source, *self.view(self.world.views[name]))
        known = self.world.tables.get(name)
        if known is None:
            raise UnsupportedSQL(f"the table {node.name[:60]}, which is not in the schema")
        made = self.world.source(table=name)
        if known.checks:
            self.world.checks[made.id] = tuple(_checks(made, known, self.world))
        if len(source.names) > len(known.kinds):
            raise UnsupportedSQL("a list of columns that does not fit its table")
        names = [*source.names, *list(known.kinds)[len(source.names) :]]
        return self._entry(source, made, names)

    def _cte(self, cte: exp.CTE) -> tuple[Query, list[str]]:
        if id(cte) in self._within:
            raise UnsupportedSQL("a recursive WITH")
        self.use(id(cte), cte.this, "a WITH")
        self._within.add(id(cte))
        found = self.query(cte.this)
        self._within.discard(id(cte))
        return found

    def use(self, key: int | str, query: exp.Expr, said: str) -> None:
        """Refuse a repeated use of a query that takes only some rows: each use may take other rows."""
        if key in self.used and query.find(exp.Limit, exp.Offset, exp.Fetch):
            raise UnsupportedSQL(f"{said} that takes some rows and is used twice")
        self.used.add(key)

    def _derived(self, source: written.Source, query: Query, names: list[str]) -> From:
        made = self.world.source(query=query)
        names = list(source.names) or names
        if len(names) != len(self.world.columns(made)):
            raise UnsupportedSQL("a list of columns that does not fit its query")
        return self._entry(source, made, names)

    def _entry(self, source: written.Source, made: Source, names: Sequence[str]) -> From:
        columns = zip((name.lower() for name in names), self.world.cols(made), strict=True)
        return From(Block(sources=(made,)), [Entry(source, list(columns))])


def only(name: str, entries: list[Entry], *, shown: bool = True) -> Term | None:
    """The column of this name, or None. Raises NotCovered if there are several."""
    found = [term for entry in entries for term in entry.called(name, shown=shown)]
    if len(found) > 1:
        raise UnsupportedSQL(f"the ambiguous column {name}")
    return found[0] if found else None


class _LowersChecks(LowersTerms):
    """Lowers the conditions of a stored table's row."""

    def __init__(self, source: Source, known: TableFacts, world: SchemaContext) -> None:
        super().__init__(world)
        self._source, self._known = source, known

    def column(self, node: exp.Column) -> Term:
        if node.name.lower() not in self._known.kinds:
            raise UnsupportedSQL(f"the column {node.sql()[:60]}, which is not in the schema")
        return Col(self._source.id, node.name.lower())


def _checks(source: Source, known: TableFacts, world: SchemaContext) -> Iterator[Term]:
    """The CHECK constraints that can be read."""
    reader = _LowersChecks(source, known, world)
    for text in known.checks:
        try:
            tree = first_statement(text, world.dialect)
            check_limits(tree)
            yield reader.term(tree)
        except (UnsupportedSQL, SqlglotError):
            continue
