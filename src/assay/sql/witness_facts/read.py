"""Read a pair of queries: the tables and columns they read, which columns they equate, with what they compare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from assay.model import DatabaseSchema, TableSchema
from assay.sql.create_table import table_clauses
from assay.sql.query import Query, Unreadable, read_query, read_tree
from assay.sql.schema_names import SchemaNames, names_of
from assay.sql.select import Select
from assay.sql.shape import is_nondeterministic, read_shape
from assay.sql.witness_facts.constants import bent_columns, constants_of, counted_numbers
from assay.sql.witness_facts.doubts import doubts_of, takes_any
from assay.sql.witness_facts.model import ColumnKey, Constant, PairFacts, QueryReading
from assay.sql.witness_facts.row_numbers import with_keys_for_row_numbers

if TYPE_CHECKING:
    from sqlglot import exp


def read_pair(first: str, second: str, schema: DatabaseSchema, dialect: str) -> PairFacts | Unreadable:
    """The facts of two queries on one schema; Unreadable if one of them is. Never raises."""
    from sqlglot.errors import SqlglotError

    found = _Found(names=names_of(schema), dialect=dialect)
    views = {table.name.lower() for table in schema.tables if table.kind == "view"}
    readings = []
    for text in (first, second):
        query = read_query(text, dialect, found.names)
        if isinstance(query, Unreadable):
            return query
        try:
            found.read(query)
            readings.append(
                QueryReading(
                    doubts=doubts_of(query, views),
                    by_luck=is_nondeterministic(text, dialect) or takes_any(query.tree),
                    ordered=read_shape(text, dialect).ordered,
                    by_key=with_keys_for_row_numbers(query),
                )
            )
        except (RecursionError, SqlglotError, ValueError):
            return Unreadable("is nested too deeply to be read")
    read = frozenset(found.tables)
    found.read_formulas(schema)
    found.read_checks(schema)
    found.equate_keys(schema)
    return PairFacts(
        first=readings[0],
        second=readings[1],
        tables=tuple(table.name.lower() for table in schema.tables if table.name.lower() in found.tables),
        read=read,
        columns=frozenset(found.columns),
        classes=found.classes(),
        constants={key: tuple(dict.fromkeys(values)) for key, values in sorted(found.constants.items())},
        loose=tuple(dict.fromkeys(found.loose)),
        counts=tuple(sorted(set(found.counts))),
        unknown=tuple(sorted(found.unknown)),
    )


class _Found(Struct):
    """What was read so far, of both queries and of the views they use."""

    names: SchemaNames
    dialect: str
    tables: set[str] = field(default_factory=set)
    columns: set[ColumnKey] = field(default_factory=set)
    constants: dict[ColumnKey, list[Constant]] = field(default_factory=dict)
    loose: list[Constant] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    _above: dict[ColumnKey, ColumnKey] = field(default_factory=dict)
    """Union-find: each column's representative, or one nearer to it."""
    _views: dict[str, Query | None] = field(default_factory=dict)

    def read(self, query: Query) -> None:
        """One query, or a view's."""
        tree = query.tree
        reader = _Reader(self, query)
        reader.read_tables()
        reader.read_columns()
        reader.read_equated()
        for constant, nodes in constants_of(tree, is_text=lambda node: query.meaning(node).is_text):
            keys = [key for node in nodes for key in reader.keys_of(node)]
            for key in keys:
                self.constants.setdefault(key, []).append(constant)
            if not keys:
                self.loose.append(constant)
        for constant, nodes in bent_columns(tree):
            for key in (key for node in nodes for key in reader.keys_of(node)):
                self.constants.setdefault(key, []).append(constant)
        self.counts += counted_numbers(tree)

    def root(self, key: ColumnKey) -> ColumnKey:
        while (above := self._above.get(key, key)) != key:
            key = above
        return key

    def equate(self, keys: Iterable[ColumnKey]) -> None:
        """The columns belong to one class."""
        roots = sorted({self.root(key) for key in keys})
        for other in roots[1:]:
            self._above[other] = roots[0]

    def equate_keys(self, schema: DatabaseSchema) -> None:
        """Columns that foreign keys tie, of the tables that are read and of those that these refer to."""
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
                    self.equate([(table.name.lower(), ours.lower()), (other.name.lower(), theirs.lower())])

    def read_checks(self, schema: DatabaseSchema) -> None:
        """The constants of CHECK constraints: values near them meet these."""
        for table in schema.tables:
            for check in table.checks if table.name.lower() in self.tables else ():
                query = read_query(f"SELECT 1 FROM {table.quoted_name} WHERE {check}", self.dialect, self.names)
                if isinstance(query, Query):
                    columns, counts = set(self.columns), list(self.counts)
                    self.read(query)
                    self.columns, self.counts = columns, counts

    def read_formulas(self, schema: DatabaseSchema) -> None:
        """Of computed columns that are read, the columns that they are computed from: these get the values."""
        for table in schema.tables:
            name = table.name.lower()
            if table.kind != "table" or name not in self.tables:
                continue
            computed = {
                column: clauses.formula
                for column, clauses in table_clauses(table.ddl, self.dialect).columns.items()
                if clauses.formula
            }
            while wanted := [column for column in computed if (name, column) in self.columns]:
                for column in wanted:
                    self._read_formula(table, column, computed.pop(column))

    def _read_formula(self, table: TableSchema, column: str, formula: str) -> None:
        query = read_query(f"SELECT {formula} FROM {table.quoted_name}", self.dialect, self.names)
        if isinstance(query, Unreadable):
            return
        before, self.columns = self.columns, set()
        self.read(query)
        for key in sorted(self.columns):  # what the computed column is compared with says where its parts turn
            self.constants.setdefault(key, []).extend(self.constants.get((table.name.lower(), column), ()))
        self.columns |= before

    def classes(self) -> tuple[frozenset[ColumnKey], ...]:
        groups: dict[ColumnKey, set[ColumnKey]] = {}
        for key in self._above:
            groups.setdefault(self.root(key), {self.root(key)}).add(key)
        return tuple(frozenset(groups[root]) for root in sorted(groups))

    def through_view(self, table: TableSchema, column: str) -> list[ColumnKey]:
        """The stored columns behind a view's column; every one that the view reads where that is not plain."""
        name = table.name.lower()
        if name not in self._views:
            self._views[name] = None  # a view that names itself ends here
            query = _query_of_view(table, self.dialect, self.names)
            if query is not None:
                self.read(query)
            self._views[name] = query
        query = self._views[name]
        if query is None:
            return []
        reader = _Reader(self, query)
        names = [one.name.lower() for one in table.columns]
        outputs = query.tree.selects
        if column in names and len(names) == len(outputs):
            return list(reader.carried(outputs[names.index(column)]))
        return []


