"""One view of a run's numbers, drawn in several formats."""
