"""Plant one labelled error at a time in a right query: `planted`.

Each mutation knows the cause that it plants. It changes one place of the query, at any depth, and says nothing of
whether the answer changes: that the caller finds out by executing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from assay.model import CauseKind, DatabaseSchema, TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A right query with one error in it."""

    cause: CauseKind
    mutation: str
    query: str


@dataclass(frozen=True, slots=True)
class _Place:
    """A copy of the query to change, with what a mutation needs to know."""

    tree: exp.Query
    tables: dict[str, TableSchema]
    chance: random.Random

    def selects(self) -> list[exp.Select]:
        return list(self.tree.find_all(exp.Select))

    def sources(self, select: exp.Select) -> dict[str, TableSchema]:
        """The tables that a SELECT reads, by the names that it gives them."""
        start = select.args.get("from_")
        items = [start.this] if start else []
        items += [join.this for join in select.args.get("joins") or ()]
        named = {item.alias_or_name: item.name.lower() for item in items if isinstance(item, exp.Table)}
        return {alias: self.tables[name] for alias, name in named.items() if name in self.tables}

    def owner(self, select: exp.Select, column: exp.Column) -> tuple[str, TableSchema] | None:
        """The alias and the table of a column."""
        sources = self.sources(select)
        if column.table:
            found = next((alias for alias in sources if alias.lower() == column.table.lower()), None)
            return None if found is None else (found, sources[found])
        holding = [
            (alias, table)
            for alias, table in sources.items()
            if any(one.name.lower() == column.name.lower() for one in table.columns)
        ]
        return holding[0] if holding else None

    def other_column(self, select: exp.Select, column: exp.Column, *, alike: bool = True) -> exp.Column | None:
        """Another column of the same table, of the same type where that is asked for."""
        found = self.owner(select, column)
        if found is None:
            return None
        own = next((one for one in found[1].columns if one.name.lower() == column.name.lower()), None)
        used = {one.name.lower() for one in select.find_all(exp.Column)}
        others = [
            one
            for one in found[1].columns
            if one.name.lower() not in used and (not alike or own is None or one.type == own.type)
        ]
        if not others:
            return None
        return exp.column(self.chance.choice(others).name, table=column.table or None)


Mutation = Callable[[_Place], bool]
"""Changes the tree in place; False where it finds nothing to change."""
_MUTATIONS: list[tuple[CauseKind, str, Mutation]] = []


def _plants(cause: CauseKind) -> Callable[[Mutation], Mutation]:
    def keep(mutation: Mutation) -> Mutation:
        _MUTATIONS.append((cause, mutation.__name__.strip("_").replace("_", " "), mutation))
        return mutation

    return keep


def planted(query: str, schema: DatabaseSchema, *, seed: int) -> Iterator[Planted]:
    """The query with each error that fits it, one at a time."""
    tables = {table.name.lower(): table for table in schema.tables}
    try:
        right = parse_one(query, dialect=schema.dialect)
    except SqlglotError:
        return
    if not isinstance(right, exp.Query):
        return
    before = right.sql(schema.dialect)
    for cause, name, mutation in _MUTATIONS:
        place = _Place(right.copy(), tables, random.Random(f"{seed} {name} {query}"))
        if mutation(place):
            text = place.tree.sql(schema.dialect)
            if text != before:
                yield Planted(cause=cause, mutation=name, query=text)


def mutations() -> list[tuple[CauseKind, str]]:
    """All mutations: the cause that each plants, and its name."""
    return [(cause, name) for cause, name, _ in _MUTATIONS]


def _pick(place: _Place, found: list[tuple[exp.Select, exp.Expr]]) -> tuple[exp.Select, exp.Expr] | None:
    return place.chance.choice(found) if found else None


def _bare_outputs(place: _Place) -> list[tuple[exp.Select, exp.Expr]]:
    outer = _outermost(place)
    return [(s, output) for s in outer for output in s.expressions if isinstance(output.unalias(), exp.Column)]


