"""Find out whether a query computed its row over no rows: MIN, SUM or COUNT after a filter that left none.

The probe is the query itself with one more column: 1 if every cell of the row has an empty input. The engine evaluates
it if it computes the cell, so joins, groups, correlated subqueries, HAVING and LIMIT are the query's own:

- an aggregate has an empty input if it takes no row, by ``COUNT(*) = 0`` next to it. It does not
  take rows that its own condition excludes: ``FILTER (WHERE c)``, ``CASE WHEN c THEN x
  ELSE 0 END`` and ``SUM(c)``;
- a scalar subquery has an empty input if it has no row, or its cell has an empty input;
- a column of a derived table or CTE has an empty input if its cell there does: that table gets
  one more column as well;
- a product or quotient has an empty input if one operand does, any other expression if all
  of its non-constant parts do;
- a column of a stored table never does: its row exists.

A cell that cannot be traced counts as having an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Literal

from assay.sql.probes.bare_terms import is_aggregate, within
from assay.sql.probes.conditions import Condition, all_of, any_of, as_number, is_one, none_counted
from assay.sql.probes.edits import Edit, read_for_probes
from assay.sql.probes.spelled_out import spelled_out
from assay.sql.probes.taken_rows import argument_of, counted_rows
from assay.sql.sources import named_outputs

if TYPE_CHECKING:
    from sqlglot import exp

    from assay.sql.query import Query
    from assay.sql.select import Source

_ROW = "assay_nothing_row"


@lru_cache(maxsize=4096)
def empty_input_probe(query: str, dialect: str) -> str | None:
    """The query with one more output column at the end: 1 in rows in which every cell was computed over no rows, else
    0.

    None if the query cannot be traced, or if no cell can have an empty input. The text is generated from the tree:
    check that the other columns equal the query's own result.
    """
    from sqlglot.errors import SqlglotError

    try:
        read = read_for_probes(query, dialect)
        read = None if read is None else spelled_out(read)
        return None if read is None else _Tracing(read).probe()
    except (SqlglotError, RecursionError, ValueError):
        return None


class _Tracing:
    """Determines when each cell has an empty input, and adds the columns that say so to an edit of the query.

    Nodes are the query's own; columns are added to their twins.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        self._edit = Edit(query)
        self._added: dict[tuple[int, int], str | Literal[False] | None] = {}
        """The names of added columns, by the query's twin and the column that they describe; if none is needed, the
        condition for that column."""
        self._copies: list[exp.Expr] = []
        """Kept so that their ids are not reused."""
        self._numbers = count(1)

    def probe(self) -> str | None:
        width = _width(self._query.tree)
        if width is None or not self._may(self._query.tree, range(width)):
            return None
        self._add(self._query.tree, range(width), _ROW)
        return self._edit.written()

    def _may(self, query: exp.Query, columns: Sequence[int]) -> bool:
        """Whether there can be rows in which all these cells have an empty input."""
        return any(
            self._all(select, columns) not in (None, False)
            for select, is_taken_away in _parts(query)
            if not is_taken_away
        )

    def _all(self, select: exp.Select, columns: Sequence[int]) -> Condition:
        return all_of(self._of(select.selects[column].unalias(), select) for column in columns)

    def _add(self, query: exp.Query, columns: Sequence[int], name: str) -> None:
        """Add an output column: 1 if all these columns' cells have an empty input."""
        from sqlglot import exp

        for select, is_taken_away in _parts(query):
            # EXCEPT must remove rows with an empty input, regardless of its own rows.
            number = exp.Literal.number(1) if is_taken_away else as_number(self._all(select, columns))
            self._edit.twin(select).append("expressions", exp.alias_(number, name))

    def _of(self, node: exp.Expr, select: exp.Select, *, in_aggregate: bool = False) -> Condition:
        """When the value of an expression has an empty input."""
        from sqlglot import exp

        if isinstance(node, exp.Window):
            return False
        if isinstance(node, exp.Filter) or is_aggregate(node):
            return False if in_aggregate else self._of_aggregate(node, select)
        if isinstance(node, exp.Exists):
            return exp.not_(node.copy())
        if isinstance(node, exp.In) and node.args.get("query"):
            found = exp.Exists(this=node.args["query"].unnest().copy())
            return any_of([self._of(node.this, select, in_aggregate=in_aggregate), exp.not_(found)])
        if isinstance(node, exp.Query):
            return self._of_scalar(node)
        if isinstance(node, exp.Column):
            condition = self._of_column(node)
            is_grouped = _is_aggregated(select) and not in_aggregate
            return none_counted(condition, None) if is_grouped else condition  # in any row of the group
        parts = [self._of(part, select, in_aggregate=in_aggregate) for part in node.iter_expressions()]
        return any_of(parts) if isinstance(node, exp.Mul | exp.Div | exp.IntDiv) else all_of(parts)

    def _of_aggregate(self, node: exp.Expr, select: exp.Select) -> Condition:
        """The condition that the aggregate takes no rows, or only values with an empty input."""
        from sqlglot import exp

        inner = node.this if isinstance(node, exp.Filter) else node
        counted = counted_rows(inner)
        if isinstance(node, exp.Filter):
            only = node.expression.this.copy()
            counted = only if counted is None else exp.and_(only, counted)
        argument = argument_of(inner)
        return none_counted(None if argument is None else self._of(argument, select, in_aggregate=True), counted)

    def _of_scalar(self, node: exp.Query) -> Condition:
        """The condition that a scalar subquery has no row, or that its cell has an empty input."""
        from sqlglot import exp

        query: exp.Query = node.this if isinstance(node, exp.Subquery) else node
        if isinstance(query, exp.Subquery):
            return self._of_scalar(query)
        if _width(query) != 1:
            return False
        copy = self._edit.copy_again(query)
        self._copies.append(copy)
        name = self._fresh()
        self._add(query, [0], name)
        if isinstance(copy, exp.Select) and not any(copy.args.get(part) for part in ("distinct", "order", "qualify")):
            copy.set("expressions", copy.expressions[1:])
            return is_one(exp.Subquery(this=copy), absent=1)
        whole = exp.select(exp.column(name)).from_(copy.subquery(self._fresh(), copy=False), copy=False)
        return is_one(exp.Subquery(this=whole), absent=1)

    def _of_column(self, column: exp.Column) -> Condition:
        """When a column's cell has an empty input, according to its source."""
        from sqlglot import exp

        source = self._query.meaning(column).source
        if source is None or source.inner is None or not _is_traceable(source):
            return False
        inner = source.inner
        names = [name for name, _ in named_outputs(inner, list(source.names))]
        if names.count(column.name.lower()) != 1:
            return False
        place = names.index(column.name.lower())
        key = id(self._edit.twin(inner)), place
        if key not in self._added:
            self._added[key] = self._add_for(source, place)
        added = self._added[key]
        if not isinstance(added, str):
            return added
        name = source.node.args["alias"].this if source.node.args.get("alias") else source.node.this
        return is_one(exp.Column(this=exp.to_identifier(added), table=name.copy()))

    def _add_for(self, source: Source, place: int) -> str | Literal[False] | None:
        """Add a column to a subquery or CTE that says whether one of its columns has an empty input. Returns its
        name."""
        from sqlglot import exp

        inner: exp.Query = source.inner
        if all(self._all(part, [place]) is None for part, _ in _parts(inner)):
            return None
        if not self._may(inner, [place]):
            return False
        name = self._fresh()
        self._add(inner, [place], name)
        alias = self._edit.twin(source.node if source.cte is None else source.cte).args.get("alias")
        if alias is not None and alias.columns:
            alias.append("columns", exp.to_identifier(name))
        return name

    def _fresh(self) -> str:
        return f"assay_nothing_{next(self._numbers)}"


