"""Pages that need nothing else."""

from assay.reports.html.run import HtmlReporter as HtmlReporter
