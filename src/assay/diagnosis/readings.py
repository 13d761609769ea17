"""What each sign may mean, and how many causes are named.

A sign's first reading is what the difference is where it stands alone, by the meaning of the words. The others are what
experts may also call it. How surely a sign points to each is fitted (`assay.diagnosis.learnt`).
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.model.verdicts.diagnosis import CauseKind

NAMED_FROM = 0.22
"""A cause besides the primary one is named from this probability, where those before it are most likely wrong."""
NAMED_WHERE_SURE = 0.1
"""So much more probable must it be where those before it are surely right."""
NAMED_BESIDE_REPAIR = 0.1
"""So much more probable must it be where a repair works without mending it."""
MOST_NAMED = 3

READINGS: Mapping[str, tuple[CauseKind, ...]] = {
    "output_changed": ("attribute_mismatch",),
    "count_argument": ("attribute_mismatch", "attribute_redundancy", "distinct"),
    "ratio_argument": ("attribute_mismatch", "explicit_condition_missing", "value_mismatch"),
    "aggregate_argument": ("attribute_mismatch",),
    "count_distinct": ("distinct", "attribute_mismatch"),
    "condition_column": ("attribute_mismatch",),
    "order_changed": ("attribute_mismatch",),
    "order_aggregate": ("aggregate_functions", "attribute_mismatch"),
    "output_missing": ("attribute_missing",),
    "output_extra": ("attribute_redundancy",),
    "output_literal": ("value_mismatch",),
    "aggregate": ("aggregate_functions", "attribute_mismatch"),
    "aggregate_in_ratio": ("aggregate_functions", "explicit_condition_missing", "attribute_mismatch"),
    "aggregate_of_other_column": ("attribute_mismatch", "aggregate_functions"),
    "conditional": ("conditional_functions", "aggregate_functions", "attribute_mismatch"),
    "conditional_in_ratio": ("explicit_condition_missing", "aggregate_functions"),
    "condition_into_case": ("explicit_condition_mismatch", "aggregate_functions", "explicit_condition_missing"),
    "function": ("other", "aggregate_functions", "string_functions"),
    "function_in_condition": ("value_mismatch",),
    "string_function_in_condition": ("string_functions", "value_mismatch"),
    "math_function_in_condition": ("math_functions", "value_mismatch"),
    "conversion_in_condition": ("conversion_functions", "value_mismatch"),
    "conditional_in_condition": ("conditional_functions", "value_mismatch"),
    "date_function": ("date_time_functions", "attribute_mismatch", "value_mismatch"),
    "math_function": ("math_functions",),
    "string_function": ("string_functions",),
    "conversion": ("conversion_functions",),
    "arithmetic": ("math_functions", "aggregate_functions"),
    "window": ("window_functions",),
    "literal": ("value_mismatch", "attribute_mismatch"),
    "literal_format": ("data_format_mismatch", "value_mismatch", "attribute_mismatch"),
    "operator": ("comparison_operator_mismatch", "logical_operator_mismatch"),
    "connective": ("logical_operator_mismatch", "value_mismatch"),
    "condition_missing": ("explicit_condition_missing", "table_missing"),
    "having_missing": ("clause_missing", "explicit_condition_missing"),
    "subquery_condition_missing": ("subquery_missing", "explicit_condition_missing"),
    "condition_extra": ("explicit_condition_redundancy", "value_mismatch"),
    "condition_changed": ("explicit_condition_mismatch", "value_mismatch", "attribute_mismatch"),
    "condition_replaced": (
        "explicit_condition_mismatch",
        "attribute_mismatch",
        "value_mismatch",
        "explicit_condition_missing",
    ),
    "condition_replaced_in_ratio": (
        "explicit_condition_missing",
        "attribute_mismatch",
        "value_mismatch",
        "explicit_condition_mismatch",
    ),
    "condition_replacing": ("attribute_mismatch", "value_mismatch"),
    "null_condition_missing": ("implicit_condition_missing",),
    "table_changed": ("table_mismatch", "attribute_mismatch"),
    "table_missing": ("table_missing",),
    "bridge_missing": ("table_missing", "join_condition_mismatch", "table_mismatch", "attribute_mismatch"),
    "table_extra": ("table_redundancy", "attribute_mismatch"),
    "table_extra_used": ("table_redundancy", "attribute_mismatch"),
    "join_condition": ("join_condition_mismatch", "attribute_mismatch"),
    "join_on_other_key": ("attribute_mismatch", "join_condition_mismatch"),
    "join_with_other_tables": ("join_condition_mismatch", "attribute_mismatch"),
    "join_or_subquery": ("join_condition_mismatch",),
    "join_type": ("join_type_mismatch",),
    "order_missing": ("clause_missing",),
    "limit_missing": ("clause_missing",),
    "order_became_subquery": ("clause_missing", "subquery_mismatch"),
    "order_extra": ("clause_redundancy",),
    "limit_extra": ("clause_redundancy",),
    "subquery_became_order": ("subquery_missing", "clause_redundancy", "clause_missing"),
    "subquery_missing": ("subquery_missing",),
    "subquery_extra": ("subquery_mismatch", "clause_missing"),
    "subquery_changed": ("subquery_mismatch",),
    "group_missing": ("clause_missing",),
    "group_extra": ("clause_redundancy", "clause_missing"),
    "group_changed": ("attribute_mismatch", "clause_missing"),
    "distinct_missing": ("distinct",),
    "distinct_extra": ("distinct",),
    "direction": ("asc_desc",),
    "limit_changed": ("value_mismatch", "clause_missing"),
    "set_operation_missing": ("partial_query", "clause_missing"),
    "set_operation_extra": ("clause_redundancy",),
    "set_operation_changed": ("logical_operator_mismatch", "clause_missing"),
}
"""By sign (`assay.diagnosis.signs`)."""

EXCLUDED: Mapping[str, frozenset[CauseKind]] = {"condition_into_case": frozenset({"aggregate_functions"})}
"""By sign: the causes that are named for another sign or not at all, although experts call the pair so. A condition
that is missing shows no other aggregate: the CASE in its place may.
"""
