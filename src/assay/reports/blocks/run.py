"""The sections of a run's report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec.structs import replace

from assay.model import SelectionTotals, TermCounts
from assay.reports.blocks.gates import gates_section
from assay.reports.blocks.reliability import conversation_sections, reliability_sections
from assay.reports.blocks.values import (
    EVERYWHERE,
    LINES,
    TEXT,
    TEXT_AND_PAGE,
    Bar,
    Bars,
    Block,
    Cell,
    Column,
    Facts,
    Link,
    Matrix,
    Medium,
    Name,
    Number,
    Paragraph,
    Query,
    Remark,
    Row,
    Section,
    Tab,
    Table,
    Times,
    columns,
    rows,
)
from assay.reports.text.plain import one_line, percent
from assay.reports.views.diff import DiffMetricRow
from assay.reports.views.figures import CountRow
from assay.reports.views.run import (
    FIX_FIRST_TITLE,
    DisagreementRow,
    GroupRow,
    GroupTable,
    MetricRow,
    RunView,
    SlowRow,
    StrengthsView,
    only_by,
)

GROUP_ROWS = {"database": 20, "tag": 12}
"""How many groups of these kinds the page shows before it folds the others away."""
_GROUPS_IN_LINES, _GROUPS_IN_COMMENT = 8, 25
_NO_ROOM: Final[frozenset[Medium]] = frozenset({"plain", "narrow", "comment"})
_COUNTS: Final[Mapping[Medium, int]] = {"comment": 25, "page": 12, "book": 25}


def run_sections(view: RunView) -> tuple[Section, ...]:
    """Every section between the headline and the cases of a run's report, the most important first."""
    return tuple(_sections(view))


def _sections(view: RunView) -> Iterable[Section]:
    if view.gates:
        yield gates_section(view.gates)
    if view.strengths:
        yield _strengths(view.strengths)
    yield from reliability_sections(view.reliability)
    yield from conversation_sections(view.conversations)
    if view.fix_first:
        yield _fix_first(view)
    if view.selection:
        yield from _dimensions(view.selection.totals)
        yield from (_groups(view, table, rank=0, tab="metrics") for table in view.groups)
    else:
        yield from (_groups(view, table, rank=0) for table in view.first_groups)
    if view.repeats:
        yield _repeats(view)
    yield _metrics(view)
    yield from (_counts(title, counted, view) for title, counted in view.count_tables if title != FIX_FIRST_TITLE)
    if view.cause_groups:
        yield _cause_groups(view)
    if view.disagreements:
        yield _disagreements(view)
    if not view.selection:
        for table in view.other_groups:
            yield _groups(view, table, rank=0 if table.kind == "database" else 4, tab="metrics")
    if view.times or view.usage:
        yield _costs(view)
    if view.slowest:
        yield _slowest(view)
    yield Section(
        key="made",
        title="How this run was made",
        blocks=(Facts(rows=view.facts),),
        only=frozenset({"comment", "page"}),
        tab="run",
        place="top",
    )


def _dimensions(totals: SelectionTotals | None) -> Iterable[Section]:
    if totals is None or not totals.by_dimension:
        return
    beyond = any(one.turns_beyond_target for one in totals.by_dimension)
    far = EVERYWHERE - {"narrow"}
    titles = columns(
        "dimension",
        Column(only=frozenset({"page"})),
        Column(title="turns", minor=True),
        Column(title="beyond", minor=True, only=EVERYWHERE if beyond else frozenset()),
        Column(title="recall", strong=True),
        Column(title="precision", strong=True),
        "F1",
        Column(title="TP", long="true positives"),
        Column(title="FP", long="false positives"),
        Column(title="FN", long="false negatives"),
        Column(title="mean recall", only=far),
        Column(title="mean precision", only=far),
    )

    def cells(name: str, turns: int, far: int, counts: TermCounts, *means: float | None) -> tuple[Cell, ...]:
        where = (None if turns else Remark(meaning="in no target"), count(turns), count(far) if far else None)
        rates = map(_rate, (counts.recall, counts.precision, counts.f1))
        sorted_terms = map(count, (counts.true_positives, counts.false_positives, counts.false_negatives))
        return Name(text=name), *where, *rates, *sorted_terms, *(map(_rate, means) if means else (None, None))

    each = (
        cells(
            one_line(one.dimension, limit=60) or "''",
            one.turns,
            one.turns_beyond_target,
            one.counts,
            one.mean_recall,
            one.mean_precision,
        )
        for one in totals.by_dimension
    )
    pooled = Row(cells=cells("all dimensions", totals.turns, 0, totals.micro), strong=True)
    legend = "TP: terms in target and selection; FP: only selected; FN: only in the target"
    if beyond:
        legend += "; beyond: turns that selected in a dimension that their target does not have"
    table = Table(columns=titles, rows=(*rows(each), pooled), look="grid", foot=f"{legend}.", bars=(4, 5))
    yield Section(key="dimensions", title="Terms by dimension", blocks=(table,), place="bottom")


