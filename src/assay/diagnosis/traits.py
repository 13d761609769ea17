"""How two queries compare as a whole, apart from their single differences: `traits`.

Experts who label a wrong query see all of it: the same difference has another meaning in a ratio, with tables that the
gold query does not read, or if every column is also in the gold query. Each trait is one such observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from assay.diagnosis.signs import Sign
from assay.sql.differences import QueryParts, SchemaNames, SelectParts, Term, place_of

_MANY_JOINS = 3
_SEVERAL, _MANY = 3, 5
"""Different signs."""


def traits(found: Sequence[Sign], gold: QueryParts, predicted: QueryParts, names: SchemaNames) -> frozenset[str]:
    """The traits of a prediction compared with the gold query, named as in `assay.diagnosis.naming`."""
    return frozenset(name for name, holds in seen_traits(found, gold, predicted, names).items() if holds)


def seen_traits(
    found: Sequence[Sign], gold: QueryParts, predicted: QueryParts, names: SchemaNames
) -> Mapping[str, bool]:
    """Every trait by its name, and whether the two queries have it."""
    ours, theirs = _Side.of(gold, names), _Side.of(predicted, names)
    held = {**_whole(ours, theirs), **_clauses(ours, theirs), **_columns(ours, theirs), **_joins(ours, theirs)}
    count = len({sign.name for sign in found})
    return held | {"one_sign": count == 1, "three_signs": count >= _SEVERAL, "five_signs": count >= _MANY}


class _Side(Struct, frozen=True, kw_only=True):
    """The compared properties of one query, subqueries and CTEs included."""

    selects: int
    outputs: int
    tables: frozenset[str]
    aggregates: frozenset[str]
    functions: frozenset[str]
    literals: frozenset[str]
    conditions: int
    divides: bool
    distinct: bool
    grouped: bool
    ordered: bool
    cut: bool
    selected: frozenset[str]
    compared: frozenset[str]
    keyed: frozenset[str]
    joins: int
    unlikely_joins: int

    @property
    def columns(self) -> frozenset[str]:
        return self.selected | self.compared | self.keyed

    @classmethod
    def of(cls, query: QueryParts, names: SchemaNames) -> _Side:
        selects = query.all_selects
        conditions = [leaf for one in selects for term in (*one.where, *one.having) for leaf in term.leaves()]
        whole = [term for one in selects for term in (*one.where, *one.having)]
        terms = [term for one in selects for term in (*one.outputs, *one.group, *(key.term for key in one.order))]
        keys = [term for one in selects for term in (*one.group, *(key.term for key in one.order))]
        terms += whole
        return cls(
            selects=len(selects),
            outputs=len(selects[0].outputs) if selects else 0,
            tables=frozenset(source.table for one in selects for source in one.sources if source.table),
            aggregates=frozenset(name for term in terms for name in term.aggregates),
            functions=frozenset(name for term in terms for name in term.functions),
            literals=frozenset(literal for term in whole for literal in term.literals),
            conditions=len(conditions),
            divides=any("Div" in term.arithmetic for term in terms),
            distinct=any(one.distinct for one in selects) or any(term.distinct for term in terms),
            grouped=any(one.group for one in selects),
            ordered=any(one.order for one in selects),
            cut=any(one.limit for one in selects),
            selected=_names(term for one in selects for term in one.outputs),
            compared=_names(conditions),
            keyed=_names(keys),
            joins=sum(max(0, len(one.sources) - 1) for one in selects),
            unlikely_joins=sum(_unlikely(one, names) for one in selects),
        )


def _names(terms: Iterator[Term] | list[Term]) -> frozenset[str]:
    return frozenset(_bare(column) for term in terms for column in term.columns)


def _bare(column: str) -> str:
    """A column with its table's name, for every use of the table."""
    return ".".join(place_of(column))


def _unlikely(select: SelectParts, names: SchemaNames) -> int:
    """The number of joins over columns that neither refer to one another nor have the same name."""
    found = 0
    for same in (*select.joins, *select.outer_equal):
        columns = sorted({_bare(column) for column in same})
        pairs = (frozenset((one, other)) for place, one in enumerate(columns) for other in columns[place + 1 :])
        alike = len({column.rpartition(".")[2] for column in columns}) == 1
        found += not alike and not any(pair in names.references for pair in pairs)
    return found


