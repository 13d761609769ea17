"""Question sets and predictions in files that contain tables."""
