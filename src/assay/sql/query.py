"""A query read once: what each SELECT reads from, the stored column that each name means, and where it stands.

sqlglot's `qualify` says which source a name belongs to. It works on a copy, `Query.bound`, in which stars are expanded,
USING is spelled out and each column has its source. The tree as parsed, `Query.tree`, stays what spelling, places and
edits are about. Nodes of both trees can be asked about.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from assay.sql.schema_names import SchemaNames, TypeFamily, type_family
from assay.sql.shape import is_nested_too_deeply, outermost, parse_query
from assay.sql.sources import entries_of, named_outputs
from assay.sql.trees import copied, nodes_of

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.optimizer.scope import Scope

MOST_CHARACTERS = 50_000
MOST_NODES = 20_000
MOST_LEVELS = 1_500
"""Of the tree. `qualify` takes time quadratic in the depth that a chain of ANDs or ORs has."""
_MOST_HOPS = 30
"""Subqueries and CTEs that a column is followed through."""
_TEXT_IN_DOUBLE_QUOTES = frozenset({"sqlite"})
"""Dialects in which a name in double quotes that is no column is a text."""
_ROW_NUMBERS = frozenset({"rowid", "oid", "_rowid_"})
"""SQLite's names for the number of a row."""
_ALIAS_FIRST_IN_ORDER = frozenset({"mysql", "duckdb", "bigquery", "snowflake"})
"""Dialects in which a name within an expression of ORDER BY is an output's alias first, and a column second."""

_Node = TypeVar("_Node", bound="exp.Expr")


class Unreadable(Struct, frozen=True):
    """Why a text cannot be read as a query, in words that follow its name: ``has more than 50,000 characters``."""

    reason: str


class Span(Struct, frozen=True):
    """A part of the query's text: zero-based, without the character at ``end``."""

    start: int
    end: int


class StoredColumn(Struct, frozen=True):
    """A column of a stored table, each named as in the schema; without a schema, as in the query."""

    table: str
    column: str

    @property
    def key(self) -> tuple[str, str]:
        """Both names in small letters."""
        return self.table.lower(), self.column.lower()

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


class Source(Struct, frozen=True, kw_only=True):
    """One entry of FROM."""

    alias: str
    """The name under which its columns are read, in small letters."""
    table: str | None
    """The stored table's name, as in the schema; None for a subquery, a CTE or a function."""
    node: Any
    """The entry in the tree as parsed."""
    inner: Any = None
    """The query behind a subquery or CTE."""
    names: tuple[str, ...] = ()
    """The names that the entry itself gives the columns of ``inner``."""
    is_known: bool = True
    """Its columns are known."""


class Meaning(Struct, frozen=True, kw_only=True):
    """What a column's name means. All empty: it is not known."""

    select: Select | None = None
    """The SELECT that reads the source, or whose output is meant."""
    source: Source | None = None
    output: Any = None
    """The selected expression that an alias stands for."""
    is_text: bool = False
    """It is a text in double quotes."""


UNKNOWN = Meaning()


class Select:
    """One SELECT of a query, as parsed."""

    def __init__(self, query: Query, index: int, node: exp.Select, parent: Select | None, outer: Select | None) -> None:
        self.query = query
        self.index = index
        self.node = node
        self.parent = parent
        """The SELECT around it."""
        self.outer = outer
        """The SELECT whose sources its own expressions may name, too."""

    @cached_property
    def sources(self) -> dict[str, Source]:
        """What FROM and the JOINs read, by alias, in the order of the text. Of two with one alias, the first."""
        found: dict[str, Source] = {}
        for entry, _ in entries_of(self.node):
            source = self.query.source_at(entry, self.node, default=f"?{len(found)}")
            found.setdefault(source.alias, source)
        return found

    @cached_property
    def is_known(self) -> bool:
        """Whether the columns of every source are known."""
        return all(source.is_known for source in self.sources.values())

    def output_called(self, name: str) -> exp.Expr | None:
        """The first selected expression that has this alias; None: there is none."""
        lowered = name.lower()
        return next((one.this for one in self.node.expressions if one.alias.lower() == lowered), None)


