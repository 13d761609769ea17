"""The workbook of an SDMX run: Overview with one row per test case, Statistics, Settings.

Titles and the details cell are those of StatGPT's evaluation method; our own columns follow to their right.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from assay.model import Evidence, Run
from assay.reports.blocks.run import RunReport
from assay.reports.cases.case import failures, repair, why
from assay.reports.excel.columns import case_style
from assay.reports.excel.page import CELL_LIMIT, Page
from assay.reports.excel.sections import names_in, write_notes, write_sections
from assay.reports.excel.settings import write_settings
from assay.reports.excel.table import Column, fitted, metric_column, repeat_column, review_columns, write_cases
from assay.reports.text.plain import words
from assay.reports.text.selections import details
from assay.runs.aggregate.metric_infos import info_of

if TYPE_CHECKING:
    from xlsxwriter import Workbook

_LINES = 27
"""How many lines of text a row shows at most: Excel's highest row is 409 points. The cell holds the whole text."""
_FIRST = ("macro_recall", "macro_precision")
_LONGEST_ANSWER = 4000
_WIDTH, _COLUMNS = 13.0, 16


def write_selection_workbook(workbook: Workbook, run: Run, report: RunReport) -> None:
    """Write all sheets, in their order."""
    overview = Page(workbook, "Overview")
    statistics = Page(workbook, "Statistics", centred=True)
    settings = Page(workbook, "Settings", centred=True)
    # Every case in the question set's order.
    columns = fitted(_columns(run), run.evidence)
    write_cases(overview, run.evidence, columns, kept=2, lines=_LINES, shares="shades")
    # The method's metrics over all test cases, then every other section.
    sections = [one for one in report.sections if one.key != "metrics"]
    metrics = [replace(one, title="Data Query Metrics", aside="") for one in report.sections if one.key == "metrics"]
    statistics.prepare(names=names_in((*metrics, *sections)))
    statistics.sheet.set_column(1, _COLUMNS, _WIDTH)
    row = write_sections(statistics, -1, metrics)
    note = f"Means are over test cases; Low and High bound them at {report.confidence}."
    write_sections(statistics, write_notes(statistics, row + 1, report, note), sections)
    write_settings(settings, run, report)


def _columns(run: Run) -> list[Column]:
    """The method's own columns first, under its names; then the other metrics in the run's order; then the rest."""
    others = [summary.metric for summary in run.aggregates.overall.metrics if summary.metric not in _FIRST]

    def metric(name: str) -> Column:
        return metric_column(words(name), name, case_style(info_of(name, run.settings)), width=12)

    return [
        Column("id", 10, lambda item: item.case.id, "name_wrapped", widest=20),
        *repeat_column("repeat", run),
        Column("name", 10, lambda item: item.case.name, widest=30),
        Column("tags", 14, lambda item: ", ".join(item.case.tags)),
        Column("question", 40, lambda item: item.case.question),
        Column("outcome", 12, lambda item: item.outcome, "text", marks="verdicts"),
        *map(metric, _FIRST),
        Column("indicator selection details", 62, _details),
        *map(metric, others),
        Column("reason", 44, lambda item: item.verdict.reason),
        Column("not scored", 36, _not_scored),
        *review_columns(),
        Column("cause", 20, lambda item: item.cause, optional=True),
        Column("why", 48, lambda item: "\n".join((*why(item), *repair(item))), optional=True),
        Column("failure", 36, lambda item: "\n".join(_failures(item)), optional=True),
        Column("answer", 48, _answer, optional=True),
        Column("terms compared by", 14, _compared_by, optional=True, usual="id and name"),
        Column("latency (s)", 11, _latency, "fine_seconds", optional=True),
        Column("comments", 24, lambda item: item.case.comments, optional=True),
    ]


def _details(item: Evidence) -> str:
    """The details cell; empty if no turn was scored: the reason and the failure then say why."""
    return details(item.turns, case=item.case, limit=CELL_LIMIT) if item.turns else ""


def _not_scored(item: Evidence) -> str:
    """Which cells are blank and why, one line per cause."""
    blank: dict[str, list[str]] = {}
    for score in item.scores:
        if score.value is None:
            said = score.failure.message if score.failure else item.verdict.reason
            blank.setdefault(said, []).append(words(score.metric))
    if len(blank) == 1:
        (why, names), *_ = blank.items()
        return why if len(names) == len(item.scores) else f"{', '.join(names)}: {why}"
    return "\n".join(f"{', '.join(names)}: {why}" for why, names in blank.items())


def _failures(item: Evidence) -> Iterable[str]:
    """Each failure once, as ``blame: message``; a failure of one turn with the turn's number."""
    several = len(item.prediction.turns) > 1
    told = list(failures(item))
    for number, turn in enumerate(item.prediction.turns, start=1):
        if turn.failure is not None:
            told.append(f"{turn.failure.blame}: {turn.failure.message}" + (f" (turn {number})" if several else ""))
    return dict.fromkeys(told)


def _answer(item: Evidence) -> str:
    """The selection as the system sent it, or else the system's words."""
    answers = item.prediction.turns
    if not answers:
        return item.prediction.raw or ""
    blocks = [
        f"Turn {number}\n{said}" if len(answers) > 1 else said
        for number, answer in enumerate(answers, start=1)
        if (said := _cut(answer.raw or answer.text or ""))
    ]
    return "\n\n".join(blocks)


def _cut(said: str) -> str:
    missing = len(said) - _LONGEST_ANSWER
    return said if missing <= 0 else f"{said[:_LONGEST_ANSWER]}\n… {missing:,} more characters"


def _compared_by(item: Evidence) -> str:
    scores = [turn.score for turn in item.turns if turn.score is not None]
    if not scores:
        return ""
    return (
        "id and name" if all(score.names_compared for score in scores) else "id if a name is missing, else id and name"
    )


def _latency(item: Evidence) -> float | None:
    """The time of all turns together, as far as the system reported it."""
    known = [turn.latency_s for turn in item.prediction.turns if turn.latency_s is not None]
    return sum(known) if known else None
