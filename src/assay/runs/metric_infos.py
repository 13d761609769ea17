"""What is known of a run's metrics, and which of them leads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Final, TypeAlias

from assay.errors import InputError
from assay.model import MetricInfo, RunSettings

InfoOf: TypeAlias = Callable[[str], MetricInfo]
"""What knows metrics by name."""
VERDICT: Final = ("match", "exact_match")
"""The metrics that are the verdict as a number, of queries and of selections: what they accept is correct."""


def info_of(name: str, settings: RunSettings | None = None) -> MetricInfo:
    """What the run says of a metric; of one that it says nothing of, as before runs did, what is installed says.

    What nobody knows has nothing but its name, and may be anything: its values tell whether it is graded.
    """
    known = () if settings is None else settings.metric_infos
    return next((info for info in known if info.name == name), None) or _installed(name)


def infos_of(settings: RunSettings) -> Mapping[str, MetricInfo]:
    """The same of all of a run's metrics, in its order."""
    return {name: info_of(name, settings) for name in settings.metrics}


def knowing(settings: RunSettings) -> InfoOf:
    """What knows the metrics of a run by name."""
    return lambda name: info_of(name, settings)


@lru_cache(maxsize=256)
def _installed(name: str) -> MetricInfo:
    from assay.scoring.selections.metrics import selection_metrics

    for metric in selection_metrics(on_data=True):
        if metric.name == name:
            return MetricInfo.of(metric)
    try:
        return next(MetricInfo.of(entry.load()()) for entry in entry_points(group="assay.metrics", name=name))
    except Exception:  # noqa: BLE001 - a plugin that is gone or broken keeps nobody from reading an old run
        return MetricInfo(name=name, binary=True)


def leading_metric(metrics: Sequence[str]) -> str:
    """The one that stands for a run where one must: the verdict's own if it is there, else the first."""
    return next((name for name in VERDICT if name in metrics), next(iter(metrics), VERDICT[0]))


def common_metric(runs: Sequence[RunSettings]) -> str:
    """The same for runs that are compared: of the metrics that all have, in the last one's order.

    Raises InputError where they share none.
    """
    shared = [metric for metric in runs[-1].metrics if all(metric in one.metrics for one in runs)]
    if not shared:
        asked = "; ".join(", ".join(one.metrics) for one in runs)
        raise InputError(
            f"the runs have no metric in common ({asked}): run them again with the same --metrics, or none named"
        )
    return leading_metric(shared)
