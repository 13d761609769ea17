"""Which queries are known to be harmless, and the functions that each warehouse documents as harmless."""
