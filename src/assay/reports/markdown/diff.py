"""A comparison of two runs as Markdown, made for a pull-request comment.

Whatever came from outside stands in code spans and code blocks, as in `assay.reports.markdown.run`.
The answer comes first and in full; what is long is folded, and left out, counted, where there is no room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.model import RunDiff
from assay.reports.markdown.blocks import cell_code, code, explained, fenced, grid, plain, section
from assay.reports.text.gate_table import missed
from assay.reports.views.diff import (
    SIGNS_MEANING,
    ChangeRow,
    ChangeTable,
    DiffFigure,
    DiffView,
    Direction,
    MatchRow,
    SideText,
    SideView,
    first_names,
    most_changed,
)
from assay.reports.views.diff_build import view_of_diff
from assay.reports.views.run import GateRow

LENGTH = 60_000
"""Characters at most: GitHub refuses comments of more than 65,536."""
_CASES = 20
_GROUP_ROWS = 30
_MORE_IDS = 40
_NAMES = 30
_NOTES = 10
_NOTE_LENGTH = 600
_MARKS: dict[Direction, str] = {"better": "🟢", "worse": "🔴", "unclear": "⚪", "unknown": "⚪"}
_HEAD = ("from", "to", "points", "interval", "p", "adjusted p", "gained / lost", "cases")


def diff_markdown(diff: RunDiff, cases: int | None = None) -> bytes:
    """The comparison, short enough for one comment; ``cases`` is how many of each kind are shown in full."""
    view = view_of_diff(diff, cases=_CASES if cases is None else cases)
    parts = ["\n".join(_answer(view))]
    rest = ["\n".join(_metrics(view)), *_groups(view), *_matching(view), "\n".join(_facts(view))]
    room = LENGTH - 1000 - sum(map(len, parts))
    kept = within(rest, room)
    room -= sum(map(len, kept))
    return ("\n".join([*parts, *_changes(view, room), *kept]) + "\n").encode()


def within(parts: Sequence[str], room: int) -> list[str]:
    """Those of the parts, in order, that fit."""
    kept = []
    for part in parts:
        if len(part) + 1 <= room:
            kept.append(part)
            room -= len(part) + 1
    return kept


def sentence(text: str) -> str:
    """A sentence of ours that may quote a name: no Markdown, no HTML, no link and no mention in it."""
    cut = text if len(text) <= _NOTE_LENGTH else text[: _NOTE_LENGTH - 1] + "…"
    apart = cut.replace("@", "@\u2060").replace("://", ":\u2060//").replace("www.", "www\u2060.")
    return plain(apart)


def folded(summary: str, lines: Iterable[str]) -> str:
    """A part that opens on a click; the summary is HTML already."""
    return "\n".join(["", f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"])


def noted(notes: Sequence[str]) -> Iterable[str]:
    """Notes as a quotation."""
    for note in notes[:_NOTES]:
        yield f"> {sentence(note)}"
        yield ">"
    if len(notes) > _NOTES:
        yield f"> and {len(notes) - _NOTES:,} more notes"
    if notes:
        yield ""


def _answer(view: DiffView) -> Iterable[str]:
    yield f"## {code(view.candidate.label)} against {code(view.baseline.label)}"
    yield ""
    mark = _MARKS[view.direction] if view.firm or view.direction not in ("better", "worse") else "🟡"
    yield f"{mark} **{sentence(view.lead)}**: {sentence(view.rest)}"
    yield ""
    if view.counts:
        yield " · ".join(f"**{one.count:,}** {one.name}" for one in view.counts)
        yield ""
    yield from noted(view.notes)
    if view.gates:
        yield from _gates(view.gates, view.gates_passed)


def _gates(gates: Sequence[GateRow], passed: str) -> Iterable[str]:
    yield from section(f"Gates: {passed}")
    yield from grid(
        ("", "gate", "wanted", "found", ""),
        [
            (
                "✅" if row.passed else "❌",
                cell_code(row.gate),
                cell_code(row.wanted[:200]),
                cell_code(row.found[:200]),
                cell_code(missed(row)[:300]) if not row.passed else "",
            )
            for row in gates[:_GROUP_ROWS]
        ],
    )
    if len(gates) > _GROUP_ROWS:
        yield ""
        yield f"and {len(gates) - _GROUP_ROWS:,} more"


def _figure(one: DiffFigure) -> tuple[str, ...]:
    difference = f"**{one.difference}**" if one.direction in ("better", "worse") else one.difference
    return (
        one.baseline,
        one.candidate,
        f"{one.sign} {difference}",
        one.interval,
        one.p_value.replace("<", "&lt;"),
        one.adjusted_p_value.replace("<", "&lt;"),
        f"{one.diff.gained:,} / {one.diff.lost:,}",
        one.tally,
    )


def _metrics(view: DiffView) -> Iterable[str]:
    if view.metrics:
        yield from section("Metrics")
        rows = [
            (f"**{cell_code(row.metric)}**" if row.headline else cell_code(row.metric), row) for row in view.metrics
        ]
        yield from grid(("metric", *_HEAD), [(name, *_figure(row.figure)) for name, row in rows[:_GROUP_ROWS]])
        yield ""
        numbers = not all(row.figure.share for row in view.metrics)
        points = "percentage points, but for metrics that are numbers" if numbers else "percentage points"
        yield f"{SIGNS_MEANING}. Differences and their intervals are in {points}."
        yield ""
        yield from explained(row.explained for row in view.metrics)
    for said in view.only_in_one:
        yield sentence(said)
        yield ""
    if view.power:
        yield sentence(view.power)


def _groups(view: DiffView) -> list[str]:
    parts = []
    for table in view.groups:
        rows = most_changed(table, _GROUP_ROWS)
        lines = list(grid((table.kind, *_HEAD), [(cell_code(row.name), *_figure(row.figure)) for row in rows]))
        hidden = len(table.rows) - len(rows)
        lines += ["", f"and {hidden:,} in which fewer cases changed"] if hidden else []
        parts.append(folded(f"By {table.title}", lines))
    return parts


def _matching(view: DiffView) -> list[str]:
    if not view.matching:
        return []

    def row(one: MatchRow) -> tuple[str, ...]:
        names = ", ".join(cell_code(name[:120]) for name in one.names[:_NAMES])
        more = f", +{len(one.names) - _NAMES:,}" if len(one.names) > _NAMES else ""
        return one.title, f"{len(one.names):,}", f"{names}{more}", one.meaning

    said = ", ".join(f"{len(one.names):,} {one.title}" for one in view.matching)
    lines = grid(("", "cases", "which", ""), [row(one) for one in view.matching])
    return [folded(f"Cases that are not the same in both runs: {said}", lines)]


def _facts(view: DiffView) -> Iterable[str]:
    lines = [f"- {sentence(said)}" for said in view.methods]
    for side in (view.baseline, view.candidate):
        lines += ["", *_side(side)]
    yield folded("How this was computed, and the two runs", lines)


def _side(side: SideView) -> Iterable[str]:
    yield f"{side.role} {code(side.label)}: {side.own}"
    yield ""
    yield from (f"- {fact.name}: {code(fact.value)}" for fact in side.facts)


def _changes(view: DiffView, room: int) -> list[str]:
    """The cases of each kind, folded; each kind gets an equal share of the room that those before it leave."""
    parts = []
    for place, table in enumerate(view.changes):
        share = room // (len(view.changes) - place)
        part = _change_table(table, share)
        parts.append(part)
        room -= len(part) + 1
    return parts


def _change_table(table: ChangeTable, room: int) -> str:
    summary = f"<b>{table.title}: {table.count:,}</b> ({table.meaning})"
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
    return folded(summary, blocks)


def _change(row: ChangeRow) -> Iterable[str]:
    # A heading in bold, not a nested fold: whoever opened the list wants to read it.
    yield f"**{code(row.id)}**{f' · {code(row.where)}' if row.where else ''}"
    yield ""
    yield from fenced("text", row.question or "(no question)")
    yield from _told("baseline", row.baseline)
    yield from _told("candidate", row.candidate)


def _told(role: str, side: SideText) -> Iterable[str]:
    yield f"{role}, {side.state}{': ' if side.reason else ''}{code(side.reason) if side.reason else ''}"
    yield ""
    if side.query is not None:
        yield from fenced("sql", side.query)
