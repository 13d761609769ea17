"""Histograms of times as inline SVG, on a scale of 1, 2, 5.

The median is a solid line and the 90 % mark a dashed one, each with its label, so that nothing depends on colour.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from assay.model import TimeSpread
from assay.reports.blocks.values import Curve, counted
from assay.reports.text.plain import seconds

_WIDTH, _HEIGHT = 360.0, 168.0
_LEFT, _RIGHT, _TOP, _BASE = 20.0, 340.0, 54.0, 142.0
_FONT = 12.0
_CHARACTER = 0.58
"""The width of a character in font sizes, on the wide side, so that what is computed to fit does fit."""
_FEWEST_BINS = 6
_GAP = 3.0


def histograms(rows: Sequence[TimeSpread]) -> list[tuple[TimeSpread, str]]:
    """Each row with its chart. Gold's and the system's queries share a scale, so that they compare at a glance."""
    queries = [row for row in rows if row.name != "answer"]
    return [(row, histogram(row, queries if row in queries else [row])) for row in rows]


def histogram(row: TimeSpread, beside: Sequence[TimeSpread]) -> str:
    """One row's chart, on a scale that covers all rows of ``beside``, this one included. Empty without bins."""
    if not row.bins:
        return ""
    edges = _edges(beside)
    counts = {one.low_s: one.count for one in row.bins}
    most = max(counts.values())
    step = (_RIGHT - _LEFT) / (len(edges) - 1)
    said = (
        f"Histogram of the time of {counted(row)}: median {seconds(row.median_s)}, 90 % within {seconds(row.p90_s)}, "
        f"longest {seconds(row.max_s)}, mean {seconds(row.mean_s)}."
    )
    parts = [f'<svg class="histogram" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(said)}">']
    parts += _axis(edges, step)
    labels = []
    for place, (low, high) in enumerate(pairwise(edges)):
        count = counts.get(low, 0)
        if not count:
            continue
        height = max(1.5, count / most * (_BASE - _TOP))
        x, y = _LEFT + place * step + _GAP / 2, _BASE - height
        parts.append(
            f'<rect class="column" x="{x:.1f}" y="{y:.1f}" width="{step - _GAP:.1f}" height="{height:.1f}" rx="1.5">'
            f"<title>{_edge(low)} to {_edge(high)}: {count:,}</title></rect>"
        )
        if len(f"{count:,}") * _FONT * _CHARACTER <= step + _GAP:
            labels.append(f'<text class="count" x="{x + (step - _GAP) / 2:.1f}" y="{y - 4:.1f}">{count:,}</text>')
    parts += _mark("median", seconds(row.median_s), _x(row.median_s, edges, step), line=1)
    parts += _mark("90 %", seconds(row.p90_s), _x(row.p90_s, edges, step), line=2)
    return "".join([*parts, *labels, "</svg>"])


def curve(found: Curve) -> str:
    """Points of shares as a line between two axes from 0 to 1."""
    told = "; ".join(f"{found.across} {x:.3f}: {found.up} {y:.3f}" for x, y in found.points[:_MOST_TOLD])
    left, right, top, base = 44.0, 340.0, 26.0, 190.0
    parts = [f'<svg class="curve" viewBox="0 0 360 230" role="img" aria-label="{escape(f"{found.title}: {told}")}">']
    parts.append(f'<text class="at" x="{left:g}" y="14">{escape(found.title)}</text>')

    def at(x: float, y: float) -> tuple[float, float]:
        return left + x * (right - left), base - y * (base - top)

    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        across, up = at(tick, 0.0)[0], at(0.0, tick)[1]
        parts.append(f'<path class="grid" d="M{left:g} {up:.1f}H{right:g}"/>')
        parts.append(f'<text class="tick" x="{across:.1f}" y="{base + 16:g}">{tick:.0%}</text>')
        parts.append(f'<text class="tick up" x="{left - 6:g}" y="{up + 4:.1f}">{tick:.0%}</text>')
    parts.append(f'<text class="tick" x="{(left + right) / 2:g}" y="{base + 34:g}">{escape(found.across)}</text>')
    if found.diagonal:
        parts.append(f'<path class="even" d="M{left:g} {base:g}L{right:g} {top:g}"/>')
    line = ""
    for place, (x, y) in enumerate(found.points):
        across, up = at(x, y)
        if not place:
            line = f"M{across:.1f} {up:.1f}"
        elif found.stepped:
            line += f"H{across:.1f}V{up:.1f}"
        else:
            line += f"L{across:.1f} {up:.1f}"
    parts.append(f'<path class="line" d="{line}"/>')
    for x, y in found.points:
        across, up = at(x, y)
        said = escape(f"{found.across} {x:.1%}, {found.up} {y:.1%}")
        parts.append(f'<circle class="point" cx="{across:.1f}" cy="{up:.1f}" r="2.6"><title>{said}</title></circle>')
    return "".join([*parts, "</svg>"])