def _whole(gold: _Side, predicted: _Side) -> dict[str, bool]:
    """The tables they read and how they are built."""
    return {
        "gold_reads_more_tables": len(gold.tables) > len(predicted.tables),
        "predicted_reads_more_tables": len(predicted.tables) > len(gold.tables),
        "same_tables": gold.tables == predicted.tables,
        "no_table_shared": not gold.tables & predicted.tables,
        "gold_has_subquery": gold.selects > 1,
        "predicted_has_subquery": predicted.selects > 1,
        "gold_has_more_subqueries": gold.selects > predicted.selects,
        "predicted_has_more_subqueries": predicted.selects > gold.selects,
        "gold_divides": gold.divides,
        "predicted_divides": predicted.divides,
        "only_one_divides": gold.divides != predicted.divides,
        "only_gold_aggregates": bool(gold.aggregates) and not predicted.aggregates,
        "only_predicted_aggregates": bool(predicted.aggregates) and not gold.aggregates,
        "other_aggregates": gold.aggregates != predicted.aggregates,
        "gold_calls_another_function": bool(gold.functions - predicted.functions),
        "predicted_calls_another_function": bool(predicted.functions - gold.functions),
    }


def _clauses(gold: _Side, predicted: _Side) -> dict[str, bool]:
    """The clauses that only one of them has."""
    return {
        "gold_selects_more": gold.outputs > predicted.outputs,
        "predicted_selects_more": predicted.outputs > gold.outputs,
        "gold_has_more_conditions": gold.conditions > predicted.conditions,
        "predicted_has_more_conditions": predicted.conditions > gold.conditions,
        "same_literals": gold.literals == predicted.literals,
        "literal_of_gold_alone": bool(gold.literals - predicted.literals),
        "literal_of_prediction_alone": bool(predicted.literals - gold.literals),
        "gold_distinct": gold.distinct,
        "predicted_distinct": predicted.distinct,
        "only_one_distinct": gold.distinct != predicted.distinct,
        "only_gold_groups": gold.grouped and not predicted.grouped,
        "only_predicted_groups": predicted.grouped and not gold.grouped,
        "only_gold_orders": gold.ordered and not predicted.ordered,
        "only_predicted_orders": predicted.ordered and not gold.ordered,
        "only_gold_limits": gold.cut and not predicted.cut,
        "only_predicted_limits": predicted.cut and not gold.cut,
    }


def _columns(gold: _Side, predicted: _Side) -> dict[str, bool]:
    """The use of other columns, and whether those occur anywhere in the other query."""
    found: dict[str, bool] = {}
    for place, ours, theirs in (
        ("selected", gold.selected, predicted.selected),
        ("compared", gold.compared, predicted.compared),
        ("sorted", gold.keyed, predicted.keyed),
    ):
        found[f"{place}_by_gold_alone"] = bool(ours - theirs)
        found[f"{place}_by_prediction_alone"] = bool(theirs - ours)
        found[f"{place}_differ"] = bool(ours - theirs) and bool(theirs - ours)
        found[f"{place}_swapped"] = bool(ours - theirs - predicted.columns) and bool(theirs - ours - gold.columns)
    shared, either = gold.columns & predicted.columns, gold.columns | predicted.columns
    return found | {
        "column_of_gold_alone": bool(gold.columns - predicted.columns),
        "column_of_prediction_alone": bool(predicted.columns - gold.columns),
        "same_columns": gold.columns == predicted.columns,
        "few_columns_shared": 2 * len(shared) < len(either),
    }


def _joins(gold: _Side, predicted: _Side) -> dict[str, bool]:
    """Whether their joins follow the schema."""
    return {
        "unlikely_join_in_prediction": predicted.unlikely_joins > 0,
        "unlikely_join_in_gold": gold.unlikely_joins > 0,
        "more_unlikely_joins_in_prediction": predicted.unlikely_joins > gold.unlikely_joins,
        "no_join_in_prediction": predicted.joins == 0,
        "no_join_in_gold": gold.joins == 0,
        "many_joins_in_prediction": predicted.joins >= _MANY_JOINS,
    }
