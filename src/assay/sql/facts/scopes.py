"""The SELECTs of a query, what each reads from, and which of that a column's name means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from assay.sql.facts.model import ColumnRef, Place, Source
from assay.sql.schema_names import SchemaNames, type_family
from assay.sql.sources import Ctes, entries_of, named_outputs

if TYPE_CHECKING:
    from sqlglot import exp

_QUOTED_TEXT = frozenset({"sqlite"})
"""Dialects in which a name in double quotes that is no column is a text."""
_MOST_HOPS = 8


class Inner(Struct, frozen=True):
    """The query behind a source, and the names that the source gives its columns."""

    query: exp.Query
    names: list[str]


class Scope(Struct):
    """One SELECT while it is read."""

    index: int
    select: exp.Select
    parent: Scope | None
    sources: dict[str, Source] = field(default_factory=dict)
    inner: dict[str, Inner] = field(default_factory=dict)
    """What is behind sources that are subqueries or CTEs."""

    @property
    def is_known(self) -> bool:
        """Whether the columns of every source are known."""
        return all(source.known for source in self.sources.values())


class Scopes:
    """All SELECTs of one tree, the outermost first."""

    def __init__(self, tree: exp.Query, names: SchemaNames | None, dialect: str) -> None:
        from sqlglot import exp

        self.names = names
        self.dialect = dialect
        self.tree = tree
        self.unresolved: list[ColumnRef] = []
        self._of: dict[int, Scope] = {}
        self._memo: dict[int, ColumnRef | None] = {}
        self._hops = 0
        self._ctes = Ctes()
        self.all: list[Scope] = []
        for index, select in enumerate(tree.find_all(exp.Select)):
            above = select.find_ancestor(exp.Select)
            scope = Scope(index, select, None if above is None else self._of.get(id(above)))
            self._of[id(select)] = scope
            self._read_sources(scope)
            self.all.append(scope)

    def of(self, node: exp.Expr) -> Scope | None:
        """The scope of the SELECT around a node."""
        from sqlglot import exp

        select = node if isinstance(node, exp.Select) else node.find_ancestor(exp.Select)
        return None if select is None else self._of.get(id(select))

    def _read_sources(self, scope: Scope) -> None:
        from sqlglot import exp

        for entry, _ in entries_of(scope.select):
            alias = (entry.alias_or_name or f"?{len(scope.sources)}").lower()
            source = self._source(scope, entry, alias)
            above = entry.parent
            if isinstance(above, exp.Join) and str(above.args.get("kind") or "").upper() == "CROSS":
                source = replace(source, crossed=True)
            scope.sources.setdefault(alias, source)

    def _source(self, scope: Scope, entry: exp.Expr, alias: str) -> Source:
        from sqlglot import exp

        place = place_of(entry)
        if isinstance(entry, exp.Table) and isinstance(entry.this, exp.Identifier):
            cte = None if entry.args.get("db") else self._ctes.find(entry.name, entry)
            if cte is None:
                stored = None if self.names is None else self.names.table(entry.name)
                return Source(
                    alias=alias,
                    table=entry.name if stored is None else stored.name,
                    known=stored is not None,
                    place=place,
                )
            inner, names = cte.this, cte.alias_column_names
        else:
            inner = entry.this if isinstance(entry, exp.Subquery) else None
            names = entry.alias_column_names if isinstance(entry, exp.Subquery) else []
        if inner is None:
            return Source(
                alias=alias, table=None, known=False, single_row=not isinstance(entry, exp.Table), place=place
            )
        scope.inner[alias] = Inner(inner, names)
        stars = any(output.is_star for output in inner.selects)
        return Source(alias=alias, table=None, known=not stars, single_row=_is_single(inner), place=place)

    def column(self, node: exp.Column) -> ColumnRef | None:
        """What a column's name means; None where it is no column but a text in double quotes."""
        key = id(node)
        if key not in self._memo:
            self._memo[key] = self._resolve(node)
        return self._memo[key]

    def behind(self, node: exp.Column) -> exp.Expr | None:
        """What a column of a subquery or CTE is computed from; None for any other column."""
        level = self.of(node)
        wanted = node.name.lower()
        while level is not None:
            for alias, inner in level.inner.items():
                if node.table and alias != node.table.lower():
                    continue
                for name, output in named_outputs(inner.query, inner.names):
                    if name == wanted:
                        return output.unalias()
            level = level.parent
        return None

    def _resolve(self, node: exp.Column) -> ColumnRef | None:
        place = place_of(node)
        scope = self.of(node)
        qualifier = node.table.lower()
        if scope is None:
            return ColumnRef(column=node.name, source=qualifier or None, place=place)
        around = scope
        unknown = False
        level: Scope | None = scope
        while level is not None:
            if (found := self._in_scope(level, qualifier, node.name, place)) is not None:
                return found
            unknown = unknown or (not qualifier and not level.is_known)
            if qualifier and qualifier in level.sources:
                unknown = unknown or not level.sources[qualifier].known
                break
            level = level.parent
        quoted = bool(node.this.args.get("quoted")) and not qualifier
        if quoted and self.dialect in _QUOTED_TEXT and (not unknown or (self.names is None and _is_compared(node))):
            return None
        only = next(iter(around.sources.values())) if len(around.sources) == 1 and not qualifier else None
        source = around.sources.get(qualifier) or (only if unknown else None)
        ref = ColumnRef(
            column=node.name,
            table=None if source is None else source.table,
            source=qualifier or (None if source is None else source.alias),
            level=around.index if source is not None else -1,
            place=place,
        )
        if not unknown and self.names is not None and not self._is_output_name(around, node):
            self.unresolved.append(ref)
        return ref

    def _in_scope(self, scope: Scope, qualifier: str, name: str, place: Place | None) -> ColumnRef | None:
        for alias, source in scope.sources.items():
            if qualifier and alias != qualifier:
                continue
            if source.table is not None:
                column = None if self.names is None else self.names.column(source.table, name)
                if column is not None:
                    return ColumnRef(
                        column=column.name,
                        table=source.table,
                        source=alias,
                        level=scope.index,
                        type=type_family(column.type) if column.type else None,
                        place=place,
                    )
            elif alias in scope.inner:
                found = self._through(scope.inner[alias], name)
                if found is not None:
                    return replace(found, source=alias, level=scope.index, place=place)
        return None

    def _through(self, source: Inner, name: str) -> ColumnRef | None:
        """What a subquery's or CTE's column stands for: a stored column where it passes one on."""
        from sqlglot import exp

        inner, wanted = source.query, name.lower()
        output = next((one for named, one in named_outputs(inner, source.names) if named == wanted), None)
        own = self._of.get(id(inner))
        if self._hops >= _MOST_HOPS:
            return None if output is None else ColumnRef(column=name)
        self._hops += 1
        try:
            if output is not None:
                node = output.unalias()
                found = None
                if isinstance(inner, exp.Select) and isinstance(node, exp.Column):
                    found = self._resolve(node)
                return found if found is not None and found.table is not None else ColumnRef(column=name)
            if own is not None and any(isinstance(one, exp.Star) for one in inner.selects):
                return self._in_scope(own, "", name, None)
            return None
        finally:
            self._hops -= 1

    @staticmethod
    def _is_output_name(scope: Scope, node: exp.Column) -> bool:
        """Whether ORDER BY, GROUP BY or HAVING may mean a selected expression by this name."""
        return any(output.alias.lower() == node.name.lower() for output in scope.select.selects if output.alias)


