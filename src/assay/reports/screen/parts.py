"""A summary as parts that share the lines of one screen."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.reports.screen.lines import Line, Span, cut, cut_line, line, wrapped
from assay.reports.text.plain import columns_of

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
    fuller: tuple[tuple[Line, ...], ...] = ()
    """The same items uncut: they show if there are lines for them when every part has its least number of items."""
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

    def uncut(self, shown: int, free: int) -> Part:
        """The part with as many of its shown items uncut as the free lines hold."""
        items = list(self.items)
        for place, (item, whole) in enumerate(zip(self.items[:shown], self.fuller, strict=False)):
            if len(whole) - len(item) <= free:
                items[place], free = whole, free - len(whole) + len(item)
        return replace(self, items=tuple(items))

    def lines(self, shown: int, width: int) -> list[Line]:
        """The title, that many items, and how many are left out."""
        left_out = self.count - (sum(self.sizes[:shown]) if self.sizes else shown)
        made = [line(Span(cut(self.title, width), "bold"))]
        made += [cut_line(one, width) for item in (self.head, *self.items[:shown]) for one in item]
        if left_out and self.items:
            made.append(line(Span(cut(f"  and {left_out:,} {self.more}", width), "dim")))
        return made


def notes_part(notes: Sequence[str], width: int, *, lines: int, least: int, most: int, rank: int) -> Part:
    """What to know before trusting the numbers, each over at most that many lines while lines are few."""
    columns = (width - 4) * lines - 10 * (lines - 1)  # a line ends before a word that does not fit
    short, whole = (
        tuple(wrapped(one, width, first="  ! ", rest="    ", most=end) for one in texts)
        for texts, end in (([_with_number(one, columns) for one in notes], lines), (notes, None))
    )
    return Part(title="Before you trust it", items=short, fuller=whole, least=least, most=most, rank=rank)


_NUMBER = re.compile(r"accuracy is \d[^()]*?%")


def _with_number(note: str, columns: int) -> str:
    """The note, or its first words and the accuracy that it ends with: what is cut off must not be the number."""
    found = _NUMBER.search(note)
    if found is None or columns_of(note) <= columns:
        return note
    words = note[: found.start()].split()
    while words and columns_of(f"{' '.join(words)} … {found[0]}.") > columns:
        words.pop()
    return f"{' '.join(words)} … {found[0]}."


def fits(head: Sequence[Line], parts: Sequence[Part], last: Sequence[Line], *, width: int, lines: int = LINES) -> bool:
    """Whether every part can show its least number of items."""
    bodies = sum(len(part.lines(min(part.least, part.largest), width)) + 1 for part in parts)
    return len(head) + bodies + 1 + len(last) <= lines


def screen(
    head: Sequence[Line], parts: Sequence[Part], last: Sequence[Line], *, width: int, lines: int = LINES
) -> list[Line]:
    """The lines of a summary: its head, its parts, and its last lines, each apart by a blank line.

    Every part begins with its least number of items. If that is too much, the parts of the highest rank shrink, then
    the blank lines go, then whole parts. Lines that are still free are given to items that were cut, and then to the
    parts in turn, by rank.
    """
    parts = [part for part in parts if part.items or part.count == 0]
    by_rank = sorted(range(len(parts)), key=lambda at: parts[at].rank)
    shown = {at: min(part.least, part.largest) for at, part in enumerate(parts)}
    room = lines - len(head) - len(last)
    blank = 1

    def free() -> int:
        return room - blank - sum(len(parts[at].lines(count, width)) + blank for at, count in shown.items())

    def uncut() -> None:
        for at in by_rank:
            if at in shown:
                parts[at] = parts[at].uncut(shown[at], free())

    for at in reversed(by_rank):
        while free() < 0 and shown[at] > parts[at].floor:
            shown[at] -= 1
    if free() < 0:
        blank = 0
    for at in reversed(by_rank):
        while free() < 0 and shown[at] > 1:
            shown[at] -= 1
    for at in reversed(by_rank):
        if free() < 0:
            del shown[at]
    uncut()
    has_grown = True
    while has_grown:
        has_grown = False
        for at in by_rank:
            if at in shown and shown[at] < parts[at].largest:
                shown[at] += 1
                if free() < 0:
                    shown[at] -= 1
                else:
                    has_grown = True
    uncut()
    gap: list[Line] = [()] * blank
    made = [*head]
    for at, part in enumerate(parts):
        if at in shown:
            made += [*gap, *part.lines(shown[at], width)]
    return [cut_line(one, width) for one in (*made, *gap, *last)]
