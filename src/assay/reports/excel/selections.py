"""The workbook of an SDMX run: Overview with a row a test case, Statistics, Settings.

Titles and the details cell are those of StatGPT's evaluation method; what goes beyond it stands to their right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.model import Evidence, Run, TurnAnswer
from assay.reports.excel.columns import case_style
from assay.reports.excel.page import CELL_LIMIT, LINE_POINTS, Page, lines_of, word_width
from assay.reports.excel.selection_statistics import write_statistics
from assay.reports.excel.settings import write_settings
from assay.reports.text.plain import words
from assay.reports.text.selections import details
from assay.reports.views.case import failures
from assay.reports.views.run import RunView
from assay.runs.metric_infos import info_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook

_LINES = 14
"""Of text that a row shows, at most: two dimensions of a few terms. The cell holds it all."""
_FIRST = ("macro_recall", "macro_precision")
_LONGEST_ANSWER = 4000
Value = str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One column: its title, how it is written, how wide, and its value for a case."""

    title: str
    style: str
    width: float
    value: Callable[[Evidence], Value]
    safe: bool = False
    """Whether its text is known to be visible and to fit a cell."""


def write_selection_workbook(workbook: Workbook, run: Run, view: RunView) -> None:
    """All sheets, in the order in which they stand."""
    overview = Page(workbook, "Overview")
    statistics = Page(workbook, "Statistics", centred=True)
    settings = Page(workbook, "Settings", centred=True)
    _write_overview(overview, run)
    write_statistics(statistics, run, view)
    write_settings(settings, run, view)


def _write_overview(page: Page, run: Run) -> None:
    """Every case in the question set's order, one row at a time."""
    columns = _columns(run)
    sheet = page.sheet
    for place, column in enumerate(columns):
        sheet.set_column(place, place, max(column.width, word_width(column.title) + 2))
    sheet.freeze_panes(1, 2)
    sheet.set_landscape()
    sheet.set_paper(8)
    sheet.fit_to_pages(2, 0)
    sheet.repeat_rows(0)
    sheet.repeat_columns(0)
    # At the left, all of them: the button of the filter covers a cell's right end.
    page.head(0, [column.title for column in columns], lines=2)
    wrapped = [(place, column.width - 2) for place, column in enumerate(columns) if "wrapped" in column.style]
    wrapped.sort(key=lambda entry: -entry[1])  # the details, which decide most heights, first
    for row, item in enumerate(run.evidence, start=1):
        values = [column.value(item) for column in columns]
        sheet.set_row(row, LINE_POINTS * _lines(values, wrapped) + 3)
        for place, (column, value) in enumerate(zip(columns, values, strict=True)):
            if value is None or isinstance(value, str):
                write = page.safe_text if column.safe else page.text
                write(row, place, value or "", column.style)
            else:
                page.number(row, place, value, column.style)
    last = max(1, len(run.evidence))
    sheet.autofilter(0, 0, last, len(columns) - 1)
    for place, column in enumerate(columns):
        if column.title == "outcome":
            page.colour_verdicts(1, last, place)
        elif column.style == "percent":
            page.shade_shares(1, last, place)
        elif column.style == "yes_no":
            page.colour_yes_no(1, last, place)


def _lines(values: Sequence[Value], wrapped: Sequence[tuple[int, float]]) -> int:
    """How many lines of text a row shows."""
    lines = 1
    for place, width in wrapped:
        text = values[place]
        if isinstance(text, str):
            # The most of them that can be, without reading on through thousands of lines.
            lines = max(lines, _LINES if text.count("\n", 0, 2000) >= _LINES else lines_of(text, width))
            if lines >= _LINES:
                return _LINES
    return lines


def _columns(run: Run) -> list[_Column]:
    """The method's own columns first, under its names; then the other metrics in the run's order; then the rest."""
    others = [summary.metric for summary in run.aggregates.overall.metrics if summary.metric not in _FIRST]
    return [
        _text("id", _fitting((item.case.id for item in run.evidence), 10, 20), _id, style="name_wrapped"),
        *_repeat(run),
        _text("name", _fitting((item.case.name for item in run.evidence), 10, 30), lambda item: item.case.name),
        _text("tags", 14, lambda item: ", ".join(item.case.tags)),
        _text("question", 40, lambda item: item.case.question),
        _text("outcome", 12, lambda item: item.outcome, style="text"),
        *(_metric(name, run) for name in _FIRST),
        _Column(title="indicator selection details", style="wrapped", width=62, value=_details, safe=True),
        *(_metric(name, run) for name in others),
        _text("reason", 44, lambda item: item.verdict.reason),
        _text("not scored", 36, _not_scored),
        *_where_any(run),
    ]


