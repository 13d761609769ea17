"""The column of a table, or the selected expression, that each name of a query means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from assay.sql.alias_rules import alias_seen, takes_alias_first
from assay.sql.expressions import inside
from assay.sql.nodes import exp
from assay.sql.schema import SchemaNames
from assay.sql.schema.create_table import table_clauses
from assay.sql.select import UNKNOWN, Meaning, Select, Source, StoredColumn
from assay.sql.shape import outermost
from assay.sql.sources import Ctes, named_outputs

_MOST_HOPS = 30
"""Limit for the subqueries and CTEs through which a column is traced."""
_TEXT_IN_DOUBLE_QUOTES = frozenset({"sqlite"})
"""Dialects in which a name in double quotes that is not a column is a text."""
_SYSTEM_COLUMNS: Mapping[str, frozenset[str]] = {
    "sqlite": frozenset({"rowid", "oid", "_rowid_"}),
    "duckdb": frozenset({"rowid"}),
    "postgres": frozenset({"ctid", "tableoid", "xmin", "xmax", "cmin", "cmax"}),
    "snowflake": frozenset({"metadata$action", "metadata$isupdate", "metadata$row_id"}),
    "bigquery": frozenset({"_partitiontime", "_partitiondate", "_table_suffix", "_file_name"}),
    "spark": frozenset({"_metadata"}),
    "databricks": frozenset({"_metadata"}),
    "clickhouse": frozenset({"_part", "_part_index", "_part_offset", "_partition_id", "_table", "_database"}),
}
"""By dialect: names of columns that every stored table has and no schema lists."""
_NAMES_ROWS = frozenset({"postgres", "duckdb", "bigquery"})
"""Dialects in which a table's alias that is not a column stands for its whole row, as in ``row_to_json(t)``."""
_NAMES_FIELDS = frozenset({"bigquery", "spark", "databricks", "clickhouse"})
"""Dialects in which ``x.y`` may be the field y of a column x."""
_OWN_SCHEMA = {"sqlite": "main"}
"""By dialect: the only schema that a database has. In other dialects the default one may have any name."""
_NEVER_OWN = frozenset({"temp", "pg_temp", "information_schema", "pg_catalog"})
"""Schemas that contain no listed table."""
_Node = TypeVar("_Node", bound="exp.Expr")


