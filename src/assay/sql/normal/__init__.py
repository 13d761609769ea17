"""Bring queries to a normal form in which equal ones are equal: an algebra, a reader, and rules with side conditions."""
