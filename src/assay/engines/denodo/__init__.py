"""Denodo: over the Data Catalog's HTTP API, Arrow Flight SQL or the PostgreSQL wire."""