_MOST_TOLD = 12


def _edges(spreads: Sequence[TimeSpread]) -> list[float]:
    """The edges of the bins of all spreads; a narrow range is widened, so that few bins are not huge blocks."""
    bins = [one for spread in spreads for one in spread.bins]
    low, last = min(one.low_s for one in bins), max(one.high_s for one in bins)
    edges = [low]
    while edges[-1] < last:
        known = next((one.high_s for one in bins if one.low_s == edges[-1]), None)
        edges.append(_next(edges[-1], bins[0].high_s) if known is None else known)
    while len(edges) <= _FEWEST_BINS:
        edges.append(_next(edges[-1], edges[-1]))
        if len(edges) <= _FEWEST_BINS and edges[0] > 0.0:
            edges.insert(0, _before(edges[0]))
    return edges


def _next(edge: float, after_zero: float) -> float:
    """The edge after this one, of 1, 2, 5 times a power of ten."""
    if edge <= 0.0:
        return after_zero
    digit, power = _parts(edge)
    return float(f"{ {1: 2, 2: 5}.get(digit, 10) }e{power}")


def _before(edge: float) -> float:
    digit, power = _parts(edge)
    return float(f"{ {2: 1, 5: 2}[digit] }e{power}") if digit in (2, 5) else float(f"5e{power - 1}")


def _parts(edge: float) -> tuple[int, int]:
    digit, _, power = f"{edge:.0e}".partition("e")
    return int(digit), int(power)


def _x(time_s: float, edges: Sequence[float], step: float) -> float:
    """The horizontal place of a time: by its logarithm within its bin, or mid-bin where the bin begins at 0."""
    place = min(max(bisect_right(edges, time_s) - 1, 0), len(edges) - 2)
    low, high = edges[place], edges[place + 1]
    within = 0.5
    if low > 0.0:
        within = min(1.0, max(0.0, math.log(max(time_s, low) / low) / math.log(high / low)))
    return _LEFT + (place + within) * step


def _axis(edges: Sequence[float], step: float) -> Iterator[str]:
    """The base line, and labels at every edge, or at powers of ten only where there is no room for all."""
    yield f'<path class="axis" d="M{_LEFT:g} {_BASE:g}H{_RIGHT:g}"/>'
    widest = max(len(_edge(edge)) for edge in edges) * _FONT * _CHARACTER + 6
    every = widest <= step
    for place, edge in enumerate(edges):
        if not every and not (edge == 0.0 or _parts(edge)[0] == 1):
            continue
        x = _LEFT + place * step
        text = _edge(edge)
        yield f'<path class="axis" d="M{x:.1f} {_BASE:g}v4"/>'
        yield f'<text class="tick" x="{_inside(x, text):.1f}" y="{_BASE + 18:g}">{text}</text>'


def _mark(name: str, text: str, x: float, *, line: int) -> Iterator[str]:
    """A line from its label down to the base."""
    y = 14.0 * line - 2
    said = f"{name} {text}"
    kind = "median" if line == 1 else "tail"
    yield f'<path class="at {kind}" d="M{x:.1f} {y + 4:.1f}V{_BASE:g}"/>'
    yield f'<text class="at" x="{_inside(x, said):.1f}" y="{y:g}">{escape(said)}</text>'


def _inside(x: float, text: str) -> float:
    """The middle of a text to be put at ``x``, moved so that the text lies within the drawing."""
    half = len(text) * _FONT * _CHARACTER / 2
    return min(max(x, half), _WIDTH - half)


def _edge(edge: float) -> str:
    """``0.2 ms``, ``50 ms``, ``2 s``, ``1,000 s``."""
    return "0" if edge == 0.0 else f"{edge * 1000:g} ms" if edge < 1.0 else f"{edge:,.0f} s"
