"""One view of a folder's runs that the terminal, plain lines and the page draw. All text in it is safe to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePath

from msgspec import Struct

from assay.model import HistoryPoint, Rate
from assay.reports.text.plain import interval, number, one_line, percent, plural, seconds
from assay.reports.views.run_build import short_name
from assay.runs.history import QuestionSet, question_set, run_name, started_at
from assay.runs.metric_infos import info_of

_SERIES_SHOWN = 4
_NAME_LENGTH = 80


class HistoryRow(Struct, frozen=True, kw_only=True):
    """One run. A text is empty where its value is not known."""

    point: HistoryPoint
    started: str
    """Such as ``2026-03-01 09:30``, in UTC."""
    name: str
    folder: str
    """The run's folder, relative to the listed one; empty where it is the run's name."""
    tags: tuple[str, ...]
    system: str
    cases: str
    """The question set, with an addition that tells it apart from others of the same name."""
    count: str
    headline: str
    """``84.2 %``, ``n/a``, or the run's status where it has no numbers."""
    interval: str
    unscored: str
    took: str
    gates: str = ""
    """``3 passed``, ``1 of 3 missed``; empty where nothing was demanded."""


class TrendPoint(Struct, frozen=True, kw_only=True):
    """One run as a point of the chart."""

    at: datetime
    value: float
    low: float
    high: float
    name: str
    text: str
    """How the value reads: ``84.2 %``."""
    said: str
    """The whole point described in one line."""
    current: bool = False


class TrendSeries(Struct, frozen=True, kw_only=True):
    """Runs over the same cases by the same metric, which may be compared, oldest first."""

    label: str
    points: tuple[TrendPoint, ...]


class HistoryView(Struct, frozen=True, kw_only=True):
    """A folder's runs, oldest first, ready to draw."""

    title: str
    metrics: tuple[str, ...]
    """The metrics of the headlines; usually one."""
    confidence: str
    rows: tuple[HistoryRow, ...]
    series: tuple[TrendSeries, ...]
    """The main series first, then those with the newest runs; series of a single run last."""
    left_out: int
    """How many series more there are."""
    notes: tuple[str, ...]
    troubles: tuple[tuple[str, str], ...]
    """Damaged runs: the folder, and what is damaged."""


def history_view(
    points: Sequence[HistoryPoint], *, folder: str, current: HistoryPoint | None = None, series: int = _SERIES_SHOWN
) -> HistoryView:
    """The view of ``points``, oldest first. ``current``: the point that a report is about.

    The series of ``current``, or else of the newest run, comes first.
    """
    labels = _labels(points)
    every = _series(points, labels, current)
    metrics = tuple(dict.fromkeys(point.headline_metric for point in points if point.headline_metric))
    rates = [point.headline for point in points if point.headline is not None]
    return HistoryView(
        title=one_line(folder, limit=120),
        metrics=tuple(map(one_line, metrics)),
        confidence=f"{rates[0].confidence * 100:g} %" if rates else "",
        rows=tuple(_row(point, folder, labels) for point in points),
        series=tuple(every[:series]),
        left_out=max(0, len(every) - series),
        notes=tuple(_notes(points, labels, metrics)),
        troubles=tuple(
            (_beside(point.folder, folder) or point.folder, one_line(point.trouble, limit=300))
            for point in points
            if point.trouble
        ),
    )


def _row(point: HistoryPoint, folder: str, labels: Mapping[QuestionSet, str]) -> HistoryRow:
    at, asked, settings = started_at(point), question_set(point), point.settings
    place = _beside(point.folder, folder)
    name = one_line((settings.name if settings else None) or place or run_name(point), limit=_NAME_LENGTH)
    rate = point.headline
    finished = point.status == "finished"
    wall_time_s = point.provenance.wall_time_s if point.provenance is not None else None
    return HistoryRow(
        point=point,
        started=at.strftime("%Y-%m-%d %H:%M") if at else "",
        name=name,
        folder="" if place == name else place,
        tags=tuple(one_line(tag, limit=40) for tag in (settings.tags if settings else ())),
        system=one_line(short_name(settings.predictions), limit=_NAME_LENGTH) if settings else "",
        cases="" if asked is None else labels.get(asked, one_line(asked.name)).partition(" (")[0],
        count=f"{point.cases:,}" if finished else "",
        headline={"running": "unfinished", "damaged": "damaged"}.get(point.status)
        or percent(rate.value if rate is not None else None, share=_is_share(point)),
        interval=interval(rate, share=_is_share(point)) if rate is not None else "",
        unscored=f"{rate.unscored if rate is not None else point.unscored:,}" if finished else "",
        took=seconds(wall_time_s) if finished and wall_time_s is not None else "",
        gates=_gates(point),
    )


def _gates(point: HistoryPoint) -> str:
    missed = sum(not one.passed for one in point.gates)
    if not point.gates:
        return ""
    return f"{missed:,} of {len(point.gates):,} missed" if missed else f"{len(point.gates):,} passed"