class Query:
    """One query on one schema. Shared by all who read it: do not change its trees."""

    def __init__(self, text: str, dialect: str, names: SchemaNames | None, tree: exp.Query) -> None:
        from sqlglot import exp

        self.text = text
        self.dialect = dialect
        self.names = names
        self.tree = tree
        self._nodes = nodes_of(tree)
        self.bound, self._twins, self._scopes = _bind(tree, self._nodes, names, dialect)
        self._selects: dict[int, Select] = {}
        self._meanings: dict[int, Meaning] = {}
        selects: list[Select] = []
        for node in tree.find_all(exp.Select):
            parent = self._select_above(node)
            selects.append(Select(self, len(selects), node, parent, self._outer_of(node)))
            self._selects[id(node)] = self._selects[id(self._twins[id(node)])] = selects[-1]
        self.selects = tuple(selects)
        """The outermost first."""
        for column in self.columns:
            if self.meaning(column).is_text:
                _becomes_text(self._twins[id(column)], column.name)

    @cached_property
    def top(self) -> Select | None:
        """The outermost SELECT; None where a set operation or VALUES is outermost."""
        return self._selects.get(id(outermost(self.tree)))

    @cached_property
    def columns(self) -> tuple[exp.Column, ...]:
        """Every column as parsed, stars left out."""
        return tuple(node for node in self.all_of(_column_type()) if not node.is_star)

    def all_of(self, *kinds: type[_Node]) -> Iterator[_Node]:
        """Every node of these kinds in the tree as parsed."""
        return (node for node in self._nodes if isinstance(node, kinds))

    def twin(self, node: exp.Expr) -> exp.Expr:
        """The node of the bound tree that was this one; the node itself if it belongs to that tree."""
        return self._twins.get(id(node), node)

    def select_of(self, node: exp.Expr) -> Select | None:
        """The SELECT around a node, or that the node is."""
        return self._selects.get(id(node)) or self._select_above(node)

    def _select_above(self, node: exp.Expr) -> Select | None:
        from sqlglot import exp

        above = node.find_ancestor(exp.Select)
        return None if above is None else self._selects.get(id(above))

    def _outer_of(self, node: exp.Expr) -> Select | None:
        """The SELECT whose sources may be named within this one: of FROM, not the SELECT that has it."""
        from sqlglot import exp

        hidden = False
        while (above := node.parent) is not None:
            if isinstance(above, exp.Lateral):
                hidden, node = False, above.parent or above
                continue
            if isinstance(above, exp.CTE | exp.From) or (isinstance(above, exp.Join) and node.arg_key == "this"):
                hidden = True
            elif isinstance(above, exp.Select):
                if not hidden:
                    return self._selects.get(id(above))
                hidden = False
            node = above
        return None

    def source_at(self, entry: exp.Expr, select: exp.Select, *, default: str) -> Source:
        """What an entry of a SELECT's FROM reads."""
        from sqlglot import exp
        from sqlglot.optimizer.scope import Scope

        name = self.twin(entry).alias_or_name or entry.alias_or_name or default
        scope = self._scopes.get(id(self.twin(select)))
        found = None if scope is None else scope.sources.get(name)
        if isinstance(found, Scope):
            inner = found.expression
            while isinstance(inner, exp.Subquery):
                inner = inner.this
            alias = entry.args.get("alias")
            names = tuple(one.name for one in (alias.args.get("columns") or ())) if alias is not None else ()
            if not names and isinstance(inner.parent, exp.CTE):
                names = tuple(inner.parent.alias_column_names)
            known = isinstance(inner, exp.Query) and not any(one.is_star for one in inner.selects)
            return Source(alias=name.lower(), table=None, node=entry, inner=inner, names=names, is_known=known)
        if isinstance(entry, exp.Table) and isinstance(entry.this, exp.Identifier):
            stored = None if self.names is None else self.names.table(entry.name)
            table = entry.name if stored is None else stored.name
            return Source(alias=name.lower(), table=table, node=entry, is_known=stored is not None)
        return Source(alias=name.lower(), table=None, node=entry, is_known=False)

    def meaning(self, column: exp.Column) -> Meaning:
        """What a column's name means."""
        found = self._meanings.get(id(column))
        if found is None:
            found = self._meanings[id(column)] = self._find(column)
        return found

    def _find(self, column: exp.Column) -> Meaning:
        from sqlglot import exp

        twin = self.twin(column)
        name, qualifier = column.name.lower(), (twin.text("table") or column.table).lower()
        operation = _operation_ordered_by(column)
        if operation is not None:
            return self._output_of(operation, name)
        select = self.select_of(column)
        own = select
        if select is not None and not qualifier and _is_ordering(column) and self._takes_alias_first(column):
            output = select.output_called(name)
            if output is not None:
                return Meaning(select=select, output=output)
        is_known = True
        while select is not None:
            for alias, source in select.sources.items():
                if alias == qualifier if qualifier else self._has(source, name):
                    return Meaning(select=select, source=source)
            is_known = is_known and select.is_known
            select = select.outer
        if own is None or qualifier:
            return UNKNOWN
        output = own.output_called(name)
        if output is not None and output.find_ancestor(exp.Alias) is not column.find_ancestor(exp.Alias, exp.Select):
            return Meaning(select=own, output=output)
        if self._is_text(column, is_known=is_known):
            return Meaning(is_text=True)
        if not is_known and len(own.sources) == 1:
            return Meaning(select=own, source=next(iter(own.sources.values())))
        return UNKNOWN

    def _takes_alias_first(self, column: exp.Column) -> bool:
        from sqlglot import exp

        return isinstance(column.parent, exp.Ordered) or self.dialect in _ALIAS_FIRST_IN_ORDER

    def _is_text(self, column: exp.Column, *, is_known: bool) -> bool:
        if self.dialect not in _TEXT_IN_DOUBLE_QUOTES or not column.this.args.get("quoted"):
            return False
        return is_known or (self.names is None and _is_compared(column))

    def _output_of(self, operation: exp.Expr, name: str) -> Meaning:
        """The output of a set operation's first SELECT that has this name."""
        from sqlglot import exp

        while isinstance(operation, exp.SetOperation | exp.Subquery):
            operation = operation.this
        select = self._selects.get(id(operation))
        if select is None:
            return UNKNOWN
        output = select.output_called(name)
        if output is None:
            output = next((one for one in select.node.expressions if one.alias_or_name.lower() == name), None)
        return UNKNOWN if output is None else Meaning(select=select, output=output)

    def _has(self, source: Source, name: str) -> bool:
        """Whether a source surely has a column of this name, in small letters."""
        if source.table is not None:
            if self.names is None:
                return False
            return self.names.column(source.table, name) is not None or (
                self.dialect == "sqlite" and name in _ROW_NUMBERS and source.is_known
            )
        if source.inner is None or not hasattr(source.inner, "selects"):
            return False
        return any(named == name for named, _ in named_outputs(source.inner, list(source.names)))

    def behind(self, column: exp.Column) -> exp.Expr | None:
        """The expression that a subquery, a CTE or an alias calls by this name; None for any other column."""
        meaning = self.meaning(column)
        if meaning.output is not None:
            return meaning.output  # type: ignore[no-any-return]
        inner = None if meaning.source is None else meaning.source.inner
        if meaning.source is None or inner is None or not hasattr(inner, "selects"):
            return None
        wanted = column.name.lower()
        named = named_outputs(inner, list(meaning.source.names))
        return next((output.unalias() for name, output in named if name == wanted), None)

    def stored(self, column: exp.Column) -> StoredColumn | None:
        """The stored column that a column passes on, through subqueries, CTEs and aliases; None: it is computed, or
        not known.
        """
        from sqlglot import exp

        node: exp.Expr | None = column
        for _ in range(_MOST_HOPS):
            if not isinstance(node, exp.Column):
                return None
            source = self.meaning(node).source
            if source is not None and source.table is not None:
                return self._column_of(source.table, node.name)
            if source is not None and isinstance(source.inner, exp.SetOperation):
                return None
            node = self.behind(node)
            while isinstance(node, exp.Paren | exp.Alias):
                node = node.this
        return None

    def _column_of(self, table: str, name: str) -> StoredColumn | None:
        if self.names is None:
            return StoredColumn(table, name)
        column = self.names.column(table, name)
        if column is not None:
            return StoredColumn(table, column.name)
        if self.dialect != "sqlite" or name.lower() not in _ROW_NUMBERS:
            return None
        (key,) = self.names.keys.get(table.lower()) or ("rowid",)
        is_number = self.names.type_of(table, key) == "integer"  # an INTEGER PRIMARY KEY is the number of the row
        return StoredColumn(table, self.names.tables[table.lower()].columns[key].name if is_number else "rowid")

    def type_of(self, node: exp.Expr) -> TypeFamily | None:
        """The kind of values that an expression gives; None where that is not known."""
        from sqlglot import exp

        if isinstance(node, exp.Column):
            meaning = self.meaning(node)
            if meaning.is_text:
                return "text"
            stored = self.stored(node)
            if stored is not None:
                return None if self.names is None else self.names.type_of(stored.table, stored.column)
            behind = self.behind(node)
            return None if behind is None or isinstance(behind, exp.Column) else self.type_of(behind)
        return _family(self._types.get(id(self.twin(node))))

    @cached_property
    def _types(self) -> dict[int, exp.DataType]:
        from sqlglot.optimizer.annotate_types import annotate_types

        mapping = None if self.names is None else self.names.mapping
        annotate_types(self.bound, schema=mapping, dialect=self.dialect)
        return {id(node): node.type for node in nodes_of(self.bound) if node.type is not None}

    @cached_property
    def unresolved(self) -> tuple[exp.Column, ...]:
        """Columns that no table of the schema has, of those whose every possible source is known."""
        return tuple(node for node in self.columns if self.names is not None and self._is_unresolved(node))

    def _is_unresolved(self, column: exp.Column) -> bool:
        meaning = self.meaning(column)
        source = meaning.source
        if meaning is UNKNOWN:
            select = self.select_of(column)
            while select is not None:
                if not select.is_known and not column.table:
                    return False
                select = select.outer
            return True
        return source is not None and source.is_known and not self._has(source, column.name.lower())

    def span(self, node: exp.Expr) -> Span | None:
        """Where a node stands: from the first to the last of its words whose place is known."""
        return span_of(node)

    def shown(self, node: exp.Expr) -> str:
        """The text of a node as written, on one line; empty where its place is not known."""
        span = span_of(node)
        return "" if span is None else " ".join(self.text[span.start : span.end].split())


