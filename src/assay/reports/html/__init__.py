"""Self-contained HTML pages."""

from assay.reports.html.run import HtmlReporter as HtmlReporter
