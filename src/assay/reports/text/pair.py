"""One scored pair of queries as plain text, as a failed test shows it."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from assay.model import Evidence, Execution
from assay.ports import Executions
from assay.reports.blocks.values import CaseLink
from assay.reports.cases.alignment import Alignment
from assay.reports.cases.case import QueryView, case_view, rows_and_time
from assay.reports.text.parts import MARGIN, TextPart, gold_text, plain_text, predicted_text
from assay.reports.text.plain import cell_text, grid_lines, left_out, one_line

HEAD_ROWS = 5
"""Rows of each result that the text shows."""
_CELL_WIDTH = 40
_COLUMNS = 12


def pair_text(item: Evidence, executions: Executions) -> str:
    """Reason, near misses, both queries, the heads of both results and the aligned difference.

    The first line is the reason alone. ``executions`` contain the first rows of each result;
    results without rows are left out. NULL is written without quotes; text that could be taken for
    NULL or for an empty cell is in quotes.
    """
    return plain_text(pair_parts(item, executions))


def pair_parts(item: Evidence, executions: Executions) -> Iterator[TextPart]:
    """The same in parts."""
    for place, part in enumerate(_parts(item, executions)):
        if place and isinstance(part, str):
            yield f"\n{part}"
        else:
            yield part


def _parts(item: Evidence, executions: Executions) -> Iterator[TextPart]:
    answered = item.prediction.answered or item.prediction.failure is not None
    view = case_view(item, CaseLink(id="", anchor=""))
    yield view.reason
    if view.near_misses:
        yield "\n".join(f"near miss: {miss}" for miss in view.near_misses)
    if view.flags:
        yield f"flags: {', '.join(name for name, _ in view.flags)}"
    if view.question.strip():
        yield f"question: {one_line(view.question)}"
    for place, query in enumerate(view.golds):
        yield _title(query)
        if query.query is not None:
            yield gold_text(item, place, query.query)
    if view.predicted and answered:
        yield _title(view.predicted)
        if view.predicted.query is not None:
            yield predicted_text(item, view.predicted.query)
    gold = _gold_met(item, executions)
    for side, execution in (("gold", gold), ("the prediction", executions.predicted)):
        if execution is not None and execution.result is not None:
            yield f"{side} returns {rows_and_time(execution, timed=False)}:\n{indent(_head(execution), MARGIN)}"
    if view.difference is not None and view.difference.rows:
        yield _difference(view.difference)


def _title(query: QueryView) -> str:
    title = f"{query.label.lower()} ({query.outcome})"
    return title if query.query is None else f"{title}:"


def _gold_met(item: Evidence, executions: Executions) -> Execution | None:
    """The gold execution of the verdict, else the first one that has rows to show."""
    index = item.verdict.gold_index
    if index is not None and index < len(executions.golds):
        return executions.golds[index]
    return next((gold for gold in executions.golds if gold.result is not None), None)


def _head(execution: Execution) -> str:
    result = execution.result
    if result is None:
        return ""
    width = min(_COLUMNS, result.column_count)
    rows = [[cell_text(cell, limit=_CELL_WIDTH).whole for cell in row[:width]] for row in result.rows[:HEAD_ROWS]]
    names = [one_line(name, limit=_CELL_WIDTH) for name in result.columns[:width]]
    lines = [*grid_lines([names, *rows]), *([] if rows else ["(no rows)"])]
    lines += left_out((execution.row_count or 0) - len(rows), result.column_count - width)
    return "\n".join(lines)


def _difference(view: Alignment) -> str:
    signs, rows = zip((" ", view.headings), *view.lines(), strict=True)
    signed = (f"{sign} {row}".rstrip() for sign, row in zip(signs, grid_lines(rows), strict=True))
    lines = [*signed, *left_out(view.left, view.left_columns)]
    title = f"difference (- gold only, + prediction only): {view.summary}"
    return f"{title}\n{indent(chr(10).join(lines), MARGIN)}"
