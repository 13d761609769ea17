"""SQLite, through Python's own sqlite3."""

from assay.engines.sqlite.engine import SqliteEngine as SqliteEngine
