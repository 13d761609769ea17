"""A leaderboard on one screen: who is first, the ranking, the notes, how to read it, and who is first again."""

from __future__ import annotations

from collections.abc import Iterable

from assay.model import Leaderboard
from assay.platform.shell import quoted
from assay.reports.blocks.leaderboard import LeaderboardReport, possible
from assay.reports.blocks.values import figure
from assay.reports.screen.lines import Line, Span, cut, padded, wrapped
from assay.reports.screen.parts import LINES, WIDTH, Part, notes_part, screen
from assay.reports.screen.run import Step, steps_part
from assay.reports.screen.tables import figure_lines
from assay.reports.text.plain import columns_of, one_line

_LONGEST_NAME, _LONGEST_LETTERS = 40, 8
_ROWS = 30


def leaderboard_screen(board: Leaderboard, *, width: int = WIDTH, lines: int = LINES) -> list[Line]:
    """The summary of a leaderboard for lines of ``width`` columns."""
    report = LeaderboardReport(board)
    lead = wrapped(report.lead, width, rest="  ", most=3, style="bold")
    ranking = tuple(_ranking(report, width))
    parts = [
        Part(
            title=f"Ranking by {cut(report.metric, 40)}, {report.confidence} intervals",
            head=ranking[:1],
            items=tuple((one,) for one in ranking[1:]),
            least=10,
            most=_ROWS,
            rank=1,
            total=len(board.standings),
        ),
        notes_part(report.notes, width, lines=2, least=2, most=5, rank=2),
        *_reviewed(report, width),
        *_grids(report, width),
        Part(
            title="How to read it",
            items=tuple(wrapped(one, width, first="  ", rest="  ", most=2) for one in report.legend),
            least=1,
            most=4,
            rank=4,
        ),
        steps_part(_steps(report), width),
    ]
    head = [*lead, *wrapped(report.cases, width, most=4, style="dim")]
    return screen(head, [one for one in parts if one.items], lead, width=width, lines=lines)


def _ranking(report: LeaderboardReport, width: int) -> Iterable[Line]:
    """Place, possible places, letters, run, value, interval, tally."""
    standings = report.board.standings[:_ROWS]
    if not standings:
        return
    figures = [report.figure(one) for one in standings]
    columns = [
        [f"{one.rank:,}" for one in standings],
        [possible(one) for one in standings],
        [cut(one_line(one.groups), _LONGEST_LETTERS) for one in standings],
        report.labels[: len(standings)],
        [one.text for one in figures],
        [one.interval for one in figures],
        [one.tally for one in figures],
    ]
    heads = ["place", "possible", "letters", "run", "", "", "cases"]
    sizes = [max(map(columns_of, (head, *column))) for head, column in zip(heads, columns, strict=True)]
    left_out: set[int] = set()
    for column in (2, 1, 6, 5):
        room = width - 2 - sum(size + 2 for at, size in enumerate(sizes) if at != 3 and at not in left_out)
        if room < min(sizes[3], 16):
            left_out.add(column)
    room = width - 2 - sum(size + 2 for at, size in enumerate(sizes) if at != 3 and at not in left_out)
    sizes[3] = max(3, min(sizes[3], room, _LONGEST_NAME))
    styles = ["", "dim", "", "bold", "bold", "dim", "dim"]
    for row in (heads, *zip(*columns, strict=True)):
        cells = [
            Span(
                f"  {padded(cut(cell, sizes[at]), sizes[at], right=at in (0, 1, 4))}", "dim" if row is heads else style
            )
            for at, (cell, style) in enumerate(zip(row, styles, strict=True))
            if at not in left_out
        ]
        yield tuple(cells)


def _reviewed(report: LeaderboardReport, width: int) -> Iterable[Part]:
    """The ranking by people's reviews, each run with its place before."""
    pairs = zip(report.board.standings, report.labels, strict=True)
    found = [(one, label) for one, label in pairs if one.reviewed is not None]
    if not found:
        return
    found.sort(key=lambda pair: pair[0].reviewed_rank or 0)
    rows = [
        (f"{one.reviewed_rank or '–'}. {label} (before: {one.rank:,})", figure(one.reviewed))
        for one, label in found[:_ROWS]
        if one.reviewed is not None
    ]
    items = figure_lines(rows, width, drawn=False)
    yield Part(title="After people's reviews", items=items, least=2, most=10, rank=2, total=len(found))


def _grids(report: LeaderboardReport, width: int) -> Iterable[Part]:
    """The leading metric by difficulty, as many columns as fit."""
    for grid in report.grids:
        if grid.key == "difficulty":
            labels = [cut(label, 24) for label in report.labels[:_ROWS]]
            room = max(map(columns_of, labels))
            lines = []
            for label, figures in zip(["", *labels], [None, *grid.cells[:_ROWS]], strict=True):
                cells = list(grid.columns) if figures is None else [one.text for one in figures]
                lines.append((padded(label, room), [cut(cell, 12) for cell in cells]))
            sizes = [max(columns_of(cells[at]) for _, cells in lines) for at in range(len(grid.columns))]
            items = []
            for label, cells in lines:
                spans, used = [Span(f"  {label}")], 2 + room
                for cell, size in zip(cells, sizes, strict=True):
                    used += 2 + size
                    if used > width:
                        break
                    spans.append(Span(f"  {padded(cell, size, right=True)}", "dim" if cells is lines[0][1] else ""))
                items.append(tuple(spans))
            title = f"{cut(report.metric, 40)} by difficulty"
            rows = tuple((one,) for one in items[1:])
            yield Part(title=title, head=(items[0],), items=rows, least=2, most=6, rank=3, total=len(report.labels))


def _steps(report: LeaderboardReport) -> list[Step]:
    """Compare the first two runs, and write every case."""
    folders = [one.run.folder or "" for one in report.board.standings]
    if len(folders) < 2 or not all(one and one_line(one) == one for one in folders[:2]):
        return []
    first, second = map(quoted, folders[:2])
    return [("compare the first two", ("assay", "diff", second, first))]
