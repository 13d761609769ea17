"""Runs beside one another: two compared, several ranked."""
