"""A run to be executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field

from assay.model import MetricInfo, Provenance, RunSettings
from assay.model.lint import LintReport
from assay.model.witness import WitnessSettings
from assay.ports import CaseScorer, Metric
from assay.runs.progress import Progress
from assay.runs.work_lists import Works

OnProgress: TypeAlias = Callable[[Progress], None]


class Job(Struct, frozen=True, kw_only=True):
    """A run to be executed."""

    settings: RunSettings
    provenance: Provenance
    works: Works
    metrics: Sequence[Metric | MetricInfo]
    """All metrics in the run's order."""
    local_metrics: Sequence[Metric] = ()
    """The metrics that workers cannot load by name: they score in this process, on rows sent back."""
    scorer: CaseScorer | None = None
    """Judges the cases in this process, without workers; None: workers judge them."""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Per database URL, a hash of its content and of the versions that judge: see `digest_of`."""
    witness: WitnessSettings | None = None
    """How to look for witnesses of the matches; None: nobody asks now."""
    lint: LintReport | None = None
    """What is doubtful about the golds; None: nobody asks."""