def _where_any(run: Run) -> Iterable[_Column]:
    """Columns that some runs have nothing for: they stand only where a case has something."""
    for column in (
        _text("failure", 36, lambda item: "\n".join(_failures(item))),
        _text("answer", 48, _answer),
        _text("terms compared by", 14, _compared_by),
        _Column(title="latency (s)", style="fine_seconds", width=11, value=_latency),
        _text("comments", 24, lambda item: item.case.comments),
    ):
        values = map(column.value, run.evidence)
        nothing = "id and name" if column.title == "terms compared by" else ""
        if any(value is not None and value not in (nothing, "") for value in values):
            yield column


def _text(title: str, width: float, value: Callable[[Evidence], Value], *, style: str = "wrapped") -> _Column:
    return _Column(title=title, style=style, width=width, value=value)


def _metric(name: str, run: Run) -> _Column:
    """One metric's values; blank where a case has none, and all through where the run has no such metric."""

    def value(item: Evidence) -> Value:
        score = item.score(name)
        return None if score is None else score.value

    return _Column(title=words(name), style=case_style(info_of(name, run.settings)), width=12, value=value)


def _id(item: Evidence) -> str:
    return item.case.id


def _repeat(run: Run) -> list[_Column]:
    """Which of several answers to its question a row is, from 1; nothing where each question was asked once."""
    if run.settings.repeats == 1:
        return []
    return [_Column(title="repeat", style="count", width=9, value=lambda item: item.prediction.repeat + 1)]


def _fitting(texts: Iterable[str | None], narrowest: int, widest: int) -> float:
    """A width that holds the longest text, within bounds."""
    longest = max((len(text) + 2 for text in texts if text), default=0)
    return float(max(narrowest, min(widest, longest)))


def _details(item: Evidence) -> str:
    """None of it where no turn was looked at: the reason and the failure then say why."""
    return details(item.turns, case=item.case, limit=CELL_LIMIT) if item.turns else ""


def _not_scored(item: Evidence) -> str:
    """Which of the cells are blank, and why, a line a cause."""
    blank: dict[str, list[str]] = {}
    for score in item.scores:
        if score.value is None:
            why = score.failure.message if score.failure else item.verdict.reason
            blank.setdefault(why, []).append(words(score.metric))
    if len(blank) == 1:
        (why, names), *_ = blank.items()
        return why if len(names) == len(item.scores) else f"{', '.join(names)}: {why}"
    return "\n".join(f"{', '.join(names)}: {why}" for why, names in blank.items())


def _failures(item: Evidence) -> Iterable[str]:
    """Each failure once, as ``blame: message``; those of single turns with their number."""
    several = len(item.prediction.turns) > 1
    told = list(failures(item))
    for number, turn in enumerate(item.prediction.turns, start=1):
        if turn.failure is not None:
            told.append(f"{turn.failure.blame}: {turn.failure.message}" + (f" (turn {number})" if several else ""))
    return dict.fromkeys(told)


def _answer(item: Evidence) -> str:
    """The answer as it came, or else in the system's words."""
    answers = item.prediction.turns
    if not answers:
        return item.prediction.raw or ""
    blocks = [
        f"Turn {number}\n{said}" if len(answers) > 1 else said
        for number, answer in enumerate(answers, start=1)
        if (said := _said(answer))
    ]
    return "\n\n".join(blocks)


def _said(answer: TurnAnswer) -> str:
    said = answer.raw or answer.text or ""
    missing = len(said) - _LONGEST_ANSWER
    return said if missing <= 0 else f"{said[:_LONGEST_ANSWER]}\n… {missing:,} more characters"


def _compared_by(item: Evidence) -> str:
    scores = [turn.score for turn in item.turns if turn.score is not None]
    if not scores:
        return ""
    return "id and name" if all(score.names_compared for score in scores) else "id, where a name is missing"


def _latency(item: Evidence) -> float | None:
    """Of all turns together, as far as the system said."""
    known = [turn.latency_s for turn in item.prediction.turns if turn.latency_s is not None]
    return sum(known) if known else None
