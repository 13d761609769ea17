"""The meaning of the names in a report, in one line each, for first-time readers.

Metrics are not here: each carries its own description.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.reports.text.plain import words

NEAR_MISSES: Mapping[str, str] = {
    "superset_columns": "gold's columns are there, and more",
    "subset_columns": "some of gold's columns are missing",
    "missing_rows": "all rows are right, but some of gold's are missing",
    "extra_rows": "gold's rows are there, and more",
    "duplicates_only": "only the number of duplicates differs",
    "order_only": "only the order of rows differs",
    "column_order_only": "only the order of columns differs",
    "type_only": "equal once text, numbers and dates are taken for each other",
    "rounding_only": "equal once rounded",
    "case_or_whitespace_only": "only letter case or blanks differ",
    "scaled": "off by a constant factor",
    "sign": "only the sign differs",
    "pivoted": "gold's cells, with a dimension across the columns in place of down the rows",
    "unpivoted": "gold's cells, with a row for each measure or value in place of a column",
    "totals_row": "a row of totals is too many, or missing",
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
    "vacuous": "both results are empty, or one row computed over no rows: equal, and saying little",
    "ambiguous_gold": "gold does not determine its answer: it takes some of the rows that tie, or any row of several",
    "order_by_chance": "gold orders its rows; the prediction leaves them unordered or tied, and they came out right",
    "tie_by_chance": "the prediction's LIMIT cuts through a tie, and other rows of the tie would be wrong",
    "storage_order": "the prediction reads any row of several, and another row gives another result",
    "nondeterministic": "the query reads a clock or random numbers",
    "truncated": "a cap cut a result",
    "timeout": "a query ran out of time",
    "noisy_timing": "the measured times vary so much that another measurement may earn another reward",
    "lenient": "right only by what the case or the run declares to be no mistake",
    "extracted": "the prediction is not a statement: the one in its text was evaluated",
    "strict_order": "gold's ties could not be seen, so its row order was taken as it came",
}

SCHEMA_USE_LABELS: Mapping[str, str] = {"same": "the same tables and columns"}

SCHEMA_USE: Mapping[str, str] = {
    "other_tables": "a table that the gold query does not use, or not all of its tables",
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
    "same_text": "gold's own text: the same on any data",
    "proved": "the same results on any data, by proof",
    "bounded": "the same results on tables of a few rows",
    "survived": "no difference on any data that was tried",
    "tie": "apart only by a choice that a query leaves open, such as which of two tied rows it takes",
    "unknown": "no other data could be tried",
    "matched_on_one_database": "the results are the same on this database; on other data they may not be",
    "conditional": "they differ if a regularity breaks that nothing declares, such as names being unique",
    "refuted": "they differ on data like the real: on a small database that keeps everything observed in it",
}
"""The strengths of a match: how sure it is."""

SETTLED = "the results differ on this database, which one difference is enough to settle"
"""The strength of an incorrect verdict."""

REVIEW_DECISIONS: Mapping[str, str] = {
    "confirm": "the verdict is right",
    "accept": "the prediction is right, too",
    "reject": "the prediction is wrong",
    "gold_wrong": "the gold query is wrong",
    "ambiguous": "the question has several readings",
    "unanswerable": "the question has no answer",
    "unsure": "the reviewer is not sure",
    "undo": "an earlier review is taken back",
}
"""What people decide about a case."""

FAILURES: Mapping[str, str] = {
    "unanswered": "no prediction for the case",
    "clarification": "a question or a refusal in place of a query",
    "declined": "the system declines a question that it should answer or ask back about",
    "asked_back": "the system asks back where it should answer or decline",
    "answered_anyway": "the system answers a question that has no answer, or that must be clarified first",
    "no_query": "the answer holds no query",
    "several_statements": "more than one statement",
    "writes": "the query would write",
    "refused": "the engine refused the query",
    "error": "the query fails",
    "timeout": "the query ran out of time",
    "out_of_memory": "the query ran out of memory",
    "crashed": "the query took its process or its connection down",
    "truncated": "a cap cut the result",
    "billing_limit": "the query would bill more bytes than it may",
    "masked": "the database masked values in the result",
    "no_gold": "the case has no gold query",
    "unusable_gold": "the file of gold's result is missing or no table",
    "unreadable_database": "the database cannot be read, or was lost",
    "no_database": "the question is for an engine of which no database is given",
    "unscorable": "the metric cannot judge the case",
    "ask_failed": "the system failed at the question, or could not be reached",
    "rejected": "the system rejected the request, and asking again would not help",
    "unreadable_answer": "the answer cannot be read as a query or as rows",
    "unknown_structure": "the structure of a dataset is not known",
    "wrong_target": "the target names a dimension or code that its dataset does not have",
}

SELECTION_FAILURES: Mapping[str, str] = {
    **FAILURES,
    "unanswered": "no answer to the case",
    "no_query": "the answer holds no data query",
    "no_gold": "no question of the case has a target",
    "error": "the answer cannot be judged",
    "unreadable_answer": "the answer cannot be read as a data query",
}
"""As `FAILURES`, for judged selections."""

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
"""The notes of a judged term, as reports name them."""

TARGET_LABELS: Mapping[str, str] = {**TERM_LABELS, "unknown_code": "no such code"}
"""As `TERM_LABELS`, for terms that only the target has: the system did not invent them."""

TERM_NOTES: Mapping[str, str] = {
    "unknown_code": "the code list has no such code",
    "unknown_dimension": "the dataset has no such dimension",
    "unknown_dataset": "the structures have no such dataset",
    "unavailable": "the code exists, but the dataset has no data for it",
    "name_differs": "the code is right, and its name is not",
    "other_dataset": "the code is right, and its dataset is not",
    "through_hierarchy": "a parent code in place of its children, or they in place of it",
    "rest_of_the_list": "a wildcard takes more codes than the target has",
}

TIME_STATES: Mapping[str, str] = {
    "exact": "the target's periods, no more and no less",
    "overlap": "some of the target's periods, or more than them",
    "disjoint": "none of the target's periods",
    "missing": "the target has periods, the selection has none",
    "unexpected": "the target takes all periods, the selection does not",
}

STEADINESS: Mapping[str, str] = {
    "stable right": "every scored answer is right",
    "stable wrong": "every scored answer is wrong",
    "flaky": "some answers are right and some are wrong",
    "no scored answer": "in none of the rates",
}
"""How steady the answers to a question are that was asked several times."""


def label_of(name: str) -> str:
    """A name of the vocabulary as reports show it: in words, or as its table of labels says."""
    return TERM_LABELS.get(name) or SCHEMA_USE_LABELS.get(name) or words(name)