class QueryNames:
    """The names of one query on one schema, each looked up once.

    A name is searched in the sources of its SELECT, then in those of the outer SELECTs that it may see. Whether an
    output's alias takes precedence depends on the clause and on the engine::

        SELECT id AS x FROM a ORDER BY x       the output id, in every engine
        SELECT id AS x FROM a ORDER BY x + 1   the column a.x; in some engines the output
        SELECT id AS x FROM a WHERE x > 1      the column a.x

    A column of a subquery or a CTE is traced to a stored column or a computed expression.
    """

    def __init__(
        self, text: str, dialect: str, names: SchemaNames | None, tree: exp.Query, nodes: list[exp.Expr]
    ) -> None:
        self.text = text
        self.dialect = dialect
        self.names = names
        self.tree = tree
        self.nodes = nodes
        """Every node of the tree, in the order of ``tree.walk()``."""
        self._ctes = Ctes(always_recursive=dialect == "sqlite")
        self._selects: dict[int, Select] = {}
        self._meanings: dict[int, Meaning] = {}
        self._stored: dict[int, StoredColumn | None] = {}
        selects: list[Select] = []
        for node in self.all_of(exp.Select):
            parent = self._select_above(node)
            self._selects[id(node)] = Select(self, len(selects), node, parent, self._outer_of(node))
            selects.append(self._selects[id(node)])
        self.selects = tuple(selects)
        """The outermost first."""

    @cached_property
    def top(self) -> Select | None:
        """The outermost SELECT; None if a set operation or VALUES is outermost."""
        return self._selects.get(id(outermost(self.tree)))

    @cached_property
    def columns(self) -> tuple[exp.Column, ...]:
        """Every column as parsed, without stars."""
        return tuple(node for node in self.all_of(exp.Column) if not node.is_star)

    def all_of(self, *kinds: type[_Node]) -> Iterator[_Node]:
        """Every node of these kinds in the tree as parsed."""
        return (node for node in self.nodes if isinstance(node, kinds))

    def select_of(self, node: exp.Expr) -> Select | None:
        """The SELECT around a node, or the node itself."""
        return self._selects.get(id(node)) or self._select_above(node)

    def _select_above(self, node: exp.Expr) -> Select | None:
        above = node.parent
        while above is not None and above.key != "select":
            above = above.parent
        return None if above is None else self._selects.get(id(above))

    def _outer_of(self, node: exp.Expr) -> Select | None:
        """The SELECT whose sources may be named within this one: of FROM, not the SELECT that contains it."""
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

    def source_at(self, entry: exp.Expr, *, default: str) -> Source:
        """What an entry of FROM reads; ``default`` is its alias if it has none."""
        alias, cte = (entry.alias_or_name or default).lower(), None
        if pivots := entry.args.get("pivots"):  # which have other columns, and an alias of their own
            return Source(alias=(pivots[-1].alias or alias).lower(), table=None, node=entry, is_known=False)
        inner = entry.this if isinstance(entry, exp.Subquery | exp.Lateral) else None
        names = entry.alias_column_names if isinstance(entry, exp.Subquery | exp.Table | exp.Lateral) else []
        if isinstance(entry, exp.Table) and isinstance(entry.this, exp.Identifier):
            cte = None if entry.args.get("db") else self._ctes.find(entry.name, entry)
            if cte is None:
                return self._stored_source(entry, alias, names)
            inner, names = cte.this, names or cte.alias_column_names
        while isinstance(inner, exp.Subquery):
            inner = inner.this
        values = inner or entry
        if isinstance(values, exp.Values):
            names = names or entry.alias_column_names or _value_names(values, self.dialect)
        if not isinstance(inner, exp.Query):
            known = isinstance(values, exp.Values)
            return Source(alias=alias, table=None, node=entry, cte=cte, names=tuple(names), is_known=known)
        is_known = not any(output.is_star for output in inner.selects) or self._expands(inner)
        return Source(alias=alias, table=None, node=entry, inner=inner, cte=cte, names=tuple(names), is_known=is_known)

    def _stored_source(self, entry: exp.Table, alias: str, names: list[str]) -> Source:
        """A stored table; one whose columns are renamed in FROM is read like a subquery."""
        called = self._called(entry)
        stored = None if self.names is None else self.names.table(called)
        if names:
            is_known = stored is not None and len(stored.columns) == len(names)
            return Source(alias=alias, table=None, node=entry, names=tuple(names), is_known=is_known)
        table = called if stored is None or called != entry.name else stored.name
        return Source(alias=alias, table=table, node=entry, is_known=stored is not None)

    def _called(self, entry: exp.Table) -> str:
        """The schema's name for a stored table: ``a``, and ``s.a`` if it has no such table, or another one, as a."""
        schema = entry.db.lower()
        if not schema or schema == _OWN_SCHEMA.get(self.dialect):
            return entry.name
        stored = None if self.names is None else self.names.table(entry.name)
        if stored is not None and stored.namespace is not None:
            is_other = stored.namespace.lower() != schema
        else:
            known = frozenset() if self.names is None else self.names.schemas
            is_other = self.dialect in _OWN_SCHEMA or schema in _NEVER_OWN or schema in known
        return f"{entry.db}.{entry.name}" if is_other else entry.name

    def _expands(self, inner: exp.Query) -> bool:
        """Whether the columns behind the stars of a query are known."""
        select = self._first_select(inner)
        return select is not None and select.is_known

    def _first_select(self, query: exp.Expr) -> Select | None:
        """The SELECT that names the outputs of a query."""
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        return self._selects.get(id(query))

    def meaning(self, column: exp.Column) -> Meaning:
        """What a column's name means."""
        found = self._meanings.get(id(column))
        if found is None:
            found = self._meanings[id(column)] = self._find(column)
        return found

    def _find(self, column: exp.Column) -> Meaning:
        """Look a name up: as an output if those take precedence, then in each SELECT from the column's own outwards.

        In each, the columns of its sources come first, then the aliases of its outputs if its clause sees these.
        """
        name, qualifier = column.name.lower(), column.table.lower()
        if not qualifier and name in self._values:
            return Meaning(select=self.select_of(column), output=self._values[name])
        operation = _operation_ordered_by(column)
        if operation is not None:
            return self._output_of(operation, name)
        select = self.select_of(column)
        own = select
        if select is not None and not qualifier and takes_alias_first(column, select, self.dialect):
            output = select.output_called(name)
            if output is None and self.dialect != "sqlite":
                output = select.output_called(name, by_column=True)
            if output is not None:
                return Meaning(select=select, output=output)
        is_known, nearest, row = True, UNKNOWN, UNKNOWN
        while select is not None:
            for alias, source in select.sources.items():
                if select is not own and _is_lateral_around(source, column):
                    break
                if qualifier and alias == qualifier and nearest is UNKNOWN:
                    nearest = Meaning(select=select, source=source)
                if qualifier in ("", alias) and (self._has(source, name) or (qualifier and not source.is_known)):
                    return Meaning(select=select, source=source)
            names_row = self.dialect in _NAMES_ROWS and name in select.sources and select.is_known
            if row is UNKNOWN and not qualifier and names_row:
                row = Meaning(select=select, source=select.sources[name], is_row=True)
                if self.dialect == "duckdb":  # it takes precedence over aliases and the columns of the outer queries
                    return row
            output = None if qualifier else alias_seen(select, column, self.dialect)
            if output is not None:
                return Meaning(select=select, output=output)
            is_known = is_known and select.is_known
            select = select.outer
        if row is not UNKNOWN:
            return row
        if own is None or qualifier:
            return nearest  # which lacks the column, as does every other source of that alias
        output = own.output_called(name)
        if output is not None and output.find_ancestor(exp.Alias) is not column.find_ancestor(exp.Alias, exp.Select):
            return Meaning(select=own, output=output)
        if self._is_text(column, is_known=is_known):
            return Meaning(is_text=True)
        only = next(iter(own.sources.values())) if len(own.sources) == 1 else None
        return UNKNOWN if is_known or only is None or only.is_known else Meaning(select=own, source=only)

    @cached_property
    def _values(self) -> dict[str, exp.Expr]:
        """A value named by ClickHouse's ``WITH 5 AS five``, by its lower-case name."""
        from sqlglot import exp

        return {cte.alias.lower(): cte.this for cte in self.all_of(exp.CTE) if cte.args.get("scalar")}

    def _is_text(self, column: exp.Column, *, is_known: bool) -> bool:
        if self.dialect not in _TEXT_IN_DOUBLE_QUOTES or not column.this.args.get("quoted"):
            return False
        return is_known or (self.names is None and _is_compared(column))

    def _output_of(self, operation: exp.Expr, name: str) -> Meaning:
        """The output of a set operation's first SELECT that has this name."""
        select = self._first_select(operation)
        if select is None:
            return UNKNOWN
        output = select.output_called(name) or select.output_called(name, by_column=True)
        if output is None and isinstance(operation, exp.SetOperation):  # SQLite accepts the other SELECTs' names, too
            return self._output_of(operation.expression, name)
        return UNKNOWN if output is None else Meaning(select=select, output=output)

    def _has(self, source: Source, name: str) -> bool:
        """Whether a source certainly has a column of this lower-case name."""
        if source.table is not None:
            if self.names is None:
                return False
            return self.names.column(source.table, name) is not None or (
                source.is_known and name in _SYSTEM_COLUMNS.get(self.dialect, ()) and self._numbers_rows(source.table)
            )
        if source.inner is None:
            return name in map(str.lower, source.names)
        return self._within(source, name) is not UNKNOWN

    def _within(self, source: Source, name: str) -> Meaning:
        """What a lower-case name means among the outputs of the query behind a source."""
        select = None if source.inner is None else self._first_select(source.inner)
        if source.inner is None or select is None:
            return UNKNOWN
        if source.names and any(output.is_star for output in source.inner.selects):
            return Meaning(select=select) if name in map(str.lower, source.names) else UNKNOWN
        for named, output in named_outputs(source.inner, list(source.names)):
            if named == name and not output.is_star:
                return Meaning(select=select, output=output.unalias())
        for star in (one for one in source.inner.selects if one.is_star):
            of = star.table.lower() if isinstance(star, exp.Column) else None
            changed = _star_means(star, select, name)
            if changed is UNKNOWN:
                continue
            if changed is not None:
                return changed
            for alias, behind in select.sources.items():
                if of in (None, alias) and behind.inner is not source.inner and self._has(behind, name):
                    return Meaning(select=select, source=behind)
        return UNKNOWN

    def behind(self, column: exp.Column) -> exp.Expr | None:
        """The expression that a subquery, a CTE or an alias calls by this name; None for any other column."""
        name, meaning = column.name.lower(), self.meaning(column)
        for _ in range(_MOST_HOPS):
            if meaning.source is None or meaning.source.inner is None:
                break
            meaning = self._within(meaning.source, name)
        return meaning.output  # type: ignore[no-any-return]

    def stored(self, column: exp.Column) -> StoredColumn | None:
        """The stored column that a column passes on, through subqueries, CTEs and aliases; None if it is computed or
        unknown."""
        if id(column) not in self._stored:
            self._stored[id(column)] = self._find_stored(column)
        return self._stored[id(column)]

    def _find_stored(self, column: exp.Column) -> StoredColumn | None:
        name, meaning = column.name, self.meaning(column)
        for _ in range(_MOST_HOPS):
            source, node = meaning.source, meaning.output
            while isinstance(node, exp.Paren | exp.Alias):
                node = node.this
            if isinstance(node, exp.Column):
                name, meaning = node.name, self.meaning(node)
            elif source is not None and source.table is not None and not meaning.is_row:
                return self._column_of(source.table, name)
            elif source is not None and isinstance(source.inner, exp.Select) and not meaning.is_row:
                meaning = self._within(source, name.lower())
            else:
                return None
        return None

    def behind_stars(self, select: Select) -> Iterator[StoredColumn]:
        """The columns of stored tables that the selected stars stand for; those of a subquery are its own outputs."""
        for output in select.outputs:
            if not output.is_star:
                continue
            qualifier = output.table.lower() if isinstance(output, exp.Column) else None
            star = output.this if isinstance(output, exp.Column) else output
            if star.args.get("ilike"):
                continue
            left_out = {
                name.alias_or_name.lower() for part in ("except_", "replace") for name in star.args.get(part) or ()
            }
            for alias, source in select.sources.items():
                table = None if source.table is None or self.names is None else self.names.table(source.table)
                if table is not None and source.table is not None and qualifier in (None, alias):
                    for column in table.columns:
                        if column.name.lower() not in left_out:
                            yield StoredColumn(source.table, column.name)

    def _column_of(self, table: str, name: str) -> StoredColumn | None:
        if self.names is None:
            return StoredColumn(table, name)
        column = self.names.column(table, name)
        if column is not None:
            return StoredColumn(table, column.name)
        if name.lower() not in _SYSTEM_COLUMNS.get(self.dialect, ()) or not self._numbers_rows(table):
            return None
        if self.dialect != "sqlite":
            return StoredColumn(table, name.lower())
        key = next(iter(self.names.keys.get(table.lower(), ())), "rowid")
        column = self.names.column(table, key)
        is_number = column is not None and column.type.upper() == "INTEGER"  # such a key is the row number
        return StoredColumn(table, column.name if column is not None and is_number else "rowid")

    def _numbers_rows(self, table: str) -> bool:
        """Whether a known table has the columns that no schema lists."""
        stored = None if self.names is None else self.names.table(table)
        if stored is None or self.dialect != "sqlite":
            return stored is not None
        return not {"without", "rowid"} <= table_clauses(stored.ddl, self.dialect).options

    def column_of(self, node: exp.Expr) -> exp.Column | None:
        """The column that an expression is, apart from parentheses; None if it is something else."""
        node = inside(node)
        if not isinstance(node, exp.Column) or node.is_star or self.meaning(node).is_text:
            return None
        return node

    def value_of(self, node: exp.Expr) -> str | None:
        """The text or the number that a literal is, including a name in double quotes that means a text."""
        node = inside(node)
        if isinstance(node, exp.Neg) and isinstance(inside(node.this), exp.Literal):
            return f"-{inside(node.this).name}"
        is_literal = isinstance(node, exp.Literal) or (isinstance(node, exp.Column) and self.meaning(node).is_text)
        return node.name if is_literal else None

    def twin(self, node: exp.Expr) -> exp.Expr:
        """The node of the bound tree that corresponds to this one; for names only, the node itself."""
        return node

    @cached_property
    def unresolved(self) -> tuple[exp.Column, ...]:
        """Columns that no table of the schema has, of those whose possible sources are all known."""
        return tuple(node for node in self.columns if self.names is not None and self._is_unresolved(node))

    def _may_be_field(self, column: exp.Column) -> bool:
        """Whether a name with a dot may be a field of a structure or JSON column."""
        from sqlglot import exp

        if self.dialect not in _NAMES_FIELDS or not column.table:
            return False
        first, second = (part.name.lower() for part in column.parts[:2])
        if any(call.name.lower() == first for call in self.all_of(exp.Anonymous)):  # the start of Spark's window()
            return True
        select = self.select_of(column)
        while select is not None:
            for alias, source in select.sources.items():
                is_own = alias == first and len(column.parts) > 2 and self._has(source, second)
                if is_own or not source.is_known or self._has(source, first):
                    return True
            select = select.outer
        return False

    def _is_unresolved(self, column: exp.Column) -> bool:
        meaning = self.meaning(column)
        source = meaning.source
        if meaning.output is None and self._may_be_field(column):
            return False
        if meaning is UNKNOWN:
            select = self.select_of(column)
            while select is not None:
                if not select.is_known and not column.table:
                    return False
                select = select.outer
            return True
        if meaning.is_row:
            return False
        return source is not None and source.is_known and not self._has(source, column.name.lower())


