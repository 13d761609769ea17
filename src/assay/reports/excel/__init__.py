"""Excel workbooks."""

from assay.reports.excel.run import XlsxReporter as XlsxReporter
