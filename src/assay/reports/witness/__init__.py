"""A witness as text, as JSON, as SQL and as a test."""

from assay.reports.text.refutation import refutation_text
from assay.reports.witness.as_test import witness_test
from assay.reports.witness.json import refutation_json

__all__ = ["refutation_json", "refutation_text", "witness_test"]
