"""Bring queries to a normal form in which equivalent queries are equal.

It consists of an algebra for the meaning of a query, a reader into it, and rewrite rules with their side conditions.
"""
