"""Rates that a run has beside those of its metrics: what a minimum may demand of it, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from assay.model import MetricInfo, Rate, Run

RUN_RATES: Final[Mapping[str, MetricInfo]] = {
    one.name: one
    for one in (
        MetricInfo(name="reliability", label="Reliability score", lowest=-1e9, highest=1.0),
        MetricInfo(name="coverage", label="Questions answered", binary=True, lowest=0.0, highest=1.0),
        MetricInfo(name="selective_accuracy", label="Accuracy when answered", binary=True, lowest=0.0, highest=1.0),
        MetricInfo(name="interaction_match", label="Conversations right", binary=True, lowest=0.0, highest=1.0),
    )
}
"""By name, what a metric's class would say of each. A penalty may be any number, so that a score may be, too."""


def run_rate(run: Run, name: str) -> Rate | None:
    """The rate of that name; None where the run has no such numbers."""
    found, talks = run.aggregates.reliability, run.aggregates.conversations
    if name == "interaction_match":
        return None if talks is None else talks.whole
    if found is None:
        return None
    if name == "reliability":
        return found.leading(run.settings.penalties).rate
    return {"coverage": found.coverage, "selective_accuracy": found.accuracy}.get(name)


def why_none(name: str) -> str:
    """Why a run has no such rate."""
    if name == "interaction_match":
        return "no question is part of a conversation"
    return "every question has an answer, and nothing was declined or said with a confidence"