def _beside(folder: str, listed: str) -> str:
    """A run's folder relative to the listed one."""
    path = PurePath(folder)
    try:
        inside = path.relative_to(listed)
    except ValueError:
        return one_line(folder, limit=_NAME_LENGTH)
    return one_line(inside.as_posix() if inside.parts else path.name, limit=_NAME_LENGTH)


def _labels(points: Iterable[HistoryPoint]) -> dict[QuestionSet, str]:
    """The label of each question set: its file's name, with as much more as tells it apart from the others."""
    sets = dict.fromkeys(one for point in points if point.status == "finished" and (one := question_set(point)))
    named = Counter(one.name for one in sets)
    counted = Counter((one.name, one.cases) for one in sets)
    contents = Counter(name for name, _ in {(one.name, one.digest) for one in sets})
    labels = {}
    for one in sets:
        label = one_line(one.name, limit=_NAME_LENGTH)
        if named[one.name] > 1 and contents[one.name] > 1:
            label += f" #{one.digest[:6]}" if one.digest else ", in memory"
        if counted[one.name, one.cases] < named[one.name]:
            label += f" ({plural(one.cases, 'case')})"
        labels[one] = label
    return labels


def _series(
    points: Sequence[HistoryPoint], labels: Mapping[QuestionSet, str], current: HistoryPoint | None
) -> list[TrendSeries]:
    found: dict[tuple[QuestionSet, str], list[TrendPoint]] = {}
    metrics = {point.headline_metric for point in points if point.headline is not None}
    for point in points:
        at, asked, rate, metric = started_at(point), question_set(point), point.headline, point.headline_metric
        if at is None or asked is None or rate is None or rate.value is None or metric is None:
            continue
        found.setdefault((asked, metric), []).append(_trend_point(point, at, rate, labels[asked], point == current))

    def first_shown(entry: tuple[object, list[TrendPoint]]) -> tuple[bool, bool, float]:
        return not any(one.current for one in entry[1]), len(entry[1]) < 2, -entry[1][-1].at.timestamp()

    return [
        TrendSeries(
            label=labels[asked] + (f", {one_line(metric)}" if len(metrics) > 1 else ""),
            points=tuple(sorted(members, key=lambda one: one.at)),
        )
        for (asked, metric), members in sorted(found.items(), key=first_shown)
    ]


def _trend_point(point: HistoryPoint, at: datetime, rate: Rate, label: str, current: bool) -> TrendPoint:  # noqa: FBT001
    value, share = rate.value if rate.value is not None else 0.0, _is_share(point)
    name = one_line(run_name(point), limit=_NAME_LENGTH)
    # A graded metric's sum may happen to be whole.
    info = info_of(point.headline_metric or "", point.settings)
    counts = info.binary and info.highest is not None and _asked_once(point)
    tally = f"{number(rate.numerator)} of {rate.n:,}" if counts else f"mean of {rate.n:,}"
    text = percent(value, share=share)
    said = f"{name}, {at:%Y-%m-%d %H:%M} UTC: {text} {interval(rate, share=share)} ({tally}), {label}"
    if gates := _gates(point):
        said += f"; gates: {gates}"
    return TrendPoint(
        at=at,
        value=value,
        low=value if rate.low is None else rate.low,
        high=value if rate.high is None else rate.high,
        name=name,
        text=text,
        said=said,
        current=current,
    )


def _is_share(point: HistoryPoint) -> bool:
    value = point.headline.value if point.headline is not None else None
    return info_of(point.headline_metric or "", point.settings).reads_as_share(value)


def _asked_once(point: HistoryPoint) -> bool:
    return point.settings is None or point.settings.repeats == 1


def _notes(points: Sequence[HistoryPoint], labels: Mapping[QuestionSet, str], metrics: Sequence[str]) -> Iterable[str]:
    """Notes to read before comparing one run with another."""
    finished = [point for point in points if point.status == "finished"]
    runs = Counter(asked for point in finished if (asked := question_set(point)))
    if len(runs) > 1:
        shown = "; ".join(f"{plural(count, 'run')} over {labels[one]}" for one, count in runs.most_common(6))
        more = f"; and {len(runs) - 6} more" if len(runs) > 6 else ""
        yield f"Only runs over the same cases compare, and here are {len(runs)} question sets: {shown}{more}."
    if len(metrics) > 1:
        yield f"The headlines are of {len(metrics)} metrics: {', '.join(map(one_line, metrics))}."
    without = sum(1 for point in finished if point.headline is None)
    if without and len(metrics) == 1:
        yield f"{plural(without, 'run')} did not ask for the metric {one_line(metrics[0])}."
    timeless = sum(1 for point in finished if started_at(point) is None)
    if timeless:
        yield f"{plural(timeless, 'run')} without a start time {'stands' if timeless == 1 else 'stand'} in no trend."
    unfinished = sum(1 for point in points if point.status == "running")
    if unfinished:
        is_, it_goes = ("is", "it goes") if unfinished == 1 else ("are", "they go")
        yield f"{plural(unfinished, 'run')} {is_} not finished: run the command that made it again, and {it_goes} on."
