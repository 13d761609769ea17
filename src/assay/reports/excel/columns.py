"""Which metric fills which column of the workbook, under the names of the Denodo AI SDK evaluator's guide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from assay.model import MetricInfo, Run
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.run_numbers import RESULTS_MATCH
from assay.reports.text.plain import one_line
from assay.runs.aggregate.metric_infos import VERDICT

IN_SQL: Final = {"VQL Generated": "Predicted SQL", "Ground Truth VQL": "Gold SQL"}
"""The columns of the queries in a run that has nothing to do with Denodo."""

TIMINGS: Final = ("sql_execution_time", "vector_store_search_time", "llm_time", "total_execution_time")
"""The AI SDK's own timings, in seconds."""

_SUBSET = "Subsetting Percentage"
GUIDE: Final = (RESULTS_MATCH, _SUBSET, "Percent Overlap", "Have Same Row Count", "Bird Standard F1", "VES Score")
"""The metric columns of the Details sheet, in the guide's order: a metric says which one it fills."""


READABLE: Final = {
    "match": "Match",
    "non_empty_match": "Non-empty Match",
    "match_after_witnesses": "Match after Counterexamples",
    "suite_match": "Suite Match",
    "same_result": "Same Result",
    "bird_ex": "BIRD EX",
    "bird_rves": "BIRD R-VES",
    "spider_ex": "Spider EX",
    "spider_em": "Spider EM",
    "spider2_lite": "Spider 2 Lite",
    "llmsql_ex": "LLMSQL EX",
    "table_recall": "Table Recall",
    "table_precision": "Table Precision",
    "table_f1": "Table F1",
    "column_recall": "Column Recall",
    "column_precision": "Column Precision",
    "column_f1": "Column F1",
    "context_table_recall": "Context Table Recall",
    "context_table_precision": "Context Table Precision",
    "context_column_recall": "Context Column Recall",
    "context_column_precision": "Context Column Precision",
    "context_complete": "Context Complete",
}
"""The columns of metrics that the guide has no name for. Metrics of others keep their own names."""


class WorkbookMetrics(Struct, frozen=True, kw_only=True):
    """The metrics of a run, as the workbook shows them."""

    names: tuple[str, ...]
    """All metrics of the run, in its order."""
    titles: Mapping[str, str]
    """The column title of each metric."""
    filled: Mapping[str, str]
    """The metric in each of the guide's columns that the run can fill."""
    shares: frozenset[str]
    """The metrics that read as percentages."""
    yes_no: frozenset[str]
    """The metrics whose every value is 0 or 1."""
    correct: str | None
    """The metric of Percent Correct Queries: the run's headline, so that it is the accuracy of every other report.

    In a run that counts as Denodo's own workbook does, the metric of Results Match.
    """
    in_sql: bool
    """Whether neither the queries nor the answers are Denodo's: the workbook then speaks of SQL."""
    as_denodo: bool
    """Whether means count as Denodo's own workbook does: in a run with its definition of Percent Overlap."""

    @classmethod
    def of(cls, report: RunReport) -> WorkbookMetrics:
        """Take the metrics from the report."""
        names = tuple(row.metric for row in report.metrics)
        claimed: dict[str, str] = {}
        for row in report.metrics:
            # Where several metrics name the same column, the first one fills it.
            claimed.setdefault(row.info.guide_column or row.metric, row.metric)
        titles = {name: one_line(title, limit=60) for title, name in claimed.items()}
        filled = {title: name for title, name in claimed.items() if title in GUIDE}
        if VERDICT[0] in names:
            filled.setdefault(RESULTS_MATCH, VERDICT[0])
        # A reward may exceed 1, so it is never a percentage, even in a run where no value exceeds 1.
        shares = (row for row in report.metrics if row.share and (row.info.highest is None or row.info.highest <= 1.0))
        as_denodo, headline = report.as_denodo, report.headline_metric
        yes_no = frozenset(row.metric for row in report.metrics if not row.graded)
        return cls(
            names=names,
            titles={name: _title(name, titles) for name in names},
            filled=filled,
            shares=frozenset(row.metric for row in shares),
            yes_no=yes_no,
            correct=filled.get(RESULTS_MATCH) if as_denodo else headline if headline in yes_no else None,
            in_sql=not is_denodo(report.run),
            as_denodo=as_denodo,
        )

    @property
    def subset(self) -> str | None:
        """The metric of Percent Subset."""
        return self.filled.get(_SUBSET)

    @property
    def guide(self) -> tuple[tuple[str, str | None], ...]:
        """The guide's metric columns with the metric that fills each, None if the run has none for it."""
        return tuple((title, self.filled.get(title)) for title in GUIDE)

    @property
    def others(self) -> tuple[str, ...]:
        """The metrics that fill none of the guide's columns in the Details sheet."""
        return tuple(name for name in self.names if name not in self.filled.values())

    def case_style(self, metric: str | None) -> str:
        """How one case's value of that metric is written: yes and no as 1 and 0."""
        if metric is None:
            return "text"
        return "yes_no" if metric in self.yes_no else self.style(metric)

    def style(self, metric: str) -> str:
        """How a mean of that metric is written."""
        return "percent" if metric in self.shares else "number"

    def note(self) -> str:
        """What Percent Correct Queries counts."""
        if self.correct is None:
            return "Percent Correct Queries is blank: the run has no metric that says which queries are correct."
        if self.correct == VERDICT[0]:
            strict = self.filled.get(RESULTS_MATCH, VERDICT[0]) != VERDICT[0]
            more = f" {RESULTS_MATCH} requires the gold query's order of columns, too." if strict else ""
            return f"Percent Correct Queries is the accuracy: the rate of match, with columns in any order.{more}"
        return f"Percent Correct Queries is the rate of {self.correct}: the gold result, with its order of columns."


def _title(name: str, claimed: Mapping[str, str]) -> str:
    """The column of a metric: the name that it claims, or a readable one unless another metric claims that."""
    title = claimed.get(name, name)
    readable = READABLE.get(name, name)
    return readable if title == name and readable not in claimed.values() else title


def is_denodo(run: Run) -> bool:
    """Whether the run executed its queries on Denodo or asked its AI SDK."""
    settings = run.settings
    named = (settings.database, settings.gold_database or "", settings.predictions)
    engines = (engine.name for engine in run.provenance.engine_versions)
    return any(name.split("=")[-1].startswith("denodo") for name in (*named, *engines))


def mean_style(info: MetricInfo) -> str:
    """How a mean is written in the sheets of selections: as a percentage if the metric is known to stay within 1."""
    return "percent" if info.highest is not None and info.highest <= 1.0 else "number"


def case_style(info: MetricInfo) -> str:
    """How one case's value is written in the sheets of selections: yes and no as 1 and 0."""
    return "yes_no" if info.binary and info.highest is not None else mean_style(info)
