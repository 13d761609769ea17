"""The possible causes of a wrong answer, with all their descriptions."""

from __future__ import annotations

from typing import get_args

from msgspec import Struct

from assay.model.verdicts.diagnosis import CauseKind


class CauseInfo(Struct, frozen=True, kw_only=True):
    """One cause: its names, its category, what to do about it."""

    kind: CauseKind
    title: str
    """The established name (NL2SQL-BUGs, KDD 2025), if there is one."""
    category: str
    advice: str


_ATTRIBUTE, _TABLE, _VALUE = "Attribute-Related Errors", "Table-Related Errors", "Value-Related Errors"
_OPERATOR, _CONDITION = "Operator-Related Errors", "Condition-Related Errors"
_FUNCTION, _CLAUSE = "Function-Related Errors", "Clause-Related Errors"
_SUBQUERY, _OTHER = "Subquery-Related Errors", "Other Errors"
RESULT = "Result"
"""The category of causes seen in the two results: they agree except for how values are computed or written."""
EXECUTION = "Execution"
"""The category of causes seen in execution alone."""
SELECTION = "Selection"
"""The category of errors in the selection of an SDMX assistant."""

_ROWS: tuple[tuple[CauseKind, str, str, str], ...] = (
    (
        "attribute_mismatch",
        "Attribute mismatch",
        _ATTRIBUTE,
        "Describe the two columns so that they cannot be confused.",
    ),
    (
        "attribute_redundancy",
        "Attribute redundancy",
        _ATTRIBUTE,
        "Ask for the requested columns only.",
    ),
    (
        "attribute_missing",
        "Attribute missing",
        _ATTRIBUTE,
        "Prompt the system to list the requested columns before writing the query.",
    ),
    ("table_mismatch", "Table mismatch", _TABLE, "Describe what each of the two tables contains."),
    ("table_redundancy", "Table redundancy", _TABLE, "Join only tables whose columns are used."),
    ("table_missing", "Table missing", _TABLE, "Check that retrieval offers this table for the question."),
    ("join_condition_mismatch", "Join condition mismatch", _TABLE, "Include the foreign keys in the schema."),
    ("join_type_mismatch", "Join type mismatch", _TABLE, "State whether rows without a partner count."),
    ("value_mismatch", "Value mismatch", _VALUE, "Give sample values of the column, or look the value up."),
    ("data_format_mismatch", "Data format mismatch", _VALUE, "Show how the column writes its values."),
    ("comparison_operator_mismatch", "Comparison operator mismatch", _OPERATOR, "State whether the bound is included."),
    ("logical_operator_mismatch", "Logical operator mismatch", _OPERATOR, "State how the conditions combine."),
    ("explicit_condition_missing", "Explicit condition missing", _CONDITION, "Check the query for each condition."),
    ("explicit_condition_mismatch", "Explicit condition mismatch", _CONDITION, "Define the term used in the question."),
    (
        "explicit_condition_redundancy",
        "Explicit condition redundancy",
        _CONDITION,
        "Prompt the system to omit conditions that the question does not ask for.",
    ),
    (
        "implicit_condition_missing",
        "Implicit condition missing",
        _CONDITION,
        "State whether rows without a value count.",
    ),
    ("aggregate_functions", "Aggregate functions", _FUNCTION, "Define how the measure is computed."),
    ("window_functions", "Window functions", _FUNCTION, "Define the rank or running value."),
    ("date_time_functions", "Date/time functions", _FUNCTION, "Show how dates are stored and which dialect it is."),
    ("conversion_functions", "Conversion functions", _FUNCTION, "State the type of the result."),
    ("math_functions", "Math functions", _FUNCTION, "Define the formula, its unit and rounding."),
    ("string_functions", "String functions", _FUNCTION, "Show how the text is stored."),
    ("conditional_functions", "Conditional functions", _FUNCTION, "Define the cases and the default."),
    ("clause_missing", "Clause missing", _CLAUSE, "Check the query for each requested order, limit and grouping."),
    (
        "clause_redundancy",
        "Clause redundancy",
        _CLAUSE,
        "Prompt the system to omit an order, limit or grouping that the question does not ask for.",
    ),
    ("subquery_missing", "Subquery missing", _SUBQUERY, "Prompt the system to break the question down into steps."),
    ("subquery_mismatch", "Subquery mismatch", _SUBQUERY, "Prompt the system to break the question down into steps."),
    ("partial_query", "Partial query", _SUBQUERY, "Check that the answer is complete, and the system's token limit."),
    ("asc_desc", "ASC/DESC", _OTHER, "State which end of the order comes first."),
    ("distinct", "DISTINCT", _OTHER, "State whether duplicates matter."),
    ("other", "Other", _OTHER, "Compare the two results."),
    ("scale", "Scale or unit", RESULT, "State the unit and scale of the result: share or percentage, cents or euros."),
    ("rounding", "Rounding", RESULT, "State to how many decimals the result is rounded, or allow a tolerance."),
    ("sign", "Sign", RESULT, "State which number is subtracted from which."),
    ("result_type", "Result type", RESULT, "State the type of the returned value."),
    ("letter_case", "Letter case or white space", RESULT, "State how text is written, or ignore letter case."),
    ("unanswered", "Unanswered", EXECUTION, "The answer is missing or not a query: read it, and the system's own log."),
    (
        "held_back",
        "Held back",
        EXECUTION,
        "Find out why the system declined or asked back: the question has an answer.",
    ),
    ("refused", "Refused", EXECUTION, "Prompt the system to write one query that only reads."),
    ("syntax", "Syntax", EXECUTION, "Name the SQL dialect in the prompt."),
    (
        "unknown_table",
        "Unknown table",
        EXECUTION,
        "Check that the schema given to the system is the schema of this database.",
    ),
    (
        "unknown_column",
        "Unknown column",
        EXECUTION,
        "Check that the schema given to the system is the schema of this database.",
    ),
    ("type_error", "Type error", EXECUTION, "Include the column types in the schema."),
    ("timeout", "Timeout", EXECUTION, "Look for a join without a condition."),
    ("failed", "Failed", EXECUTION, "Read the engine's message."),
    ("rewrite", "Almost a rewrite", EXECUTION, "Compare the two queries side by side: no single clause is the cause."),
    ("ambiguous_gold", "Ambiguous gold", EXECUTION, "Make the gold query break its ties, or accept every tied row."),
    ("wrong_term", "Wrong term", SELECTION, "Look codes up by the words of the question and the names of the list."),
    ("missing_term", "Missing term", SELECTION, "Check the selection for each thing that the question names."),
    ("extra_term", "Extra term", SELECTION, "Select nothing that the question does not ask for."),
    (
        "invented_term",
        "Invented term",
        SELECTION,
        "Prompt the system to look codes up in the code list, never to recall them.",
    ),
    (
        "wrong_dataset",
        "Wrong dataset",
        SELECTION,
        "Describe what each dataset contains, so that they cannot be confused.",
    ),
    ("wrong_period", "Wrong period", SELECTION, "State how periods in the question are read, and today's date."),
)

CAUSES: dict[CauseKind, CauseInfo] = {
    kind: CauseInfo(kind=kind, title=title, category=category, advice=advice) for kind, title, category, advice in _ROWS
}
"""Every cause by its kind."""

if set(CAUSES) != set(get_args(CauseKind)):  # pragma: no cover - one place lists what the other describes
    raise AssertionError("the causes and their descriptions differ")
