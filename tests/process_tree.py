"""The processes that a process has started, and those that they have started (Linux)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def descendants(parent: int) -> list[int]:
    """The ids of all processes below one, each before its own children. Empty where the system does not tell."""
    found: list[int] = []
    for path in sorted(Path(f"/proc/{parent}/task").glob("*/children")):
        with suppress(OSError):  # the thread has ended
            for number in map(int, path.read_text().split()):
                found += [number, *descendants(number)]
    return found
