"""Write a query differently without changing its answer: `written_differently`.

Each rewriting knows nothing of the data: whether the answer stays the same is for the caller to find out by executing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from assay.model import DatabaseSchema


@dataclass(frozen=True, slots=True)
class _Query:
    """A copy of a query to change."""

    tree: exp.Query
    types: Mapping[str, str]
    """The type of each column by its lower-case name."""

    def type_of(self, column: exp.Expr) -> str:
        return self.types.get(column.name.lower(), "TEXT")

    def selects(self) -> list[exp.Select]:
        return list(self.tree.find_all(exp.Select))

    def outer(self) -> list[exp.Select]:
        """The SELECTs that are in no subquery, if there is no set operation."""
        return [self.tree] if isinstance(self.tree, exp.Select) else []


Rewriting = Callable[[_Query], bool]
"""Changes a query in place; False if there is nothing to change."""
_REWRITINGS: dict[str, Rewriting] = {}


def _rewriting(function: Rewriting) -> Rewriting:
    _REWRITINGS[function.__name__.strip("_").replace("_", " ")] = function
    return function


def rewritings() -> list[str]:
    """The names of all rewritings."""
    return [*_REWRITINGS, "other spelling of operators"]


def written_differently(query: str, schema: DatabaseSchema) -> Iterator[tuple[str, str]]:
    """The name of each rewriting that applies to the query, and the query that it gives."""
    types = {column.name.lower(): column.type or "TEXT" for table in schema.tables for column in table.columns}
    try:
        tree = parse_one(query, dialect=schema.dialect)
    except SqlglotError:
        return
    if not isinstance(tree, exp.Query):
        return
    plain = tree.sql(schema.dialect)
    for name, rewrite in _REWRITINGS.items():
        changed = tree.copy()
        if rewrite(_Query(changed, types)) and (text := changed.sql(schema.dialect)) != plain:
            yield name, text
    if "<>" in plain:
        yield "other spelling of operators", plain.replace("<>", "!=")


@_rewriting
def _cast_of_a_sort_key(query: _Query) -> bool:
    for key in query.tree.find_all(exp.Ordered):
        if isinstance(key.this, exp.Column):
            key.set("this", exp.cast(key.this.copy(), query.type_of(key.this)))
            return True
    return False


@_rewriting
def _cast_of_a_compared_column(query: _Query) -> bool:
    for select in query.selects():
        where = select.args.get("where")
        for condition in where.find_all(exp.EQ, exp.GT, exp.LT, exp.GTE, exp.LTE) if where else ():
            if isinstance(condition.this, exp.Column) and isinstance(condition.expression, exp.Literal):
                kind = query.type_of(condition.this)
                condition.set("this", exp.cast(condition.this.copy(), kind))
                return True
    return False


@_rewriting
def _cast_of_an_aggregated_column(query: _Query) -> bool:
    for call in query.tree.find_all(exp.Max, exp.Min, exp.Sum, exp.Avg):
        if isinstance(call.this, exp.Column):
            call.set("this", exp.cast(call.this.copy(), query.type_of(call.this)))
            return True
    return False


@_rewriting
def _names_of_outputs(query: _Query) -> bool:
    for select in query.outer():
        select.set("expressions", [exp.alias_(one.unalias(), f"n{n}") for n, one in enumerate(select.expressions)])
    return bool(query.outer()) and not query.tree.find(exp.Star)


@_rewriting
def _aliases_of_tables(query: _Query) -> bool:
    tables = list(query.tree.find_all(exp.Table))
    if len({table.alias_or_name.lower() for table in tables}) < len(tables):
        return False
    new = {table.alias_or_name.lower(): f"x{number}" for number, table in enumerate(tables)}
    for column in query.tree.find_all(exp.Column):
        if column.table.lower() in new:
            column.set("table", exp.to_identifier(new[column.table.lower()]))
    for table in tables:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(new[table.alias_or_name.lower()])))
    return True


@_rewriting
def _order_of_conditions(query: _Query) -> bool:
    for connector in query.tree.find_all(exp.And, exp.Or):
        left, right = connector.this, connector.expression
        connector.set("this", right.copy())
        connector.set("expression", left.copy())
        return True
    return False


@_rewriting
def _order_of_tables(query: _Query) -> bool:
    for select in query.selects():
        joins = select.args.get("joins") or []
        if joins and not joins[0].side and joins[0].args.get("on"):
            first, second = select.args["from_"].this.copy(), joins[0].this.copy()
            select.args["from_"].set("this", second)
            joins[0].set("this", first)
            return True
    return False


@_rewriting
def _parentheses(query: _Query) -> bool:
    for condition in query.tree.find_all(exp.EQ, exp.GT, exp.LT, exp.GTE, exp.LTE, exp.NEQ):
        condition.replace(exp.paren(condition.copy()))
        return True
    return False


@_rewriting
def _position_of_a_sort_key(query: _Query) -> bool:
    for select in query.outer():
        outputs = [output.unalias() for output in select.expressions]
        order = select.args.get("order")
        for key in order.expressions if order else ():
            if key.this in outputs:
                key.set("this", exp.Literal.number(outputs.index(key.this) + 1))
                return True
    return False


@_rewriting
def _redundant_distinct(query: _Query) -> bool:
    for select in query.outer():
        if not select.args.get("distinct"):
            select.set("distinct", exp.Distinct())
            return True
    return False


@_rewriting
def _redundant_condition(query: _Query) -> bool:
    for select in query.selects():
        columns = [column for column in select.find_all(exp.Column) if column.name != "*"]
        if columns:
            select.where(exp.not_(exp.Is(this=columns[0].copy(), expression=exp.Null())), copy=False)
            return True
    return False


@_rewriting
def _redundant_order(query: _Query) -> bool:
    if query.tree.args.get("order") or query.tree.args.get("limit"):
        return False
    query.tree.set("order", exp.Order(expressions=[exp.Ordered(this=exp.Literal.number(1))]))
    return True


@_rewriting
def _redundant_limit(query: _Query) -> bool:
    if query.tree.args.get("limit"):
        return False
    query.tree.set("limit", exp.Limit(expression=exp.Literal.number(100000)))
    return True


@_rewriting
def _count_of_a_column(query: _Query) -> bool:
    columns = [column for column in query.tree.find_all(exp.Column) if column.name != "*"]
    for call in query.tree.find_all(exp.Count):
        if isinstance(call.this, exp.Star) and columns:
            call.set("this", columns[0].copy())
            return True
        if isinstance(call.this, exp.Column):
            call.set("this", exp.Star())
            return True
    return False


@_rewriting
def _outer_join(query: _Query) -> bool:
    for select in query.selects():
        for join in select.args.get("joins") or ():
            if join.args.get("on"):
                join.set("side", None if join.side else "LEFT")
                return True
    return False
