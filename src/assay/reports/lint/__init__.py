"""A lint's findings as a table for the terminal, JSON, SARIF and an HTML page."""

from assay.reports.lint.json import lint_json
from assay.reports.lint.sarif import lint_sarif
from assay.reports.lint.table import lint_html, lint_text

__all__ = ["lint_html", "lint_json", "lint_sarif", "lint_text"]
