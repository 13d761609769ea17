"""Compare two runs, or rank several."""
