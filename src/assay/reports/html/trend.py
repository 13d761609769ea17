"""The headlines of runs over time, as inline SVG: points with their intervals as whiskers.

A line joins only runs over the same cases by the same metric. Nothing depends on colour alone: the first series
is solid with round points, the others are dashed, each with a shape of its own. The distance between runs follows
the time between them, with a minimum, so that runs of the same minute can be told apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from html import escape
from itertools import pairwise

from msgspec import Struct

from assay.reports.text.plain import plural
from assay.reports.views.history import TrendPoint, TrendSeries

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 18.0, 44.0, 34.0
_FONT, _LINE = 12.0, 16.0
_CHARACTER = 0.6
"""The width of a character in font sizes, on the wide side, so that what is computed to fit does fit."""
_LEAST_SPAN = 0.05
_TICKS = 5
_FEW = 26.0
"""From this many units between two runs on, every point may have its label."""
_DENSE = 6.0
"""Below this many units between two runs, a band replaces the whiskers."""
_LAST_LABEL = 46.0
"""Room for a value to the right of the last point."""
SHAPES = ("circle", "square", "diamond", "triangle")


class TrendSize(Struct, frozen=True, kw_only=True):
    """How large to draw, in units of about a pixel."""

    name: str
    width: float
    height: float
    name_length: int


WIDE = TrendSize(name="wide", width=1000, height=340, name_length=24)
NARROW = TrendSize(name="narrow", width=380, height=300, name_length=16)


class _Box(Struct, frozen=True, kw_only=True):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom


class _Mark(Struct, frozen=True, kw_only=True):
    """A point at its place."""

    point: TrendPoint
    x: float
    y: float
    top: float
    bottom: float


class _Label(Struct, frozen=True, kw_only=True):
    lines: tuple[str, ...]
    x: float
    top: float
    anchor: str
    box: _Box


def trend_svg(series: Sequence[TrendSeries], size: TrendSize, *, title: str) -> str:
    """The chart as SVG, styled by ``trend.css``; empty where there is no point.

    The first series is drawn strongly, the others faintly; more than four share shapes.
    """
    series = [one for one in series if one.points]
    if not series:
        return ""
    scale = _Scale(series, size)
    marks = [
        [scale.mark(point, x) for point, x in zip(one.points, places, strict=True)]
        for one, places in zip(series, scale.places, strict=True)
    ]
    name = f"trend-{size.name}"
    labelled = f'role="img" aria-labelledby="{name}-title {name}-desc"'
    parts = [
        f'<svg class="trend {size.name}" viewBox="0 0 {size.width:g} {size.height:g}" {labelled}>',
        f'<title id="{name}-title">{escape(title)}</title>',
        f'<desc id="{name}-desc">{escape(describe(series))}</desc>',
        *scale.axes(),
    ]
    for place in range(len(series) - 1, -1, -1):
        parts += _drawn(marks[place], place, scale)
    parts += [_text(label, strong=not place) for place, label in _labels(marks, scale)]
    parts.append("</svg>")
    return "".join(parts)


def describe(series: Sequence[TrendSeries]) -> str:
    """The chart in words, for readers who cannot see it."""
    said = []
    for one in series:
        first, last = one.points[0], one.points[-1]
        if len(one.points) == 1:
            said.append(f"{one.label}: one run, {first.text} on {_day(first.at)}.")
            continue
        highest, lowest = max(point.value for point in one.points), min(point.value for point in one.points)
        best = next(point for point in one.points if point.value == highest)
        worst = next(point for point in one.points if point.value == lowest)
        said.append(
            f"{one.label}: {plural(len(one.points), 'run')}, from {first.text} on {_day(first.at)} to {last.text} on "
            f"{_day(last.at)}; highest {best.text} ({best.name}), lowest {worst.text} ({worst.name})."
        )
    return " ".join(said)


def marker(place: int, x: float, y: float, radius: float) -> str:
    """The shape of a series' points."""
    shape = SHAPES[place % len(SHAPES)]
    if shape == "circle":
        return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
    r = radius * (1.3 if shape == "diamond" else 1.15 if shape == "triangle" else 0.95)
    corners = {
        "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
        "diamond": ((0, -r), (r, 0), (0, r), (-r, 0)),
        "triangle": ((0, -r), (r, r * 0.8), (-r, r * 0.8)),
    }[shape]
    path = "L".join(f"{x + dx:.1f} {y + dy:.1f}" for dx, dy in corners)
    return f'<path class="dot" d="M{path}Z"/>'


