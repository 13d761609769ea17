"""Compare names as texts."""

from __future__ import annotations

from unicodedata import normalize


class ListedName(str):
    """A name that a code list gives to a code, where whoever selected the code says none. Stays in this folder."""

    __slots__ = ()


def plain_text(name: str | None) -> str | None:
    """A name as reports and files take it, wherever it is from."""
    return None if name is None else str(name)


def same_name(one: str | None, other: str | None) -> bool:
    """Whether two names are the same text; how often and with what they are spaced does not matter."""
    if one is None or other is None:
        return one is other
    return one == other or plain_name(one) == plain_name(other)


def plain_name(name: str) -> str:
    """A name with its letters composed, and single blanks between its words."""
    return " ".join(normalize("NFC", name).split())
