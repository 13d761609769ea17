"""DuckDB, with its doors to files, network and settings locked."""

from assay.engines.duckdb.engine import DuckdbEngine as DuckdbEngine
