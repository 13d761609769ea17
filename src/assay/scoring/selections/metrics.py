"""The metrics of a scored selection, each with its label, meaning and range."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from assay.model import DataScore, MetricInfo, SelectionScore


class SelectionMetric(MetricInfo, frozen=True, kw_only=True):
    """One metric of a scored selection. A case's value is the mean over the scored questions that have one."""

    lowest: float | None = 0.0
    highest: float | None = 1.0
    value: Callable[[SelectionScore], float | None]
    absent: str
    """Why a case may have no value."""
    on_data: bool = False
    """Whether the metric compares the data that selections return; without data, its score says why."""


_NOTHING_WANTED = "the target selects nothing, so there is nothing to be found"


def _share(name: str, meaning: str, absent: str = "there is nothing to divide by") -> SelectionMetric:
    return SelectionMetric(name=name, meaning=meaning, value=attrgetter(name), absent=absent)


_INTRICATE = "the queries are too many and too intricate for their series to be counted"
_NO_SERIES = f"{_NOTHING_WANTED}, or {_INTRICATE}"
_RIGHT, _FOUND = "share of the selected {} that are right", "share of the target's {} that were selected"
SELECTION_METRICS = (
    SelectionMetric(
        name="exact_match",
        heading="Exact selections",
        meaning="the series and, if the target speaks of it, their periods are the target's: no more, no less",
        binary=True,
        value=lambda one: float(one.exact),
        absent="",
    ),
    _share("macro_precision", f"{_RIGHT.format('terms')}: the mean over dimensions"),
    _share("macro_recall", f"{_FOUND.format('terms')}: the mean over dimensions", _NOTHING_WANTED),
    _share("macro_f1", "harmonic mean of precision and recall: the mean over dimensions"),
    _share("micro_precision", f"{_RIGHT.format('terms')}: the terms of all dimensions pooled"),
    _share("micro_recall", f"{_FOUND.format('terms')}: the terms of all dimensions pooled", _NOTHING_WANTED),
    _share("micro_f1", "harmonic mean of micro precision and micro recall"),
    _share("series_precision", f"{_RIGHT.format('series')}: keys as a whole, of all queries together", _INTRICATE),
    _share("series_recall", f"{_FOUND.format('series')}: keys as a whole, of all queries together", _NO_SERIES),
    _share("dataset_precision", _RIGHT.format("datasets")),
    _share("dataset_recall", _FOUND.format("datasets"), _NOTHING_WANTED),
    _share(
        "time_range",
        "the selected periods against the target's: 1 exact, the share in common if they overlap",
        "the target says nothing of time",
    ),
)
"""The metrics in the order of reports. `exact_match`, the verdict, is 1 if every scored question is met exactly."""


def _on_data(
    name: str, meaning: str, *, value: Callable[[DataScore], float | None], binary: bool = False
) -> SelectionMetric:
    return SelectionMetric(
        name=name,
        meaning=meaning,
        binary=binary,
        value=lambda one: None if one.data is None else value(one.data),
        absent="no series of the target or the answer is in the data",
        on_data=True,
    )


DATA_METRICS = (
    _on_data(
        "observations_match",
        "target and answer give the same observations of the data that they were executed on",
        binary=True,
        value=lambda data: None if data.match is None else float(data.match),
    ),
    _on_data(
        "data_series_precision",
        f"{_RIGHT.format('series')}, of those that are in the data",
        value=lambda data: data.series_precision,
    ),
    _on_data(
        "data_series_recall",
        f"{_FOUND.format('series')}, of those that are in the data",
        value=lambda data: data.series_recall,
    ),
)
"""Further metrics after those, if there are data to execute selections on."""


def selection_metrics(*, on_data: bool) -> tuple[SelectionMetric, ...]:
    """The metrics of a run."""
    return (*SELECTION_METRICS, *DATA_METRICS) if on_data else SELECTION_METRICS