def _rate(value: float | None) -> Number:
    return Number(value=value, text=percent(value), style="percent")


def _groups(view: RunView, table: GroupTable, *, rank: int, tab: Tab = "overview") -> Section:
    beside = view.beside
    shown = {named.place for named in beside}
    # The other metrics of selections: only the workbook has room for them.
    others = [place for place, one in enumerate(view.metrics) if beside and place not in shown and not one.headline]
    of_turns = table.kind in ("turn", "dataset")  # a case has several of them, and no filter shows them
    counted = "turns" if of_turns else "cases"
    leading = next((metric for metric in view.metrics if metric.headline), None)
    titles = columns(
        table.title,
        Column(title=counted, only=frozenset({"book"})),
        Column(
            title="exact" if view.selection else "value",
            long=view.headline_metric,
            bar="" if view.selection else "share",
            counted=counted,
            style="percent" if leading is None or leading.share else "number",
        ),
        *(Column(title=named.name.removeprefix("macro "), long=named.name) for named in beside),
        *(Column(long=view.metrics[place].metric, only=frozenset({"book"})) for place in others),
    )

    def row(group: GroupRow) -> Row:
        link = () if group.value is None or of_turns else _link(table.kind, group.value)
        means = ((view.metrics[place], group.figures[place]) for place in (*(one.place for one in beside), *others))
        cells: tuple[Cell, ...] = (
            Name(text=group.name, link=link),
            count(group.cases),
            group.headline,
            *(
                Number(value=one.rate.value, text=one.text, style="percent" if metric.share else "number")
                for metric, one in means
            ),
        )
        return Row(cells=cells, weight=group.cases)

    most: dict[Medium, int] = {**dict.fromkeys(LINES, _GROUPS_IN_LINES), "comment": _GROUPS_IN_COMMENT}
    if not view.selection and table.kind in GROUP_ROWS:
        most["page"] = GROUP_ROWS[table.kind]
    made = Table(
        columns=titles,
        rows=tuple(map(row, table.rows)),
        look="grid" if view.selection else "figures",
        headed=bool(view.selection),
        more="with fewer cases",
        most=most,
        ranked=not view.selection and table.kind not in ("difficulty", "turn"),
        bars=tuple(range(3, 3 + len(beside))),
    )
    return Section(
        key=f"by-{table.kind}",
        title=f"{view.headline_name} by {table.title}",
        blocks=(made,),
        tab=tab,
        place="top" if view.selection else "columns",
        rank=rank,
    )


def _repeats(view: RunView) -> Section:
    repeats = view.repeats
    assert repeats is not None
    table = Table(
        columns=columns(
            "k",
            Column(title="pass@k", long="pass@{}", parts="bounds"),
            Column(title="pass^k", long="pass^{}", parts="bounds"),
            Column(title="questions", long="n", only=EVERYWHERE - {"page"}),
        ),
        rows=rows((f"{row.k:,}", row.any, row.all, count(row.any.rate.n)) for row in repeats.rows),
        look="figures",
    )
    return Section(
        key="repeats",
        title="Of k answers to a question",
        aside="pass@k, at least one is right; pass^k, all are",
        blocks=(table,),
        rank=1,
    )


def _strengths(found: StrengthsView) -> Section:
    """Accuracy as claimed and as it stands after witnesses, and the matches by strength."""
    lines = (
        ("as claimed", found.claimed, "the same results on the run's own databases"),
        ("after witnesses", found.after, "without matches that a database like the real one refutes"),
        ("at worst", found.at_worst, "without the conditional ones, too"),
    )
    meaning = Column(title="meaning", only=frozenset({"wide", "comment", "page", "book"}))
    figures = Table(
        columns=columns("accuracy", "value", meaning),
        rows=tuple(
            Row(cells=(name, figure, Remark(meaning=said)), strong=figure is found.after, style="percent")
            for name, figure, said in lines
        ),
        look="figures",
        headed=False,
    )
    titles = columns(
        "strength",
        Column(title="matches", strong=True),
        Column(title="share", only=frozenset({"book"})),
        Column(title="which", only=EVERYWHERE - {"book"}, ids_in_lines=10),
        Column(title="meaning", only=EVERYWHERE - {"plain"}),
    )
    counted = Table(
        columns=titles,
        rows=rows(
            (
                Name(text=row.name),
                count(row.count, link=(row.facet,) if row.facet else ()),
                Number(value=row.share, text="", style="percent"),
                row.cases,
                Remark(meaning=row.meaning),
            )
            for row in found.rows
        ),
        look="counts",
        headed=False,
        bars=(1,),
        bars_are="counts",
    )
    return Section(key="strength", title="How sure the matches are", blocks=(figures, counted), rank=2)


