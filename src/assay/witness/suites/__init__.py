"""Distil suites: the fewest small databases that tell a gold query from the most queries that are not it."""
