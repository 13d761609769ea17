"""Rules that only read the query."""