def _is_compared(node: exp.Expr) -> bool:
    """Whether a name stands on the right side of a comparison, where a text is likelier than a column."""
    from sqlglot import exp

    above = node.parent
    if isinstance(above, exp.In | exp.Between):
        return above.this is not node
    return isinstance(above, exp.Binary) and isinstance(above, exp.Predicate) and above.expression is node


def _is_single(query: exp.Query) -> bool:
    """Whether a query surely gives at most one row."""
    from sqlglot import exp

    if not isinstance(query, exp.Select):
        return False
    limit = query.args.get("limit")
    if isinstance(limit, exp.Limit) and limit.expression is not None and limit.expression.name == "1":
        return True
    if query.args.get("group"):
        return False
    if not (query.args.get("from_") or query.args.get("from")):
        return True
    return any(
        node.find_ancestor(exp.Select) is query and node.find_ancestor(exp.Window, exp.Select) is query
        for output in query.selects
        for node in output.find_all(exp.AggFunc)
    )


def place_of(node: exp.Expr) -> Place | None:
    """Where a node stands: from the first to the last of its words whose place is known."""
    first = last = None
    for count, one in enumerate(node.walk()):
        if count > _MOST_LOOKED_AT:
            break
        meta = one.meta if one._meta else {}
        if "start" in meta:
            first = meta["start"] if first is None else min(first, meta["start"])
            last = meta["end"] + 1 if last is None else max(last, meta["end"] + 1)
    return None if first is None or last is None else Place(int(first), int(last))


_MOST_LOOKED_AT = 200
