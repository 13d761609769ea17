"""The public Python API. A name loads with its first use: a run needs nothing of what compares two."""
