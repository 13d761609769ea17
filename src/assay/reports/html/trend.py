"""The headlines of runs over time: where the points of the chart lie, which ``trend.html`` draws as inline SVG.

A line joins only runs over the same cases by the same metric. Nothing depends on colour alone: the first series
is solid with round points, the others are dashed, each with a shape of its own. The distance between runs follows
the time between them, with a minimum, so that runs of the same minute can be told apart. The last point of each line
has its value beside it; every point says what it is in a tooltip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from assay.reports.blocks.history import TrendPoint, TrendSeries
from assay.reports.html.page import template
from assay.reports.text.plain import plural

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 18.0, 24.0, 34.0
_LINE = 16.0
"""The height of a line of text."""
_CHARACTER = 7.4
"""The width of a character, on the wide side, so that what is computed to fit does fit."""
_BESIDE = 13.0
"""From a point to its value, past the ring around the report's own run."""
_LAST_LABEL = 56.0
"""Room for a value to the right of the last point."""
_LEAST_SPAN = 0.05
_TICKS = 5
_LEAST_GAP = 52.0
"""The least distance between two runs, as far as there is room."""
_DENSE = 6.0
"""Below this distance between two runs, a band replaces the whiskers."""


class TrendSize(Struct, frozen=True, kw_only=True):
    """How large to draw, in units of about a pixel."""

    name: str
    width: float
    height: float


WIDE = TrendSize(name="wide", width=1000, height=320)
NARROW = TrendSize(name="narrow", width=380, height=280)


class PlacedPoint(Struct, frozen=True, kw_only=True):
    """A point where it lies, between the ends of its interval."""

    point: TrendPoint
    x: float
    y: float
    top: float
    bottom: float


class Label(Struct, frozen=True, kw_only=True):
    """The value of a point, to the right of it or to the left."""

    text: str
    x: float
    y: float
    anchor: str
    main: bool


def trend_svg(series: Sequence[TrendSeries], size: TrendSize, *, title: str) -> str:
    """The chart as SVG, styled by ``trend.css``; empty without a point. The first series is drawn strongly."""
    series = [one for one in series if one.points]
    if not series:
        return ""
    points = [point for one in series for point in one.points]
    step, low, high = value_axis(
        min(min(point.low, point.value) for point in points), max(max(point.high, point.value) for point in points)
    )

    def y(value: float) -> float:
        return size.height - _BOTTOM - (value - low) / (high - low) * (size.height - _TOP - _BOTTOM)

    gap, xs = _places(series, size)
    lines = [
        [
            PlacedPoint(
                point=point,
                x=x,
                y=y(point.value),
                top=y(max(point.high, point.value)),
                bottom=y(min(point.low, point.value)),
            )
            for point, x in zip(one.points, places, strict=True)
        ]
        for one, places in zip(series, xs, strict=True)
    ]
    values = [low + place * step for place in range(round((high - low) / step) + 1)]
    decimals = 0 if step * 100 >= 0.999 else 1
    svg: str = template("trend.html").module.chart(  # type: ignore[attr-defined]
        title=title,
        words=describe(series),
        size=size,
        left=_LEFT,
        end=size.width - _RIGHT,
        base=size.height - _BOTTOM,
        rules=[(y(value), f"{value * 100:.{decimals}f} %") for value in values],
        dates=_dates(lines, size),
        lines=lines,
        labels=_labels(lines, size),
        radius=min(5.0, max(1.5, gap / 3)),
        cap=min(4.0, max(1.0, gap / 3)),
        dense=gap < _DENSE,
    )
    return svg


def describe(series: Sequence[TrendSeries]) -> str:
    """The chart in words, for readers who cannot see it."""
    said = []
    for one in series:
        first, last = one.points[0], one.points[-1]
        if len(one.points) == 1:
            said.append(f"{one.label}: one run, {first.text} on {_day(first.at)}.")
            continue
        best = max(one.points, key=lambda point: point.value)
        worst = min(one.points, key=lambda point: point.value)
        said.append(
            f"{one.label}: {plural(len(one.points), 'run')}, from {first.text} on {_day(first.at)} to {last.text} on "
            f"{_day(last.at)}; highest {best.text} ({best.name}), lowest {worst.text} ({worst.name})."
        )
    return " ".join(said)


