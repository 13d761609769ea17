"""A comparison of two runs, or a leaderboard, as Markdown, made for a pull-request comment.

All text from outside is in code spans and code blocks, as in `assay.reports.markdown.run`.
The answer comes first and in full; long lists are folded; what does not fit is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from assay.model import Leaderboard, RunDiff
from assay.model.runs.estimate import Estimate, EstimatedDifference
from assay.reports.blocks.diff import DiffReport
from assay.reports.blocks.estimate import EstimateReport
from assay.reports.blocks.leaderboard import LeaderboardReport
from assay.reports.blocks.values import ChangeRow, Changes, Direction, Section, SideText, first_names, sections_in
from assay.reports.markdown.blocks import LENGTH, code, fenced, noted, section_lines, sentence, shortened, within

_CASES = 20
_MORE_IDS = 40
_OPEN = {"gates": 20, "reviews": 12, "metrics": 12, "ranking": 30, "power": 8, "legend": 8}
"""The sections that are not folded, each with the number of rows that it shows."""
_MARKS: dict[Direction, str] = {"better": "🟢", "worse": "🔴", "unclear": "⚪", "unknown": "⚪"}


def diff_markdown(diff: RunDiff, cases: int | None = None) -> bytes:
    """The comparison, short enough for one comment; ``cases`` is how many of each kind are shown in full."""
    report = DiffReport(diff, cases=_CASES if cases is None else cases)
    answer = "\n".join(_answer(report))
    sections = sections_in(report.sections, "full")
    changes = [one for one in sections if isinstance(one.blocks[0], Changes)]
    others = list(shortened((one for one in sections if one not in changes), lambda _: (), _OPEN))
    room = LENGTH - 1000 - len(answer)
    kept = within(others, room)
    # Each kind of change gets an equal share of the room that is still free.
    room -= sum(map(len, kept))
    told = []
    for place, one in enumerate(changes):
        told.append(_part(one, room // (len(changes) - place)))
        room -= len(told[-1]) + 1
    gates = [part for part in kept if part is others[0]] if diff.gates else []
    return ("\n".join([answer, *gates, *told, *kept[len(gates) :]]) + "\n").encode()


def _part(one: Section, room: int) -> str:
    return "\n".join(section_lines(one, lambda table: _changes(table, room)))


def _answer(report: DiffReport) -> Iterable[str]:
    yield f"## {code(report.candidate)} against {code(report.baseline)}"
    yield ""
    mark = _MARKS[report.direction] if report.firm or report.direction not in ("better", "worse") else "🟡"
    yield f"{mark} **{sentence(report.lead)}**: {sentence(report.rest)}"
    yield ""
    if report.counts:
        yield " · ".join(f"**{number:,}** {name}" for _, name, number in report.counts)
        yield ""
    yield from noted(report.notes)


def _changes(table: Changes, room: int) -> list[str]:
    blocks: list[str] = []
    used = 1500 + _MORE_IDS * 10
    for row in table.rows:
        block = "\n".join(_change(row))
        if used + len(block) > room:
            break
        blocks.append(block)
        used += len(block) + 1
    left_out = [*(row.id for row in table.rows[len(blocks) :]), *table.more]
    if left_out:
        short = [name if len(name) <= 24 else name[:23] + "…" for name in left_out[:_MORE_IDS]]
        names = first_names([*short, *left_out[_MORE_IDS:]], _MORE_IDS)
        blocks.append(f"{'and ' if blocks else ''}{code(names)}")
    return blocks


def _change(row: ChangeRow) -> Iterable[str]:
    # A heading in bold, not a nested fold: a reader who opened the list wants to read it.
    yield f"**{code(row.id)}**{f' · {code(row.where)}' if row.where else ''}"
    yield ""
    yield from fenced("text", row.question or "(no question)")
    yield from _told("baseline", row.baseline)
    yield from _told("candidate", row.candidate)


def _told(role: str, side: SideText) -> Iterable[str]:
    yield f"{role}, {side.state}{': ' if side.reason else ''}{code(side.reason) if side.reason else ''}"
    yield ""
    if side.query is not None:
        # An answer with a selection is JSON or an address.
        is_json, is_address = side.query.startswith(("{", "[")), side.query.startswith(("https://", "http://"))
        yield from fenced("json" if is_json else "text" if is_address else "sql", side.query)


def leaderboard_markdown(board: Leaderboard) -> bytes:
    """The leaderboard, short enough for one comment."""
    return _short(LeaderboardReport(board))


def estimate_markdown(estimate: Estimate | EstimatedDifference) -> bytes:
    """An estimate, short enough for one comment."""
    return _short(EstimateReport(estimate))


def _short(report: LeaderboardReport | EstimateReport) -> bytes:
    answer = "\n".join(_board_answer(report))
    sections = sections_in(report.sections, "full")
    is_open = _OPEN if isinstance(report, LeaderboardReport) else dict.fromkeys((one.key for one in sections), 12)
    parts = list(shortened(sections, lambda _: (), is_open))
    return ("\n".join([answer, *within(parts, LENGTH - 1000 - len(answer))]) + "\n").encode()


def _board_answer(report: LeaderboardReport | EstimateReport) -> Iterable[str]:
    yield f"## {sentence(report.title)}"
    yield ""
    yield f"**{sentence(report.lead)}** {sentence(report.cases)}"
    yield ""
    yield from noted(report.notes)