def _metrics(view: RunView) -> Section:
    def row(one: MetricRow) -> Row:
        name = Name(text=one.metric, strong=one.headline, link=(("metric", one.metric), ("sort", "metric")))
        style: Literal["percent", "number"] = "percent" if one.share else "number"
        return Row(cells=(name, one.figure, Remark(meaning=one.meaning)), strong=one.headline, style=style)

    meaning = Column(title="meaning", only=frozenset({"wide", "page", "book"}))
    made = tuple(map(row, view.metrics))
    table = Table(columns=columns("metric", "value", meaning), rows=made, look="figures", headed=False)
    aside = f"over all cases, {view.confidence} intervals"
    blocks = (table, *explained(view.metrics))
    return Section(key="metrics", title="Metrics", aside=aside, blocks=blocks, tab="metrics", rank=-1)


def explained(metrics: Iterable[MetricRow | DiffMetricRow], only: frozenset[Medium] = _NO_ROOM) -> Iterable[Block]:
    """The meaning of metric names that only their own package explains, for media without a column for it."""
    said = tuple(row.explained for row in metrics if row.explained)
    if said:
        yield Paragraph(lines=said, only=only)


def _counts(title: str, counted: tuple[CountRow, ...], view: RunView) -> Section:
    causes = counted is view.causes
    shares = counted is view.schema_use
    titles = columns(
        "cause" if causes else "name",
        Column(title="cases", strong=True),
        Column(title="share", only=EVERYWHERE if shares else frozenset({"book"})),
        Column(title="which", only=EVERYWHERE - {"book"}, ids_in_lines=10),
        # What to do about a cause is read in plain lines, too; what a failure is called says enough there.
        Column(title="meaning", only=EVERYWHERE if counted is view.fix_first else EVERYWHERE - {"plain"}),
    )
    made = rows(
        (
            Name(text=row.name, blame=row.blame or ""),
            count(row.count, link=(row.facet,) if row.facet else ()),
            Number(value=row.share, text=percent(row.share) if shares else "", style="percent"),
            row.cases,
            Remark(meaning=row.meaning, example=row.example or ""),
        )
        for row in counted
    )
    key = "failures" if counted is view.failures else re.sub(r"[^a-z]+", "-", title).strip("-")
    bars = (1,) if causes or shares else ()
    table = Table(columns=titles, rows=made, look="counts", headed=False, most=_COUNTS, bars=bars, bars_are="counts")
    steadiness = view.repeats is not None and counted is view.repeats.steadiness
    tab: Tab = "overview" if steadiness else "causes"
    rank = 0 if causes or shares else 3
    return Section(key=key, title=title[0].upper() + title[1:], blocks=(table,), tab=tab, rank=rank)


def _fix_first(view: RunView) -> Section:
    """What to mend first, before all else: on the page as bars beside all answers of that cause."""
    every = {row.name: row.count for row in view.causes}
    bars = Bars(
        rows=tuple(
            Bar(
                name=row.name,
                meaning=row.meaning,
                count=every.get(row.name, row.count),
                part=row.count,
                cases=row.cases,
                link=(row.facet,) if row.facet else (),
            )
            for row in view.fix_first
        ),
        whole="wrong by this cause",
        part="right if mended alone",
    )
    counted = _counts(FIX_FIRST_TITLE, view.fix_first, view)
    tables = (replace(block, only=EVERYWHERE - {"page"}) for block in counted.blocks if isinstance(block, Table))
    return replace(counted, blocks=(bars, *tables), tab="overview", rank=-1)


