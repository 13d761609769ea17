"""Bring queries to a normal form in which equal ones are equal.

An algebra that says what a query means, a reader into it, and rules with their side conditions.
"""
