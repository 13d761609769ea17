"""One SELECT of a query: what it reads, selects, requires and orders by, as nodes of the tree as parsed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

from msgspec import Struct

from assay.sql.expressions import has_aggregate, inside, limit_of, parts_of
from assay.sql.nodes import exp
from assay.sql.predicates import REQUIRED, Clause, Predicate, predicates_of
from assay.sql.sources import entries_of


class Source(Struct, frozen=True, kw_only=True, eq=False):
    """One entry of FROM."""

    alias: str
    """The name under which its columns are read, in lower case."""
    table: str | None
    """The stored table's name, as in the schema; None for a subquery, a CTE or a function."""
    node: Any
    """The entry in the tree as parsed."""
    inner: Any = None
    """The query behind a subquery or CTE."""
    cte: Any = None
    """The CTE that the entry names."""
    names: tuple[str, ...] = ()
    """The names that the entry itself gives the columns of ``inner``."""
    is_known: bool = True
    """Its columns are known."""


class StoredColumn(Struct, frozen=True):
    """A column of a stored table, each named as in the schema; without a schema, as in the query."""

    table: str
    column: str

    @property
    def key(self) -> tuple[str, str]:
        """Both names in lower case."""
        return self.table.lower(), self.column.lower()

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


class Meaning(Struct, frozen=True, kw_only=True):
    """What a column's name means. All fields empty: it is not known."""

    select: Select | None = None
    """The SELECT that reads the source, or whose output is meant."""
    source: Source | None = None
    output: Any = None
    """The selected expression that an alias stands for."""
    is_text: bool = False
    """It is a text in double quotes."""
    is_row: bool = False
    """It is the whole row of the source."""

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of it."""
        return self.source is None and self.output is None and not self.is_text


UNKNOWN = Meaning()


class JoinPair(Struct, frozen=True, kw_only=True, eq=False):
    """Two columns of different sources that must be equal."""

    left: Any
    right: Any
    node: Any
    """The equality, or the name in USING."""


class Lookup(Protocol):
    """What a SELECT needs from its query."""

    def source_at(self, entry: exp.Expr, *, default: str) -> Source:
        """What an entry of FROM reads; ``default`` is its alias if it has none."""

    def select_of(self, node: exp.Expr) -> Select | None:
        """The SELECT around a node, or the node itself."""

    def meaning(self, column: exp.Column) -> Meaning:
        """What a column's name means."""

    def column_of(self, node: exp.Expr) -> exp.Column | None:
        """The column that an expression is, apart from parentheses; None if it is something else."""

    def value_of(self, node: exp.Expr) -> str | None:
        """The text or the number that a literal is."""

    def twin(self, node: exp.Expr) -> exp.Expr:
        """The node of the bound tree that corresponds to this one."""


