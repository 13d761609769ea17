"""Runs that nobody executed, for tests of what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.model import Evidence, Limits, Provenance, Run, RunSettings
from assay.model.lint import LintReport
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate

SETTINGS = {"cases": "cases.jsonl", "predictions": "answers.jsonl", "database": "sqlite:///{db_id}.sqlite"}
PROVENANCE = {"assay_version": "1", "python_version": "3", "platform": "linux"}


@dataclass(frozen=True)
class Named:
    """What is known of a metric."""

    name: str
    binary: bool = True


def run_of(
    *evidence: Evidence,
    metrics: Sequence[Any] = (Named("match"),),
    provenance: Mapping[str, Any] = {},
    lint: LintReport | None = None,
    **settings: Any,
) -> Run:
    """A run of this evidence; further arguments are its settings."""
    summaries = summaries_of(evidence)
    names = tuple(metric.name for metric in metrics)
    return Run(
        settings=RunSettings(**{**SETTINGS, "metrics": names, "limits": Limits(), **settings}),
        provenance=Provenance(**{**PROVENANCE, **provenance}),
        summaries=summaries,
        evidence=evidence,
        aggregates=aggregate(summaries, metrics),
        lint=lint,
    )
