"""The version, where even the lowest floor may read it."""

__version__ = "0.1.0"
