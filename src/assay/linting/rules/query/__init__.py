"""Rules that look at the query alone."""