def _parts(query: exp.Expr, *, is_taken_away: bool = False) -> list[tuple[exp.Select, bool]]:
    """The SELECTs whose rows a query returns, each with whether an EXCEPT removes them; empty for other queries."""
    from sqlglot import exp

    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.SetOperation):
        return [(query, is_taken_away)] if isinstance(query, exp.Select) else []
    right = is_taken_away or isinstance(query, exp.Except)
    sides = (_parts(query.this, is_taken_away=is_taken_away), _parts(query.expression, is_taken_away=right))
    return [*sides[0], *sides[1]] if all(sides) else []


def _width(query: exp.Expr) -> int | None:
    """How many columns a query has; None if a star hides them, or if it cannot be traced."""
    widths = {None if part.is_star else len(part.selects) for part, _ in _parts(query)}
    return widths.pop() if len(widths) == 1 else None


def _is_traceable(source: Source) -> bool:
    """Whether a subquery or CTE can get additional columns: it does not read itself, and no alias renames its
    columns."""
    from sqlglot import exp

    if _width(source.inner) is None or (isinstance(source.node, exp.Table) and source.node.alias_column_names):
        return False
    name = None if source.cte is None else source.cte.alias.lower()
    return not any(table.name.lower() == name for table in source.inner.find_all(exp.Table))


def _is_aggregated(select: exp.Select) -> bool:
    """Whether a SELECT has groups: it has keys for them, or it aggregates outside its subqueries."""
    parts = (*select.selects, select.args.get("having"), select.args.get("qualify"))
    return bool(select.args.get("group")) or any(is_aggregate(node) for part in parts if part for node in within(part))
