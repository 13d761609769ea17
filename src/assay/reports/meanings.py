"""What the names in a report mean, in a line each, for whoever reads one for the first time.

A name that is not here (a plugin's metric) is shown without a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

METRICS: Mapping[str, str] = {
    "match": "the same answer: rows as a bag, columns in any order, row order where gold asks for it",
    "non_empty_match": "match, over cases where an answer has rows",
    "results_match": "Denodo: match, with columns in gold's order",
    "same_row_count": "Denodo: as many rows as gold",
    "percent_subset": "Denodo: share of each gold row found in the row at its position",
    "ves": "how fast the right answers are beside gold, as BIRD rewards it; 0 unless Results Match",
    "bird_rves": "BIRD: 100 times the root of that reward; 0 unless bird_ex",
    "percent_overlap": "Denodo: cells in common, rows ignored",
    "bird_ex": "BIRD: the same set of rows; duplicates and order ignored",
    "bird_soft_f1": "BIRD: soft F1 of the cells, row by row",
    "spider_ex": "Spider test suite: execution match on every database, its quirks kept",
    "spider2_lite": "Spider 2.0-lite: gold's columns found among the predicted ones",
}

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
}

FLAGS: Mapping[str, str] = {
    "vacuous": "both results are empty: equal, and saying little",
    "ambiguous_gold": "gold does not determine its answer: its LIMIT cuts through a tie",
    "nondeterministic": "the query reads a clock or random numbers",
    "truncated": "a cap cut a result",
    "timeout": "a query ran out of time",
    "noisy_timing": "the measured times vary so much that another measurement may earn another reward",
    "strict_order": "gold's ties could not be seen, so its row order was taken as it came",
}

BLAMES: Mapping[str, str] = {
    "gold": "the gold query is broken: the system is not to blame",
    "setup": "something about how the run was set up",
    "engine": "the database engine gave up",
    "judge": "Assay's own judging",
    "system": "the system under test",
}

FAILURES: Mapping[str, str] = {
    "unanswered": "no prediction for the case",
    "no_query": "the answer holds no query",
    "several_statements": "more than one statement",
    "writes": "the query would write",
    "refused": "the engine refused the query",
    "error": "the query fails",
    "timeout": "the query ran out of time",
    "out_of_memory": "the query ran out of memory",
    "crashed": "the query took its process down",
    "truncated": "a cap cut the result",
    "no_gold": "the case has no gold query",
    "unreadable_database": "the database cannot be read",
    "unscorable": "the metric cannot judge the case",
    "ask_failed": "the system could not be asked",
}
