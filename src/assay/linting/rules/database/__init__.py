"""Rules that execute the query, or look at what its tables hold."""