def _cause_groups(view: RunView) -> Section:
    """The causes by difficulty, database, table, column and feature of SQL: the largest groups of each."""
    kinds = list(dict.fromkeys(row.kind for row in view.cause_groups))
    tables = []
    for kind in kinds:
        titles = columns(kind, Column(title="wrong", strong=True), "causes")
        made = rows(
            (Name(text=row.name), count(row.count, link=_wrong(row.facet)), row.said)
            for row in view.cause_groups
            if row.kind == kind
        )
        tables.append(Table(columns=titles, rows=made, look="grouped", title=f"by {kind}", most=_GROUPED))
    return Section(
        key="where-causes",
        title="Where the causes are",
        blocks=tuple(tables),
        rank=4,
        tab="causes",
        place="bottom",
        folded=frozenset({"comment"}),
        only=EVERYWHERE - {"plain"},
    )


_GROUPED: Final[Mapping[Medium, int]] = {"comment": 8, "page": 8, "narrow": 4, "wide": 4, "book": 25}


def _disagreements(view: RunView) -> Section:
    """Cases that only one of two metrics accepts: the headline's pairs, or all where it has none."""
    rows_of = view.disagreements
    alone = {(row.first, row.second): row.only_first for row in rows_of}
    alone |= {(row.second, row.first): row.only_second for row in rows_of}
    names = tuple(row.metric for row in view.metrics if any(row.metric in pair for pair in alone))

    def number(says: str, denies: str) -> Number:
        return count(len(alone.get((says, denies), ())), link=_link("only", only_by(says, denies)))

    matrix = Matrix(
        names=names,
        cells=tuple(tuple(None if one == other else number(one, other) for other in names) for one in names),
        caption="yes by the row, no by the column",
    )
    leading = [row for row in rows_of if row.leading]
    pairs = [pair for row in leading or rows_of for pair in ((row.first, row.second), (row.second, row.first))]
    table = Table(
        columns=columns("accepted only by", "but not by", Column(title="cases", strong=True), "which"),
        rows=rows(
            (Name(text=one), Name(text=two), number(one, two), alone[one, two]) for one, two in pairs if alone[one, two]
        ),
        look="pairs",
        most={"comment": 12},
        only=TEXT_AND_PAGE if leading else TEXT,
    )
    return Section(
        key="cross",
        title="Cases on which two metrics disagree",
        blocks=(matrix, table, _pairs(view)),
        tab="metrics",
    )


def _pairs(view: RunView) -> Table:
    """Every pair of metrics in full, for workbook sheets."""

    def line(row: DisagreementRow) -> tuple[Cell, ...]:
        counts = (row.count, len(row.only_first), len(row.only_second), row.both, row.neither)
        return Name(text=row.first), Name(text=row.second), None, *map(count, counts)

    titles = columns("one", "the other", "", "cases", "only one", "only other", "both", "neither")
    return Table(columns=titles, rows=rows(map(line, view.disagreements)), only=frozenset({"book"}))


def _costs(view: RunView) -> Section:
    blocks: list[Block] = [Times(rows=view.times)] if view.times else []
    if view.usage:
        title = "Tokens and cost, as the answers say them"
        whole, each = Column(title="in all", right=True, strong=True), Column(title="per answer", right=True)
        said = columns(Column(only=frozenset({"page"})), Column(title="said by", only=EVERYWHERE - {"page"}))
        lines = rows(
            (
                row.name,
                row.total,
                row.each,
                Remark(meaning=f"said by {row.said_by}" if row.said_by else ""),
                row.said_by,
            )
            for row in view.usage
        )
        usage = Table(title=title, columns=columns(Column(long="What"), whole, each, *said), rows=lines, look="usage")
        blocks.append(usage)
    return Section(key="latency", title="Latency and cost", blocks=tuple(blocks), tab="run", place="bottom")


def _slowest(view: RunView) -> Section:
    def line(row: SlowRow) -> tuple[Cell, ...]:
        time = Number(value=row.wall_time_s, text=row.time, style="fine_seconds")
        return time, row.side, Remark(meaning=row.status), (row.case,), Query(text=row.query)

    status = Column(only=frozenset({"page"}))
    titles = columns(Column(title="time", strong=True), "side", status, "case", "query")
    table = Table(columns=titles, rows=rows(map(line, view.slowest)), look="slow")
    return Section(
        key="slowest", title="Slowest queries", blocks=(table,), only=TEXT_AND_PAGE, tab="run", place="bottom"
    )


def count(number: int, *, link: Link = ()) -> Number:
    """A number of cases; 0 has no link."""
    return Number(value=number, text=f"{number:,}", link=link if number else ())


def _wrong(facet: tuple[str, str]) -> Link:
    """To the wrong cases of a group. What a cause is about is known of wrong cases alone."""
    return (facet, ("show", "incorrect")) if facet[0] in ("difficulty", "database") else (facet,)


def _link(facet: str, value: str) -> Link:
    return ((facet, value),) if value else ()
