"""Probes: queries that show what another query leaves to the engine.

Each is a copy of the other query's tree with a few nodes changed, written as text. Probes are not trusted: the caller
compares a probe's rows with the result of the query itself.
"""