def _outermost(place: _Place) -> list[exp.Select]:
    """The SELECTs that are in no subquery, where there is no set operation."""
    return [place.tree] if isinstance(place.tree, exp.Select) else []


@_plants("attribute_mismatch")
def _selects_another_column(place: _Place) -> bool:
    chosen = _pick(place, _bare_outputs(place))
    if chosen is None:
        return False
    column = chosen[1].unalias()
    assert isinstance(column, exp.Column)
    other = None if column.name == "*" else place.other_column(chosen[0], column, alike=False)
    if other is None:
        return False
    chosen[1].replace(other)
    return True


@_plants("attribute_mismatch")
def _filters_another_column(place: _Place) -> bool:
    found: list[tuple[exp.Select, exp.Expr]] = [
        (select, column)
        for select in place.selects()
        for condition in _conditions(select)
        if isinstance(condition, exp.EQ | exp.GT | exp.LT | exp.GTE | exp.LTE)
        and isinstance(condition.expression, exp.Literal)
        for column in [condition.this]
        if isinstance(column, exp.Column)
    ]
    chosen = _pick(place, found)
    if chosen is None or not isinstance(chosen[1], exp.Column):
        return False
    other = place.other_column(chosen[0], chosen[1])
    if other is None:
        return False
    chosen[1].replace(other)
    return True


@_plants("attribute_mismatch")
def _orders_by_another_column(place: _Place) -> bool:
    found: list[tuple[exp.Select, exp.Expr]] = [
        (select, key.this)
        for select in place.selects()
        if select.args.get("order")
        for key in select.args["order"].expressions
        if isinstance(key.this, exp.Column)
    ]
    chosen = _pick(place, found)
    if chosen is None or not isinstance(chosen[1], exp.Column):
        return False
    other = place.other_column(chosen[0], chosen[1], alike=False)
    if other is None:
        return False
    chosen[1].replace(other)
    return True


@_plants("attribute_mismatch")
def _aggregates_another_column(place: _Place) -> bool:
    found: list[tuple[exp.Select, exp.Expr]] = [
        (select, call.this)
        for select in _outermost(place)
        for output in select.expressions
        for call in output.find_all(exp.Max, exp.Min, exp.Avg, exp.Sum)
        if isinstance(call.this, exp.Column) and call.find_ancestor(exp.Select) is select
    ]
    chosen = _pick(place, found)
    if chosen is None or not isinstance(chosen[1], exp.Column):
        return False
    other = place.other_column(chosen[0], chosen[1])
    if other is None:
        return False
    chosen[1].replace(other)
    return True


@_plants("attribute_redundancy")
def _selects_one_column_more(place: _Place) -> bool:
    for select in _outermost(place):
        columns = [column for column in select.find_all(exp.Column) if place.owner(select, column)]
        if columns:
            other = place.other_column(select, place.chance.choice(columns), alike=False)
            if other is not None:
                select.append("expressions", other)
                return True
    return False


@_plants("attribute_missing")
def _selects_one_column_less(place: _Place) -> bool:
    for select in _outermost(place):
        if len(select.expressions) > 1:
            select.expressions.pop(place.chance.randrange(len(select.expressions)))
            return True
    return False


@_plants("table_mismatch")
def _reads_another_table(place: _Place) -> bool:
    for select in place.selects():
        for alias, table in place.sources(select).items():
            used = {
                column.name.lower()
                for column in select.find_all(exp.Column)
                if (found := place.owner(select, column)) is not None and found[0] == alias
            }
            for other in place.tables.values():
                names = {column.name.lower() for column in other.columns}
                if (
                    other is not table
                    and used <= names
                    and other.name not in [t.name for t in place.sources(select).values()]
                ):
                    for node in select.find_all(exp.Table):
                        if node.alias_or_name == alias and (
                            node.alias or not any(c.table for c in select.find_all(exp.Column))
                        ):
                            node.set("this", exp.to_identifier(other.name))
                            return True
    return False


