"""The numbers of a judged selection, each with all that is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.model import MetricInfo, SelectionScore


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionMetric(MetricInfo):
    """A number of a judged selection. Per case it is the mean over the scored questions that have it."""

    lowest: float | None = 0.0
    highest: float | None = 1.0
    value: Callable[[SelectionScore], float | None]
    absent: str = "there is nothing to divide by"
    """Why a case may have none."""


_NOTHING_WANTED = "the target selects nothing, so there is nothing to be found"
SELECTION_METRICS = (
    SelectionMetric(
        name="exact_match",
        heading="Exact selections",
        meaning="datasets, terms and, where the target speaks of it, time are the target's: no more, no less",
        binary=True,
        value=lambda one: float(one.exact),
    ),
    SelectionMetric(
        name="macro_precision",
        meaning="share of the selected terms that are right: the mean over dimensions",
        value=lambda one: one.macro_precision,
    ),
    SelectionMetric(
        name="macro_recall",
        meaning="share of the target's terms that were selected: the mean over dimensions",
        value=lambda one: one.macro_recall,
        absent=_NOTHING_WANTED,
    ),
    SelectionMetric(
        name="macro_f1",
        meaning="harmonic mean of precision and recall: the mean over dimensions",
        value=lambda one: one.macro_f1,
    ),
    SelectionMetric(
        name="micro_precision",
        meaning="share of the selected terms that are right: the terms of all dimensions pooled",
        value=lambda one: one.micro_precision,
    ),
    SelectionMetric(
        name="micro_recall",
        meaning="share of the target's terms that were selected: the terms of all dimensions pooled",
        value=lambda one: one.micro_recall,
        absent=_NOTHING_WANTED,
    ),
    SelectionMetric(
        name="micro_f1",
        meaning="harmonic mean of micro precision and micro recall",
        value=lambda one: one.micro_f1,
    ),
    SelectionMetric(
        name="dataset_precision",
        meaning="share of the selected datasets that are right",
        value=lambda one: one.dataset_precision,
    ),
    SelectionMetric(
        name="dataset_recall",
        meaning="share of the target's datasets that were selected",
        value=lambda one: one.dataset_recall,
        absent=_NOTHING_WANTED,
    ),
    SelectionMetric(
        name="time_range",
        meaning="the selected periods beside the target's: 1 exact, the share in common where they overlap",
        value=lambda one: one.time_range,
        absent="the target says nothing of time",
    ),
)
"""In the order of reports. `exact_match` is 1 where every scored question is met exactly: the verdict."""
