"""What stops a proof."""

from __future__ import annotations


class UnsupportedSQL(Exception):
    """A construct that no rule covers; its text names it for the reader. Never leaves the proof."""
