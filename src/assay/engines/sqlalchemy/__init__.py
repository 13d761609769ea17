"""Databases that only SQLAlchemy reaches, and what all engines over SQLAlchemy share."""
