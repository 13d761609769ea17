"""A query read once: what each SELECT reads from, the stored column that each name means, and where each node is.

Names are looked up on the tree as parsed, which spelling, positions and edits refer to. `Query.bound` is a copy that
sqlglot's `qualify` has rewritten: stars expanded, USING spelled out, each column with its source. It is made on first
use, and its nodes can be queried, too. `qualify` is not used for all names, since it takes as long as everything else
here together, and refuses queries whose columns do not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

from msgspec import Struct

from assay.sql.binding import bind, types_of
from assay.sql.expressions import inside, parts_of
from assay.sql.names import QueryNames
from assay.sql.nodes import exp
from assay.sql.predicates import Predicate
from assay.sql.reader import first_statement
from assay.sql.schema import SchemaNames, TypeFamily
from assay.sql.select import StoredColumn
from assay.sql.shape import is_nested_too_deeply, parse_query
from assay.sql.shown import shown

MOST_CHARACTERS = 50_000
MOST_NODES = 20_000
MOST_LEVELS = 1_500
"""Limit for the tree. `qualify` takes time quadratic in the depth of a chain of ANDs or ORs."""
MOST_COMPARED_NODES = 2_000
MOST_COMPARED_SELECTS = 60
"""A longer query is read, but not compared clause by clause: pairing its conditions takes quadratic time, and the
result would be unreadable. A CTE counts once per use."""


class Unreadable(Struct, frozen=True):
    """Why a text cannot be read as a query, as a predicate to follow its name: ``has more than 50,000 characters``."""

    reason: str


class Span(Struct, frozen=True):
    """A part of the query's text: zero-based, without the character at ``end``."""

    start: int
    end: int


class Query(QueryNames):
    """One query on one schema. Shared by its readers: do not change its trees."""

    @property
    def bound(self) -> exp.Expr:
        """A copy of the tree with stars expanded, USING spelled out, and each column with its source.

        The tree as parsed if `qualify` refuses the query, as it does for some columns that do not exist.
        """
        return self._bound[0]

    def twin(self, node: exp.Expr) -> exp.Expr:
        """The node of the bound tree that corresponds to this one; the node itself if it belongs to that tree."""
        return self._bound[1].get(id(node), node)

    @cached_property
    def _bound(self) -> tuple[exp.Expr, dict[int, exp.Expr]]:
        texts = [column for column in self.columns if self.meaning(column).is_text]
        elsewhere = {
            id(source.node): source.table
            for select in self.selects
            for source in select.sources.values()
            if source.table is not None and source.table.lower() != source.node.name.lower()
        }
        bound, twins = bind(self.tree, self.nodes, self.names, self.dialect, texts=texts, elsewhere=elsewhere)
        self._selects |= {id(twins[key]): select for key, select in self._selects.items() if key in twins}
        return bound, twins

    def identity(self, column: exp.Column) -> tuple[int, str, str]:
        """What uses of one column share: the number of the SELECT that reads it, the source's alias, and its name.

        Names are in lower case, that of a table's column as in the schema: ``rowid`` is the key that it stands for.
        Without a known source, the number is -1, and the alias as written.
        """
        meaning = self.meaning(column)
        if meaning.select is None or meaning.source is None:
            return -1, column.table.lower(), column.name.lower()
        stored = None if meaning.source.table is None else self.stored(column)
        name = column.name if stored is None else stored.column
        return meaning.select.index, meaning.source.alias, name.lower()

    def name_of(self, column: exp.Column) -> str:
        """A column for a reader: ``singer.Country``; only its name if it is not stored."""
        return str(self.stored(column) or column.name)

    def columns_in(self, node: exp.Expr, *, bare: bool = False) -> list[exp.Column]:
        """The columns in an expression without its subqueries; ``bare``: outside of aggregate functions and windows."""
        return [
            column
            for part, is_covered in parts_of(node)
            if not (bare and is_covered) and part.key == "column" and (column := self.column_of(part)) is not None
        ]

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """Every text and number, except those of LIMIT, OFFSET and types."""
        left_out = (exp.Limit, exp.Offset, exp.Fetch, exp.DataType)
        values = (
            self.value_of(node) for node in self.all_of(exp.Literal, exp.Column) if not node.find_ancestor(*left_out)
        )
        return tuple(value for value in values if value is not None)

    @property
    def predicates(self) -> Iterator[Predicate]:
        """The comparisons of every SELECT."""
        return (predicate for select in self.selects for predicate in select.predicates)

    def type_of(self, node: exp.Expr) -> TypeFamily | None:
        """The kind of values of an expression; None if that is not known."""
        node = inside(node)
        if isinstance(node, exp.Select) and len(node.selects) == 1:
            node = inside(node.selects[0])
        if isinstance(node, exp.Literal):
            return "text" if node.is_string else "integer" if node.is_int else "real"
        if isinstance(node, exp.Column):
            meaning = self.meaning(node)
            if meaning.is_text:
                return "text"
            stored = self.stored(node)
            if stored is not None:
                return None if self.names is None else self.names.type_of(stored.table, stored.column)
            behind = self.behind(node)
            return None if behind is None or isinstance(behind, exp.Column) else self.type_of(behind)
        found = self._types.get(id(self.twin(node)))
        return "real" if found is None and self._has_real_part(node) else found

    def _has_real_part(self, node: exp.Expr) -> bool:
        """Whether it is arithmetic with a real number, and therefore real regardless of its other parts."""
        arithmetic = (exp.Add, exp.Sub, exp.Mul, exp.Div)
        waiting = [node] if isinstance(node, arithmetic) else []
        while waiting:
            part = inside(waiting.pop())
            if isinstance(part, arithmetic):
                waiting += [part.this, part.expression]
            elif self.type_of(part) == "real":
                return True
        return False

    @cached_property
    def _types(self) -> dict[int, TypeFamily]:
        return types_of(self.bound, self.names, self.dialect)

    def span(self, node: exp.Expr) -> Span | None:
        """The span of a node: from the first to the last of its words whose position is known."""
        return span_of(node)

    def shown(self, node: exp.Expr) -> str:
        """The beginning of an expression's text for a message. See `shown`."""
        span = span_of(node)
        text = "" if span is None else " ".join(self.text[span.start : span.end].split())
        return shown(node, text, self.qualified, self.dialect)

    def qualified(self, column: exp.Column) -> StoredColumn | None:
        """The stored column behind a column with an alias before it, if the alias is the only one of its table."""
        meaning = self.meaning(column)
        if not column.table or meaning.source is None or meaning.select is None or meaning.source.table is None:
            return None
        table = meaning.source.table
        is_only = sum(source.table == table for source in meaning.select.sources.values()) == 1
        return (self.stored(column) or StoredColumn(table, column.name)) if is_only else None


