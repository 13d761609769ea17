"""Assay judges systems that turn questions into data queries."""

__version__ = "0.1.0"
