"""Find out whether a query computed its row over no rows: MIN, SUM or COUNT where the filter left nothing.

The probe is the query itself with one more column: 1 where every cell of the row comes from
nothing. The engine evaluates it in the place where the cell is computed, so joins, groups,
correlated subqueries, HAVING and LIMIT are the query's own:

- an aggregate comes from nothing where it takes no row, by ``COUNT(*) = 0`` beside it. It does not
  take rows that its own condition leaves out: ``FILTER (WHERE c)``, ``CASE WHEN c THEN x
  ELSE 0 END`` and ``SUM(c)``;
- a scalar subquery comes from nothing where it has no row, or its cell comes from nothing;
- a column of a derived table or CTE comes from nothing where its cell there does: that table gets
  one more column as well;
- a product or quotient comes from nothing where one operand does, any other expression where all
  of its non-constant parts do;
- a column of a stored table never does: its row exists.

A cell that cannot be traced counts as computed over something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Protocol

from assay.sql.conditional import argument_of, counted_rows, is_aggregate
from assay.sql.conditions import Condition, all_of, any_of, as_number, is_one, none_counted
from assay.sql.plain import plain_aggregate
from assay.sql.shape import parse_query

if TYPE_CHECKING:
    from sqlglot import exp


_INDICATOR = "assay_nothing"


@lru_cache(maxsize=4096)
def nothing_probe(query: str, dialect: str) -> str | None:
    """The query with one more output column at the end: 1 in rows whose every cell was computed over no rows, else 0.

    None where the query cannot be traced, or where no cell can come from nothing. The text is
    generated from the tree: check that the other columns equal the query's own result.
    """
    plain = plain_aggregate(query) if dialect == "sqlite" else None
    if plain is None:
        return _traced_probe(query, dialect)
    before, aggregate, rest = plain
    return aggregate and f"{before}, CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS {_INDICATOR}_row{rest}"


def _traced_probe(query: str, dialect: str) -> str | None:
    from sqlglot.errors import SqlglotError

    parsed = parse_query(query, dialect)
    if parsed is None:
        return None
    tree = parsed.tree.copy()
    try:
        level = _level(tree, _Context({}, _fresh_names()))
        if level is None or level.width is None:
            return None
        columns = range(level.width)
        if not level.may_come_from_nothing(columns):
            return None
        level.add(columns, f"{_INDICATOR}_row")
        return tree.sql(dialect=dialect, comments=False)
    except (SqlglotError, RecursionError, ValueError):
        return None


class _Context:
    """What a query can refer to besides its own FROM: CTEs, and the query around it."""

    def __init__(self, ctes: dict[str, _Source | None], fresh: Callable[[], str], outer: _Select | None = None) -> None:
        self.ctes = ctes
        self.fresh = fresh
        self.outer = outer


class _Level(Protocol):
    """One query: a SELECT, or a set operation of queries."""

    width: int | None
    """How many columns it has; None where a star hides them."""

    def names(self) -> list[str]:
        """The names of its columns in lower case, "" for a column without a name."""
        ...

    def name_all(self) -> None:
        """Name each column that has no name."""
        ...

    def is_constant(self, column: int) -> bool:
        """Whether this column holds only constants."""
        ...

    def may_come_from_nothing(self, columns: Sequence[int]) -> bool:
        """Whether there can be rows in which all these cells come from nothing."""
        ...

    def add(self, columns: Sequence[int], name: str) -> None:
        """Add an output column: 1 where all these columns' cells come from nothing."""
        ...

    def add_number(self, number: int, name: str) -> None:
        """Add an output column with a constant number."""
        ...


def _level(tree: exp.Expr, context: _Context) -> _Level | None:
    from sqlglot import exp

    query = tree.unnest() if isinstance(tree, exp.Subquery) else tree
    if isinstance(query, exp.Select):
        return _Select(query, context)
    if not isinstance(query, exp.SetOperation):
        return None
    inner = _Context(_ctes(query, context), context.fresh, context.outer)
    left, right = _level(query.this, inner), _level(query.expression, inner)
    return None if left is None or right is None else _SetOperation(query, left, right)


class _Source:
    """A derived table or CTE, as seen by the query that reads from it."""

    def __init__(self, level: _Level | None, alias: exp.TableAlias | None, fresh: Callable[[], str]) -> None:
        self._level = level
        self._alias = alias
        self._fresh = fresh
        self._added: dict[int, str] = {}

    def names(self, *, all_named: bool = False) -> list[str] | None:
        """Its columns, lower case; None where they cannot be known."""
        if self._level is None or self._level.width is None:
            return None
        if all_named:
            self._level.name_all()
        own = self._level.names()
        renamed = [column.name.lower() for column in self._alias.columns] if self._alias is not None else []
        first = renamed[: len(own)]
        return [*first, *own[len(first) :]]

    def condition(self, name: str, table: str) -> Condition:
        """When that column's cell comes from nothing, as a condition in the query that reads from this source."""
        from sqlglot import exp

        names = self.names()
        if self._level is None or names is None or names.count(name) != 1:
            return False
        place = names.index(name)
        if self._level.is_constant(place):
            return None
        if not self._level.may_come_from_nothing([place]):
            return False
        if place not in self._added:
            self._added[place] = self._fresh()
            self._level.add([place], self._added[place])
            if self._alias is not None and self._alias.columns:
                self._alias.append("columns", exp.to_identifier(self._added[place]))
        return is_one(exp.column(self._added[place], table=exp.to_identifier(table)))