@_plants("table_redundancy")
def _joins_one_table_more(place: _Place) -> bool:
    for select in _outermost(place):
        sources = place.sources(select)
        there = {table.name.lower() for table in sources.values()}
        for alias, table in sources.items():
            for other in place.tables.values():
                for key in other.foreign_keys:
                    if key.table.lower() == table.name.lower() and other.name.lower() not in there:
                        names = {column.name.lower() for column in other.columns}
                        if any(not c.table and c.name.lower() in names for c in select.find_all(exp.Column)):
                            continue
                        target = key.referenced[0] if key.referenced else (table.primary_key or ("",))[0]
                        if target:
                            on = exp.EQ(
                                this=exp.column(target, table=alias),
                                expression=exp.column(key.columns[0], table="extra"),
                            )
                            select.join(exp.alias_(exp.to_table(other.name), "extra", table=True), on=on, copy=False)
                            return True
    return False


@_plants("table_missing")
def _joins_one_table_less(place: _Place) -> bool:
    for select in place.selects():
        joins = select.args.get("joins") or []
        for join in joins:
            alias = join.this.alias_or_name.lower()
            elsewhere = [
                column
                for column in select.find_all(exp.Column)
                if column.find_ancestor(exp.Join) is not join and (not column.table or column.table.lower() == alias)
            ]
            if not elsewhere and join.args.get("on"):
                joins.remove(join)
                return True
    return False


@_plants("join_condition_mismatch")
def _joins_on_another_column(place: _Place) -> bool:
    found: list[tuple[exp.Select, exp.Expr]] = [
        (select, side)
        for select in place.selects()
        for join in select.args.get("joins") or ()
        for condition in [join.args.get("on")]
        if isinstance(condition, exp.EQ)
        for side in (condition.this, condition.expression)
        if isinstance(side, exp.Column)
    ]
    chosen = _pick(place, found)
    if chosen is None or not isinstance(chosen[1], exp.Column):
        return False
    other = place.other_column(chosen[0], chosen[1], alike=False)
    if other is None:
        return False
    chosen[1].replace(other)
    return True


@_plants("join_type_mismatch")
def _keeps_rows_without_a_partner(place: _Place) -> bool:
    for select in place.selects():
        for join in select.args.get("joins") or ():
            if join.args.get("on") and not join.args.get("side"):
                join.set("side", "LEFT")
                return True
    return False


def _literals(place: _Place) -> list[exp.Literal]:
    return [
        literal
        for select in place.selects()
        for condition in _conditions(select)
        for literal in [condition.args.get("expression")]
        if isinstance(literal, exp.Literal)
    ]


@_plants("value_mismatch")
def _looks_for_another_value(place: _Place) -> bool:
    found = _literals(place)
    if not found:
        return False
    literal = place.chance.choice(found)
    if literal.is_string:
        literal.replace(exp.Literal.string(place.chance.choice((f"{literal.name}x", literal.name.swapcase(), "other"))))
    else:
        literal.replace(exp.Literal.number(float(literal.name) + 1 if "." in literal.name else int(literal.name) + 1))
    return True


@_plants("value_mismatch")
def _takes_another_number_of_rows(place: _Place) -> bool:
    for select in place.selects():
        limit = select.args.get("limit")
        if limit is not None and limit.expression.is_int:
            limit.set("expression", exp.Literal.number(int(limit.expression.name) + 1))
            return True
    return False


@_plants("data_format_mismatch")
def _writes_a_date_otherwise(place: _Place) -> bool:
    for literal in _literals(place):
        parts = literal.name.split("-")
        if literal.is_string and len(parts) == 3 and all(part.isdigit() for part in parts):
            literal.replace(exp.Literal.string("/".join(parts)))
            return True
    return False


@_plants("comparison_operator_mismatch")
def _compares_otherwise(place: _Place) -> bool:
    others = {exp.GT: exp.GTE, exp.GTE: exp.LT, exp.LT: exp.GT, exp.LTE: exp.LT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ}
    found = [
        condition
        for select in place.selects()
        for condition in _conditions(select)
        if type(condition) in others and not _equates_columns(condition)
    ]
    if not found:
        return False
    chosen = place.chance.choice(found)
    chosen.replace(others[type(chosen)](this=chosen.this, expression=chosen.expression))
    return True


