"""Distil suites: the fewest small databases that distinguish a gold query from the most wrong queries."""