@lru_cache(maxsize=128)
def read_query(text: str, dialect: str, names: SchemaNames | None = None) -> Query | Unreadable:
    """Read a query on a schema. Without one, columns have no types, and only the query says what belongs where.

    Never raises.
    """
    if len(text) > MOST_CHARACTERS:
        return Unreadable(f"has more than {MOST_CHARACTERS:,} characters")
    parsed = parse_query(text, dialect)
    if parsed is None:
        if is_nested_too_deeply(text, dialect):
            return Unreadable("is nested too deeply to be read")
        return Unreadable(f"cannot be read as one query of the dialect {dialect}")
    return read_tree(parsed.tree, text, dialect, names)


def read_tree(tree: exp.Query, text: str, dialect: str, names: SchemaNames | None = None) -> Query | Unreadable:
    """Read a query that is part of a longer text, such as a view's. Never raises."""
    from sqlglot.errors import SqlglotError

    if (reason := _too_large(tree)) is not None:
        return Unreadable(reason)
    try:
        return Query(text, dialect, names, tree)
    except RecursionError:
        return Unreadable("is nested too deeply to be read")
    except (SqlglotError, ValueError) as problem:
        return Unreadable(f"has names that cannot be resolved: {problem}")


def span_of(node: exp.Expr) -> Span | None:
    """Where a node stands: from the first to the last of its words whose place is known."""
    marks = [one._meta for one in nodes_of(node) if one._meta and "start" in one._meta]
    if not marks:
        return None
    return Span(min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1)