@_plants("logical_operator_mismatch")
def _combines_conditions_otherwise(place: _Place) -> bool:
    for select in place.selects():
        for clause in ("where", "having"):
            found = select.args.get(clause)
            if found is not None and isinstance(found.this, exp.And | exp.Or):
                other = exp.Or if isinstance(found.this, exp.And) else exp.And
                found.set("this", other(this=found.this.this, expression=found.this.expression))
                return True
    return False


@_plants("explicit_condition_missing")
def _lacks_a_condition(place: _Place) -> bool:
    for select in place.selects():
        where = select.args.get("where")
        if where is None:
            continue
        kept = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        plain = [one for one in kept if not one.find(exp.Query) and not _equates_columns(one)]
        if plain:
            kept.remove(place.chance.choice(plain))
            select.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
            return True
    return False


@_plants("explicit_condition_redundancy")
def _has_one_condition_more(place: _Place) -> bool:
    for select in place.selects():
        for alias, table in place.sources(select).items():
            used = {column.name.lower() for column in select.find_all(exp.Column)}
            for column in table.columns:
                if column.values and column.name.lower() not in used:
                    name = exp.column(column.name, table=alias, quoted=True)
                    value = parse_one(place.chance.choice(column.values))
                    select.where(exp.NEQ(this=name, expression=value), copy=False)
                    return True
    return False


@_plants("explicit_condition_mismatch")
def _has_another_condition(place: _Place) -> bool:
    for select in place.selects():
        for condition in _conditions(select):
            if not isinstance(condition, exp.EQ | exp.GT | exp.LT) or not isinstance(condition.expression, exp.Literal):
                continue
            if not isinstance(condition.this, exp.Column):
                continue
            found = place.owner(select, condition.this)
            if found is None:
                continue
            others = [c for c in found[1].columns if c.values and c.name.lower() != condition.this.name.lower()]
            if others:
                column = place.chance.choice(others)
                name = exp.column(column.name, table=condition.this.table or None, quoted=True)
                condition.replace(exp.NEQ(this=name, expression=parse_one(column.values[0])))
                return True
    return False


@_plants("aggregate_functions")
def _aggregates_otherwise(place: _Place) -> bool:
    others = {exp.Max: exp.Min, exp.Min: exp.Max, exp.Avg: exp.Sum, exp.Sum: exp.Avg}
    found = [
        call for select in place.selects() for call in select.find_all(*others) if isinstance(call.this, exp.Column)
    ]
    if not found:
        return False
    chosen = place.chance.choice(found)
    chosen.replace(others[type(chosen)](this=chosen.this))
    return True


def _wraps(place: _Place, wrap: Callable[[exp.Expr], exp.Expr]) -> bool:
    chosen = _pick(place, [one for one in _bare_outputs(place) if one[1].name != "*"])
    if chosen is None:
        return False
    chosen[1].replace(wrap(chosen[1].unalias().copy()))
    return True


@_plants("string_functions")
def _changes_the_text(place: _Place) -> bool:
    return _wraps(place, lambda column: exp.Upper(this=column))


@_plants("conversion_functions")
def _converts_the_value(place: _Place) -> bool:
    return _wraps(place, lambda column: exp.cast(column, "INT"))


@_plants("conditional_functions")
def _chooses_the_value(place: _Place) -> bool:
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    return _wraps(
        place, lambda column: exp.Case().when(exp.not_(exp.Is(this=column, expression=exp.Null())), one).else_(none)
    )


@_plants("math_functions")
def _rounds(place: _Place) -> bool:
    found = [call for select in _outermost(place) for output in select.expressions for call in output.find_all(exp.Avg)]
    if not found:
        return False
    found[0].replace(exp.Round(this=found[0].copy(), decimals=exp.Literal.number(0)))
    return True


