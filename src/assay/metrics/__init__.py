"""Metrics: each a pure function from a case's executions to a score, so that rescoring needs no database."""
