"""The formats in which a comparison or a leaderboard is written, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from assay.errors import UsageError
from assay.model import Leaderboard, Run, RunDiff
from assay.reports.console.diff import plain_diff
from assay.reports.console.printing import plain_leaderboard
from assay.reports.json.comparisons import diff_json, leaderboard_json
from assay.reports.markdown.comparisons import diff_markdown, leaderboard_markdown
from assay.reports.text.leaderboard_tables import leaderboard_csv, leaderboard_latex

BothRuns: TypeAlias = Callable[[], tuple[Run, Run]]
"""Loads the two runs that were compared, the baseline first: only a page with every case of both needs them."""


def _text_of_diff(diff: RunDiff, cases: int | None, _: BothRuns | None) -> bytes:
    return plain_diff(diff, cases=cases).encode()


def _page_of_diff(diff: RunDiff, _: int | None, runs: BothRuns | None) -> bytes:
    if runs is None:
        raise UsageError("a page of a comparison shows every case: give the two runs as well")
    from assay.reports.html.diff import diff_page

    return diff_page(diff, *runs())


def _workbook_of_board(board: Leaderboard) -> bytes:
    from assay.reports.excel.leaderboard import leaderboard_xlsx

    return leaderboard_xlsx(board)


def _page_of_board(board: Leaderboard) -> bytes:
    from assay.reports.html.leaderboard import leaderboard_page

    return leaderboard_page(board)


# A new format is one line in each of these.
_DIFFS: Mapping[str, Callable[[RunDiff, int | None, BothRuns | None], bytes]] = {
    "html": _page_of_diff,
    "md": lambda diff, cases, _: diff_markdown(diff, cases),
    "json": lambda diff, *_: diff_json(diff),
    "txt": _text_of_diff,
}
_LEADERBOARDS: Mapping[str, Callable[[Leaderboard], bytes]] = {
    "md": leaderboard_markdown,
    "json": leaderboard_json,
    "txt": lambda board: plain_leaderboard(board).encode(),
    "csv": leaderboard_csv,
    "tex": leaderboard_latex,
    "xlsx": _workbook_of_board,
    "html": _page_of_board,
}
DIFF_FORMATS = tuple(_DIFFS)
LEADERBOARD_FORMATS = tuple(_LEADERBOARDS)


def render_diff(record: RunDiff, format: str, *, runs: BothRuns | None = None, cases: int | None = None) -> bytes:
    """A comparison in a format of `DIFF_FORMATS`, UTF-8; ``cases``: how many per kind a shortened format shows in full.

    Raises UsageError for another format, and for HTML without the ``runs``.
    """
    if format not in _DIFFS:
        raise UsageError(f"a comparison has no format {format!r}; the formats are {', '.join(_DIFFS)}")
    return _DIFFS[format](record, cases, runs)


def render_leaderboard(record: Leaderboard, format: str) -> bytes:
    """A leaderboard in a format of `LEADERBOARD_FORMATS`, UTF-8. Raises UsageError for another format."""
    if format not in _LEADERBOARDS:
        raise UsageError(f"a leaderboard has no format {format!r}; the formats are {', '.join(_LEADERBOARDS)}")
    return _LEADERBOARDS[format](record)
