"""DuckDB, without access to files, network and settings."""

from assay.engines.duckdb.engine import DuckdbEngine as DuckdbEngine
