"""Histograms of times, on a scale of 1, 2, 5: where their columns lie, which ``charts.html`` draws as inline SVG.

The median is a solid line and the 90 % mark a dashed one, each with its label, so that nothing depends on colour.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay.model import TimeSpread
from assay.reports.blocks.run_sections import counted
from assay.reports.text.plain import seconds

_WIDTH, _HEIGHT = 360.0, 168.0
_LEFT, _RIGHT, _TOP, _BASE = 20.0, 340.0, 54.0, 142.0
_CHARACTER = 6.96
"""The width of a character, on the wide side, so that what is computed to fit does fit."""
_FEWEST_BINS = 6
_GAP = 3.0


def histograms(rows: Sequence[TimeSpread]) -> list[tuple[TimeSpread, dict[str, object]]]:
    """Each row with what its chart is drawn of.

    Gold's and the system's queries share a scale, so that they compare at a glance.
    """
    queries = [row for row in rows if row.name != "answer"]
    return [(row, histogram(row, queries if row in queries else [row])) for row in rows]


def histogram(row: TimeSpread, beside: Sequence[TimeSpread]) -> dict[str, object]:
    """What the macro ``histogram`` draws of one row, on a scale that covers all rows of ``beside``, this one included.

    Empty without bins.
    """
    if not row.bins:
        return {}
    edges = _edges(beside)
    counts = {one.low_s: one.count for one in row.bins}
    most = max(counts.values())
    step = (_RIGHT - _LEFT) / (len(edges) - 1)
    columns = [
        {
            "x": _LEFT + place * step + _GAP / 2,
            "width": step - _GAP,
            "height": max(1.5, counts[low] / most * (_BASE - _TOP)),
            "between": f"{_edge(low)} to {_edge(high)}",
            "count": f"{counts[low]:,}",
            "labelled": len(f"{counts[low]:,}") * _CHARACTER <= step + _GAP,
        }
        for place, (low, high) in enumerate(pairwise(edges))
        if counts.get(low)
    ]
    times = (("median", "median", row.median_s), ("tail", "90 %", row.p90_s))
    marks = [
        (kind, x, _inside(x, text), text)
        for kind, name, time_s in times
        for x, text in [(_x(time_s, edges, step), f"{name} {seconds(time_s)}")]
    ]
    return {
        "words": (
            f"Histogram of the time of {counted(row)}: median {seconds(row.median_s)}, 90 % within "
            f"{seconds(row.p90_s)}, longest {seconds(row.max_s)}, mean {seconds(row.mean_s)}."
        ),
        "columns": columns,
        "ticks": list(_ticks(edges, step)),
        "marks": marks,
        "left": _LEFT,
        "right": _RIGHT,
        "base": _BASE,
        "width": _WIDTH,
        "height": _HEIGHT,
    }


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


def _ticks(edges: Sequence[float], step: float) -> Iterator[tuple[float, float, str]]:
    """Every edge, or powers of ten only if there is no room for all: where it is, the middle of its text, the text."""
    widest = max(len(_edge(edge)) for edge in edges) * _CHARACTER + 6
    for place, edge in enumerate(edges):
        if widest <= step or edge == 0.0 or _parts(edge)[0] == 1:
            x = _LEFT + place * step
            yield x, _inside(x, _edge(edge)), _edge(edge)


def _inside(x: float, text: str) -> float:
    """The middle of a text to be put at ``x``, moved so that the text lies within the drawing."""
    half = len(text) * _CHARACTER / 2
    return min(max(x, half), _WIDTH - half)


def _edge(edge: float) -> str:
    """``0.2 ms``, ``50 ms``, ``2 s``, ``1,000 s``."""
    return "0" if edge == 0.0 else f"{edge * 1000:g} ms" if edge < 1.0 else f"{edge:,.0f} s"
