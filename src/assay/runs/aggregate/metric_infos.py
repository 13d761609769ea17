"""What is known about a run's metrics, and which of them leads the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Final, TypeAlias

from assay.errors import InputError
from assay.model import MetricInfo, RunSettings
from assay.platform.surface import argument
from assay.runs.aggregate.reliability import RUN_RATES

InfoOf: TypeAlias = Callable[[str], MetricInfo]
"""Gives a metric's info by its name."""
VERDICT: Final = ("match", "exact_match")
"""The metrics that express the verdict as a number, for queries and for selections: 1 means correct."""


def info_of(name: str, settings: RunSettings | None = None) -> MetricInfo:
    """What the run says of a metric, or else what the installed metric says, as for runs of earlier versions.

    An unknown metric has only a name: its values show whether it is graded.
    """
    known = () if settings is None else settings.metric_infos
    return next((info for info in known if info.name == name), None) or RUN_RATES.get(name) or _installed(name)


def infos_of(settings: RunSettings) -> Mapping[str, MetricInfo]:
    """The infos of all of a run's metrics, in its order."""
    return {name: info_of(name, settings) for name in settings.metrics}


def knowing(settings: RunSettings) -> InfoOf:
    """A function from a metric's name to its info in a run."""
    return lambda name: info_of(name, settings)


@lru_cache(maxsize=256)
def _installed(name: str) -> MetricInfo:
    from assay.scoring.selections.metrics import selection_metrics

    for metric in selection_metrics(on_data=True):
        if metric.name == name:
            return MetricInfo.of(metric)
    try:
        return next(MetricInfo.of(entry.load()()) for entry in entry_points(group="assay.metrics", name=name))
    except Exception:  # noqa: BLE001 - an old run stays readable if a plugin is gone or broken
        return MetricInfo(name=name, binary=True)


def leading_metric(metrics: Sequence[str]) -> str:
    """The metric that represents a run: the verdict's own if it was computed, else the first."""
    return next((name for name in VERDICT if name in metrics), next(iter(metrics), VERDICT[0]))


def common_metric(runs: Sequence[RunSettings]) -> str:
    """The leading metric of compared runs: among the metrics that all have, in the last run's order.

    Raises InputError if they share none.
    """
    shared = [metric for metric in runs[-1].metrics if all(metric in one.metrics for one in runs)]
    if not shared:
        asked = "; ".join(", ".join(one.metrics) for one in runs)
        raise InputError(
            f"the runs have no metric in common ({asked}): run them again with the same {argument('--metrics')}, or "
            "none named"
        )
    return leading_metric(shared)
