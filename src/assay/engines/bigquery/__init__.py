"""BigQuery, over Google's own client."""

from assay.engines.bigquery.engine import BigqueryEngine

__all__ = ["BigqueryEngine"]
