"""Cells as whole numbers of 64 bits, so that large results are compared by arrays. Loaded for large results alone."""
