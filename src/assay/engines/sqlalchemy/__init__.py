"""Databases that are only available through SQLAlchemy, and common parts of all engines over SQLAlchemy."""
