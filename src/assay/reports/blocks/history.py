"""A folder's runs as blocks: on a terminal the newest run is last, on a page first. All text is safe to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePath

from msgspec import Struct

from assay.model import HistoryPoint, MetricInfo
from assay.reports.blocks.values import (
    Cell,
    Column,
    Description,
    Name,
    Row,
    Section,
    Status,
    Table,
    columns,
)
from assay.reports.text.plain import interval, number, one_line, percent, plural, seconds, source_name
from assay.runs.aggregate.metric_infos import info_of
from assay.runs.store.history import QuestionSet, question_set, run_name, started_at

_SERIES_SHOWN = 4
_NAME_LENGTH = 80


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


class HistoryReport(Struct, frozen=True, kw_only=True):
    """A folder's runs, oldest first, ready to draw."""

    title: str
    metrics: tuple[str, ...]
    """The metrics of the headlines; usually one."""
    confidence: str
    sections: tuple[Section, ...]
    runs: int
    latest: str
    """The name of the latest finished run with its headline; empty without one."""
    series: tuple[TrendSeries, ...]
    """The main series first, then those with the newest runs; series of a single run last."""
    left_out: int
    """How many series more there are."""
    notes: tuple[str, ...]
    troubles: tuple[tuple[str, str], ...]
    """Damaged runs: the folder, and what is damaged."""

    @property
    def heading(self) -> str:
        """``12 runs in runs · match, 95 % interval``."""
        said = f"{plural(self.runs, 'run')} in {self.title}"
        by = ", ".join(filter(None, (*self.metrics, f"{self.confidence} interval" if self.confidence else "")))
        return f"{said} · {by}" if self.metrics else said


def history_report(
    points: Sequence[HistoryPoint], *, folder: str, current: HistoryPoint | None = None, series: int = _SERIES_SHOWN
) -> HistoryReport:
    """The report on ``points``, oldest first. ``current``: the point that a run's report is about.

    The series of ``current``, or else of the newest run, comes first.
    """
    labels = _labels(points)
    every = _series(points, labels, current)
    metrics = tuple(dict.fromkeys(point.headline_metric for point in points if point.headline_metric))
    rates = [point.headline for point in points if point.headline is not None]
    finished = [point for point in points if point.status == "finished" and started_at(point) is not None]
    latest = " ".join((f"{_name(finished[-1], folder)},", *_headline(finished[-1]))) if finished else ""
    return HistoryReport(
        title=one_line(folder, limit=120),
        metrics=tuple(map(one_line, metrics)),
        confidence=f"{rates[0].confidence * 100:g} %" if rates else "",
        sections=_sections([_row(point, folder, labels) for point in points]),
        runs=len(points),
        latest=latest,
        series=tuple(every[:series]),
        left_out=max(0, len(every) - series),
        notes=tuple(_notes(points, labels, metrics)),
        troubles=tuple(
            (_relative(point.folder, folder) or point.folder, one_line(point.trouble, limit=300))
            for point in points
            if point.trouble
        ),
    )


def _sections(rows: Sequence[Row]) -> tuple[Section, ...]:
    """Every run in one line; text formats leave out columns without any value."""
    titles = columns(
        Column(title="started (UTC)", detail="summary", rank=9),
        Column(title="run", least=12),
        Column(title="started", detail="full"),
        Column(title="folder", rank=8, least=10),
        Column(title="tags", rank=4, least=10),
        Column(title="system", rank=7, least=10),
        Column(title="cases", rank=3, least=12),
        Column(title="n", right=True, rank=2),
        Column(title="headline", right=True, strong=True),
        Column(title="interval", rank=1),
        Column(title="unscored", right=True, rank=5),
        Column(title="took", right=True, rank=6),
        Column(title="gates", rank=2),
    )
    oldest_first = Table(columns=titles, rows=tuple(rows), look="runs")
    newest_first = Table(columns=titles, rows=tuple(reversed(rows)), look="runs")
    aside = "newest first, times in UTC"
    return (
        Section(key="list", title="", blocks=(oldest_first,), detail="summary"),
        Section(key="runs", title="Runs", aside=aside, blocks=(newest_first,), detail="full"),
    )


