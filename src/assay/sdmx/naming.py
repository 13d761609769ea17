"""Compare names as texts."""

from __future__ import annotations

from unicodedata import normalize


class ListedName(str):
    """A code list's name for a code that was selected without one. Not used outside this package."""

    __slots__ = ()


def plain_text(name: str | None) -> str | None:
    """A name in a form that reports and files can store."""
    return None if name is None else str(name)


def same_name(one: str | None, other: str | None) -> bool:
    """Whether two names are the same text, apart from the number and kind of blanks."""
    if one is None or other is None:
        return one is other
    return one == other or plain_name(one) == plain_name(other)


def plain_name(name: str) -> str:
    """A name with its letters composed, and single blanks between its words."""
    return " ".join(normalize("NFC", name).split())
