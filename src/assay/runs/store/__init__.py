"""A run on disk: lock, journal, run.json, results.parquet, SQL over them, and the history of a folder."""