class _Scale:
    """Where times and values lie on the drawing."""

    def __init__(self, series: Sequence[TrendSeries], size: TrendSize) -> None:
        self.size = size
        points = [point for one in series for point in one.points]
        order = sorted(
            (point.at, number, place) for number, one in enumerate(series) for place, point in enumerate(one.points)
        )
        self.times = [at for at, _, _ in order]
        lows = [min(point.low, point.value) for point in points]
        highs = [max(point.high, point.value) for point in points]
        self.step, self.low, self.high = value_axis(min(lows), max(highs))
        width = size.width - _LEFT - _RIGHT
        inset = min(30.0, width / 8)
        self.gap, spread = _spread(self.times, width - inset - _LAST_LABEL)
        self.dense = self.gap < _DENSE
        self._xs = [_LEFT + inset + x for x in spread]
        self.places = [[0.0] * len(one.points) for one in series]
        """The horizontal place of each point of each series: no two points share one."""
        for (_, number, place), x in zip(order, self._xs, strict=True):
            self.places[number][place] = x

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.size.height - _BOTTOM - share * (self.size.height - _TOP - _BOTTOM)

    def mark(self, point: TrendPoint, x: float) -> _Mark:
        return _Mark(
            point=point,
            x=x,
            y=self.y(point.value),
            top=self.y(max(point.high, point.value)),
            bottom=self.y(min(point.low, point.value)),
        )

    def axes(self) -> Iterator[str]:
        """Lines across at round values, and dates below."""
        end, base = self.size.width - _RIGHT, self.size.height - _BOTTOM
        for place in range(round((self.high - self.low) / self.step) + 1):
            value = self.low + place * self.step
            y = self.y(value)
            shown = f"{value * 100:.{0 if self.step * 100 >= 0.999 else 1}f} %"
            yield f'<path class="rule" d="M{_LEFT:g} {y:.1f}H{end:g}"/>'
            yield f'<text class="tick" x="{_LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>'
        for x, text in self.dates():
            yield f'<path class="axis" d="M{x:.1f} {base:g}v5"/>'
            half = _width(text) / 2
            middle = min(max(x, half), self.size.width - half)
            yield f'<text class="tick" x="{middle:.1f}" y="{base + 20:g}" text-anchor="middle">{text}</text>'

    def dates(self) -> list[tuple[float, str]]:
        """The first run of each day, or of each minute where all runs are of one day; as many as fit."""
        in_one_day = self.times[-1] - self.times[0] < timedelta(hours=36)
        firsts: dict[str, tuple[datetime, float]] = {}
        for at, x in zip(self.times, self._xs, strict=True):
            firsts.setdefault(f"{at:%Y-%m-%d %H:%M}" if in_one_day else f"{at:%Y-%m-%d}", (at, x))
        ticks = []
        before: datetime | None = None
        for at, x in firsts.values():
            if in_one_day:
                new = before is None or before.date() != at.date()
                text = f"{at.day} {_MONTHS[at.month - 1]} {at:%H:%M}" if new else f"{at:%H:%M}"
            else:
                text = _day(at) if before is None or before.year != at.year else f"{at.day} {_MONTHS[at.month - 1]}"
            ticks.append((x, text))
            before = at
        kept: list[tuple[float, str]] = []
        for x, text in [ticks[0], ticks[-1], *ticks[1:-1]]:
            if all(abs(x - other) > (_width(text) + _width(said)) / 2 + 10 for other, said in kept):
                kept.append((x, text))
        return sorted(kept)


def value_axis(low: float, high: float) -> tuple[float, float, float]:
    """The step between the lines, the lowest and the highest line around values from ``low`` to ``high``.

    Lines lie at 1, 2 or 5 times a power of ten; within 0 and 1 where the values do.
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


def _spread(times: Sequence[datetime], width: float) -> tuple[float, list[float]]:
    """The least distance between two runs, and the runs' places: half of the width by time, half evenly."""
    if len(times) == 1:
        return width, [width / 2]
    whole = (times[-1] - times[0]) / timedelta(seconds=1)
    steps = len(times) - 1
    even = min(2 * _FEW, width / 2 / steps) if whole else width / steps
    rest = (width - even * steps) / (whole or 1.0)
    places = [even * place + rest * ((at - times[0]) / timedelta(seconds=1)) for place, at in enumerate(times)]
    return min(after - before for before, after in pairwise(places)), places


def _drawn(marks: Sequence[_Mark], place: int, scale: _Scale) -> Iterator[str]:
    """A series: its whiskers, its line, its points."""
    radius = min(5.0, max(1.5, scale.gap / 3)) if len(marks) > 1 else 5.0
    cap = min(4.0, max(1.0, scale.gap / 3))
    yield f'<g class="series {"main" if not place else "other"}{" dense" if scale.dense else ""}">'
    if scale.dense and len(marks) > 1:
        around = [*((mark.x, mark.top) for mark in marks), *((mark.x, mark.bottom) for mark in reversed(marks))]
        yield f'<path class="band" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in around)}Z"/>'
    if len(marks) > 1:
        path = "L".join(f"{mark.x:.1f} {mark.y:.1f}" for mark in marks)
        yield f'<path class="line" d="M{path}"/>'
    for mark in marks:
        yield f"<g><title>{escape(mark.point.said)}</title>"
        if mark.bottom - mark.top > 1 and not (scale.dense and len(marks) > 1):
            left, right = mark.x - cap, mark.x + cap
            yield (
                f'<path class="whisker" d="M{mark.x:.1f} {mark.top:.1f}V{mark.bottom:.1f}'
                f'M{left:.1f} {mark.top:.1f}H{right:.1f}M{left:.1f} {mark.bottom:.1f}H{right:.1f}"/>'
            )
        if mark.point.current:
            yield f'<circle class="ring" cx="{mark.x:.1f}" cy="{mark.y:.1f}" r="{radius + 4:.1f}"/>'
        yield marker(place, mark.x, mark.y, radius)
        yield "</g>"
    yield "</g>"


