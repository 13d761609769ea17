"""The sections of a folder's runs: on a terminal the newest run is last, on a page first."""

from __future__ import annotations

from assay.reports.sections.values import (
    LINES,
    Cell,
    Column,
    Mark,
    Medium,
    Name,
    Remark,
    Section,
    Table,
    columns,
    rows,
)
from assay.reports.text.plain import plural
from assay.reports.views.history import HistoryRow, HistoryView

_PAGE: frozenset[Medium] = frozenset({"page"})
_NARROW: frozenset[Medium] = frozenset({"narrow"})


def history_sections(view: HistoryView) -> tuple[Section, ...]:
    """Every run in one line; text formats leave out columns without any value."""
    years = {row.started[:4] for row in view.rows if row.started}
    short = _NARROW if len(years) == 1 else frozenset[Medium]()
    titles = columns(
        Column(title="started", only=short, rank=9),
        Column(title="started (UTC)", only=LINES - short, rank=9),
        Column(title="run", least=12),
        Column(only=_PAGE),
        Column(title="started", only=_PAGE),
        Column(title="folder", only=LINES, rank=8, least=10),
        Column(title="tags", rank=4, least=10),
        Column(title="system", rank=7, least=10),
        Column(title="cases", rank=3, least=12),
        Column(title="n", right=True, rank=2),
        Column(title="headline", right=True, strong=True),
        Column(title="interval", rank=1),
        Column(title="unscored", right=True, rank=5),
        Column(title="took", right=True, rank=6),
        Column(title="gates", only=LINES, rank=2),
    )
    lines = rows(map(_cells, view.rows))
    table = Table(columns=titles, rows=lines, look="runs")
    newest = Table(columns=titles, rows=lines[::-1], look="runs")
    return (
        Section(key="list", title="", blocks=(table,), only=LINES),
        Section(key="runs", title="Runs", aside="newest first, times in UTC", blocks=(newest,), only=_PAGE),
    )


def heading(view: HistoryView) -> str:
    """``12 runs in runs · match, 95 % interval``."""
    said = f"{plural(len(view.rows), 'run')} in {view.title}"
    by = ", ".join(filter(None, (*view.metrics, f"{view.confidence} interval" if view.confidence else "")))
    return f"{said} · {by}" if view.metrics else said


def _cells(row: HistoryRow) -> tuple[Cell, ...]:
    headline: Cell = row.headline
    if row.point.status != "finished":
        headline = Mark(text=row.headline, good=None if row.point.status == "running" else False)
    name = Name(text=row.name, strong=True)
    started = (row.started[5:], row.started, name, Remark(meaning=row.folder), row.started, row.folder)
    said = (
        ", ".join(row.tags),
        row.system,
        row.cases,
        row.count,
        headline,
        row.interval,
        row.unscored,
        row.took,
        row.gates,
    )
    return *started, *said
