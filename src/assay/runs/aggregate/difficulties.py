"""Difficulties as people write them, and the cases of each: ``Easy``, ``easy`` and ``easy `` are one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_ORDER = ("simple", "easy", "moderate", "medium", "challenging", "hard", "extra", "extra hard")
"""Spider's and BIRD's own words, easiest first; other words follow by name."""


def difficulty_key(name: str) -> str:
    """A key that is equal for all spellings of one difficulty."""
    return " ".join(name.split()).casefold()


def spelled_once(names: Iterable[str | None]) -> list[str | None]:
    """The names, each with the spelling of the first name that has the same key."""
    first: dict[str, str] = {}
    return [None if name is None else first.setdefault(difficulty_key(name), name) for name in names]


def difficulty_rank(name: str) -> int:
    """The rank of a difficulty, the easiest first."""
    word = name.strip().lower()
    return _ORDER.index(word) if word in _ORDER else len(_ORDER)


def partition(names: Iterable[Collection[str]], *, easiest_first: bool = False) -> list[tuple[str | None, list[int]]]:
    """Places of the cases by name, the cases without one last; with ``easiest_first`` difficulties in their order."""
    members: dict[str | None, list[int]] = {}
    for place, own in enumerate(names):
        for name in dict.fromkeys(own) if own else (None,):
            members.setdefault(name, []).append(place)

    def order(name: str | None) -> tuple[bool, int, str]:
        return name is None, difficulty_rank(name or "") if easiest_first else 0, name or ""

    return [(name, members[name]) for name in sorted(members, key=order)]


def named(name: str | None) -> tuple[str, ...]:
    """The one name, or none."""
    return () if name is None else (name,)