def _labels(every: Sequence[Sequence[_Mark]], scale: _Scale) -> list[tuple[int, _Label]]:
    """The labels of points that fit, the most important first, each with the place of its series."""
    taken = [
        _Box(left=mark.x - 6, top=min(mark.top, mark.y - 8), right=mark.x + 6, bottom=max(mark.bottom, mark.y + 8))
        for marks in every
        for mark in marks
    ]
    lines = list(_along(every))
    placed: list[tuple[int, _Label]] = []
    for place, marks in enumerate(every):
        names = _shown_names(marks)
        for index in _telling(marks, every_one=place == 0 and scale.gap >= _FEW, only_last=place > 0):
            label = _placed(marks[index], names[index], scale, taken, lines)
            if label is not None:
                taken.append(label.box)
                placed.append((place, label))
    return placed


def _shown_names(marks: Sequence[_Mark]) -> list[str | None]:
    """The name of each point, None where the point before has the same name."""
    names = [mark.point.name for mark in marks]
    return [None if place and name == names[place - 1] else name for place, name in enumerate(names)]


def _telling(marks: Sequence[_Mark], *, every_one: bool, only_last: bool) -> list[int]:
    """Places of the points worth a label: the report's own run, the last, the first, the extremes, then the others."""
    places = list(range(len(marks)))
    own = [place for place in places if marks[place].point.current]
    first = [*own, places[-1]]
    if not only_last:
        values = [mark.point.value for mark in marks]
        first += [0, values.index(max(values)), values.index(min(values))]
    return list(dict.fromkeys([*first, *(reversed(places) if every_one else ())]))


def _along(every: Sequence[Sequence[_Mark]]) -> Iterator[tuple[float, float]]:
    """Places along the lines, so close together that a label cannot lie between two of them."""
    for marks in every:
        for a, b in pairwise(marks):
            count = max(2, int(math.hypot(b.x - a.x, b.y - a.y) / 8))
            yield from ((a.x + (b.x - a.x) * i / count, a.y + (b.y - a.y) * i / count) for i in range(count + 1))


def _placed(
    mark: _Mark, name: str | None, scale: _Scale, taken: Sequence[_Box], lines: Sequence[tuple[float, float]]
) -> _Label | None:
    """A label that covers no other label, no point and, where possible, no line; None where there is no such place."""
    texts = [mark.point.text]
    if name is not None:
        length = scale.size.name_length
        texts.append(name if len(name) <= length else name[: length - 1].rstrip() + "…")
    candidates = [texts, texts[:1]] if len(texts) > 1 else [texts]
    for shown in candidates:
        free = [label for label in _around(mark, shown, scale.size) if not any(map(label.box.meets, taken))]
        for label in free:
            if not any(label.box.holds(x, y) for x, y in lines):
                return label
        if free:
            return free[0]
    return None


def _around(mark: _Mark, texts: Sequence[str], size: TrendSize) -> Iterator[_Label]:
    """The places around a point that lie within the drawing, best first."""
    width, height = max(map(_width, texts)), len(texts) * _LINE
    edge = 3.0
    middle = min(max(mark.x, _LEFT + width / 2), size.width - edge - width / 2)
    above, below = min(mark.top, mark.y - 8) - 6 - height, max(mark.bottom, mark.y + 8) + 5
    beside = mark.y - height / 2
    for x, top, anchor in (
        (middle, above, "middle"),
        (middle, below, "middle"),
        (mark.x + 12, beside, "start"),
        (mark.x - 12, beside, "end"),
    ):
        left = x - {"middle": width / 2, "start": 0.0, "end": width}[anchor]
        box = _Box(left=left, top=top, right=left + width, bottom=top + height)
        inside = box.left >= _LEFT and box.right <= size.width - edge + 0.01
        if inside and box.top >= 2 and box.bottom <= size.height - _BOTTOM:
            yield _Label(lines=tuple(texts), x=x, top=top, anchor=anchor, box=box)


def _text(label: _Label, *, strong: bool) -> str:
    spans = _spans(label.lines, label.x)
    kind = "main" if strong else "other"
    return f'<text class="label {kind}" text-anchor="{label.anchor}" y="{label.top + _FONT - 1:.1f}">{spans}</text>'


def _spans(lines: Sequence[str], x: float) -> str:
    """The value, and below it the name."""
    value = f'<tspan class="value" x="{x:.1f}">{escape(lines[0])}</tspan>'
    names = [f'<tspan class="name" x="{x:.1f}" dy="{_LINE:g}">{escape(line)}</tspan>' for line in lines[1:]]
    return "".join([value, *names])


def _width(text: str) -> float:
    return len(text) * _FONT * _CHARACTER


def _day(at: datetime) -> str:
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"
