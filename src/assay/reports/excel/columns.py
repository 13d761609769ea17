"""Which metric fills which column of the workbook, under the names of the Denodo AI SDK evaluator's guide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from assay.reports.views.run import RunView

TIMINGS: Final = ("sql_execution_time", "vector_store_search_time", "llm_time", "total_execution_time")
"""The AI SDK's own timings, in seconds."""

GUIDE_NAMES: Final[Mapping[str, str]] = {
    "results_match": "Results Match",
    "percent_subset": "Subsetting Percentage",
    "percent_overlap": "Percent Overlap",
    "same_row_count": "Have Same Row Count",
    "bird_soft_f1": "Bird Standard F1",
    "ves": "VES Score",
}
"""Metric to the name of its column among the details, in the guide's order."""

_GRADED: Final = frozenset({"percent_subset", "percent_overlap", "bird_soft_f1", "ves"})
"""These read as degrees also in a run that has only full and empty scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbookMetrics:
    """The metrics of a run, as the workbook shows them."""

    names: tuple[str, ...]
    """All of the run's, in its order."""
    shares: frozenset[str]
    """Those that read as percentages."""
    yes_no: frozenset[str]
    """Those whose every value is 0 or 1."""
    correct: str | None
    """What Percent Correct Queries and Results Match are: `results_match`, else `match`, else nothing."""

    @classmethod
    def of(cls, view: RunView) -> WorkbookMetrics:
        """Read off the view which metrics there are."""
        names = tuple(row.metric for row in view.metrics)
        # A reward is no percentage, even in a run where none exceeds 1.
        shares = frozenset(row.metric for row in view.metrics if row.share and row.metric != "ves")
        yes_no = frozenset(row.metric for row in view.metrics if not row.graded) - _GRADED
        correct = next((name for name in ("results_match", "match") if name in names), None)
        return cls(names=names, shares=shares, yes_no=yes_no, correct=correct)

    @property
    def guide(self) -> tuple[tuple[str, str | None], ...]:
        """The guide's columns of metrics and what fills each, None where the run has nothing for it."""
        filled = ((title, self.correct if name == "results_match" else name) for name, title in GUIDE_NAMES.items())
        return tuple((title, name if name in self.names else None) for title, name in filled)

    @property
    def others(self) -> tuple[str, ...]:
        """The metrics that fill none of the guide's columns among the details."""
        used = {name for _, name in self.guide}
        return tuple(name for name in self.names if name not in used)

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
        if self.correct == "results_match":
            return (
                "Percent Correct Queries is the rate of results_match: the answer is gold's, columns in gold's order."
            )
        if self.correct == "match":
            return "Percent Correct Queries is the rate of match (columns in any order): the run has no results_match."
        return "Percent Correct Queries is blank: the run has neither results_match nor match."
