"""Summaries for the person who gave the command: drawn with rich on a terminal, plain lines anywhere else."""
