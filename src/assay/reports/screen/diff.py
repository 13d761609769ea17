"""A comparison of two runs on one screen: the answer, the runs, the notes, the changed cases, and the answer again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.platform.shell import quoted
from assay.reports.blocks.diff import DiffReport, figure_of, kind_of
from assay.reports.blocks.values import DiffFigure, ShownKind
from assay.reports.console.bars import COLOURS
from assay.reports.screen.lines import Line, Span, cut, line, padded, text_of, wrapped
from assay.reports.screen.parts import LINES, WIDTH, Part, fits, notes_part, screen
from assay.reports.screen.run import Step, gates_part, steps_part
from assay.reports.screen.tables import dense_lines, telling_first
from assay.reports.text.plain import columns_of, one_line, percent

_CHANGED: tuple[tuple[ShownKind, str], ...] = (
    ("broken", "Broken: right in the baseline, wrong in the candidate"),
    ("fixed", "Fixed: wrong in the baseline, right in the candidate"),
    ("worse", "Less often right"),
    ("better", "More often right"),
)
_LONGEST_NAME, _LONGEST_ID = 28, 30
_METRICS = 10
"""The metrics that any comparison shows."""
_LONGEST_TYPED = 60
_ROWS = 6


def diff_screen(report: DiffReport, *, width: int = WIDTH, lines: int = LINES) -> list[Line]:
    """The summary of a comparison for lines of ``width`` columns."""
    answer = _answer(report, width)
    shown = {kind: report.changes.get(kind, ()) for kind, _ in _CHANGED}
    parts = [notes_part(report.notes, width, lines=2, least=2, most=6, rank=1)]
    for rank, (kind, title) in enumerate(_CHANGED, start=2):
        changes = shown[kind]
        items = tuple(
            (_change(one.candidate.case_id, one.candidate.reason if kind == "broken" else one.question, width),)
            for one in changes[: report.cases]
        )
        parts.append(Part(title=title, items=items, least=2, most=report.cases, rank=rank, total=len(changes)))
    metrics = telling_first(_metrics(report))
    place = len(parts)
    parts.append(_metrics_part(metrics, width, is_dense=False, corrected=report.corrected))
    parts += [_groups(report, width), *gates_part(report.diff.gates, width), steps_part(_steps(report), width)]
    limits = [one for text in report.answer.limits for one in wrapped(text[:1].upper() + text[1:], width, most=2)]
    head = [*answer, *limits, *_sides(report, width)]
    if not fits(head, [one for one in parts if one.items], answer, width=width, lines=lines):
        parts[place] = _metrics_part(metrics, width, is_dense=True)
    return screen(head, [one for one in parts if one.items], answer, width=width, lines=lines)


def _metrics_part(rows: Sequence[tuple[str, DiffFigure]], width: int, *, is_dense: bool, corrected: str = "") -> Part:
    """The other metrics in the order of the runs; ``is_dense``: without more than the difference, several per line."""
    if is_dense and rows:
        items, sizes = dense_lines(
            [(name, f"{one.sign} {one.difference}") for name, one in rows], width, least=_METRICS
        )
        size = len(items)
        return Part(
            title="Metrics", items=items, sizes=sizes, least=size, floor=size, most=size, rank=0, total=len(rows)
        )
    items = difference_lines(rows[:20], width)
    title = f"Metrics (p{corrected.removeprefix(',')})" if corrected else "Metrics"
    return Part(title=title, items=items, least=_METRICS, rank=1, total=len(rows), most=20)


def _answer(report: DiffReport, width: int) -> tuple[Line, ...]:
    first, *others = wrapped(f"{report.lead}: {report.answer.movement}", width, rest="  ", most=3)
    text = text_of(first)
    if not text.startswith(report.lead):
        return (first, *others)
    colour = COLOURS[report.direction if report.firm else "unclear"]
    return (line(Span(report.lead, f"bold {colour}"), text[len(report.lead) :]), *others)


def _sides(report: DiffReport, width: int) -> Iterable[Line]:
    """Each run with its own rate, and how many cases changed in which way."""
    names = [cut(label, max(8, width // 3)) for _, label, _ in report.sides]
    room = max(map(columns_of, names))
    for (role, _, head), name in zip(report.sides, names, strict=True):
        yield line(Span(f"{role:<9}  ", "dim"), Span(padded(name, room)), Span(f"  {report.own(head)}", "dim"))
    if (found := report.diff.reviewed) is not None:
        rates = " → ".join(percent(rate.value) for rate in (found.baseline, found.candidate))
        text = f"after reviews {rates}: {len(found.fixed):,} fixed, {len(found.broken):,} broken"
        yield from wrapped(text, width, most=1)
    if report.counts:
        text = ", ".join(f"{number:,} {name}" for _, name, number in report.counts)
        yield from wrapped(text, width, most=2)


def _change(case_id: str, text: str, width: int) -> Line:
    name = cut(one_line(case_id) or "''", _LONGEST_ID)
    said = one_line(text, limit=300)
    return line(Span(f"  {name}", "bold"), Span(cut(f"  {said}", max(0, width - 2 - columns_of(name))), "dim"))


def _metrics(report: DiffReport) -> Iterable[tuple[str, DiffFigure]]:
    for name, figure in report.figures.items():
        if figure.diff is not report.leading:
            yield one_line(name), figure


def _groups(report: DiffReport, width: int) -> Part:
    """The groups, by difficulty or by database, in which most cases changed."""
    kinds: dict[str, list[tuple[str, DiffFigure]]] = {"difficulty": [], "database": []}
    for group in report.diff.groups:
        one = next((each for each in group.metrics if each.metric == report.diff.headline_metric), None)
        if one is not None and group.kind in kinds:
            name = f"no {group.kind}" if group.name is None else one_line(group.name, limit=60) or "''"
            kinds[group.kind].append((name, figure_of(one, report.diff)))
    kind = next((kind for kind, made in kinds.items() if len(made) > 1), "difficulty")
    rows = sorted(kinds[kind], key=lambda row: -(row[1].diff.gained + row[1].diff.lost))
    title = f"{cut(report.headline_metric, 40)} by {kind}, most changes first"
    if any(figure.adjusted_p_value for _, figure in rows):
        title += " (p after Holm's correction)"
    return Part(title=title, items=difference_lines(rows[:_ROWS], width), least=3, most=_ROWS, rank=6, total=len(rows))


def difference_lines(rows: Sequence[tuple[str, DiffFigure]], width: int) -> tuple[tuple[Line, ...], ...]:
    """A line per difference: sign and points, interval, from and to, p."""
    if not rows:
        return ()
    columns = [
        [f"{one.sign} {one.difference}" for _, one in rows],
        [one.interval for _, one in rows],
        [f"{one.baseline} → {one.candidate}" for _, one in rows],
        [f"p {one.decisive_p_value}" if one.decisive_p_value else "" for _, one in rows],
    ]
    sizes = [max(map(columns_of, column)) for column in columns]
    names = [name for name, _ in rows]
    longest = min(_LONGEST_NAME, max(map(columns_of, names)))
    while len(sizes) > 1 and width - 2 - sum(size + 2 for size in sizes) < min(longest, 12):
        sizes.pop()
    longest = max(1, min(longest, width - 2 - sum(size + 2 for size in sizes)))
    made = []
    for place, (name, one) in enumerate(rows):
        spans = [Span(f"  {padded(cut(name, longest), longest)}")]
        for at, size in enumerate(sizes):
            style = f"bold {COLOURS[one.direction]}" if at == 0 else "dim"
            spans.append(Span(f"  {padded(columns[at][place], size, right=at == 0)}", style))
        made.append((tuple(spans),))
    return tuple(made)


def _steps(report: DiffReport) -> list[Step]:
    """Explain a broken case, write the comparison for a pull request, print all of it."""
    base, new = (head.folder or "" for head in (report.diff.baseline, report.diff.candidate))
    # A folder name with hidden characters could not be typed from what is shown.
    if not (base and new and one_line(base) == base and one_line(new) == new):
        return []
    steps: list[Step] = []
    for change in report.diff.changes:
        case = change.candidate.case_id
        if kind_of(change) == "broken" and case.isprintable() and len(case) <= _LONGEST_TYPED:
            typed = ("--", quoted(case)) if case.startswith("-") else (quoted(case),)
            steps.append(("why one broke", ("assay", "explain", quoted(new), *typed)))
            break
    steps.append(("for a pull request", ("assay", "diff", quoted(base), quoted(new), "--md", "diff.md")))
    steps.append(("every number", ("assay", "diff", quoted(base), quoted(new), "--full")))
    return steps
