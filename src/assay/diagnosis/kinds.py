"""The causes a wrong answer can have: what is said of each stands here and nowhere else."""

from __future__ import annotations

from typing import get_args

from msgspec import Struct

from assay.model.verdicts.diagnosis import CauseKind


class CauseInfo(Struct, frozen=True, kw_only=True):
    """One cause: its names, its category, what to do about it."""

    kind: CauseKind
    title: str
    """The field's own name (NL2SQL-BUGs, KDD 2025), where it has one."""
    category: str
    advice: str


_ATTRIBUTE, _TABLE, _VALUE = "Attribute-Related Errors", "Table-Related Errors", "Value-Related Errors"
_OPERATOR, _CONDITION = "Operator-Related Errors", "Condition-Related Errors"
_FUNCTION, _CLAUSE = "Function-Related Errors", "Clause-Related Errors"
_SUBQUERY, _OTHER = "Subquery-Related Errors", "Other Errors"
RESULT = "Result"
"""The category of what the two results tell: they are the same but for how values are computed or written."""
EXECUTION = "Execution"
"""The category of what execution alone tells."""
SELECTION = "Selection"
"""The category of what is wrong in a selection of an SDMX assistant."""

_ROWS: tuple[tuple[CauseKind, str, str, str], ...] = (
    ("attribute_mismatch", "Attribute mismatch", _ATTRIBUTE, "Describe the two columns so that they are told apart."),
    ("attribute_redundancy", "Attribute redundancy", _ATTRIBUTE, "Ask for the requested columns only."),
    ("attribute_missing", "Attribute missing", _ATTRIBUTE, "Have every requested column listed before the query."),
    ("table_mismatch", "Table mismatch", _TABLE, "Describe what each of the two tables holds."),
    ("table_redundancy", "Table redundancy", _TABLE, "Join only tables whose columns are used."),
    ("table_missing", "Table missing", _TABLE, "Check that retrieval offers this table for the question."),
    ("join_condition_mismatch", "Join condition mismatch", _TABLE, "Give the foreign keys with the schema."),
    ("join_type_mismatch", "Join type mismatch", _TABLE, "Say whether rows without a partner count."),
    ("value_mismatch", "Value mismatch", _VALUE, "Give sample values of the column, or look the value up."),
    ("data_format_mismatch", "Data format mismatch", _VALUE, "Show how the column writes its values."),
    ("comparison_operator_mismatch", "Comparison operator mismatch", _OPERATOR, "Say whether the bound is included."),
    ("logical_operator_mismatch", "Logical operator mismatch", _OPERATOR, "Say how the conditions combine."),
    ("explicit_condition_missing", "Explicit condition missing", _CONDITION, "Check the query for each condition."),
    ("explicit_condition_mismatch", "Explicit condition mismatch", _CONDITION, "Define the term of the question."),
    ("explicit_condition_redundancy", "Explicit condition redundancy", _CONDITION, "Drop what nobody asked for."),
    ("implicit_condition_missing", "Implicit condition missing", _CONDITION, "Say whether rows without a value count."),
    ("aggregate_functions", "Aggregate functions", _FUNCTION, "Define how the measure is computed."),
    ("window_functions", "Window functions", _FUNCTION, "Define the rank or running value."),
    ("date_time_functions", "Date/time functions", _FUNCTION, "Show how dates are stored and which dialect it is."),
    ("conversion_functions", "Conversion functions", _FUNCTION, "Say which type the result needs."),
    ("math_functions", "Math functions", _FUNCTION, "Define the formula, its unit and rounding."),
    ("string_functions", "String functions", _FUNCTION, "Show how the text is stored."),
    ("conditional_functions", "Conditional functions", _FUNCTION, "Define the cases and what else there is."),
    ("clause_missing", "Clause missing", _CLAUSE, "Check the query for each order, limit and grouping asked for."),
    ("clause_redundancy", "Clause redundancy", _CLAUSE, "Drop the order, limit or grouping that nobody asked for."),
    ("subquery_missing", "Subquery missing", _SUBQUERY, "Have the question taken apart into steps."),
    ("subquery_mismatch", "Subquery mismatch", _SUBQUERY, "Have the question taken apart into steps."),
    ("partial_query", "Partial query", _SUBQUERY, "Check that the answer is whole, and its limit of tokens."),
    ("asc_desc", "ASC/DESC", _OTHER, "Say which end of the order comes first."),
    ("distinct", "DISTINCT", _OTHER, "Say whether repetitions count."),
    ("other", "Other", _OTHER, "Compare the two results."),
    ("scale", "Scale or unit", RESULT, "Say the unit and scale of the result: share or percentage, cents or euros."),
    ("rounding", "Rounding", RESULT, "Say to how many decimals the result is rounded, or allow a tolerance."),
    ("sign", "Sign", RESULT, "Say which number is subtracted from which."),
    ("result_type", "Result type", RESULT, "Say as which type the value is to be returned."),
    ("letter_case", "Letter case or white space", RESULT, "Say how texts are to be written, or ignore letter case."),
    ("unanswered", "Unanswered", EXECUTION, "Read the system's own log for this question."),
    ("held_back", "Held back", EXECUTION, "See what made the system decline or ask back: the question has an answer."),
    ("refused", "Refused", EXECUTION, "Have the system write one query that only reads."),
    ("syntax", "Syntax", EXECUTION, "Name the SQL dialect in the prompt."),
    ("unknown_table", "Unknown table", EXECUTION, "Check that the schema given to the system is this database's."),
    ("unknown_column", "Unknown column", EXECUTION, "Check that the schema given to the system is this database's."),
    ("type_error", "Type error", EXECUTION, "Give the columns' types with the schema."),
    ("timeout", "Timeout", EXECUTION, "Look for a join without a condition."),
    ("failed", "Failed", EXECUTION, "Read the engine's message."),
    ("rewrite", "Almost a rewrite", EXECUTION, "Read the two queries side by side: no clause alone is at fault."),
    ("ambiguous_gold", "Ambiguous gold", EXECUTION, "Have gold break its ties, or accept every tied row."),
    ("wrong_term", "Wrong term", SELECTION, "Look codes up by the words of the question and the names of the list."),
    ("missing_term", "Missing term", SELECTION, "Check the selection for each thing that the question names."),
    ("extra_term", "Extra term", SELECTION, "Select nothing that the question does not ask for."),
    ("invented_term", "Invented term", SELECTION, "Have codes looked up in the code list, never written from memory."),
    ("wrong_dataset", "Wrong dataset", SELECTION, "Describe what each dataset holds, so that they are told apart."),
    ("wrong_period", "Wrong period", SELECTION, "Say how periods of the question are read, and which day is today."),
)

CAUSES: dict[CauseKind, CauseInfo] = {
    kind: CauseInfo(kind=kind, title=title, category=category, advice=advice) for kind, title, category, advice in _ROWS
}
"""Every cause by its kind."""

if set(CAUSES) != set(get_args(CauseKind)):  # pragma: no cover - one place lists what the other describes
    raise AssertionError("the causes and their descriptions differ")
