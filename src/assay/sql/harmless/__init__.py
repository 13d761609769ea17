"""Which queries are known to do no harm, and the functions that each warehouse documents as harmless."""
