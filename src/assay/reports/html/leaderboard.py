"""A leaderboard as one HTML page: ranking, rates by group, disagreements, and every case with the answer of every run.

Without scripts all tables are there, and of the cases those on which the runs disagree; with them tables are sorted by
a click, systems chosen, and every case found and opened.
"""

from __future__ import annotations

from urllib.parse import urlencode

from assay.model import BoardCase, BoardDetail, Leaderboard
from assay.reports.blocks.leaderboard import LeaderboardReport
from assay.reports.blocks.values import sections_in
from assay.reports.html.data import pack
from assay.reports.html.page import STYLES, page
from assay.reports.text.plain import clipped, one_line

_SCRIPTS = ("page.js", "sql.js", "leaderboard.js")
_STATIC = 100
"""Cases that a page without scripts shows."""
_QUESTION, _QUERY, _REASON = 2000, 4000, 300


def leaderboard_page(board: Leaderboard, *, keys: tuple[str, ...] = (), home: str = "") -> bytes:
    """The whole page, UTF-8.

    If it is served among other pages, ``keys`` name the runs, in the order of the standings: `run_link` and
    ``/diff`` lead to their pages. ``home`` is the address of the list of runs.
    """
    report = LeaderboardReport(board)
    detail = board.detail
    packed = b'{"board": "%s"}' % pack(_data(report, detail, keys)) if detail is not None else b"{}"
    context = {
        "view": report,
        "sections": sections_in(report.sections, "full"),
        "scales": {},
        "disputed": _disputed(detail),
        "labels": report.labels,
        "run_links": tuple(map(run_link, keys)),
        "home": home,
    }
    return b"".join(
        page("leaderboard.html", context, data=[packed], scripts=_SCRIPTS, styles=(*STYLES, "leaderboard.css"))
    )


def run_link(key: str) -> str:
    """The address of a run's page, if several pages are served."""
    return f"/run?{urlencode({'at': key})}"


def diff_link(baseline: str, candidate: str) -> str:
    """The address of the page of two runs, if several pages are served."""
    return f"/diff?{urlencode({'a': baseline, 'b': candidate})}"


def _disputed(detail: BoardDetail | None) -> list[tuple[str, str, list[str]]]:
    """Cases on which the runs disagree, the most even first, with a mark for each run."""
    if detail is None or len(detail.alone_right) < 2:
        return []

    def evenness(case: BoardCase) -> int:
        right = sum(_is_right(answer.value) for answer in case.answers)
        return min(right, len(case.answers) - right)

    cases = sorted((case for case in detail.cases if evenness(case)), key=lambda case: -evenness(case))
    return [
        (
            one_line(case.case_id, limit=80),
            one_line(case.question, limit=160),
            ["✓" if _is_right(answer.value) else "✗" for answer in case.answers],
        )
        for case in cases[:_STATIC]
    ]


def _is_right(value: float | None) -> bool:
    return value is not None and value >= 1.0


def _data(report: LeaderboardReport, detail: BoardDetail, keys: tuple[str, ...]) -> dict[str, object]:
    """What the script needs. Texts that many answers share, for example reasons, are stored once."""
    texts: dict[str, int] = {}

    def text(content: str | None) -> int:
        return -1 if content is None else texts.setdefault(content, len(texts))

    cases = [
        {
            "id": one_line(case.case_id, limit=80),
            "question": clipped(case.question, limit=_QUESTION),
            "golds": [text(clipped(gold, limit=_QUERY)) for gold in case.golds],
            "facets": [
                text(one_line(case.database, limit=80)) if case.database else -1,
                text(one_line(case.difficulty, limit=80)) if case.difficulty else -1,
            ],
            "tags": [text(one_line(tag, limit=60)) for tag in case.tags],
            "values": [None if answer.value is None else round(answer.value, 4) for answer in case.answers],
            "queries": [text(None if one.query is None else clipped(one.query, limit=_QUERY)) for one in case.answers],
            "reasons": [text(one_line(answer.reason, limit=_REASON)) for answer in case.answers],
            "causes": [text(one_line(answer.cause, limit=80)) if answer.cause else -1 for answer in case.answers],
        }
        for case in detail.cases
    ]
    return {
        "metric": report.metric,
        "labels": report.labels,
        "keys": list(keys),
        "texts": list(texts),
        "cases": cases,
    }
