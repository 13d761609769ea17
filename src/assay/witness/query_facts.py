"""The columns that two queries read, compare and count: all facts needed to generate small databases for them.

Read from `assay.sql.query.Query`, also through views, and with the computed columns and CHECK constraints behind it::

    SELECT label FROM b JOIN a ON a.id = b.aid WHERE a.size > 3

reads ``b.label``, ``b.aid``, ``a.id`` and ``a.size``; ``a.id`` and ``b.aid`` share a class, from whose values both are
filled; and the constant 3 goes to ``a.size``, for which values on both sides of it are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from assay.model import DatabaseSchema, TableSchema
from assay.sql.query import Query, Unreadable, read_query, read_view
from assay.sql.schema import SchemaNames, names_of
from assay.sql.schema.create_table import table_clauses
from assay.witness.constants import Constant, columns_beside, constants_of, told_apart
from assay.witness.query_reading import QueryReading, reading_of

if TYPE_CHECKING:
    from sqlglot import exp

ColumnKey: TypeAlias = tuple[str, str]
"""A stored table's name and a column's, in lower case."""


class PairFacts(Struct, frozen=True, kw_only=True):
    """The combined facts of two queries and the schema."""

    first: QueryReading
    second: QueryReading
    tables: tuple[str, ...]
    """The stored tables that the queries read, also through views, in lower case, in the schema's order."""
    read: frozenset[str]
    """Those of ``tables`` that the queries name, or views that they name; keys refer to the others."""
    columns: frozenset[ColumnKey]
    """The columns that they read."""
    classes: tuple[frozenset[ColumnKey], ...]
    """Columns that the queries or foreign keys compare with one another; columns without comparisons are left out."""
    constants: Mapping[ColumnKey, tuple[Constant, ...]]
    loose: tuple[Constant, ...] = ()
    """Constants that are not compared with a column."""
    counts: tuple[int, ...] = ()
    """Row counts that matter: those of LIMIT, and those that COUNT is compared with."""
    unknown: tuple[str, ...] = ()
    """Tables that the queries read but the schema lacks."""


def read_pair(first: str, second: str, schema: DatabaseSchema, dialect: str) -> PairFacts | Unreadable:
    """The facts of two queries on one schema; Unreadable if one of them is. Never raises."""
    from sqlglot.errors import SqlglotError

    reader = _Reader(names_of(schema), dialect)
    views = {table.name.lower() for table in schema.tables if table.kind == "view"}
    readings = []
    for text in (first, second):
        query = read_query(text, dialect, reader.names)
        if isinstance(query, Unreadable):
            return query
        try:
            reader.read(query)
            readings.append(reading_of(query, views))
        except (RecursionError, SqlglotError, ValueError):
            return Unreadable("is nested too deeply to be read")
    read = frozenset(reader.tables)
    for table in schema.tables:
        if table.kind == "table" and table.name.lower() in read:
            reader.read_formulas(table)
    for table in schema.tables:
        if table.name.lower() in read:
            reader.read_checks(table)
    reader.read_keys(schema)
    return PairFacts(
        first=readings[0],
        second=readings[1],
        tables=tuple(table.name.lower() for table in schema.tables if table.name.lower() in reader.tables),
        read=read,
        columns=frozenset(reader.columns),
        classes=united_classes(reader.compared),
        constants={key: tuple(values) for key, values in sorted(reader.constants.items())},
        loose=tuple(reader.loose),
        counts=tuple(sorted(reader.counts)),
        unknown=tuple(sorted(reader.unknown)),
    )


def united_classes(groups: Iterable[frozenset[ColumnKey]]) -> tuple[frozenset[ColumnKey], ...]:
    """The groups; those that share a column are merged."""
    classes: list[frozenset[ColumnKey]] = []
    for group in groups:
        touching = [other for other in classes if not other.isdisjoint(group)]
        classes = [other for other in classes if other.isdisjoint(group)]
        classes.append(group.union(*touching))
    return tuple(sorted(classes, key=min))


