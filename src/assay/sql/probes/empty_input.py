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

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING

from assay.sql.plain import plain_aggregate
from assay.sql.probes.bare_terms import is_aggregate, within
from assay.sql.probes.conditions import Condition, all_of, any_of, as_number, is_one, none_counted
from assay.sql.probes.edits import Edit, read_for_probes
from assay.sql.probes.spelled_out import spelled_out
from assay.sql.probes.taken_rows import argument_of, counted_rows
from assay.sql.sources import named_outputs
from assay.sql.trees import copied

if TYPE_CHECKING:
    from sqlglot import exp

    from assay.sql.query import Query
    from assay.sql.select import Source

_ROW = "assay_nothing_row"


@lru_cache(maxsize=4096)
def nothing_probe(query: str, dialect: str) -> str | None:
    """The query with one more output column at the end: 1 in rows whose every cell was computed over no rows, else 0.

    None where the query cannot be traced, or where no cell can come from nothing. The text is
    generated from the tree: check that the other columns equal the query's own result.
    """
    plain = plain_aggregate(query) if dialect == "sqlite" else None
    if plain is None:
        return traced_probe(query, dialect)
    before, aggregate, rest = plain
    return aggregate and f"{before}, CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS {_ROW}{rest}"


def traced_probe(query: str, dialect: str) -> str | None:
    """As `nothing_probe`, of any query."""
    from sqlglot.errors import SqlglotError

    try:
        read = read_for_probes(query, dialect)
        read = None if read is None else spelled_out(read)
        return None if read is None else _Tracing(read).probe()
    except (SqlglotError, RecursionError, ValueError):
        return None


