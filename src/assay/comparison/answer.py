"""The gold answer: which rows, and how far their order matters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import comb

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import UsageError
from assay.model import Ambiguity, Result, Row


class Segment(Struct, frozen=True, kw_only=True):
    """Consecutive rows of the answer that may come in any order.

    The next ``take`` rows of an answer must be drawn from ``rows``, each at most as often as it occurs there. ``take``
    below ``len(rows)`` means that a LIMIT cuts through tied rows.
    """

    rows: tuple[Row, ...]
    take: int
    start: int = 0
    """The position of its first row among all rows before LIMIT and OFFSET."""

    def __post_init__(self) -> None:
        if not 0 <= self.take <= len(self.rows):
            raise UsageError(f"a segment of {len(self.rows)} rows cannot provide {self.take}")


class Answer(Struct, frozen=True, kw_only=True):
    """All answers that the gold query's text allows, as a sequence of segments."""

    result: Result
    """The result of running the gold query: one of the allowed answers."""
    segments: tuple[Segment, ...]
    ordered: bool
    all_seen: bool = False
    """Whether the segments contain all rows that the gold query's LIMIT chooses from."""

    @classmethod
    def bag(cls, result: Result) -> Answer:
        """An answer whose row order does not matter."""
        return cls(result=result, segments=(Segment(rows=result.rows, take=len(result.rows)),), ordered=False)

    @classmethod
    def strict(cls, result: Result) -> Answer:
        """An answer with every row at its position."""
        return cls(result=result, segments=tuple(Segment(rows=(row,), take=1) for row in result.rows), ordered=True)

    @classmethod
    def ranked(
        cls, result: Result, rows: Sequence[Row], ranks: Sequence[object], *, offset: int, ordered: bool
    ) -> Answer | None:
        """The answer that the gold query's LIMIT and OFFSET cut out of all of its rows.

        ``rows`` are the gold query's rows without its LIMIT, in its order, at least up to the end of the tie at the
        cut; rows with equal consecutive ``ranks`` tie. None if these rows do not allow the gold result: then they
        cannot be trusted.
        """
        rows = tuple(rows)
        end = offset + len(result.rows)
        if len(rows) < end:
            return None
        segments: list[Segment] = []
        start = 0
        while start < end:
            stop = start + 1
            while stop < len(rows) and ranks[stop] == ranks[start]:
                stop += 1
            take = min(stop, end) - max(start, offset)
            if take > 0:
                segments.append(Segment(rows=rows[start:stop], take=take, start=start))
            start = stop
        return cls(result=result, segments=tuple(segments), ordered=ordered, all_seen=start == len(rows))

    def with_rows(self, change: Callable[[tuple[Row, ...]], tuple[Row, ...]]) -> Answer:
        """The same answer with this change to its rows, one by one and in order."""
        if self.segments and self.segments[0].rows is self.result.rows:
            changed = replace(self.result, rows=change(self.result.rows))
            return replace(self, result=changed, segments=(replace(self.segments[0], rows=changed.rows),))
        return replace(
            self,
            result=replace(self.result, rows=change(self.result.rows)),
            segments=tuple(replace(segment, rows=change(segment.rows)) for segment in self.segments),
        )

    @property
    def ambiguous(self) -> bool:
        """Whether the gold query does not determine its rows: some segment offers different rows than it takes.

        A tie among equal rows is not an ambiguity: the answer is the same with any of these rows.
        """
        return any(map(_open, self.segments))

    @property
    def ambiguity(self) -> Ambiguity | None:
        """How many choices the gold query allows; None if it is not ambiguous."""
        cut = [segment for segment in self.segments if _open(segment)]
        if not cut:
            return None
        choices: int | None = 1
        for segment in cut:
            more = _choices(segment)
            choices = None if choices is None or more is None or choices * more > _MOST_CHOICES else choices * more
        return Ambiguity(
            taken_rows=sum(segment.take for segment in cut),
            tied_rows=sum(len(segment.rows) for segment in cut),
            choices=choices,
            all_tie=self.all_seen and len(self.segments) == 1 and self.segments[0].start == 0,
        )


_MOST_CHOICES = 1_000_000_000


def _open(segment: Segment) -> bool:
    return segment.take < len(segment.rows) and len(set(map(repr, segment.rows))) > 1


def _choices(segment: Segment) -> int | None:
    """How many different bags of ``take`` rows the segment offers; None if more than a billion."""
    copies = Counter(map(repr, segment.rows)).values()
    take = segment.take
    if max(copies) == 1:
        take = min(take, len(segment.rows) - take)
        if take > _SURELY_MANY and len(segment.rows) - take > _SURELY_MANY:
            return None
        found = comb(len(segment.rows), take)
        return found if found <= _MOST_CHOICES else None
    if len(segment.rows) * take > _MOST_COUNTED:
        return None
    ways = [1] + [0] * take
    for count in copies:
        # Take up to ``count`` copies of each distinct row: the counts are sums over a sliding window.
        ways = [sum(ways[max(0, size - count) : size + 1]) for size in range(take + 1)]
    return ways[take] if ways[take] <= _MOST_CHOICES else None


_SURELY_MANY = 100
_MOST_COUNTED = 1_000_000
