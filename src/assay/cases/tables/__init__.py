"""Question sets and predictions in files that hold tables."""