class _Tracing:
    """Asks of each cell when it comes from nothing, and adds the columns that say so to an edit of the query.

    Nodes are the query's own; columns are added to their twins.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        self._edit = Edit(query)
        self._added: dict[tuple[int, int], str] = {}
        """The names of added columns, by the query's twin and the column that they speak of."""
        self._numbers = count(1)

    def probe(self) -> str | None:
        tree = _unwrapped(self._query.tree)
        width = _width(tree)
        if width is None or not self._may(tree, range(width)):
            return None
        self._add(tree, range(width), _ROW)
        return self._edit.written()

    def _may(self, query: exp.Query, columns: Sequence[int]) -> bool:
        """Whether there can be rows in which all these cells come from nothing."""
        from sqlglot import exp

        if isinstance(query, exp.SetOperation):
            return self._may(_unwrapped(query.this), columns) or (
                not isinstance(query, exp.Except) and self._may(_unwrapped(query.expression), columns)
            )
        whole = self._all(query, columns)
        return whole is not None and whole is not False

    def _is_constant(self, query: exp.Query, column: int) -> bool:
        from sqlglot import exp

        if isinstance(query, exp.SetOperation):
            sides = (_unwrapped(query.this), _unwrapped(query.expression))
            return all(self._is_constant(side, column) for side in sides)
        return self._all(query, [column]) is None

    def _all(self, select: exp.Query, columns: Sequence[int]) -> Condition:
        return all_of(self._of(select.selects[column].unalias(), select) for column in columns)

    def _add(self, query: exp.Query, columns: Sequence[int], name: str) -> None:
        """Add an output column: 1 where all these columns' cells come from nothing."""
        from sqlglot import exp

        if isinstance(query, exp.SetOperation):
            self._add(_unwrapped(query.this), columns, name)
            # EXCEPT is to remove rows that come from nothing, whatever its own are.
            self._add(_unwrapped(query.expression), () if isinstance(query, exp.Except) else columns, name)
            return
        number = as_number(self._all(query, columns)) if columns else exp.Literal.number(1)
        self._edit.twin(query).append("expressions", exp.alias_(number, name))

    def _of(self, node: exp.Expr, select: exp.Query, *, in_aggregate: bool = False) -> Condition:
        """When the value of an expression comes from nothing."""
        from sqlglot import exp

        if isinstance(node, exp.Window):
            return False
        if isinstance(node, exp.Filter) or is_aggregate(node):
            return False if in_aggregate else self._of_aggregate(node, select)
        if isinstance(node, exp.Exists):
            return exp.not_(copied(node))
        if isinstance(node, exp.In) and node.args.get("query"):
            found = exp.Exists(this=copied(node.args["query"].unnest()))
            return any_of([self._of(node.this, select, in_aggregate=in_aggregate), exp.not_(found)])
        if isinstance(node, exp.Query):
            return self._of_scalar(node)
        if isinstance(node, exp.Column):
            condition = self._of_column(node)
            is_grouped = _is_aggregated(select) and not in_aggregate
            return none_counted(condition, None) if is_grouped else condition  # in any row of the group
        parts = [self._of(part, select, in_aggregate=in_aggregate) for part in node.iter_expressions()]
        return any_of(parts) if isinstance(node, exp.Mul | exp.Div | exp.IntDiv) else all_of(parts)

    def _of_aggregate(self, node: exp.Expr, select: exp.Query) -> Condition:
        """The condition that the aggregate takes no rows, or only values that come from nothing."""
        from sqlglot import exp

        inner = node.this if isinstance(node, exp.Filter) else node
        counted = counted_rows(inner)
        if isinstance(node, exp.Filter):
            only = copied(node.expression.this)
            counted = only if counted is None else exp.and_(only, counted)
        argument = argument_of(inner)
        return none_counted(None if argument is None else self._of(argument, select, in_aggregate=True), counted)

    def _of_scalar(self, node: exp.Query) -> Condition:
        """The condition that a scalar subquery has no row, or that its cell comes from nothing."""
        from sqlglot import exp

        query = _unwrapped(node)
        if _width(query) != 1:
            return False
        copy = self._edit.copy_again(query)
        name = self._fresh()
        self._add(query, [0], name)
        if isinstance(copy, exp.Select) and not any(copy.args.get(part) for part in ("distinct", "order", "qualify")):
            copy.set("expressions", copy.expressions[1:])
            return is_one(exp.Subquery(this=copy), absent=1)
        whole = exp.select(exp.column(name)).from_(copy.subquery(self._fresh(), copy=False), copy=False)
        return is_one(exp.Subquery(this=whole), absent=1)

    def _of_column(self, column: exp.Column) -> Condition:
        """When a column's cell comes from nothing, as the source says that has it."""
        from sqlglot import exp

        source = self._query.meaning(column).source
        if source is None or source.inner is None or not _is_traceable(source):
            return False
        inner = source.inner
        names = [name for name, _ in named_outputs(inner, list(source.names))]
        if names.count(column.name.lower()) != 1:
            return False
        place = names.index(column.name.lower())
        if self._is_constant(inner, place):
            return None
        if not self._may(inner, [place]):
            return False
        key = id(self._edit.twin(inner)), place
        if key not in self._added:
            self._added[key] = self._fresh()
            self._add(inner, [place], self._added[key])
            alias = self._edit.twin(inner).find_ancestor(exp.Subquery, exp.CTE).args.get("alias")
            if alias is not None and alias.columns:
                alias.append("columns", exp.to_identifier(self._added[key]))
        name = source.node.args["alias"].this if source.node.args.get("alias") else source.node.this
        return is_one(exp.Column(this=exp.to_identifier(self._added[key]), table=copied(name)))

    def _fresh(self) -> str:
        return f"assay_nothing_{next(self._numbers)}"


def _unwrapped(query: exp.Query) -> exp.Query:
    from sqlglot import exp

    while isinstance(query, exp.Subquery):
        query = query.this
    return query


def _width(query: exp.Query) -> int | None:
    """How many columns a query has; None where a star hides them, or where it cannot be traced."""
    from sqlglot import exp

    if isinstance(query, exp.SetOperation):
        left, right = (_width(_unwrapped(side)) for side in (query.this, query.expression))
        return left if left == right else None
    return len(query.selects) if isinstance(query, exp.Select) and not query.is_star else None


def _is_traceable(source: Source) -> bool:
    """Whether a subquery or CTE can get further columns: it does not read itself, and no alias renames its columns."""
    from sqlglot import exp

    if _width(source.inner) is None or (isinstance(source.node, exp.Table) and source.node.alias_column_names):
        return False
    cte = source.inner.parent
    name = cte.alias.lower() if isinstance(cte, exp.CTE) else None
    return not any(table.name.lower() == name for table in source.inner.find_all(exp.Table))


def _is_aggregated(select: exp.Query) -> bool:
    """Whether a SELECT has groups: it has keys for them, or it aggregates outside its subqueries."""
    parts = (*select.selects, select.args.get("having"), select.args.get("qualify"))
    return bool(select.args.get("group")) or any(is_aggregate(node) for part in parts if part for node in within(part))