def _row(point: HistoryPoint, folder: str, labels: Mapping[QuestionSet, str]) -> Row:
    """One run; a text is empty if its value is not known."""
    at, asked, settings, rate = started_at(point), question_set(point), point.settings, point.headline
    started = at.strftime("%Y-%m-%d %H:%M") if at else ""
    finished = point.status == "finished"
    name, relative = _name(point, folder), _relative(point.folder, folder)
    beside = "" if relative == name else relative
    took_s = point.provenance.wall_time_s if point.provenance is not None else None
    text, bounds = _headline(point)
    headline: Cell = text
    if not finished:
        headline = Status(text=text, good=None if point.status == "running" else False)
    unscored = rate.unscored if rate is not None else point.unscored
    return Row(
        cells=(
            started,
            Name(text=name, strong=True),
            started,
            Description(meaning=beside),
            ", ".join(one_line(tag, limit=40) for tag in (settings.tags if settings else ())),
            one_line(source_name(settings.predictions), limit=_NAME_LENGTH) if settings else "",
            # An addition that tells the set apart from others of the same name stands in the notes.
            "" if asked is None else labels.get(asked, one_line(asked.name)).partition(" (")[0],
            f"{point.cases:,}" if finished else "",
            headline,
            bounds,
            f"{unscored:,}" if finished else "",
            seconds(took_s) if finished and took_s is not None else "",
            _gates(point),
        )
    )


def _name(point: HistoryPoint, folder: str) -> str:
    given = point.settings.name if point.settings else None
    return one_line(given or _relative(point.folder, folder) or run_name(point), limit=_NAME_LENGTH)


def _headline(point: HistoryPoint) -> tuple[str, str]:
    """``84.2 %`` with its interval, ``n/a``, or the run's status if it has no numbers."""
    rate, share = (
        point.headline,
        _info(point).reads_as_share(point.headline.value if point.headline is not None else None),
    )
    status = {"running": "unfinished", "damaged": "damaged"}.get(point.status)
    text = status or percent(rate.value if rate is not None else None, share=share)
    return text, interval(rate, share=share) if rate is not None else ""


def _gates(point: HistoryPoint) -> str:
    """``3 passed``, ``1 of 3 missed``; empty without gates."""
    missed = sum(not one.passed for one in point.gates)
    if not point.gates:
        return ""
    return f"{missed:,} of {len(point.gates):,} missed" if missed else f"{len(point.gates):,} passed"


def _relative(folder: str, listed: str) -> str:
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
        found.setdefault((asked, metric), []).append(_trend_point(point, at, labels[asked], current=point == current))

    def first_shown(entry: tuple[object, list[TrendPoint]]) -> tuple[bool, bool, float]:
        return not any(one.current for one in entry[1]), len(entry[1]) < 2, -entry[1][-1].at.timestamp()

    return [
        TrendSeries(
            label=labels[asked] + (f", {one_line(metric)}" if len(metrics) > 1 else ""),
            points=tuple(sorted(members, key=lambda one: one.at)),
        )
        for (asked, metric), members in sorted(found.items(), key=first_shown)
    ]


def _trend_point(point: HistoryPoint, at: datetime, label: str, *, current: bool) -> TrendPoint:
    rate = point.headline
    assert rate is not None
    assert rate.value is not None
    name = one_line(run_name(point), limit=_NAME_LENGTH)
    # A graded metric's sum may happen to be whole.
    info = _info(point)
    asked_once = point.settings is None or point.settings.repeats == 1
    counts = info.binary and info.highest is not None and asked_once
    tally = f"{number(rate.numerator)} of {rate.n:,}" if counts else f"mean of {rate.n:,}"
    text, bounds = _headline(point)
    said = f"{name}, {at:%Y-%m-%d %H:%M} UTC: {text} {bounds} ({tally}), {label}"
    if gates := _gates(point):
        said += f"; gates: {gates}"
    return TrendPoint(
        at=at,
        value=rate.value,
        low=rate.value if rate.low is None else rate.low,
        high=rate.value if rate.high is None else rate.high,
        name=name,
        text=text,
        said=said,
        current=current,
    )


def _info(point: HistoryPoint) -> MetricInfo:
    return info_of(point.headline_metric or "", point.settings)


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
