"""What stands at the end of a verb's help: its exit statuses, and the page that says all of it."""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field

_ALWAYS: Final = {0: "done", 2: "unusable input or command line"}
GATES: Final = {0: "done, whatever the accuracy", 1: "a gate is missed"}
UNFINISHED: Final = {3: "unfinished: the same command goes on"}


class Ending(Struct, frozen=True, kw_only=True):
    """Of one verb."""

    page: str
    statuses: dict[int, str] = field(default_factory=dict)
    """What they mean here, where that is more than done, or unusable input."""

    @property
    def text(self) -> str:
        """Two paragraphs: the statuses in a row, the page."""
        known = {**_ALWAYS, **self.statuses}
        meanings = "; ".join(f"{status} {meaning}" for status, meaning in sorted(known.items()))
        return f"Exit status: {meanings}.\n\nRead more: {self.page}"