def _around(node: exp.Expr) -> exp.Expr | None:
    """What a node is a part of, parentheses left out."""
    from sqlglot import exp

    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    return above


class _Reader:
    """Reads one tree."""

    def __init__(self, found: _Found, query: Query) -> None:
        self._found = found
        self._query = query

    def read_tables(self) -> None:
        for select in self._query.selects:
            for source in select.sources.values():
                if source.table is None:
                    continue
                stored = self._found.names.table(source.table)
                if stored is None:
                    self._found.unknown.add(source.table)
                elif stored.kind == "view":
                    self._found.through_view(stored, "")
                else:
                    self._found.tables.add(stored.name.lower())

    def read_columns(self) -> None:
        from sqlglot import exp

        for select in self._query.selects:
            for output in select.node.expressions:
                bare = output.unalias()
                if isinstance(bare, exp.Star) and not isinstance(select.node.parent, exp.Exists):
                    self._all_of(select, None)
                elif isinstance(bare, exp.Column) and isinstance(bare.this, exp.Star):
                    self._all_of(select, bare.table.lower())
        for node in self._query.columns:
            self._found.columns.update(self.keys_of(node))

    def _all_of(self, select: Select, alias: str | None) -> None:
        for name, source in select.sources.items():
            if source.table is not None and alias in (None, name):
                stored = self._found.names.table(source.table)
                for column in stored.columns if stored is not None else ():
                    self._found.columns.update(self._key(source.table, column.name))

    def _key(self, table: str, column: str) -> list[ColumnKey]:
        stored = self._found.names.table(table)
        if stored is None:
            return []
        if stored.kind == "view":
            return self._found.through_view(stored, column.lower())
        if self._found.names.column(table, column) is None:
            return []
        return [(stored.name.lower(), column.lower())]

    def keys_of(self, node: exp.Column) -> list[ColumnKey]:
        """The stored columns that a column's name stands for; none where it is a text, or computed."""
        if self._query.meaning(node).is_text:
            return []
        stored = self._query.stored(node)
        if stored is not None:
            return self._key(stored.table, stored.column)
        # Not traced: any column of that name that is read, or a structure of DuckDB's that has a part of that name.
        wanted = {part.name.lower() for part in node.parts}
        return [
            (name, column)
            for name in sorted(self._found.tables)
            for column in sorted(wanted)
            if self._found.names.column(name, column) is not None
        ]

    def carried(self, node: exp.Expr) -> Iterator[ColumnKey]:
        """The columns whose values an expression passes on, at least sometimes."""
        from sqlglot import exp

        waiting = [node]  # a sum of a thousand terms is a thousand levels deep
        while waiting:
            match part := waiting.pop():
                case exp.Column():
                    yield from self.keys_of(part)
                case exp.Subquery() | exp.SetOperation() | exp.Select():
                    query = part.unnest() if isinstance(part, exp.Subquery) else part
                    waiting += query.selects[:1] if isinstance(query, exp.Query) else ()
                case exp.Alias() | exp.Paren() | exp.Cast() | exp.Max() | exp.Min() | exp.Lower() | exp.Upper():
                    waiting.append(part.this)
                case exp.Trim() | exp.Ordered() | exp.Distinct() | exp.All() | exp.Any() | exp.Window():
                    if isinstance(part.this, exp.Expr):
                        waiting.append(part.this)
                case exp.Coalesce() | exp.Case() | exp.If() | exp.Add() | exp.Sub():
                    waiting += reversed(list(part.iter_expressions()))

    def read_equated(self) -> None:
        from sqlglot import exp

        tree = self._query.tree
        for node in tree.find_all(exp.Binary, exp.In, exp.Between, exp.SetOperation, exp.Join):
            match node:
                case exp.SetOperation():
                    self._equate_outputs(node)
                case exp.In():
                    self._equate_members(node)
                case exp.Between():
                    self._equate(node.this, node.args["low"], node.args["high"])
                case exp.Join():
                    self._equate_join(node)
                case exp.Add() | exp.Sub() if isinstance(_around(node), exp.Add | exp.Sub):
                    pass  # the whole sum equates its terms
                case exp.Predicate() | exp.Add() | exp.Sub():
                    self._equate(node.this, node.expression)

    def _equate(self, *nodes: exp.Expr) -> None:
        from sqlglot import exp

        if all(isinstance(node, exp.Tuple) for node in nodes):
            for parts in zip(*(node.expressions for node in nodes), strict=False):
                self._equate(*parts)
            return
        self._found.equate([key for node in nodes for key in self.carried(node)])

    def _equate_outputs(self, node: exp.SetOperation) -> None:
        sides = [side.selects for side in (node.left, node.right)]
        for outputs in zip(*sides, strict=False):
            self._equate(*outputs)

    def _equate_members(self, node: exp.In) -> None:
        from sqlglot import exp

        query = node.args.get("query")
        inner = query.unnest() if isinstance(query, exp.Subquery) else query
        ours = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        for member in node.expressions:
            self._equate(node.this, member)
        if isinstance(inner, exp.Query):
            for left, right in zip(ours, inner.selects, strict=False):
                self._equate(left, right)

    def _equate_join(self, node: exp.Join) -> None:
        select = self._query.select_of(node)
        if select is None:
            return
        names = {one.name.lower() for one in node.args.get("using") or ()}
        natural = str(node.args.get("method") or "").upper() == "NATURAL"
        by_name: dict[str, list[ColumnKey]] = {}
        for source in select.sources.values():
            stored = None if source.table is None else self._found.names.table(source.table)
            for column in stored.columns if stored is not None else ():
                if stored is not None and (natural or column.name.lower() in names):
                    by_name.setdefault(column.name.lower(), []).extend(self._key(stored.name, column.name))
        for keys in by_name.values():
            if len(keys) > 1:
                self._found.columns.update(keys)
                self._found.equate(keys)


def _query_of_view(table: TableSchema, dialect: str, names: SchemaNames) -> Query | None:
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        tree = parse_one(table.ddl, read=dialect)
    except (SqlglotError, RecursionError, ValueError):
        return None
    selected = tree.args.get("expression") if isinstance(tree, exp.Create) else None
    query = read_tree(selected, table.ddl, dialect, names) if isinstance(selected, exp.Query) else None
    return query if isinstance(query, Query) else None
