"""A folder's runs as one self-contained HTML page, and the trend for the page of one run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.model import HistoryPoint, Run
from assay.reports.blocks.history import HistoryReport, TrendPoint, TrendSeries, history_report
from assay.reports.blocks.values import sections_in
from assay.reports.html.page import NAMES_ONLY, page, template
from assay.reports.text.plain import plural
from assay.runs.store.history import point_of

if TYPE_CHECKING:
    from markupsafe import Markup

TREND_CSS = "trend.css"
_FEW_POINTS = 25
"""Up to this many points fit even the narrow chart with whiskers."""


class ServedSet(Struct, frozen=True, kw_only=True):
    """The runs over one question set, if their pages are served: titles with addresses."""

    title: str
    leaderboard: str
    """The address of their leaderboard."""
    runs: tuple[tuple[str, str, str], ...]
    """For each run its name, the address of its page, and that of its comparison with the run before; '' for none."""


def runs_html(points: Sequence[HistoryPoint], *, folder: str, served: Sequence[ServedSet] = ()) -> bytes:
    """The whole page, UTF-8: the trend, then every run.

    ``served``: the other pages that it leads to if it is served among them.
    """
    report = history_report(points, folder=folder)
    context = {"sections": sections_in(report.sections, "full"), "served": served, **_trend(report)}
    return b"".join(page("history.html", context, scripts=NAMES_ONLY, styles=("report.css", TREND_CSS)))


def over_time(run: Run) -> Markup | None:
    """The section 'Over time' of a run's page: the run among earlier ones; None without earlier runs."""
    if not run.history:
        return None
    from markupsafe import Markup

    own = point_of(run)
    points = [point for point in run.history if point.headline_metric == own.headline_metric]
    report = history_report([*points, own], folder="", current=own)
    # Rendered by a template that escapes all text.
    return Markup(template("over_time.html").render(**_trend(report)))


def _trend(report: HistoryReport) -> dict[str, object]:
    """What over_time.html draws."""
    runs = sum(len(one.points) for one in report.series)
    title = f"{', '.join(report.metrics)} of {plural(runs, 'run')} over time"
    charts = [svg for size in (WIDE, NARROW) if (svg := trend_svg(report.series, size, title=title))]
    return {"view": report, "charts": charts, "caption": _caption(report)}


def _caption(report: HistoryReport) -> str:
    """How to read the chart."""
    points = [point for one in report.series for point in one.points]
    if not points:
        return ""
    _, low, _ = value_axis(min(point.low for point in points), max(point.high for point in points))
    parts = []
    if len(report.series) == 1:
        parts.append(f"All over {report.series[0].label}.")
    else:
        parts.append("A line joins only runs over the same cases; the others are not comparable.")
    if any(point.current for point in points):
        parts.append("The ring marks this run.")
    marks = "Whiskers, and the band if runs are close together," if len(points) > _FEW_POINTS else "Whiskers"
    parts.append(f"{marks} are {report.confidence} intervals.")
    if low > 0:
        parts.append(f"The axis begins at {low * 100:g} %.")
    if report.left_out:
        parts.append(f"{plural(report.left_out, 'more question set')} not drawn.")
    return " ".join(parts)


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 18.0, 24.0, 34.0
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
    """A point between the ends of its interval."""

    point: TrendPoint
    x: float
    y: float
    top: float
    bottom: float


def trend_svg(series: Sequence[TrendSeries], size: TrendSize, *, title: str) -> str:
    """The chart as SVG, styled by ``trend.css``; empty without a point. The first series is drawn strongly.

    A line joins only runs over the same cases by the same metric. Nothing depends on colour alone: the first series is
    solid with round points, the others are dashed, each with a shape of its own. The distance between runs follows the
    time between them, with a minimum, so that runs of the same minute stay distinct. The last point of the first
    line has its value next to it; every point says what it is in a tooltip.
    """
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
    ordered = sorted((mark for line in lines for mark in line), key=lambda mark: mark.x)
    ends = [ordered[0], *ordered[1:][-1:]]
    in_one_day = ends[-1].point.at - ends[0].point.at < timedelta(hours=36)
    svg: str = template("trend.html").module.chart(  # type: ignore[attr-defined]
        title=title,
        words=describe(series),
        size=size,
        left=_LEFT,
        end=size.width - _RIGHT,
        base=size.height - _BOTTOM,
        rules=[(y(value), f"{value * 100:.{decimals}f} %") for value in values],
        dates=[(mark.x, _day(mark.point.at, clock=in_one_day)) for mark in ends],
        lines=lines,
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


def _day(at: datetime, *, clock: bool = False) -> str:
    """``1 Mar 2026``, or ``1 Mar 09:30`` if the clock says more; in English, whatever the locale."""
    return f"{at.day} {_MONTHS[at.month - 1]} {at:%H:%M}" if clock else f"{at.day} {_MONTHS[at.month - 1]} {at.year}"
