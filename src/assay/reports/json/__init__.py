"""Reports as JSON documents, for programs."""

from assay.reports.json.run import JsonReporter as JsonReporter
