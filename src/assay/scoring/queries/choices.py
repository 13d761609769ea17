"""The choices among rows that tie: all of them if they are few, else some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from math import comb, prod

from msgspec.structs import replace

from assay.comparison import Answer
from assay.comparison.answer import Segment
from assay.model import Result, Row

_MOST_COMPARED = 64
"""Up to this many choices are compared with gold."""


def choices_of(answer: Answer) -> Iterator[Result]:
    """The results of other choices among rows that tie: all if they are few, else some. Of each, rows that tie come in
    two orders, in which any two of them change places.
    """
    for choice in (
        choices(answer.segments) if answer.ambiguous else [[part.rows[: part.take] for part in answer.segments]]
    ):
        for step in (1, -1) if answer.ordered else (1,):
            yield replace(answer.result, rows=tuple([row for part in choice for row in part[::step]]))


def with_rows(segments: Sequence[Segment], number: int, rows: Sequence[Row]) -> list[Sequence[Row]]:
    """The first choice, but for some rows of one segment."""
    return [
        segment.rows[: segment.take] if place != number else [*segment.rows[: segment.take - len(rows)], *rows]
        for place, segment in enumerate(segments)
    ]


def choices(segments: Sequence[Segment]) -> Iterator[Sequence[Sequence[Row]]]:
    """All choices, if they are few; else the first, and what comes of other rows in one segment at a time."""
    if prod(comb(len(segment.rows), segment.take) for segment in segments) <= _MOST_COMPARED:
        yield from product(*(combinations(segment.rows, segment.take) for segment in segments))
        return
    left = _MOST_COMPARED
    for number, segment in enumerate(segments):
        if segment.take == len(segment.rows):
            continue
        copies: dict[str, list[Row]] = {}
        for row in segment.rows:
            copies.setdefault(repr(row), []).append(row)
        # As many copies of a row as there may be, and a single one.
        for rows in _most_first(copies.values()):
            for count in {1, min(len(rows), segment.take)}:
                if left == 0:
                    return
                left -= 1
                yield with_rows(segments, number, rows[:count])


def _most_first(rows: Iterable[list[Row]]) -> list[list[Row]]:
    return sorted(rows, key=len, reverse=True)