def _star_means(star: exp.Expr, select: Select, name: str) -> Meaning | None:
    """What a star's EXCEPT, REPLACE, RENAME or ILIKE makes of a lower-case name; None if they do not change it."""
    args = (star.this if star.key == "column" else star).args
    for replaced in args.get("replace") or ():
        if replaced.alias.lower() == name:
            return Meaning(select=select, output=replaced.unalias())
    renamed = args.get("rename") or ()
    if args.get("ilike") or any(one.alias.lower() == name for one in renamed):
        return Meaning(select=select)
    left_out = [*(args.get("except_") or ()), *(one.this for one in renamed)]
    return UNKNOWN if any(one.name.lower() == name for one in left_out) else None


def _value_names(values: exp.Values, dialect: str) -> list[str]:
    """The names that VALUES gives its columns by default."""
    row = values.expressions[0]
    first = 0 if dialect == "duckdb" else 1
    width = len(row.expressions) if isinstance(row, exp.Tuple) else 1
    return [f"{'col' if dialect == 'duckdb' else 'column'}{first + place}" for place in range(width)]


def _is_lateral_around(source: Source, column: exp.Expr) -> bool:
    """Whether a column is within a LATERAL, which sees the sources before it, but not itself."""
    return isinstance(source.node, exp.Lateral) and any(above is source.node for above in _above(column))


def _above(node: exp.Expr) -> Iterator[exp.Expr]:
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def _operation_ordered_by(column: exp.Expr) -> exp.Expr | None:
    """The set operation, or the query in parentheses, whose ORDER BY contains a column."""
    above = column.find_ancestor(exp.Query)
    if isinstance(above, exp.SetOperation) or (isinstance(above, exp.Subquery) and isinstance(above.this, exp.Query)):
        return above
    return None


def _is_compared(node: exp.Expr) -> bool:
    """Whether a name is on the right side of a comparison, if it is more likely a text than a column."""
    above = node.parent
    if isinstance(above, exp.In | exp.Between):
        return above.this is not node
    return isinstance(above, exp.Binary) and isinstance(above, exp.Predicate) and above.expression is node
