"""What the differences of two queries are signs of: each difference, named by its kind and its context."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from assay.sql.differences import Difference, QueryParts, function_kind, place_of


class Sign(Struct, frozen=True, kw_only=True):
    """A difference under the name that says what it is a sign of (`assay.diagnosis.naming`)."""

    name: str
    difference: Difference


def signs(found: Sequence[Difference], gold: QueryParts, predicted: QueryParts) -> list[Sign]:
    """The signs in the differences of two queries, in the order of the differences."""
    kinds: set[str] = {difference.kind for difference in found}
    around = _Around(found, gold, predicted)
    return [Sign(name=around.name(difference, kinds), difference=difference) for difference in found]


class _Around(Struct, frozen=True):
    """The context of a difference."""

    found: Sequence[Difference]
    gold: QueryParts
    predicted: QueryParts

    def name(self, one: Difference, kinds: set[str]) -> str:
        """The sign's name: the difference's kind, with the context that changes its meaning."""
        match one.kind:
            case "aggregate_argument":
                return "count_argument" if _counts(one) else "ratio_argument" if _divides(one) else one.kind
            case "distinct_missing" | "distinct_extra" if one.clause == "SELECT":
                return "count_distinct"
            case "aggregate":
                if _divides(one):
                    return "aggregate_in_ratio"
                return one.kind if has_same_columns(one) else "aggregate_of_other_column"
            case "conditional":
                return "conditional_in_ratio" if _divides(one) and not _same_functions(one) else one.kind
            case "join_condition":
                if any(kind.startswith("subquery_") for kind in kinds):
                    return "join_or_subquery"
                if any(kind.startswith("table_") for kind in kinds):
                    return "join_with_other_tables"
                return "join_on_other_key" if _takes_other_key(one) else one.kind
            case "table_missing":
                return one.kind if one.gold in _tables_used(self.gold) else "bridge_missing"
            case "table_extra":
                return "table_extra_used" if one.predicted in _tables_used(self.predicted) else one.kind
            case "order_missing" | "limit_missing":
                return "order_became_subquery" if kinds & {"subquery_extra", "subquery_changed"} else one.kind
            case "order_extra" | "limit_extra":
                return "subquery_became_order" if kinds & {"subquery_missing", "subquery_changed"} else one.kind
            case "condition_replaced" if any(map(_divides, self.found)):
                return "condition_replaced_in_ratio"
            case "condition_missing" if one.clause == "HAVING" and not any(
                select.having for select in self.predicted.all_selects
            ):
                return "having_missing"
            case "condition_missing" if one.gold_term is not None and one.gold_term.inner:
                return "subquery_condition_missing" if "subquery_missing" in kinds else one.kind
            case "condition_changed" if (
                "subquery_missing" in kinds and one.gold_term is not None and one.gold_term.inner
            ):
                return "subquery_condition_missing"
            case "condition_missing":
                if "condition_extra" in kinds and any(map(_divides, self.found)):
                    return "condition_replaced_in_ratio"
                if "condition_extra" in kinds:
                    return "condition_replaced"
                return "condition_into_case" if kinds & {"conditional"} else one.kind
            case "condition_extra":
                return "condition_replacing" if "condition_missing" in kinds else one.kind
            case "order_changed":
                keys = [
                    [name for select in query.selects for key in select.order for name in key.term.aggregates]
                    for query in (self.gold, self.predicted)
                ]
                return "order_aggregate" if keys[0] != keys[1] else self._of_key(one)
            case "group_changed":
                return self._of_key(one)
            case "output_missing" | "output_extra":
                both = {"output_missing", "output_extra"} <= kinds
                return "output_changed" if both else one.kind
            case "function":
                return _family(one)
        return one.kind

    def _of_key(self, one: Difference) -> str:
        """The function that only one side applies to the key of an ORDER BY or GROUP BY; otherwise the kind."""
        sides = []
        for query in (self.gold, self.predicted):
            if one.clause == "GROUP BY":
                sides.append([term for select in query.all_selects for term in select.group])
            else:
                orders = (query.order, *(select.order for select in query.all_selects))
                sides.append([key.term for order in orders for key in order])
        if len(sides[0]) != len(sides[1]):
            return one.kind
        pairs = [(left, right) for left, right in zip(*sides, strict=True) if left.merged != right.merged]
        if not pairs or any(set(left.columns) != set(right.columns) for left, right in pairs):
            return one.kind
        kinds = {function_kind(left, right) for left, right in pairs if left.functions != right.functions}
        return min(kinds) if kinds else one.kind


def _tables_used(query: QueryParts) -> set[str]:
    """The tables whose columns a query selects, filters, groups or orders by."""
    return {
        place_of(column)[0]
        for select in query.all_selects
        for term in (*select.outputs, *select.where, *select.group, *select.having, *(key.term for key in select.order))
        for column in term.columns
    }


def _counts(one: Difference) -> bool:
    """Whether both sides only count something."""
    sides = (one.gold_term, one.predicted_term)
    return all(term is not None and term.aggregates == ("COUNT",) and not term.arithmetic for term in sides)


def has_same_columns(one: Difference) -> bool:
    """Whether both sides are terms of the same columns."""
    sides = [set(term.columns) for term in (one.gold_term, one.predicted_term) if term is not None]
    return len(sides) == 2 and sides[0] == sides[1]


def _same_functions(one: Difference) -> bool:
    sides = (one.gold_term, one.predicted_term)
    called = [Counter((*term.functions, *term.aggregates)) for term in sides if term is not None]
    return len(called) == 2 and called[0] == called[1]


def _divides(one: Difference) -> bool:
    return any("Div" in term.arithmetic for term in (one.gold_term, one.predicted_term) if term is not None)


_DATES = ("DATE", "TIME", "STRF", "JULIAN", "EXTRACT", "YEAR", "MONTH", "DAY")


def _family(one: Difference) -> str:
    names = {name for term in (one.gold_term, one.predicted_term) if term is not None for name in term.functions}
    if any(part in name for name in names for part in _DATES):
        return "date_function"
    if one.clause == "SELECT":
        return "function"
    if one.gold_term is not None and one.predicted_term is not None and names:
        kind = function_kind(one.gold_term, one.predicted_term)
        return f"{kind}_in_condition"
    return "function_in_condition"


_KEY = re.compile(r"(?:^|_)(?:id|uuid|code|key|no|number)$|[a-z](?:Id|ID|Code)$|id$")


def _takes_other_key(one: Difference) -> bool:
    """Whether the two joins differ in one column, and both columns are named like keys.

    That is a wrong attribute rather than a wrong kind of join. Experts label it so, too.
    """
    ours, theirs = one.gold_columns, one.predicted_columns
    alone = [*(ours - theirs), *(theirs - ours)]
    return len(ours) == len(theirs) == len(alone) == 2 and all(_KEY.search(place_of(column)[1]) for column in alone)