def _too_large(tree: exp.Query) -> str | None:
    level: list[exp.Expr] = [tree]
    nodes = depth = 0
    while level:
        nodes += len(level)
        depth += 1
        if nodes > MOST_NODES:
            return f"has more than {MOST_NODES:,} parts"
        if depth > MOST_LEVELS:
            return f"is nested more than {MOST_LEVELS:,} levels deep"
        level = [child for node in level for child in node.iter_expressions()]
    return None


_Bound = tuple["exp.Expr", dict[int, "exp.Expr"], dict[int, "Scope"]]


def _bind(tree: exp.Query, nodes: list[exp.Expr], names: SchemaNames | None, dialect: str) -> _Bound:
    """A copy of the tree with names resolved, its node for each of ``nodes`` by id, and its scopes by id.

    Where `qualify` refuses the query, as it does for columns that do not exist, the copy has scopes alone.
    """
    from sqlglot import Dialect
    from sqlglot.errors import OptimizeError
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import traverse_scope

    settings = f"{dialect}, normalization_strategy=case_insensitive"  # names are looked up whatever their case
    speaks = Dialect.get_or_raise(settings)
    for aliases in (True, False, None):
        bound: exp.Expr = copied(tree)
        twins = {id(node): twin for node, twin in zip(nodes, nodes_of(bound), strict=True)}
        try:
            if aliases is not None:
                bound = qualify(
                    bound,
                    dialect=speaks,
                    schema=None if names is None else names.mapping,
                    expand_alias_refs=aliases,
                    allow_partial_qualification=True,
                    validate_qualify_columns=False,
                    quote_identifiers=False,
                )
            return bound, twins, {id(scope.expression): scope for scope in traverse_scope(bound)}
        except OptimizeError:
            if aliases is None:
                raise
    raise AssertionError  # the last turn returns or raises


