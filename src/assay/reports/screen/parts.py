"""A summary as parts that share the lines of one screen."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.reports.screen.lines import Line, Span, cut, cut_line, line

LINES = 40
"""The most lines of a summary."""
WIDTH = 80
"""The width of a summary that does not go to a terminal."""
WIDEST = 120


class Part(Struct, frozen=True, kw_only=True):
    """A titled list in a summary. It shows as many of its items as there is room for, and counts the others."""

    title: str
    items: tuple[tuple[Line, ...], ...]
    """Each with its lines."""
    head: tuple[Line, ...] = ()
    """Lines above the items, for example the titles of columns."""
    least: int = 1
    """How many items it shows before another part shows more than its own least number."""
    floor: int = 1
    """How many items it keeps if there is little room: the blank lines go first."""
    most: int = 10
    rank: int = 0
    """Parts of a low rank get more lines first, and lose them last."""
    total: int | None = None
    """How many items there are, if ``items`` are not all of them."""
    more: str = "more: --full"
    """The words after ``and 7`` if items are left out."""

    sizes: tuple[int, ...] = ()
    """How many things each item shows; without it one."""

    @property
    def count(self) -> int:
        """How many items there are."""
        return len(self.items) if self.total is None else self.total

    @property
    def largest(self) -> int:
        """The most items that it can show."""
        return min(self.most, len(self.items))

    def lines(self, shown: int, width: int) -> list[Line]:
        """The title, that many items, and how many are left out."""
        left_out = self.count - (sum(self.sizes[:shown]) if self.sizes else shown)
        made = [line(Span(cut(self.title, width), "bold"))]
        made += [cut_line(one, width) for item in (self.head, *self.items[:shown]) for one in item]
        if left_out and self.items:
            made.append(line(Span(cut(f"  and {left_out:,} {self.more}", width), "dim")))
        return made


def fits(head: Sequence[Line], parts: Sequence[Part], last: Sequence[Line], *, width: int, lines: int = LINES) -> bool:
    """Whether every part can show its least number of items."""
    bodies = sum(len(part.lines(min(part.least, part.largest), width)) + 1 for part in parts)
    return len(head) + bodies + 1 + len(last) <= lines


def screen(
    head: Sequence[Line], parts: Sequence[Part], last: Sequence[Line], *, width: int, lines: int = LINES
) -> list[Line]:
    """The lines of a summary: its head, its parts, and its last lines, each apart by a blank line.

    Every part begins with its least number of items. If that is too much, the parts of the highest rank shrink, then
    the blank lines go, then whole parts. Lines that are still free are given to the parts in turn, by rank.
    """
    parts = [part for part in parts if part.items or part.count == 0]
    by_rank = sorted(parts, key=lambda part: part.rank)
    shown = {id(part): min(part.least, part.largest) for part in parts}
    room = lines - len(head) - len(last)
    blank = 1

    def used() -> int:
        bodies = [len(part.lines(shown[id(part)], width)) + blank for part in parts if id(part) in shown]
        return sum(bodies) + blank

    for part in reversed(by_rank):
        while used() > room and shown[id(part)] > part.floor:
            shown[id(part)] -= 1
    if used() > room:
        blank = 0
    for part in reversed(by_rank):
        while used() > room and shown[id(part)] > 1:
            shown[id(part)] -= 1
    for part in reversed(by_rank):
        if used() > room:
            del shown[id(part)]
    has_grown = True
    while has_grown:
        has_grown = False
        for part in by_rank:
            if id(part) in shown and shown[id(part)] < part.largest:
                shown[id(part)] += 1
                if used() > room:
                    shown[id(part)] -= 1
                else:
                    has_grown = True
    gap: list[Line] = [()] * blank
    made = [*head]
    for part in parts:
        if id(part) in shown:
            made += [*gap, *part.lines(shown[id(part)], width)]
    return [cut_line(one, width) for one in (*made, *gap, *last)]
