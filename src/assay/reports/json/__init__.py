"""JSON documents for machines."""

from assay.reports.json.run import JsonReporter as JsonReporter
