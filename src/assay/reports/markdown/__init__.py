"""Markdown for pull requests and job summaries."""

from assay.reports.markdown.run import MarkdownReporter as MarkdownReporter
