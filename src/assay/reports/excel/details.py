"""The Details sheet: a row a case, the guide's columns first, then ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from assay.model import Evidence, Run
from assay.reports.excel.columns import TIMINGS, WorkbookMetrics
from assay.reports.excel.page import LINE_POINTS, Page, lines_of, word_width
from assay.reports.text.plain import words
from assay.reports.views.case import failures, near_misses

_LINES = 10
"""Of text that a row shows, at most; the cell holds it all."""
_GOLD_SEPARATOR = "\n-----\n"
"""A line of dashes, as several golds stand in one cell of an input file."""
_LARGEST_ID = 15  # digits: more are no exact number in Excel
_OTHER_TIMINGS = 20
_WRAPPED = frozenset({"wrapped", "sql"})

Value = str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One column: its title, how it is written, how wide, and its value for a case."""

    title: str
    style: str
    width: float
    value: Callable[[Evidence], Value]


def write_details(page: Page, run: Run, metrics: WorkbookMetrics, *, titles: Sequence[str] | None = None) -> None:
    """Every case in the question set's order, one row at a time; of the columns those of the titles, in their order."""
    columns = _columns(run, metrics)
    if titles is not None:
        by_title = {column.title: column for column in columns}
        columns = [by_title[title] for title in titles if title in by_title]
    sheet = page.sheet
    for place, column in enumerate(columns):
        sheet.set_column(place, place, max(column.width, word_width(column.title) + 2))
    sheet.freeze_panes(1, 1)
    sheet.set_landscape()
    sheet.set_paper(8)
    sheet.fit_to_pages(2, 0)
    sheet.repeat_rows(0)
    sheet.repeat_columns(0)
    # At the left, all of them: the button of the filter covers a cell's right end.
    page.head(0, [column.title for column in columns], lines=2)
    wrapped = [(place, column.width - 2) for place, column in enumerate(columns) if column.style in _WRAPPED]
    for row, item in enumerate(run.evidence, start=1):
        values = [column.value(item) for column in columns]
        lines = max(lines_of(text, width) for place, width in wrapped if isinstance(text := values[place] or "", str))
        sheet.set_row(row, LINE_POINTS * min(lines, _LINES) + 3)
        for place, (column, value) in enumerate(zip(columns, values, strict=True)):
            if value is None or isinstance(value, str):
                page.text(row, place, value, column.style)
            else:
                page.number(row, place, value, column.style)
    last = max(1, len(run.evidence))
    sheet.autofilter(0, 0, last, len(columns) - 1)
    _colour(page, columns, last)


def _colour(page: Page, columns: Sequence[_Column], last: int) -> None:
    for place, column in enumerate(columns):
        if column.title == "Verdict":
            page.colour_verdicts(1, last, place)
        elif column.style == "percent":
            page.share_bars(1, last, place)
        elif column.title == "total_execution_time":
            scale = {"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": "#F6C48B"}
            page.sheet.conditional_format(1, place, last, place, scale)
        elif column.style == "yes_no":
            page.colour_yes_no(1, last, place)


def _columns(run: Run, metrics: WorkbookMetrics) -> list[_Column]:
    guide = [
        _id_column(run.evidence),
        *_repeat(run),
        _text("Difficulty", _fitting((item.case.difficulty for item in run.evidence), 12, 24), _difficulty),
        _text("VQL Generated", 58, lambda item: item.prediction.query, style="sql"),
        _text("Ground Truth VQL", 58, _golds, style="sql"),
        *(_metric(title, name, metrics) for title, name in metrics.guide),
        *(_timing(name) for name in TIMINGS),
    ]
    ours = [
        _text("Question", 44, lambda item: item.case.question),
        _text("Verdict", 11, lambda item: item.outcome, style="text"),
        _text("Reason", 44, lambda item: item.verdict.reason),
        _text("Flags", 16, lambda item: ", ".join(words(flag) for flag in sorted(item.verdict.flags))),
        _text("Near misses", 32, lambda item: "\n".join(near_misses(item))),
        _text("Failure", 40, lambda item: "\n".join(failures(item))),
        _text("Database", _fitting((item.case.database for item in run.evidence), 11, 28), lambda i: i.case.database),
        _text("Tags", 16, lambda item: ", ".join(item.case.tags)),
        _text("Explanation", 44, lambda item: item.prediction.explanation),
        _text("Tables used", 22, lambda item: "\n".join(item.prediction.tables_used)),
        *_tokens(),
    ]
    return [*guide, *ours, *_where_any(run), *(_metric(metrics.titles[name], name, metrics) for name in metrics.others)]


