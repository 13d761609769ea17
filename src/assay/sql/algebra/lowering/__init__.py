"""Read a bound query into the algebra: selects, sources, terms, windows and limits."""
