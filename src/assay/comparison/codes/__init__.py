"""Cells as 64-bit integers, so that large results are compared by arrays. Loaded only for large results."""