def _column_type() -> type[exp.Column]:
    from sqlglot import exp

    return exp.Column


def _becomes_text(node: exp.Expr, text: str) -> None:
    from sqlglot import exp

    if node.parent is not None:
        literal = exp.Literal.string(text)
        literal.meta.update(node.this.meta)
        node.replace(literal)


def _is_ordering(column: exp.Expr) -> bool:
    """Whether a column stands in its SELECT's ORDER BY, or in its DISTINCT ON."""
    from sqlglot import exp

    node, above = column, column.parent
    while above is not None and not isinstance(above, exp.Query):
        if isinstance(above, exp.Window | exp.WithinGroup):
            return False
        node, above = above, above.parent
    return node.arg_key in ("order", "distinct")


def _operation_ordered_by(column: exp.Expr) -> exp.Expr | None:
    """The set operation, or the query in parentheses, whose ORDER BY a column stands in."""
    from sqlglot import exp

    above = column.find_ancestor(exp.Query)
    if isinstance(above, exp.SetOperation) or (isinstance(above, exp.Subquery) and isinstance(above.this, exp.Query)):
        return above
    return None


def _is_compared(node: exp.Expr) -> bool:
    """Whether a name stands on the right side of a comparison, where a text is likelier than a column."""
    from sqlglot import exp

    above = node.parent
    if isinstance(above, exp.In | exp.Between):
        return above.this is not node
    return isinstance(above, exp.Binary) and isinstance(above, exp.Predicate) and above.expression is node


def _family(kind: exp.DataType | None) -> TypeFamily | None:
    from sqlglot import exp

    if kind is None or kind.this in (exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL):
        return None
    if kind.this is exp.DataType.Type.BOOLEAN:
        return "integer"
    return type_family(kind.sql())
