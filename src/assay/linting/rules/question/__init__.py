"""Rules that compare the query with its question and evidence."""
