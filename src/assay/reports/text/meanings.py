"""The meaning of the names in a report, in one line each, for first-time readers.

Metrics are not here: each carries its own description.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.reports.text.plain import words

NEAR_MISSES: Mapping[str, str] = {
    "superset_columns": "the gold columns and others",
    "subset_columns": "some gold columns are missing",
    "missing_rows": "all rows are right, but some gold rows are missing",
    "extra_rows": "the gold rows and others",
    "duplicates_only": "only the number of duplicates differs",
    "order_only": "only the order of rows differs",
    "column_order_only": "only the order of columns differs",
    "type_only": "equal if text, numbers and dates are converted",
    "rounding_only": "equal after rounding",
    "case_or_whitespace_only": "only letter case or blanks differ",
    "scaled": "off by a constant factor",
    "sign": "only the sign differs",
    "pivoted": "the gold cells, with a dimension in columns instead of rows",
    "unpivoted": "the gold cells, with a row instead of a column per measure or value",
    "totals_row": "a row of totals is added or missing",
}

FORGIVEN: Mapping[str, str] = {
    "superset_columns": "extra columns",
    "column_order_only": "order of columns",
    "duplicates_only": "duplicates",
    "order_only": "order of rows",
    "rounding_only": "rounding",
    "type_only": "number or date spelt as text",
    "case_or_whitespace_only": "letter case and blanks",
    "pivoted": "a dimension across the columns",
    "unpivoted": "a row for each measure",
    "totals_row": "a row of totals",
}
"""Near misses in words: what a case would be right but for."""

FLAGS: Mapping[str, str] = {
    "vacuous": "both results are empty or computed over no rows: weak evidence",
    "ambiguous_gold": "the gold query takes some of the tied rows, or any row of several: other results are right, too",
    "order_by_chance": "the gold query orders its rows; the prediction does not, and the order was right by chance",
    "tie_by_chance": "the prediction's LIMIT cuts through a tie, and other rows of the tie would be wrong",
    "storage_order": "the prediction reads any row of several, and another row gives another result",
    "nondeterministic": "the query uses the time or random numbers",
    "truncated": "a limit cut a result",
    "timeout": "a query timed out",
    "noisy_timing": "the measured times vary so much that another measurement may earn another reward",
    "lenient": "correct only by a leniency of the case or the run",
    "interval_length": "the results match only if a month has 30 days and a day 24 hours",
    "extracted": "the prediction is not a statement: the one in its text was evaluated",
    "several_statements": "the prediction's text has several statements: the last in its fences or tags was evaluated",
    "strict_order": "ties in the gold result are unknown, so its row order was required as returned",
}

SCHEMA_USE_LABELS: Mapping[str, str] = {"same": "the same tables and columns"}

SCHEMA_USE: Mapping[str, str] = {
    "other_tables": "other tables than the gold query, or not all of them",
    "other_columns": "the gold query's tables, but not the same columns of them",
    "same": "what is done with them is wrong",
}
"""The tables and columns that a wrong prediction uses."""

RETRIEVAL_LABELS: Mapping[str, str] = {"missed": "retrieval missed it", "had_it": "had it and still failed"}

RETRIEVAL: Mapping[str, str] = {
    "missed": "the system was not given every table and column that the gold query uses",
    "had_it": "the system was given all that the gold query uses",
    "unknown": "the system does not say what it was given, or the gold query cannot be read",
}
"""What retrieval had to do with a wrong answer."""

STRENGTHS: Mapping[str, str] = {
    "same_text": "the text of the gold query",
    "proved": "the same results on any data, by proof",
    "bounded": "the same results on tables of a few rows",
    "survived": "no difference on any data that was tried",
    "tie": "the results differ only by a free choice, for example between two tied rows",
    "unknown": "no other data could be tried",
    "matched_on_one_database": "the results are the same on this database; on other data they may not be",
    "conditional": "they differ if an undeclared regularity breaks, for example unique names",
    "refuted": "they differ on a small database that keeps all that is observed in the real one",
}
"""The strengths of a match: how sure it is."""

SETTLED = "the results differ on this database: one difference is enough"
"""The strength of an incorrect verdict."""

REVIEW_DECISIONS: Mapping[str, str] = {
    "confirm": "the verdict is right",
    "accept": "the prediction is right, too",
    "reject": "the prediction is wrong",
    "gold_wrong": "the gold query is wrong",
    "ambiguous": "the question has several readings",
    "unanswerable": "the question has no answer",
    "unsure": "the reviewer is not sure",
    "undo": "an earlier review is withdrawn",
}
"""What people decide about a case."""

FAILURES: Mapping[str, str] = {
    "unanswered": "no prediction for the case",
    "clarification": "a question or a refusal instead of a query",
    "declined": "the system declined, and should have answered or asked back",
    "asked_back": "the system asked back, and should have answered or declined",
    "answered_anyway": "the system answered a question that has no answer or must be clarified first",
    "no_query": "the answer contains no query",
    "several_statements": "more than one statement",
    "writes": "the query would write",
    "refused": "the engine refused the query",
    "error": "the query fails",
    "timeout": "the query timed out",
    "out_of_memory": "the query ran out of memory",
    "crashed": "the query ended its process or its connection",
    "truncated": "a limit cut the result",
    "billing_limit": "the query would exceed the limit of billed bytes",
    "masked": "the database masked values in the result",
    "unreadable_value": "the query runs, but a value of its result cannot be read",
    "no_gold": "the case has no gold query",
    "unusable_gold": "the file of the gold result is missing or not a table",
    "unreadable_database": "the database cannot be read, or was lost",
    "no_database": "the question needs an engine without a database: give --db ENGINE=URL",
    "unscorable": "the metric cannot score the case",
    "ask_failed": "the system failed at the question, or could not be reached",
    "rejected": "the system rejected the request, and asking again would not help",
    "unreadable_answer": "the answer cannot be read as a query or as rows",
    "unknown_structure": "the structure of a dataset is not known",
    "wrong_target": "the target names a dimension or code that its dataset does not have",
}

SELECTION_FAILURES: Mapping[str, str] = {
    **FAILURES,
    "unanswered": "no answer to the case",
    "no_query": "the answer contains no data query",
    "no_gold": "no question of the case has a target",
    "error": "the answer cannot be scored",
    "unreadable_answer": "the answer cannot be read as a data query",
}
"""As `FAILURES`, for selections."""

TERM_LABELS: Mapping[str, str] = {
    "unknown_code": "invented code",
    "unknown_dimension": "no such dimension",
    "unknown_dataset": "no such dataset",
    "unavailable": "without data",
    "name_differs": "another name",
    "other_dataset": "right in another dataset",
    "through_hierarchy": "through the hierarchy",
    "rest_of_the_list": "rest of the list",
}
"""The notes of a scored term, as reports name them."""

TARGET_LABELS: Mapping[str, str] = {**TERM_LABELS, "unknown_code": "no such code"}
"""As `TERM_LABELS`, for terms that only the target has: the system did not invent them."""

TERM_NOTES: Mapping[str, str] = {
    "unknown_code": "the code list has no such code",
    "unknown_dimension": "the dataset has no such dimension",
    "unknown_dataset": "the structures have no such dataset",
    "unavailable": "the code exists, but the dataset has no data for it",
    "name_differs": "the code is right, and its name is not",
    "other_dataset": "the code is right, and its dataset is not",
    "through_hierarchy": "a parent code instead of its children, or the reverse",
    "rest_of_the_list": "a wildcard takes more codes than the target has",
}

TIME_STATES: Mapping[str, str] = {
    "exact": "exactly the target's periods",
    "overlap": "some of the target's periods, or more than them",
    "disjoint": "none of the target's periods",
    "missing": "the target has periods, the selection has none",
    "unexpected": "the target takes all periods, the selection does not",
}

STEADINESS: Mapping[str, str] = {
    "stable right": "every scored answer is right",
    "stable wrong": "every scored answer is wrong",
    "flaky": "some answers are right and some are wrong",
    "no scored answer": "excluded from the rates",
}
"""How steady the answers to a question are that was asked several times."""


def label_of(name: str) -> str:
    """A name of the vocabulary as reports show it: in words, or as its table of labels says."""
    return TERM_LABELS.get(name) or SCHEMA_USE_LABELS.get(name) or words(name)
