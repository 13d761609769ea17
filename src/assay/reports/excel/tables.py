"""The tables that both kinds of workbook have, one below the other: each is given its row and gives the one after."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports.excel.page import Page
from assay.reports.text.gate_table import missed
from assay.reports.views.run import CountRow, Figure, RunView

COUNT_ROWS = 25


def write_repeats(page: Page, row: int, view: RunView) -> int:
    """What several answers to each question come to, where there are several. Gives the row after."""
    if view.repeats is None:
        return row
    page.text(row + 1, 0, view.repeats.title[0].upper() + view.repeats.title[1:], "section")
    page.head(row + 2, ["k", "pass@k", "Low", "High", "pass^k", "Low", "High", "n"], numbers=range(1, 8))
    row += 3
    for one in view.repeats.rows:
        page.text(row, 0, f"{one.k:,}", "name")
        values = [value for figure in (one.any, one.all) for value in _bounded(figure)]
        for column, value in enumerate(values, start=1):
            page.number(row, column, value, "percent")
        page.number(row, 7, one.any.rate.n, "count")
        row += 1
    return row


def write_gates(page: Page, row: int, view: RunView) -> int:
    """What was demanded of the run, and whether it is so. Gives the row after."""
    page.text(row, 0, f"Gates: {view.gates_passed}", "section")
    page.head(row + 1, ["Gate", "State", "  Found", *[""] * 8])
    row += 2
    for gate in view.gates:
        page.text(row, 0, gate.gate, "name")
        page.text(row, 1, gate.state, "text")
        said = (gate.found, f"wanted {gate.wanted}", missed(gate))
        page.text(row, 2, "; ".join(filter(None, said)), "beside")
        row += 1
    return row


def write_times(page: Page, row: int, view: RunView) -> int:
    """What answers and queries took, where anybody timed them. Gives the row after."""
    if not view.times:
        return row
    page.text(row + 1, 0, "What answers and queries took, in seconds", "section")
    page.head(row + 2, ["Time", "Median", "90 % within", "Longest", "Mean", "n"], numbers=range(1, 6))
    row += 3
    for one in view.times:
        spread = one.spread
        page.text(row, 0, one.name, "name")
        for column, value in enumerate((spread.median_s, spread.p90_s, spread.max_s, spread.mean_s), start=1):
            page.number(row, column, value, "fine_seconds")
        page.number(row, 5, spread.n, "count")
        row += 1
    return row


def write_usage(page: Page, row: int, view: RunView) -> int:
    """Tokens and cost, where an answer says them. Gives the row after."""
    if not view.usage:
        return row
    page.text(row + 1, 0, "Tokens and cost, as the answers say them", "section")
    page.head(row + 2, ["What", "In all", "Per answer", "Said by"])
    row += 3
    for one in view.usage:
        page.text(row, 0, one.name, "name")
        for column, said in enumerate((one.total, one.each, one.said_by), start=1):
            page.text(row, column, said, "text")
        row += 1
    return row


def write_groups(page: Page, row: int, view: RunView) -> int:
    """Every breakdown of the headline, with intervals and what is in no rate. Gives the row after."""
    leading = next((metric for metric in view.metrics if metric.headline), None)
    style = "percent" if leading is None or leading.share else "number"
    for table in view.groups:
        counted = "Turns" if table.kind in ("turn", "dataset") else "Cases"
        page.text(row + 1, 0, f"{view.headline_name} by {table.title}", "section")
        head = [table.title.capitalize(), counted, view.headline_metric, "Low", "High", "n", "Unscored"]
        page.head(row + 2, head, numbers=range(1, 7))
        row += 3
        for group in table.rows:
            page.text(row, 0, group.name, "name")
            page.number(row, 1, group.cases, "count")
            for column, value in enumerate(_bounded(group.headline), start=2):
                page.number(row, column, value, style)
            page.number(row, 5, group.headline.rate.n, "count")
            page.number(row, 6, group.headline.rate.unscored, "count")
            row += 1
    return row


def write_pairs(page: Page, row: int, view: RunView) -> int:
    """On how many cases each two metrics disagree, and which accepts them. Gives the row after."""
    if not view.disagreements:
        return row
    page.text(row + 1, 0, "Cases on which two metrics disagree", "section")
    page.head(
        row + 2, ["One", "The other", "", "Cases", "Only one", "Only other", "Both", "Neither"], numbers=range(3, 8)
    )
    row += 3
    for pair in view.disagreements:
        page.text(row, 0, pair.first, "name")
        page.text(row, 1, pair.second, "beside")
        counts = (pair.count, len(pair.only_first), len(pair.only_second), pair.both, pair.neither)
        for column, count in enumerate(counts, start=3):
            page.number(row, column, count, "count")
        row += 1
    return row


def _bounded(figure: Figure) -> tuple[float | None, float | None, float | None]:
    return figure.rate.value, figure.rate.low, figure.rate.high


def write_counts(page: Page, row: int, title: str, rows: Sequence[CountRow]) -> int:
    """How many cases carry each name. Gives the row after."""
    page.text(row, 0, title[0].upper() + title[1:], "section")
    page.head(row + 1, ["Name", "Cases", "Share", "  Meaning", *[""] * 7], numbers=range(1, 3))
    row += 2
    for count in rows[:COUNT_ROWS]:
        page.text(row, 0, f"{count.blame}: {count.name}" if count.blame else count.name, "name")
        page.number(row, 1, count.count, "count")
        page.number(row, 2, count.share, "percent")
        example = f"such as: {count.example}" if count.example else ""
        page.text(row, 3, "; ".join(filter(None, (count.meaning, example))), "beside")
        row += 1
    if len(rows) > COUNT_ROWS:
        page.text(row, 0, f"and {len(rows) - COUNT_ROWS:,} more", "note")
        row += 1
    return row