@lru_cache(maxsize=128)
def read_query(text: str, dialect: str, names: SchemaNames | None = None) -> Query | Unreadable:
    """Read a query on a schema. Without one, columns have no types, and only the query says which source they belong
    to.

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
    """Read a query that is part of a longer text, for example of a view. Never raises."""
    from sqlglot.errors import SqlglotError

    nodes = list(tree.walk())
    if dialect == "clickhouse" and any(node.key in ("columns", "apply") for node in nodes):
        return Unreadable("selects columns that only the database knows, by COLUMNS or APPLY")
    if (reason := too_large(nodes, MOST_NODES)) is not None:
        return Unreadable(reason)
    try:
        return Query(text, dialect, names, tree, nodes)
    except RecursionError:
        return Unreadable("is nested too deeply to be read")
    except (SqlglotError, ValueError) as problem:
        return Unreadable(f"has names that cannot be resolved: {problem}")


def read_view(ddl: str, dialect: str, names: SchemaNames | None = None) -> Query | Unreadable:
    """Read the query of a CREATE VIEW. Never raises."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        created = first_statement(ddl, dialect)
    except (SqlglotError, RecursionError, ValueError) as problem:
        return Unreadable(f"cannot be read as a view of the dialect {dialect}: {problem}")
    query = created.args.get("expression") if isinstance(created, exp.Create) else None
    return read_tree(query, ddl, dialect, names) if isinstance(query, exp.Query) else Unreadable("is not a view")


def span_of(node: exp.Expr) -> Span | None:
    """The span of a node: from the first to the last of its words whose position is known."""
    marks = [one._meta for one in node.walk() if one._meta and "start" in one._meta]
    if not marks:
        return None
    return Span(min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1)


def levels_of(tree: exp.Expr, nodes: list[exp.Expr]) -> int:
    """How many levels a tree has. ``nodes`` are those of its walk; the last one is on the lowest level."""
    node, levels = nodes[-1], 1
    while node is not tree and node.parent is not None:
        node, levels = node.parent, levels + 1
    return levels


def too_large(nodes: list[exp.Expr], most_nodes: int) -> str | None:
    """Whether a tree of these nodes has too many of them, or too many levels, and why. A list of literals in IN is not
    counted."""
    if len(nodes) > most_nodes:
        lists = (node for node in nodes if node.key == "in")
        listed = sum(value.key == "literal" for node in lists for value in node.expressions)
        if len(nodes) - listed > most_nodes:
            return f"has more than {most_nodes:,} parts"
    if len(nodes) > MOST_LEVELS and levels_of(nodes[0], nodes) > MOST_LEVELS:
        return f"is nested more than {MOST_LEVELS:,} levels deep"
    return None
