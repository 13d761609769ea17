"""Rules that execute the query, or read its tables."""