def _text(title: str, width: float, value: Callable[[Evidence], Value], *, style: str = "wrapped") -> _Column:
    return _Column(title=title, style=style, width=width, value=value)


def _id_column(evidence: Sequence[Evidence]) -> _Column:
    """Ids as numbers where all of them are plain integers, so that they sort as such; else as the text they are."""
    ids = [item.case.id for item in evidence]
    width = _fitting(ids, 11, 28)
    if all(_is_plain_integer(name) for name in ids):
        return _Column(title="Question ID", style="id", width=width, value=lambda item: int(item.case.id))
    return _text("Question ID", width, lambda item: item.case.id, style="name_wrapped")


def _repeat(run: Run) -> list[_Column]:
    """Which of several answers to its question a row is, from 1; nothing where each question was asked once."""
    if run.settings.repeats == 1:
        return []
    return [_Column(title="Repeat", style="count", width=9, value=lambda item: item.prediction.repeat + 1)]


def _is_plain_integer(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) <= _LARGEST_ID and (name == "0" or name[0] != "0")


def _fitting(texts: Iterable[str | None], narrowest: int, widest: int) -> float:
    """A width that holds the longest text, within bounds."""
    longest = max((len(text) + 2 for text in texts if text), default=0)
    return float(max(narrowest, min(widest, longest)))


def _difficulty(item: Evidence) -> str | None:
    return item.case.difficulty


def _golds(item: Evidence) -> str:
    return _GOLD_SEPARATOR.join(item.case.golds)


def _metric(title: str, name: str | None, metrics: WorkbookMetrics) -> _Column:
    """One metric's values; blank where a case has none, and all through where the run has no such metric."""

    def value(item: Evidence) -> Value:
        score = item.score(name) if name is not None else None
        return None if score is None else score.value

    return _Column(title=title, style=metrics.case_style(name), width=13, value=value)


def _timing(name: str) -> _Column:
    return _Column(title=name, style="fine_seconds", width=14, value=lambda item: item.prediction.timing_s(name))


def _tokens() -> list[_Column]:
    def of(part: str) -> Callable[[Evidence], Value]:
        return lambda item: getattr(item.prediction.tokens, part, None)

    return [
        _Column(title=f"{part.capitalize()} tokens", style="count", width=10, value=of(part))
        for part in ("input", "output", "total")
    ]


def _where_any(run: Run) -> list[_Column]:
    """Columns that most runs have nothing for: they stand only where a case has something."""
    columns = []
    if any(item.cause for item in run.evidence):
        columns.append(_text("Cause", 28, lambda item: item.cause))
    if any(item.case.context for item in run.evidence):
        columns.append(_text("Context", 32, lambda item: item.case.context))
    if any(item.prediction.cost_usd is not None for item in run.evidence):
        columns.append(
            _Column(title="Cost (USD)", style="money", width=11, value=lambda item: item.prediction.cost_usd)
        )
    if any(_ves_detail(item) for item in run.evidence):
        columns.append(_text("VES detail", 36, _ves_detail))
    guide = {name.replace("_", "") for name in TIMINGS}
    own = dict.fromkeys(name for item in run.evidence for name, _ in item.prediction.timings_s)
    others = [name for name in own if "".join(filter(str.isalnum, name)).casefold() not in guide]
    return columns + [_timing(name) for name in others[:_OTHER_TIMINGS]]


def _ves_detail(item: Evidence) -> str | None:
    """What stands behind the reward: its ratio, and how sure that is."""
    score = item.score("ves")
    return score.detail if score else None
