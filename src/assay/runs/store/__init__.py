"""A run on disk: its folder, its journal, and each case as one line."""
