"""Rates that a run has beside those of its metrics: what a minimum may demand of it, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from assay.errors import UsageError
from assay.model import MetricInfo, Rate, Run
from assay.runs.aggregate.rates import Answers
from assay.runs.aggregate.reliability import reliability_totals

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


def with_penalties(run: Run, penalties: Sequence[float]) -> Run:
    """The run with its reliability score at other penalties. Raises UsageError where it has no such score."""
    if run.aggregates.reliability is None:
        raise UsageError(f"the run has no reliability score that a penalty would change: {why_none('reliability')}")
    answers = Answers.of(run.summaries, repeats=run.settings.repeats)
    found = reliability_totals(run.summaries, answers, penalties=penalties)
    settings = replace(run.settings, penalties=tuple(penalties))
    return replace(run, settings=settings, aggregates=replace(run.aggregates, reliability=found))
