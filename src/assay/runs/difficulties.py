"""Difficulties as people write them: ``Easy``, ``easy`` and ``easy `` are one."""

from __future__ import annotations

from collections.abc import Iterable


def difficulty_key(name: str) -> str:
    """A key that is equal for all spellings of one difficulty."""
    return " ".join(name.split()).casefold()


def spelled_once(names: Iterable[str | None]) -> list[str | None]:
    """The names, each with the spelling of the first name that has the same key."""
    first: dict[str, str] = {}
    return [None if name is None else first.setdefault(difficulty_key(name), name) for name in names]
