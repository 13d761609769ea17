"""How surely each sign points to each cause.

A weight is about how often experts give that label to a query with that sign (NL2SQL-BUGs), set by hand from one half
of its pairs and rounded: counts of rare signs do not carry over to other pairs. `assay.diagnosis.learnt` corrects them
by what stands around a sign. ``benchmarks/causes.py`` tries both on pairs that they were not set from.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.model.diagnosis import CauseKind

BACKGROUND: Mapping[CauseKind, float] = {"attribute_mismatch": 0.1, "value_mismatch": 0.03}
"""How often experts give a label whatever the signs are. Alone it names nothing."""

NAMED_FROM = 0.17
"""A cause besides the primary one is named from this probability, where those before it are most likely wrong."""
NAMED_WHERE_SURE = 0.2
"""So much more probable must it be where those before it are surely right."""
NAMED_BESIDE_REPAIR = 0.1
"""So much more probable must it be where a repair works without mending it."""
MOST_NAMED = 3

WEIGHTS: Mapping[str, Mapping[CauseKind, float]] = {
    "output_changed": {"attribute_mismatch": 0.9},
    "count_argument": {"attribute_mismatch": 0.5, "attribute_redundancy": 0.15, "distinct": 0.15},
    "ratio_argument": {"attribute_mismatch": 0.35, "explicit_condition_missing": 0.2, "value_mismatch": 0.2},
    "aggregate_argument": {"attribute_mismatch": 0.6},
    "count_distinct": {"distinct": 0.5, "attribute_mismatch": 0.25},
    "condition_column": {"attribute_mismatch": 0.75},
    "order_changed": {"attribute_mismatch": 0.75},
    "order_aggregate": {"aggregate_functions": 0.5, "attribute_mismatch": 0.3},
    "output_missing": {"attribute_missing": 0.75},
    "output_extra": {"attribute_redundancy": 0.75},
    "output_literal": {"value_mismatch": 0.6},
    "aggregate": {"aggregate_functions": 0.6, "attribute_mismatch": 0.2},
    "aggregate_in_ratio": {
        "aggregate_functions": 0.4,
        "explicit_condition_missing": 0.25,
        "attribute_mismatch": 0.2,
    },
    "aggregate_of_other_column": {"attribute_mismatch": 0.55, "aggregate_functions": 0.4},
    "conditional": {"aggregate_functions": 0.45, "attribute_mismatch": 0.3, "conditional_functions": 0.2},
    "conditional_in_ratio": {"explicit_condition_missing": 0.5, "aggregate_functions": 0.3},
    "condition_into_case": {
        "explicit_condition_mismatch": 0.4,
        "aggregate_functions": 0.4,
        "explicit_condition_missing": 0.4,
    },
    "function": {"aggregate_functions": 0.3, "string_functions": 0.2},
    "function_in_condition": {"value_mismatch": 0.5},
    "string_function_in_condition": {"string_functions": 0.3, "value_mismatch": 0.5},
    "math_function_in_condition": {"math_functions": 0.3, "value_mismatch": 0.5},
    "conversion_in_condition": {"conversion_functions": 0.3, "value_mismatch": 0.5},
    "conditional_in_condition": {"conditional_functions": 0.3, "value_mismatch": 0.5},
    "date_function": {"date_time_functions": 0.5, "attribute_mismatch": 0.3, "value_mismatch": 0.2},
    "math_function": {"math_functions": 0.6},
    "string_function": {"string_functions": 0.6},
    "conversion": {"conversion_functions": 0.6},
    "arithmetic": {"math_functions": 0.3, "aggregate_functions": 0.2},
    "window": {"window_functions": 0.6},
    "literal": {"value_mismatch": 0.82, "attribute_mismatch": 0.32},
    "literal_format": {"data_format_mismatch": 0.42, "value_mismatch": 0.4, "attribute_mismatch": 0.2},
    "operator": {"comparison_operator_mismatch": 0.6, "logical_operator_mismatch": 0.2},
    "connective": {"logical_operator_mismatch": 0.6, "value_mismatch": 0.2},
    "condition_missing": {"explicit_condition_missing": 0.55, "table_missing": 0.1},
    "having_missing": {"clause_missing": 0.5, "explicit_condition_missing": 0.4},
    "subquery_condition_missing": {"explicit_condition_missing": 0.3, "subquery_missing": 0.3},
    "condition_extra": {"explicit_condition_redundancy": 0.45, "value_mismatch": 0.2},
    "condition_changed": {"explicit_condition_mismatch": 0.5, "value_mismatch": 0.2, "attribute_mismatch": 0.2},
    "condition_replaced": {
        "attribute_mismatch": 0.4,
        "value_mismatch": 0.4,
        "explicit_condition_mismatch": 0.25,
        "explicit_condition_missing": 0.25,
    },
    "condition_replaced_in_ratio": {
        "explicit_condition_missing": 0.5,
        "attribute_mismatch": 0.2,
        "value_mismatch": 0.2,
        "explicit_condition_mismatch": 0.15,
    },
    "condition_replacing": {"attribute_mismatch": 0.2, "value_mismatch": 0.2},
    "null_condition_missing": {"implicit_condition_missing": 0.55},
    "table_changed": {"table_mismatch": 0.78, "attribute_mismatch": 0.3},
    "table_missing": {"table_missing": 0.72},
    "bridge_missing": {
        "table_missing": 0.42,
        "join_condition_mismatch": 0.4,
        "table_mismatch": 0.3,
        "attribute_mismatch": 0.3,
    },
    "table_extra": {"table_redundancy": 0.6, "attribute_mismatch": 0.25},
    "table_extra_used": {"table_redundancy": 0.57, "attribute_mismatch": 0.4},
    "join_condition": {"attribute_mismatch": 0.6, "join_condition_mismatch": 0.4},
    "join_on_other_key": {"attribute_mismatch": 0.75, "join_condition_mismatch": 0.4},
    "join_with_other_tables": {"join_condition_mismatch": 0.25, "attribute_mismatch": 0.25},
    "join_or_subquery": {"join_condition_mismatch": 0.1},
    "join_type": {"join_type_mismatch": 0.7},
    "order_missing": {"clause_missing": 0.75},
    "limit_missing": {"clause_missing": 0.7},
    "order_became_subquery": {"clause_missing": 0.7, "subquery_mismatch": 0.15},
    "order_extra": {"clause_redundancy": 0.5},
    "limit_extra": {"clause_redundancy": 0.5},
    "subquery_became_order": {"subquery_missing": 0.3, "clause_redundancy": 0.3, "clause_missing": 0.15},
    "subquery_missing": {"subquery_missing": 0.45},
    "subquery_extra": {"clause_missing": 0.3, "subquery_mismatch": 0.15},
    "subquery_changed": {"subquery_mismatch": 0.4},
    "group_missing": {"clause_missing": 0.7},
    "group_extra": {"clause_redundancy": 0.5, "clause_missing": 0.2},
    "group_changed": {"attribute_mismatch": 0.5, "clause_missing": 0.2},
    "distinct_missing": {"distinct": 0.55},
    "distinct_extra": {"distinct": 0.3},
    "direction": {"asc_desc": 0.9},
    "limit_changed": {"value_mismatch": 0.4, "clause_missing": 0.2},
    "set_operation_missing": {"partial_query": 0.4, "clause_missing": 0.3},
    "set_operation_extra": {"clause_redundancy": 0.4},
    "set_operation_changed": {"logical_operator_mismatch": 0.3, "clause_missing": 0.2},
}
"""By sign (`assay.diagnosis.signs`). The first cause of each is what the sign means where it stands alone."""

ALONE: Mapping[str, CauseKind] = {
    "join_condition": "join_condition_mismatch",
    "join_with_other_tables": "join_condition_mismatch",
    "join_or_subquery": "join_condition_mismatch",
    "conditional": "conditional_functions",
    "subquery_extra": "subquery_mismatch",
    "bridge_missing": "table_missing",
    "condition_replaced": "explicit_condition_mismatch",
    "function": "other",
    "string_function_in_condition": "string_functions",
    "math_function_in_condition": "math_functions",
    "conversion_in_condition": "conversion_functions",
    "conditional_in_condition": "conditional_functions",
}
"""What a sign means where nothing else differs, where experts' labels of mixed cases say otherwise."""
