"""Summaries for whoever just ran it: rich on a terminal, plain lines anywhere else."""
