"""The public Python API. Each name loads at its first use, so that a run does not load the comparison of runs."""