class _Select:
    """A plain SELECT."""

    def __init__(self, tree: exp.Select, context: _Context) -> None:
        self._tree = tree
        self._fresh = context.fresh
        self._outer = context.outer
        self._ctes = _ctes(tree, context)
        self._sources = dict(self._read_sources())
        self._expand_stars()
        outputs = tree.selects
        self.width = None if any(output.is_star and not _has_aggregate(output) for output in outputs) else len(outputs)
        parts = [*outputs, tree.args.get("having"), tree.args.get("qualify")]
        self._aggregated = bool(tree.args.get("group")) or any(part and _has_aggregate(part) for part in parts)

    def names(self) -> list[str]:
        return [_name_of(output).lower() for output in self._outputs()]

    def name_all(self) -> None:
        from sqlglot import exp

        for output in self._outputs():
            if not _name_of(output):
                output.replace(exp.alias_(output.copy(), self._fresh()))

    def is_constant(self, column: int) -> bool:
        return self._condition(column) is None

    def may_come_from_nothing(self, columns: Sequence[int]) -> bool:
        whole = all_of(map(self._condition, columns))
        return whole is not None and whole is not False

    def add(self, columns: Sequence[int], name: str) -> None:
        self._append(as_number(all_of(map(self._condition, columns))), name)

    def add_number(self, number: int, name: str) -> None:
        from sqlglot import exp

        self._append(exp.Literal.number(number), name)

    def column(self, column: exp.Column) -> Condition:
        """When a column named in this query or an inner one comes from nothing, as its source says."""
        name, table = column.name.lower(), column.table.lower()
        if table and table in self._sources:
            source = self._sources[table]
            return source.condition(name, column.table) if source is not None else False
        if not table:
            for alias, source in self._sources.items():
                if source is not None and name in (source.names() or ()):
                    return source.condition(name, alias)
            if any(source is None or source.names() is None for source in self._sources.values()):
                return False
        return self._outer.column(column) if self._outer is not None else False

    def only(self, name: str) -> exp.Query | None:
        """This query with its first column's 0/1 indicator as only output; None where that would change its rows."""
        from sqlglot import exp

        if any(self._tree.args.get(part) for part in ("distinct", "order", "qualify")):
            return None
        self._tree.set("expressions", [exp.alias_(as_number(self._condition(0)), name)])
        return self._tree

    def _outputs(self) -> list[exp.Expr]:
        """The query's outputs, without the columns added here."""
        return self._tree.selects[: self.width]

    def _append(self, number: exp.Expr, name: str) -> None:
        from sqlglot import exp

        self._tree.append("expressions", exp.alias_(number, name))

    def _condition(self, column: int) -> Condition:
        return self._of(self._outputs()[column].unalias())

    def _of(self, node: exp.Expr, *, in_aggregate: bool = False) -> Condition:
        """When the value of this expression comes from nothing."""
        from sqlglot import exp

        if isinstance(node, exp.Window):
            return False
        if isinstance(node, exp.Filter) or is_aggregate(node):
            return False if in_aggregate else self._of_aggregate(node)
        if isinstance(node, exp.Exists):
            return exp.not_(node.copy())
        if isinstance(node, exp.In) and node.args.get("query"):
            found = exp.Exists(this=node.args["query"].unnest().copy())
            return any_of([self._of(node.this, in_aggregate=in_aggregate), exp.not_(found)])
        if isinstance(node, exp.Query):
            return self._of_scalar(node)
        if isinstance(node, exp.Column):
            if self._aggregated and not in_aggregate:
                return none_counted(self.column(node), None)  # its value in any row of the group
            return self.column(node)
        parts = [self._of(part, in_aggregate=in_aggregate) for part in node.iter_expressions()]
        return any_of(parts) if isinstance(node, (exp.Mul, exp.Div, exp.IntDiv)) else all_of(parts)

    def _of_aggregate(self, node: exp.Expr) -> Condition:
        """The condition that the aggregate takes no rows, or only values that come from nothing."""
        from sqlglot import exp

        inner = node.this if isinstance(node, exp.Filter) else node
        counted = counted_rows(inner)
        if isinstance(node, exp.Filter):
            kept = node.expression.this.copy()
            counted = kept if counted is None else exp.and_(kept, counted)
        argument = argument_of(inner)
        return none_counted(None if argument is None else self._of(argument, in_aggregate=True), counted)

    def _of_scalar(self, node: exp.Query) -> Condition:
        """The condition that a scalar subquery has no row, or that its cell comes from nothing."""
        from sqlglot import exp

        query = node.unnest().copy()
        level = _level(query, _Context(self._ctes, self._fresh, self))
        if level is None or level.width != 1:
            return False
        name = self._fresh()
        only = level.only(name) if isinstance(level, _Select) else None
        if only is None:
            level.add([0], name)
            whole = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(self._fresh())))
            only = exp.select(exp.column(name)).from_(whole)
        return is_one(exp.Subquery(this=only), absent=1)

    def _read_sources(self) -> Iterator[tuple[str, _Source | None]]:
        """The sources in FROM and JOIN, by alias in lower case; None for a source that is not a query."""
        from sqlglot import exp

        start = self._tree.args.get("from_")
        for part in [*([start] if start else []), *(self._tree.args.get("joins") or ())]:
            item = part.this
            if isinstance(item, exp.Subquery) and isinstance(item.unnest(), exp.Query):
                level = _level(item, _Context(self._ctes, self._fresh))
                if not item.alias:
                    item.set("alias", exp.TableAlias(this=exp.to_identifier(self._fresh())))
                yield item.alias.lower(), _Source(level, item.args["alias"], self._fresh)
            elif isinstance(item, exp.Table) and not item.db:
                renamed = item.args.get("alias") is not None and item.args["alias"].columns
                yield item.alias_or_name.lower(), None if renamed else self._ctes.get(item.name.lower())
            else:
                yield item.alias_or_name.lower() or self._fresh(), None

    def _expand_stars(self) -> None:
        """Write out the stars over derived tables, since these tables will get more columns."""
        from sqlglot import exp

        if any(join.args.get("using") or join.args.get("method") for join in self._tree.args.get("joins") or ()):
            return
        written: list[exp.Expr] = []
        for output in self._tree.expressions:
            star = output.this if isinstance(output, exp.Column) else output
            if not isinstance(star, exp.Star):
                written.append(output)
                continue
            table = output.table.lower() if isinstance(output, exp.Column) else None
            for alias in [alias for alias in self._sources if table in (None, alias)]:
                source = self._sources[alias]
                names = source.names(all_named=True) if source is not None else None
                if names is None or len(set(names)) < len(names) or any(star.args.values()):
                    return
                written += [exp.column(exp.to_identifier(name), table=exp.to_identifier(alias)) for name in names]
        self._tree.set("expressions", written)


