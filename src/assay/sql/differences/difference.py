"""One difference of two queries: `Difference`."""

from __future__ import annotations

from typing import Literal, cast

from msgspec import Struct

from assay.sql.differences.parts import Term

Clause = Literal[
    "SELECT", "DISTINCT", "FROM", "JOIN", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "set operation", "WITH"
]
Kind = Literal[
    "output_changed",
    "output_missing",
    "output_extra",
    "aggregate",
    "aggregate_argument",
    "function",
    "arithmetic",
    "conversion",
    "conditional",
    "window",
    "date_function",
    "math_function",
    "string_function",
    "output_literal",
    "distinct_missing",
    "distinct_extra",
    "table_missing",
    "table_extra",
    "table_changed",
    "join_condition",
    "join_type",
    "literal",
    "literal_format",
    "operator",
    "connective",
    "condition_column",
    "condition_changed",
    "condition_missing",
    "condition_extra",
    "condition_replaced",
    "null_condition_missing",
    "group_missing",
    "group_extra",
    "group_changed",
    "order_missing",
    "order_extra",
    "order_changed",
    "direction",
    "limit_missing",
    "limit_extra",
    "limit_changed",
    "set_operation_missing",
    "set_operation_extra",
    "set_operation_changed",
    "subquery_missing",
    "subquery_extra",
    "subquery_changed",
]


class Difference(Struct, frozen=True, kw_only=True):
    """One difference of a gold query and a prediction; a side that has nothing there is empty."""

    kind: Kind
    clause: Clause
    gold_text: str = ""
    """The gold side, if it is not one term, or another text for it."""
    predicted_text: str = ""
    inside: bool = False
    """It is in a subquery or a CTE."""
    elsewhere: bool = False
    """The side that is empty here has the same elsewhere, for example if the gold query selects a column twice."""
    gold_columns: frozenset[str] = frozenset()
    """The columns that the gold query joins on and the prediction does not, as in `Term.columns`."""
    predicted_columns: frozenset[str] = frozenset()
    gold_term: Term | None = None
    predicted_term: Term | None = None

    @property
    def gold(self) -> str:
        """The gold side."""
        return self.gold_text or ("" if self.gold_term is None else self.gold_term.shown)

    @property
    def predicted(self) -> str:
        """The prediction's side."""
        return self.predicted_text or ("" if self.predicted_term is None else self.predicted_term.shown)


def sided(family: str, *, gold: object, predicted: object) -> Kind:
    """The kind of a difference in an optional clause: ``order_missing`` if only the gold query has it."""
    return cast("Kind", f"{family}_{'missing' if not predicted else 'changed' if gold else 'extra'}")
