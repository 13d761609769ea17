"""The sections of a comparison of two runs."""

from __future__ import annotations

from collections.abc import Iterable

from assay.reports.blocks.gates import gates_section
from assay.reports.blocks.run_sections import explained
from assay.reports.blocks.values import (
    EVERYWHERE,
    LINES,
    TEXT,
    Changes,
    Column,
    Facts,
    Medium,
    Name,
    Names,
    Paragraph,
    Remark,
    Row,
    Section,
    Table,
    columns,
    count,
    rows,
)
from assay.reports.views.diff import SIGNS_MEANING, DiffGroupRow, DiffGroupTable, DiffMetricRow, DiffView

_ROWS_IN_LINES, _ROWS_IN_COMMENT = 8, 30
_NUMBERS_TOO = "percentage points, but for metrics that are numbers"
_COMMENT: frozenset[Medium] = frozenset({"comment"})


def diff_sections(view: DiffView) -> tuple[Section, ...]:
    """Every section below the answer of a comparison, the most important first."""
    return tuple(_sections(view))


def _sections(view: DiffView) -> Iterable[Section]:
    if view.gates:
        yield gates_section(view.gates)
    for table in view.changes:
        yield Section(
            key=f"changes-{table.kind}",
            title=f"{table.title}: {table.count:,}",
            aside=table.meaning,
            blocks=(Changes(table=table),),
            folded=_COMMENT,
        )
    if view.weaker:
        yield _weaker(view)
    yield from _metrics(view)
    yield from (_groups(view, table) for table in view.groups)
    if view.causes:
        yield _causes(view)
    if view.matching:
        yield _matching(view)
    if view.power or view.methods:
        yield Section(
            key="power",
            title="What these numbers can show",
            blocks=(Paragraph(lines=(view.power,) if view.power else (), quiet=False), Paragraph(lines=view.methods)),
            tab="run",
            place="bottom",
        )
    yield Section(
        key="runs",
        title="The two runs",
        blocks=tuple(
            Facts(rows=side.facts, title=f"{side.role.capitalize()}: {side.label}", said=side.own)
            for side in (view.baseline, view.candidate)
        ),
        only=frozenset({"comment", "page"}),
        tab="run",
        place="bottom",
        folded=_COMMENT,
    )


def _metrics(view: DiffView) -> Iterable[Section]:
    def line(row: DiffMetricRow) -> Row:
        cells = (Name(text=row.metric, strong=row.headline), row.figure, Remark(meaning=row.meaning))
        return Row(cells=cells, strong=row.headline)

    table = Table(
        columns=columns("metric", "", Column(only=frozenset({"page"}))),
        rows=tuple(map(line, view.metrics)),
        look="differences",
        most={"comment": _ROWS_IN_COMMENT},
    )
    points = "percentage points" if all(row.figure.share for row in view.metrics) else _NUMBERS_TOO
    said = f"{SIGNS_MEANING}. Differences and their intervals are in {points}."
    signs = Paragraph(lines=(said,), only=EVERYWHERE - {"plain", "page"})
    labelled = {row.metric: row.meaning for row in view.metrics if row.explained}
    others = Paragraph(lines=view.only_in_one)
    blocks = (
        *((table, signs, *explained(labelled, TEXT)) if view.metrics else ()),
        *((others,) if view.only_in_one else ()),
    )
    if blocks:
        aside = f"difference in points, {view.confidence} interval"
        yield Section(key="metrics", title="Metrics", aside=aside, blocks=blocks, place="top")


def _weaker(view: DiffView) -> Section:
    """The matches for which other databases say less than for the baseline's."""
    table = Table(
        columns=columns("case", "baseline", Column(title="candidate", strong=True)),
        rows=rows((Name(text=row.case), row.baseline, row.candidate) for row in view.weaker),
        most={**dict.fromkeys(LINES, _ROWS_IN_LINES), "comment": _ROWS_IN_COMMENT},
    )
    return Section(
        key="weaker",
        title=f"Matches that lost strength: {len(view.weaker):,}",
        aside="right in both, and less sure on other databases",
        blocks=(table,),
        folded=_COMMENT,
    )


def _groups(view: DiffView, table: DiffGroupTable) -> Section:
    def line(row: DiffGroupRow) -> Row:
        changed = row.figure.diff.gained + row.figure.diff.lost
        # Among groups with equally many changes, those with more cases stay.
        return Row(cells=(Name(text=row.name), row.figure, count(row.cases)), weight=changed * 1_000_000 + row.cases)

    cases = Column(title="cases", minor=True, only=frozenset({"page"}))
    made = Table(
        columns=columns(table.kind, Column(parts="bounds"), cases),
        rows=tuple(map(line, table.rows)),
        look="differences",
        more="in which fewer cases changed",
        most={**dict.fromkeys(LINES, _ROWS_IN_LINES), "comment": _ROWS_IN_COMMENT},
    )
    title = f"{view.headline_metric} by {table.title}"
    return Section(key=f"by-{table.kind}", title=title, blocks=(made,), tab="metrics", folded=_COMMENT)


def _causes(view: DiffView) -> Section:
    lines = (
        (Name(text=row.name), count(row.baseline), count(row.candidate), count(row.fixed), count(row.new))
        for row in view.causes
    )
    titles = columns(
        "cause", "baseline", "candidate", Column(title="fixed", strong=True), Column(title="new", strong=True)
    )
    table = Table(
        columns=titles,
        rows=rows(lines),
        most={"plain": _ROWS_IN_LINES, "narrow": _ROWS_IN_LINES, "comment": _ROWS_IN_COMMENT},
        more="more causes",
    )
    return Section(key="causes", title="Causes of wrong answers, fixed and new", blocks=(table,))


def _matching(view: DiffView) -> Section:
    lines = (
        (row.title, count(len(row.names)), Names(names=row.names), Remark(meaning=row.meaning)) for row in view.matching
    )
    titles = columns("", Column(title="cases", strong=True), "which", "meaning")
    table = Table(columns=titles, rows=rows(lines), headed=False, wraps=True)
    return Section(
        key="matching",
        title="Cases that are not the same in both runs",
        aside=", ".join(f"{len(row.names):,} {row.title}" for row in view.matching),
        blocks=(table,),
        tab="run",
        place="bottom",
        folded=_COMMENT,
    )