def value_axis(low: float, high: float) -> tuple[float, float, float]:
    """The step between the lines, the lowest and the highest line around values from ``low`` to ``high``.

    Lines lie at 1, 2 or 5 times a power of ten; within 0 and 1 if the values do.
    """
    if high - low < _LEAST_SPAN:
        middle = (low + high) / 2
        lowest, highest = middle - _LEAST_SPAN / 2, middle + _LEAST_SPAN / 2
        if low >= 0 and high <= 1:
            moved = max(0.0, -lowest) - max(0.0, highest - 1)
            lowest, highest = lowest + moved, highest + moved
        low, high = lowest, highest
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return step, math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def _places(series: Sequence[TrendSeries], size: TrendSize) -> tuple[float, list[list[float]]]:
    """The least distance between two runs, and how far to the right each point of each series is.

    Half of the width goes by time, half is the same for all; no two points share a place.
    """
    order = sorted(
        (point.at, number, place) for number, one in enumerate(series) for place, point in enumerate(one.points)
    )
    room = size.width - _LEFT - _RIGHT
    inset = min(30.0, room / 8)
    room -= inset + _LAST_LABEL
    found = [[_LEFT + inset + room / 2] * len(one.points) for one in series]
    if len(order) == 1:
        return room, found
    first = order[0][0]
    whole = (order[-1][0] - first) / timedelta(seconds=1)
    steps = len(order) - 1
    even = min(_LEAST_GAP, room / 2 / steps) if whole else room / steps
    rate = (room - even * steps) / (whole or 1.0)
    xs = [
        _LEFT + inset + even * place + rate * ((at - first) / timedelta(seconds=1))
        for place, (at, *_) in enumerate(order)
    ]
    for x, (_, number, place) in zip(xs, order, strict=True):
        found[number][place] = x
    return min(after - before for before, after in pairwise(xs)), found


def _dates(lines: Sequence[Sequence[PlacedPoint]], size: TrendSize) -> list[tuple[float, float, str]]:
    """The first run of each day, or of each minute if all runs are of one day; as many as fit.

    Each with the place of its tick, the middle of its text and the text.
    """
    marks = sorted((mark for line in lines for mark in line), key=lambda mark: mark.x)
    in_one_day = marks[-1].point.at - marks[0].point.at < timedelta(hours=36)
    firsts: dict[str, float] = {}
    for mark in marks:
        at = mark.point.at
        firsts.setdefault(f"{_month(at)} {at:%H:%M}" if in_one_day else _day(at), mark.x)
    ticks = list(firsts.items())
    kept: list[tuple[float, float, str]] = []
    for text, x in (ticks[0], ticks[-1], *ticks[1:-1]):
        half = _width(text) / 2
        middle = min(max(x, half), size.width - half)
        if all(abs(middle - other) > half + _width(said) / 2 + 10 for _, other, said in kept):
            kept.append((x, middle, text))
    return sorted(kept)


def _labels(lines: Sequence[Sequence[PlacedPoint]], size: TrendSize) -> list[Label]:
    """The values of the report's own run and of the last point of each line, moved up or down past one another."""
    marks = [
        (mark, number == 0)
        for number, line in enumerate(lines)
        for place, mark in enumerate(line)
        if mark.point.current or place == len(line) - 1
    ]
    made: list[Label] = []
    taken: list[tuple[float, float, float]] = []
    for mark, main in marks:
        width = _width(mark.point.text)
        at_right = mark.x + _BESIDE + width <= size.width
        left = mark.x + _BESIDE if at_right else mark.x - _BESIDE - width
        shifts = sorted((_LINE * step for step in range(-20, 21)), key=abs)
        for y in (mark.y + 4 + shift for shift in shifts):
            free = all(
                abs(y - other) >= _LINE or left >= ends or left + width <= begins for begins, ends, other in taken
            )
            if free and _LINE <= y <= size.height - _BOTTOM:
                taken.append((left, left + width, y))
                anchor, x = ("start", left) if at_right else ("end", left + width)
                made.append(Label(text=mark.point.text, x=x, y=y, anchor=anchor, main=main))
                break
    return made


def _width(text: str) -> float:
    return len(text) * _CHARACTER


def _month(at: datetime) -> str:
    return f"{at.day} {_MONTHS[at.month - 1]}"  # in English, whatever the locale


def _day(at: datetime) -> str:
    return f"{_month(at)} {at.year}"
