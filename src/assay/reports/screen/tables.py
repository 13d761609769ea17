"""Figures and counts as lines of a summary, one line per row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from assay.reports.blocks.values import CaseLink, DiffFigure, Figure
from assay.reports.console.bars import bar_pieces
from assay.reports.screen.lines import Line, Span, cut, cut_words, padded
from assay.reports.text.plain import columns_of, unscored

_GAP = "  "
_INDENT = "  "
_LONGEST_NAME, _SHORTEST_NAME = 32, 12
_BAR = 16
_LONGEST_ID = 24
_LEAST_TEXT = 30
"""What a count and its name keep if ids are long."""

FigureRow = tuple[str, Figure]
_Row = TypeVar("_Row", FigureRow, tuple[str, DiffFigure])
_TELLING = ("observations_match", "time_range")
"""Metrics that say what no other metric of the run says, so that they are not left out for others."""


def telling_first(rows: Iterable[_Row]) -> list[_Row]:
    """The metrics in their order, after those that no other metric stands for."""
    return sorted(rows, key=lambda row: row[0] not in _TELLING)


def figure_lines(rows: Sequence[FigureRow], width: int, *, drawn: bool) -> tuple[tuple[Line, ...], ...]:
    """A line per figure: name, bar on a terminal, value, interval, tally, unscored cases."""
    if not rows:
        return ()
    values = [one.text for _, one in rows]
    asides = [
        [one.interval for _, one in rows],
        [one.tally for _, one in rows],
        [unscored(one.rate) for _, one in rows],
    ]
    fixed = [max(map(columns_of, column)) for column in asides]
    value_width = max(map(columns_of, values))
    name_width = min(_LONGEST_NAME, max(columns_of(name) for name, _ in rows))

    def room(columns: Sequence[int]) -> int:
        taken = len(_INDENT) + value_width + sum(len(_GAP) + one for one in columns if one) + len(_GAP)
        return width - taken

    while fixed and room(fixed) < min(name_width, _SHORTEST_NAME):
        fixed.pop()
    name_width = max(1, min(name_width, room(fixed)))
    with_bars = drawn and room(fixed) - name_width >= _BAR + len(_GAP)
    made = []
    for place, (name, one) in enumerate(rows):
        spans = [Span(_INDENT + padded(cut(name, name_width), name_width) + _GAP)]
        if with_bars:
            spans += [*(Span(text, style) for text, style in bar_pieces(one, _BAR)), Span(_GAP)]
        spans.append(Span(padded(values[place], value_width, right=True), "bold"))
        for column, size in zip(asides, fixed, strict=False):
            spans += [Span(_GAP + padded(column[place], size), "dim")] if size else []
        made.append(((*spans[:-1], Span(spans[-1].text.rstrip(), spans[-1].style)),))
    return tuple(made)


def dense_lines(
    rows: Sequence[tuple[str, str]], width: int, *, least: int
) -> tuple[tuple[tuple[Line, ...], ...], tuple[int, ...]]:
    """Names with their values, as many per line as fit: the lines that ``least`` of them need, and what each holds."""
    name_width = min(_LONGEST_NAME, max(columns_of(name) for name, _ in rows), max(1, width - 12))
    value_width = max(columns_of(value) for _, value in rows)
    several = max(1, (width - len(_INDENT) + 2 * len(_GAP)) // (name_width + value_width + 3 * len(_GAP)))
    shown = rows[: -(-least // several) * several]
    made, sizes = [], []
    for start in range(0, len(shown), several):
        spans = [Span(_INDENT)]
        for name, value in shown[start : start + several]:
            spans.append(Span(padded(cut(name, name_width), name_width) + _GAP))
            spans += [Span(padded(value, value_width, right=True), "bold"), Span(2 * _GAP)]
        made.append((tuple(spans[:-1]),))
        sizes.append(len(shown[start : start + several]))
    return tuple(made), tuple(sizes)


def count_lines(rows: Sequence[tuple[str, int, str, Sequence[CaseLink]]], width: int) -> tuple[tuple[Line, ...], ...]:
    """A line per count: the count, its name, what to do, and the ids of its cases as far as they fit, at least one."""
    size = max((len(f"{number:,}") for _, number, _, _ in rows), default=1)
    made = []
    for name, number, advice, cases in rows:
        text = f"{name}: {advice}" if advice else name
        first = f"{_INDENT}{number:>{size},}{_GAP}"
        least = _LEAST_TEXT if cases else width
        (text_span,) = cut_words(first + text, max(width - columns_of(_first_id(cases)) - len(_GAP), least))
        ids = _ids(cases, width - columns_of(text_span.text) - len(_GAP))
        made.append(((text_span, Span(ids and f"{_GAP}{ids}", "dim")),))
    return tuple(made)


def _first_id(cases: Sequence[CaseLink]) -> str:
    """One id, and how many more there are."""
    return _ids(cases[:1], _LONGEST_ID) + (f", +{len(cases) - 1:,}" if len(cases) > 1 else "")


def _ids(cases: Sequence[CaseLink], width: int) -> str:
    """As many ids as fit, and how many more there are; empty if not even one fits."""
    shown = ""
    for place, case in enumerate(cases):
        left = len(cases) - place - 1
        one = f"{shown}{', ' if shown else ''}{cut(case.id, _LONGEST_ID)}"
        if columns_of(one + (f", +{left:,}" if left else "")) > width:
            return f"{shown}, +{left + 1:,}" if shown else ""
        shown = one
    return shown
