"""Secrets that are masked wherever they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

MASK = "***"
_SHORT = 3
"""Up to this many characters a secret may be any word of a message: it is masked only where credentials appear."""
_LONG = 8
"""From this many characters on a secret is masked everywhere; below, only as a word of its own."""
_BEFORE = r"(?i:(?:password|passwd|pwd|token|secret|key|bearer|basic)\b(?: for user \S+)?[\s:=\"'(]{1,4})"


class Secret:
    """A password or token. ``repr`` and ``str`` mask it; only ``reveal()`` gives it away."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself, for the one call that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(("assay.Secret", self._value))


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text with each of the secrets masked, the longest first.

    A short one is masked only where credentials appear: between ``:`` and ``@`` of a URL, or after a word such as
    ``password``. Masked everywhere, the password ``p`` would turn ``response`` into ``res***onse``, which reveals it.
    """
    for secret in sorted({secret for secret in secrets if secret}, key=len, reverse=True):
        if len(secret) >= _LONG:
            text = text.replace(secret, MASK)
        elif secret in text:
            text = _pattern(secret).sub(lambda found: (found[1] or "") + MASK, text)
    return text


@lru_cache(maxsize=64)
def _pattern(secret: str) -> re.Pattern[str]:
    exact = re.escape(secret)
    if len(secret) > _SHORT:
        return re.compile(rf"()(?<!\w){exact}(?!\w)")
    return re.compile(rf"(:(?={exact}@)|{_BEFORE}){exact}(?!\w)")