class Select:
    """One SELECT of a query, as parsed. Its results are nodes: ask the query what their names mean."""

    def __init__(
        self, query: Lookup, index: int, node: exp.Select, parent: Select | None, outer: Select | None
    ) -> None:
        self.query = query
        self.index = index
        self.node = node
        self.parent = parent
        """The SELECT around it."""
        self.outer = outer
        """The SELECT whose sources its own expressions may name, too."""

    @cached_property
    def sources(self) -> dict[str, Source]:
        """What FROM and the JOINs read, by alias, in text order. Of two with one alias, the first."""
        found: dict[str, Source] = {}
        for entry, _ in entries_of(self.node):
            source = self.query.source_at(entry, default=f"?{len(found)}")
            found.setdefault(source.alias, source)
        return found

    @cached_property
    def is_known(self) -> bool:
        """Whether the columns of every source are known, and no clause adds others."""
        if any(self.node.args.get(part) for part in ("match", "connect")):
            return False
        return all(source.is_known for source in self.sources.values())

    def output_called(self, name: str, *, by_column: bool = False) -> exp.Expr | None:
        """The first selected expression that has this alias; None if there is none.

        ``by_column``: a column without an alias has its own name.
        """
        lowered = name.lower()
        for output in self.node.expressions:
            if (output.alias_or_name if by_column else output.alias).lower() == lowered and not output.is_star:
                return output.unalias()  # type: ignore[no-any-return]
        return None

    @cached_property
    def outputs(self) -> tuple[exp.Expr, ...]:
        """The selected expressions without their aliases."""
        return tuple(inside(node) for node in self.node.expressions)

    @cached_property
    def clauses(self) -> tuple[tuple[Clause, exp.Expr], ...]:
        """The expressions of each clause."""
        args = self.node.args
        found: list[tuple[Clause, exp.Expr]] = [("output", node) for node in self.node.expressions]
        found += [("on", join.args["on"]) for join in self.joins if join.args.get("on") is not None]
        for name in ("where", "having", "qualify", "group", "order"):
            clause = args.get(name)
            if clause is not None:
                found.append((name, clause if name in ("group", "order") else clause.this))
        return tuple(found)

    @cached_property
    def joins(self) -> tuple[exp.Join, ...]:
        """The JOINs of FROM, including those within parentheses."""
        waiting: list[exp.Expr] = list(self.node.args.get("joins") or ())
        start = self.node.args.get("from_")
        if start is not None:
            waiting.insert(0, start.this)
        found = []
        for node in waiting:  # it grows meanwhile
            if isinstance(node, exp.Join):
                found.append(node)
                waiting.append(node.this)
            elif isinstance(node, exp.Paren | exp.Subquery) and isinstance(
                node.this, exp.Paren | exp.Table | exp.Subquery
            ):
                waiting += [node.this, *(node.args.get("joins") or ())]
            else:
                waiting += node.args.get("joins") or ()
        return tuple(found)

    @cached_property
    def predicates(self) -> tuple[Predicate, ...]:
        """Every comparison in text order, including those within expressions, without those of subqueries."""
        return tuple(
            predicate
            for clause, node in self.clauses
            for predicate in predicates_of(self.index, clause, node, self._is_constant)
        )

    def _is_constant(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Null) or self.query.value_of(node) is not None

    @cached_property
    def join_pairs(self) -> tuple[JoinPair, ...]:
        """Columns of two of its sources that must be equal, by a condition or by USING."""
        equal = [one for one in self.predicates if one.operator == "=" and one.is_required and not one.is_negated]
        pairs = [JoinPair(left=one.left, right=one.right[0], node=one.node) for one in equal]
        for join in self.joins:
            if join.args.get("using"):
                # `qualify` spells USING out.
                on = self.query.twin(join).args.get("on")
                pairs += [
                    JoinPair(left=equality.this, right=equality.expression, node=name)
                    for equality, name in zip(
                        () if on is None else on.find_all(exp.EQ), join.args["using"], strict=False
                    )
                ]
        return tuple(pair for pair in pairs if self._are_of_two_sources(pair.left, pair.right))

    def _are_of_two_sources(self, left: exp.Expr, right: exp.Expr) -> bool:
        sources = [
            None if column is None else self.query.meaning(column)
            for column in (self.query.column_of(left), self.query.column_of(right))
        ]
        own = [one.source.alias for one in sources if one is not None and one.source is not None and one.select is self]
        return len(own) == 2 and own[0] != own[1]

    @cached_property
    def many_rowed(self) -> tuple[Source, ...]:
        """The sources that may return more than one row."""
        found = []
        for source in self.sources.values():
            inner = self.query.select_of(source.inner) if isinstance(source.inner, exp.Select) else None
            is_function = source.inner is None and not isinstance(source.node, exp.Table)
            if not is_function and (inner is None or not inner.is_single_row):
                found.append(source)
        return tuple(found)

    @cached_property
    def unlinked_sources(self) -> tuple[Source, ...]:
        """The sources of several rows that no condition links to the first of them."""
        if len(self.many_rowed) < 2:
            return ()
        # Functions cannot be unlinked sources, but may link others.
        linking = [one for one in self.sources.values() if one in self.many_rowed or one.inner is None]
        group = {source.alias: source.alias for source in linking}

        def root(alias: str) -> str:
            while group[alias] != alias:
                alias = group[alias]
            return alias

        def link(aliases: list[str]) -> None:
            for other in aliases[1:]:
                group[root(other)] = root(aliases[0])

        first = self.many_rowed[0].alias
        for join in self.joins:
            entry = join.this
            while isinstance(entry, exp.Paren | exp.Subquery) and not entry.alias:
                entry = entry.this
            is_function = not isinstance(entry, exp.Table | exp.Subquery) or _is_function_of_columns(entry)
            if (
                join.args.get("using") or join.method == "NATURAL" or is_function
            ) and entry.alias_or_name.lower() in group:
                link([first, entry.alias_or_name.lower()])
        conditions = [node for clause, node in self.clauses if clause in REQUIRED]
        while conditions:
            condition = conditions.pop()
            if isinstance(condition, exp.And | exp.Paren):
                conditions += condition.iter_expressions()
                continue
            meanings = [(column, self.query.meaning(column)) for column in condition.find_all(exp.Column)]
            if any(meaning.is_unknown and not column.table for column, meaning in meanings):
                link(list(group))  # it may belong to any of them
            used = [one.source.alias for _, one in meanings if one.source is not None and one.select is self]
            link([alias for alias in used if alias in group])
        return tuple(source for source in self.many_rowed if root(source.alias) != root(first))

    def nodes(self, *clauses: Clause) -> Iterator[exp.Expr]:
        """The nodes of these clauses, or of all; without those of subqueries."""
        return (part for clause, node in self.clauses if not clauses or clause in clauses for part, _ in parts_of(node))

    @cached_property
    def aggregates(self) -> tuple[exp.AggFunc, ...]:
        """The uses of aggregate functions."""
        return tuple(node for node in self.nodes() if isinstance(node, exp.AggFunc))

    @cached_property
    def is_aggregated(self) -> bool:
        """Whether the outputs, HAVING or ORDER BY contain an aggregate function."""
        having = self.node.args.get("having")
        parts = (*self.outputs, *(self.meant(key) for key in self.order))
        return any(map(has_aggregate, parts)) or (having is not None and having.find(exp.AggFunc) is not None)

    @cached_property
    def group(self) -> tuple[exp.Expr, ...]:
        """The expressions of GROUP BY; for GROUP BY ALL, the outputs without an aggregate."""
        group = self.node.args.get("group")
        if group is None:
            return ()
        if group.args.get("all") and not group.expressions:
            return tuple(output for output in self.outputs if not has_aggregate(output))
        return tuple(self.meant(key) for key in group.expressions)

    @property
    def order(self) -> tuple[exp.Expr, ...]:
        """The keys of ORDER BY as written. See `meant`."""
        order = self.node.args.get("order")
        return () if order is None else tuple(order.expressions)

    def meant(self, key: exp.Expr) -> exp.Expr:
        """The expression that a key of GROUP BY or ORDER BY means: by position, by alias, or as written.

        A position at or after a star stays a number: the text does not say which column it is.
        """
        node = inside(key.this if isinstance(key, exp.Ordered) else key)
        if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(self.outputs):
            before = self.outputs[: int(node.name)]
            return node if any(output.is_star for output in before) else before[-1]
        column = self.query.column_of(node)
        output = None if column is None else self.query.meaning(column).output
        return node if output is None else inside(output)

    @property
    def limit_node(self) -> exp.Expr | None:
        """LIMIT, FETCH or TOP."""
        return self.node.args.get("limit")

    @property
    def limit(self) -> int | None:
        """The number in LIMIT, if that is a plain number."""
        return limit_of(self.node)

    @property
    def is_distinct(self) -> bool:
        """Whether it is a SELECT DISTINCT."""
        return self.node.args.get("distinct") is not None

    @cached_property
    def has_more_rows(self) -> bool:
        """Whether a selected function, for example Spark's explode, makes several rows of one."""
        from sqlglot import exp

        kinds = (exp.Explode, exp.Posexplode, exp.Inline, exp.Stack, exp.Unnest, exp.ExplodingGenerateSeries)
        return any(isinstance(node, kinds) for node in self.nodes("output"))

    @cached_property
    def is_single_row(self) -> bool:
        """Whether it certainly returns at most one row."""
        if self.limit == 1:
            return True
        if self.has_more_rows:
            return False
        return not self.node.args.get("group") and (not self.sources or any(map(has_aggregate, self.outputs)))


def _is_function_of_columns(entry: exp.Expr) -> bool:
    """Whether an entry of FROM is a function of neighbouring columns, for example ``json_each(t.list)``."""
    return not isinstance(entry.this, exp.Identifier | exp.Query) and entry.find(exp.Column) is not None