@_plants("window_functions")
def _computes_per_row(place: _Place) -> bool:
    found = [
        call
        for select in _outermost(place)
        for output in select.expressions
        for call in output.find_all(exp.Max, exp.Min, exp.Avg, exp.Sum)
        if call.find_ancestor(exp.Select) is select and not select.args.get("group")
    ]
    if not found:
        return False
    found[0].replace(exp.Window(this=found[0].copy()))
    return True


def _drops(place: _Place, *clauses: str) -> bool:
    for select in place.selects():
        if any(select.args.get(clause) for clause in clauses):
            for clause in clauses:
                select.set(clause, None)
            return True
    return False


@_plants("clause_missing")
def _lacks_the_order(place: _Place) -> bool:
    return _drops(place, "order")


@_plants("clause_missing")
def _lacks_the_limit(place: _Place) -> bool:
    return _drops(place, "limit")


@_plants("clause_missing")
def _lacks_order_and_limit(place: _Place) -> bool:
    return any(s.args.get("order") and s.args.get("limit") for s in place.selects()) and _drops(place, "order", "limit")


@_plants("clause_missing")
def _lacks_the_grouping(place: _Place) -> bool:
    return _drops(place, "group")


@_plants("clause_missing")
def _lacks_having(place: _Place) -> bool:
    return _drops(place, "having")


@_plants("clause_redundancy")
def _has_a_limit_more(place: _Place) -> bool:
    if isinstance(place.tree, exp.Select) and not place.tree.args.get("limit"):
        place.tree.limit(1, copy=False)
        return True
    return False


@_plants("clause_redundancy")
def _has_a_grouping_more(place: _Place) -> bool:
    for select in _outermost(place):
        columns = [c for c in select.find_all(exp.Column) if c.name != "*" and c.find_ancestor(exp.Select) is select]
        if not select.args.get("group") and columns:
            select.group_by(place.chance.choice(columns).copy(), copy=False)
            return True
    return False


@_plants("subquery_missing")
def _lacks_the_subquery(place: _Place) -> bool:
    for select in place.selects():
        where = select.args.get("where")
        if where is None:
            continue
        kept = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        nested = [one for one in kept if one.find(exp.Query)]
        if nested:
            kept.remove(nested[0])
            select.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
            return True
    return False


@_plants("partial_query")
def _answers_one_half(place: _Place) -> bool:
    if not isinstance(place.tree, exp.SetOperation) or not isinstance(place.tree.this, exp.Query):
        return False
    half = place.tree.this
    place.tree.replace(half)
    object.__setattr__(place, "tree", half.copy())
    return True


@_plants("asc_desc")
def _orders_the_other_way(place: _Place) -> bool:
    for select in place.selects():
        order = select.args.get("order")
        if order is not None:
            key = order.expressions[0]
            key.set("desc", not key.args.get("desc"))
            return True
    return False


@_plants("distinct")
def _drops_or_adds_distinct(place: _Place) -> bool:
    for select in _outermost(place):
        if select.args.get("distinct"):
            select.set("distinct", None)
            return True
        if not select.find(exp.AggFunc):
            select.set("distinct", exp.Distinct())
            return True
    return False


@_plants("distinct")
def _counts_otherwise(place: _Place) -> bool:
    for call in place.tree.find_all(exp.Count):
        if isinstance(call.this, exp.Distinct) and len(call.this.expressions) == 1:
            call.set("this", call.this.expressions[0].copy())
            return True
        if isinstance(call.this, exp.Column):
            call.set("this", exp.Distinct(expressions=[call.this.copy()]))
            return True
    return False


def _conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """The plain conditions of a SELECT, those of its subqueries left out."""
    for clause in ("where", "having"):
        found = select.args.get(clause)
        for condition in found.find_all(exp.Predicate) if found is not None else ():
            if condition.find_ancestor(exp.Select) is select:
                yield condition


def _equates_columns(condition: exp.Expr) -> bool:
    return (
        isinstance(condition, exp.EQ)
        and isinstance(condition.this, exp.Column)
        and isinstance(condition.expression, exp.Column)
    )
