"""Execute one query under limits: SQLite and DuckDB, the pool of worker processes, and the executor in them."""