class _Reader:
    """Reads queries, and collects the facts: of both queries, of the views they use, and of constraints."""

    def __init__(self, names: SchemaNames, dialect: str) -> None:
        self.names = names
        self.dialect = dialect
        self.tables: set[str] = set()
        self.columns: set[ColumnKey] = set()
        self.compared: dict[frozenset[ColumnKey], None] = {}
        """Columns that are compared with one another, per condition."""
        self.constants: dict[ColumnKey, dict[Constant, None]] = {}
        self.loose: dict[Constant, None] = {}
        self.counts: set[int] = set()
        self.unknown: set[str] = set()
        self._views: dict[str, Query | None] = {}

    def read(self, query: Query) -> None:
        """One query, a view's, or one made from a constraint."""
        for select in query.selects:
            for source in select.sources.values():
                if source.table is None:
                    continue
                stored = self.names.table(source.table)
                if stored is None:
                    self.unknown.add(source.table)
                elif stored.kind == "view":
                    self._view(stored)
                else:
                    self.tables.add(stored.name.lower())
        self._read_columns(query)
        self._read_comparisons(query)
        self._read_constants(query)

    def read_keys(self, schema: DatabaseSchema) -> None:
        """Columns related by foreign keys, of the tables that are read and of those that these refer to."""
        waiting = [table for table in schema.tables if table.name.lower() in self.tables]
        while waiting:
            table = waiting.pop()
            for key in table.foreign_keys:
                other = self.names.table(key.table)
                if other is None:
                    continue
                if other.name.lower() not in self.tables:
                    self.tables.add(other.name.lower())
                    waiting.append(other)
                for ours, theirs in zip(key.columns, key.referenced or other.primary_key, strict=False):
                    self._compare([(table.name.lower(), ours.lower()), (other.name.lower(), theirs.lower())])

    def read_checks(self, table: TableSchema) -> None:
        """The constants of CHECK constraints: values near them satisfy these."""
        for check in table.checks:
            query = read_query(f"SELECT 1 FROM {table.quoted_name} WHERE {check}", self.dialect, self.names)
            if isinstance(query, Query):
                self._read_comparisons(query)
                self._read_constants(query, counts=False)

    def read_formulas(self, table: TableSchema) -> None:
        """For computed columns that are read, the columns that they are computed from: these get the values."""
        name = table.name.lower()
        clauses = table_clauses(table.ddl, self.dialect).columns
        computed = {column: found.formula for column, found in clauses.items() if found.formula}
        while wanted := [column for column in computed if (name, column) in self.columns]:
            for column in wanted:
                formula = computed.pop(column)
                query = read_query(f"SELECT {formula} FROM {table.quoted_name}", self.dialect, self.names)
                if isinstance(query, Unreadable):
                    continue
                before, self.columns = self.columns, set()
                self.read(query)
                for key in sorted(self.columns):  # its comparisons show which operands matter
                    self.constants.setdefault(key, {}).update(self.constants.get((name, column), {}))
                self.columns |= before

    def _read_columns(self, query: Query) -> None:
        from sqlglot import exp

        for select in query.selects:
            is_in_exists = isinstance(select.node.parent, exp.Exists)
            for selected in select.node.expressions:
                output = selected.unalias()
                if isinstance(output, exp.Column) and output.is_star:
                    of: str | None = output.table.lower()
                elif isinstance(output, exp.Star) and not is_in_exists:
                    of = None
                else:
                    continue
                for alias, source in select.sources.items():
                    stored = None if source.table is None or of not in (None, alias) else self.names.table(source.table)
                    for column in () if stored is None else stored.columns:
                        self.columns.update(self._stored_keys(stored, column.name))
        for node in query.columns:
            self.columns.update(self._keys_of(query, node))

    def _stored_keys(self, table: TableSchema | None, column: str) -> list[ColumnKey]:
        """The column of a table; for a view, the stored columns behind it."""
        if table is None:
            return []
        if table.kind != "view":
            is_known = self.names.column(table.name, column) is not None
            return [(table.name.lower(), column.lower())] if is_known else []
        query = self._view(table)
        names = [known.name.lower() for known in table.columns]
        outputs = () if query is None else query.tree.selects
        if query is None or column.lower() not in names or len(names) != len(outputs):
            return []
        return list(self._carried(query, outputs[names.index(column.lower())]))

    def _view(self, table: TableSchema) -> Query | None:
        """A view's query, parsed on first use."""
        name = table.name.lower()
        if name not in self._views:
            self._views[name] = None  # a view that names itself ends here
            query = read_view(table.ddl, self.dialect, self.names)
            if isinstance(query, Query):
                self.read(query)
                self._views[name] = query
        return self._views[name]

    def _keys_of(self, query: Query, node: exp.Column) -> list[ColumnKey]:
        """The stored columns that a column's name stands for; none if it is a text, or computed."""
        if query.meaning(node).is_text:
            return []
        stored = query.stored(node)
        if stored is not None:
            return self._stored_keys(self.names.table(stored.table), stored.column)
        # Not traced: any column of that name that is read, or a DuckDB structure with a field of that name.
        wanted = {part.name.lower() for part in node.parts}
        return [
            (name, column)
            for name in sorted(self.tables)
            for column in sorted(wanted)
            if self.names.column(name, column) is not None
        ]

    def _carried(self, query: Query, node: exp.Expr) -> Iterator[ColumnKey]:
        """The columns whose values an expression passes on, at least sometimes."""
        from sqlglot import exp

        waiting = [node]  # a sum of a thousand terms is a thousand levels deep
        while waiting:
            match part := waiting.pop():
                case exp.Column():
                    yield from self._keys_of(query, part)
                case exp.Query():
                    waiting += part.selects[:1]
                case exp.Alias() | exp.Paren() | exp.Cast() | exp.Max() | exp.Min() | exp.Lower() | exp.Upper():
                    waiting.append(part.this)
                case exp.Trim() | exp.Ordered() | exp.Distinct() | exp.All() | exp.Any() | exp.Window():
                    if isinstance(part.this, exp.Expr):
                        waiting.append(part.this)
                case exp.Coalesce() | exp.Case() | exp.If() | exp.Add() | exp.Sub():
                    waiting += reversed(list(part.iter_expressions()))

    def _compare(self, keys: Iterable[ColumnKey]) -> None:
        """The columns belong to one class."""
        group = frozenset(keys)
        if len(group) > 1:
            self.compared[group] = None

    def _read_comparisons(self, query: Query) -> None:
        from sqlglot import exp

        for node in query.all_of(exp.Binary, exp.In, exp.Between, exp.SetOperation, exp.Join):
            match node:
                case exp.SetOperation():
                    self._compare_values(query, node.left, node.right)
                case exp.In():
                    inner = node.args.get("query")
                    for member in node.expressions if inner is None else [*node.expressions, inner]:
                        self._compare_values(query, node.this, member)
                case exp.Between():
                    self._compare_values(query, node.this, node.args["low"], node.args["high"])
                case exp.Join():
                    self._read_join(query, node)
                case exp.Add() | exp.Sub() if isinstance(_around(node), exp.Add | exp.Sub):
                    pass  # the whole sum compares its terms
                case exp.Predicate() | exp.Add() | exp.Sub():
                    self._compare_values(query, node.this, node.expression)

    def _compare_values(self, query: Query, *nodes: exp.Expr) -> None:
        """Values, rows of values, or the outputs of queries, each with the others at its position."""
        for values in zip(*map(_values, nodes), strict=False):
            self._compare([key for value in values for key in self._carried(query, value)])

    def _read_join(self, query: Query, node: exp.Join) -> None:
        """The columns that USING or NATURAL compares."""
        select = query.select_of(node)
        if select is None:
            return
        names = {name.name.lower() for name in node.args.get("using") or ()}
        is_natural = node.method == "NATURAL"
        by_name: dict[str, list[ColumnKey]] = {}
        for source in select.sources.values():
            stored = None if source.table is None else self.names.table(source.table)
            for column in () if stored is None else stored.columns:
                if is_natural or column.name.lower() in names:
                    by_name.setdefault(column.name.lower(), []).extend(self._stored_keys(stored, column.name))
        for keys in by_name.values():
            if len(keys) > 1:
                self.columns.update(keys)
                self._compare(keys)

    def _read_constants(self, query: Query, *, counts: bool = True) -> None:
        """``counts``: row counts, too."""
        from sqlglot import exp

        beside: dict[int, list[ColumnKey]] = {}  # by condition: an IN of a thousand values is read once
        for constant, condition in constants_of(query):
            if constant.use == "rows":
                if counts and isinstance(constant.value, int):
                    self.counts.add(constant.value)
                continue
            if condition is not None and id(condition) not in beside:
                beside[id(condition)] = [
                    key for column in columns_beside(condition) for key in self._keys_of(query, column)
                ]
            keys = beside.get(id(condition), [])
            self._add(constant, keys)
            if not keys:
                self.loose[constant] = None
        for constant, node in told_apart(query):
            self._add(constant, [key for column in node.find_all(exp.Column) for key in self._keys_of(query, column)])

    def _add(self, constant: Constant, keys: list[ColumnKey]) -> None:
        for key in keys:
            self.constants.setdefault(key, {})[constant] = None


def _values(node: exp.Expr) -> list[exp.Expr]:
    """The compared expressions: the parts of a row, the outputs of a query, or the expression itself."""
    from sqlglot import exp

    return node.selects if isinstance(node, exp.Query) else node.expressions if isinstance(node, exp.Tuple) else [node]


def _around(node: exp.Expr) -> exp.Expr | None:
    """The parent of a node, ignoring parentheses."""
    from sqlglot import exp

    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    return above
