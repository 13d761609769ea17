"""The names that other tools give to metrics, and what these are called here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from assay.errors import did_you_mean

_NAMES: Final[Mapping[str, str]] = {
    "match": "accuracy acc execution_accuracy exec_accuracy execution_acc exec_acc execution_match exec_match ex"
    " correct correctness score success success_rate execution equivalence sql_accuracy overall"
    " percent_correct percent_correct_queries",
    "same_row_count": "have_same_row_count",
    "percent_subset": "subsetting_percentage",
    "spider_em": "exact_match em exact_set_match exact_set exact_matching exact",
    "bird_soft_f1": "f1 soft_f1 f1_score softf1 bird_standard_f1",
    "ves": "ves_score",
    "bird_rves": "r_ves rves reward_ves valid_efficiency_score efficiency",
    "column_precision": "precision",
    "column_recall": "recall",
}
OTHER_NAMES: Final = {name: metric for metric, names in _NAMES.items() for name in names.split()}


def metric_hint(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'match'?)`` for an unknown metric, by its name elsewhere or by its spelling."""
    known = list(known)
    return other_metric(name, known) or did_you_mean(name, known)


def other_metric(name: str, known: Collection[str]) -> str:
    """`` (did you mean 'spider_em'?)`` if other tools use the name for one of the known metrics; else nothing."""
    metric = OTHER_NAMES.get(name.strip().lower().replace("-", "_").replace(" ", "_"))
    return f" (did you mean {metric!r}?)" if metric is not None and metric in known else ""