class _SetOperation:
    """UNION, EXCEPT or INTERSECT of two queries. Each row says for itself whether it comes from nothing."""

    def __init__(self, tree: exp.SetOperation, left: _Level, right: _Level) -> None:
        from sqlglot import exp

        self._left, self._right = left, right
        self._excepts = isinstance(tree, exp.Except)
        self.width = left.width if left.width == right.width else None

    def names(self) -> list[str]:
        return self._left.names()

    def name_all(self) -> None:
        self._left.name_all()

    def is_constant(self, column: int) -> bool:
        return self._left.is_constant(column) and self._right.is_constant(column)

    def may_come_from_nothing(self, columns: Sequence[int]) -> bool:
        ours = self._left.may_come_from_nothing(columns)
        return ours or (not self._excepts and self._right.may_come_from_nothing(columns))

    def add(self, columns: Sequence[int], name: str) -> None:
        self._left.add(columns, name)
        if self._excepts:
            self._right.add_number(1, name)  # so that it removes rows that come from nothing, whatever its own are
        else:
            self._right.add(columns, name)

    def add_number(self, number: int, name: str) -> None:
        self._left.add_number(number, name)
        self._right.add_number(number, name)


def _ctes(tree: exp.Query, context: _Context) -> dict[str, _Source | None]:
    """The CTEs that a query can read, its own included. None for a recursive CTE."""
    from sqlglot import exp

    found = dict(context.ctes)
    clause = tree.args.get("with_")
    for cte in clause.expressions if clause is not None else ():
        name = cte.alias.lower()
        reads_itself = any(table.name.lower() == name for table in cte.this.find_all(exp.Table))
        plain = not reads_itself and isinstance(cte.this, exp.Query)
        level = _level(cte.this, _Context(dict(found), context.fresh)) if plain else None
        found[name] = _Source(level, cte.args.get("alias"), context.fresh) if level is not None else None
    return found


def _name_of(output: exp.Expr) -> str:
    """The name of an output column; "" where the engine makes one up."""
    from sqlglot import exp

    return output.output_name if isinstance(output, (exp.Alias, exp.Column)) else ""


def _fresh_names() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{_INDICATOR}_{next(numbers)}"


def _has_aggregate(node: exp.Expr) -> bool:
    """Whether an expression aggregates at its own level: outside its windows and subqueries."""
    from sqlglot import exp

    pending = [node]
    while pending:
        node = pending.pop()
        if is_aggregate(node):
            return True
        if not isinstance(node, (exp.Window, exp.Query)):
            pending += node.iter_expressions()
    return False
