"""All settings of a run in one YAML file: `assay run eval.yaml`.

    cases: dev.jsonl
    predictions: answers.jsonl
    db: sqlite:///databases/{db_id}/{db_id}.sqlite
    output: runs/first
    metrics: [match, bird_ex]
    timeout_s: 10
    baseline: runs/main
    gates:
      min: {match: 0.8}
      max_drop: {match: 1%}
      fail_on_regression: true
      must_pass: [tag:smoke]

Paths are relative to the file. Flags on the command line take precedence. ``cases`` may also be a list of the cases
themselves.
"""

from __future__ import annotations

from assay.settings.reading import is_run_file, place_of, read_run_file, url_relative_to
from assay.settings.sections import GateSettings, LintFileSettings, WitnessFileSettings
from assay.settings.values import Settings, declarations

__all__ = [
    "GateSettings",
    "LintFileSettings",
    "Settings",
    "WitnessFileSettings",
    "declarations",
    "is_run_file",
    "place_of",
    "read_run_file",
    "url_relative_to",
]
