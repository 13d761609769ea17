"""A leaderboard as tables for other programs: CSV with a line for each rate, and LaTeX for a paper."""

from __future__ import annotations

import csv
import io
import re

from assay.model import Leaderboard
from assay.reports.blocks.diff import label_of
from assay.reports.blocks.leaderboard import LeaderboardReport, RateGrid, possible, tokens_in_all
from assay.reports.text.plain import one_line

CSV_COLUMNS = (
    *("run", "place", "possible_low", "possible_high", "letters", "kind", "group", "metric", "cases", "n", "value"),
    *("low", "high", "unscored", "answer_s", "total_tokens", "cost_usd", "reviewed_place"),
    "reviewed_value",
)
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The signs, narrow and wide, with which a cell begins that spreadsheets take for a formula."""
_MOST_METRICS = 6
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{one: f"\\{one}" for one in "&%$#_{}"},
}


def leaderboard_csv(board: Leaderboard) -> bytes:
    """A line for each run, group of cases and metric, with a head (`CSV_COLUMNS`). Shares, not percent; UTF-8.

    A name that a spreadsheet would compute as a formula stands behind an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    detail = board.detail
    for at, one in enumerate(board.standings):
        usage, time = one.usage, one.answer_time
        head = (_as_text(label_of(one.run)), one.rank, one.rank_low, one.rank_high, one.groups)
        cost = (
            None if time is None else time.median_s,
            tokens_in_all(usage),
            None if usage is None else usage.cost_usd,
            one.reviewed_rank,
            None if one.reviewed is None else one.reviewed.value,
        )
        if detail is None:
            rate = one.rate
            numbers = (board.cases, rate.n, rate.value, rate.low, rate.high, rate.unscored)
            writer.writerow([*head, "overall", None, _as_text(board.metric), *numbers, *cost])
            continue
        for group in detail.groups:
            for metric, rate in zip(detail.metrics, group.rates[at], strict=True):
                numbers = (group.cases, rate.n, rate.value, rate.low, rate.high, rate.unscored)
                name = None if group.name is None else _as_text(one_line(group.name))
                writer.writerow([*head, group.kind, name, _as_text(metric), *numbers, *cost])
    return text.getvalue().encode("utf-8", "backslashreplace")


def _as_text(name: str) -> str:
    """A name that spreadsheets show as it is, and never compute."""
    return f"'{name}" if name.lstrip().startswith(_FORMULA) else name


def leaderboard_latex(board: Leaderboard) -> bytes:
    """A table for a paper, with the package booktabs: places, letters, the metrics, and the rates by difficulty."""
    report = LeaderboardReport(board)
    return ("\n".join(_latex(report)) + "\n").encode("utf-8", "backslashreplace")


def latex_text(text: str) -> str:
    """Text that LaTeX prints as it is, on one line."""
    return "".join(_SPECIAL.get(one, one) for one in one_line(text))


def _latex(report: LeaderboardReport) -> list[str]:
    by_key = {grid.key: grid for grid in report.grids}
    grids: list[tuple[RateGrid, range]] = []
    if "metrics" in by_key:  # the leading one stands with its interval
        grids.append((by_key["metrics"], range(1, min(_MOST_METRICS, len(by_key["metrics"].columns)))))
    if "difficulty" in by_key:
        grids.append((by_key["difficulty"], range(len(by_key["difficulty"].columns))))
    heads = ["Possible", "Run", "Letters", latex_text(report.metric), f"{latex_text(report.confidence)} interval"]
    heads += [latex_text(grid.columns[at]) for grid, places in grids for at in places]
    lines = [
        r"% needs \usepackage{booktabs}",
        rf"\begin{{tabular}}{{rllr@{{\hspace{{0.5em}}}}l{'r' * (len(heads) - 5)}}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        r"\midrule",
    ]
    for place, one in enumerate(report.board.standings):
        figure = report.figure(one)
        cells = [latex_text(possible(one).replace("-", "–")), latex_text(report.labels[place])]
        cells += [f"${_letters(one_line(one.groups))}$", latex_text(figure.text), latex_text(figure.interval)]
        cells += [latex_text(grid.cells[place][at].text) for grid, places in grids for at in places]
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    note = f"{report.title}. {report.cases} {' '.join((*report.notes, *report.legend))}"
    return [*lines, *(f"% {line}" for line in re.findall(r".{1,110}(?:\s|$)", one_line(note)))]


def _letters(letters: str) -> str:
    """Letters as a superscript; none without any."""
    return rf"^{{\mathrm{{{latex_text(letters)}}}}}" if letters else "{}"
