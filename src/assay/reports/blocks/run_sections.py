"""The sections of a run's report, made from its aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from assay.model import Disagreement, Group, SelectionTotals, TermCounts, UsageTotals
from assay.reports.blocks import counts, reliability, repeats, run_notes, strengths
from assay.reports.blocks.gates import gates_section
from assay.reports.blocks.run_numbers import RunNumbers
from assay.reports.blocks.values import (
    EVERYWHERE,
    LINES,
    TEXT,
    TEXT_AND_PAGE,
    Block,
    Cell,
    Column,
    Description,
    Facts,
    Matrix,
    Medium,
    Name,
    Number,
    Paragraph,
    Query,
    Row,
    Section,
    Tab,
    Table,
    Times,
    columns,
    count,
    rows,
)
from assay.reports.cases.case import rows_and_time
from assay.reports.text.plain import clipped, one_line, percent, plural, seconds

GROUP_ROWS = {"database": 20, "tag": 12}
"""How many groups of these kinds the page shows before it folds the others away."""
_GROUPS_IN_LINES, _GROUPS_IN_COMMENT = 8, 25
_NO_ROOM: Final[frozenset[Medium]] = frozenset({"plain", "narrow", "comment"})


def sections(report: RunNumbers) -> Iterable[Section]:
    """Every section between the headline and the cases of a run's report, the most important first."""
    numbers = report.numbers
    if report.run.gates:
        yield gates_section(report.run.gates, report.links)
    if numbers.witnesses is not None:
        yield strengths.section(report, numbers.witnesses)
    if numbers.reliability is not None:
        yield from reliability.sections(report, numbers.reliability)
    if numbers.conversations is not None:
        yield reliability.conversations(report, numbers.conversations)
    if numbers.fix_first:
        yield counts.fix_first(report)
    by_difficulty = [table for table in report.groups if table[0] == "difficulty"]
    first = by_difficulty or report.groups[:1]
    if numbers.selection is not None:
        yield from _dimensions(numbers.selection)
    if report.of_selections:
        yield from (_groups(report, *table, rank=0, tab="metrics") for table in report.groups)
    else:
        yield from (_groups(report, *table, rank=0) for table in first)
    if numbers.repeats is not None:
        yield repeats.section(report, numbers.repeats)
    yield _metrics(report)
    yield from counts.sections(report)
    if numbers.cause_groups:
        yield from counts.cause_sections(report)
    if numbers.disagreements:
        yield _disagreements(report)
    if not report.of_selections:
        for kind, groups in report.groups:
            if (kind, groups) not in first:
                yield _groups(report, kind, groups, rank=0 if kind == "database" else 4, tab="metrics")
    yield from _costs(report)
    if slowest := rows(_slowest(report)):
        titles = columns(Column(title="time", strong=True), "side", Column(only=frozenset({"page"})), "case", "query")
        blocks = (Table(columns=titles, rows=slowest, look="slow"),)
        title = "Slowest queries"
        yield Section(key="slowest", title=title, blocks=blocks, only=TEXT_AND_PAGE, tab="run", place="bottom")
    made = (Facts(rows=tuple(run_notes.facts(report))),)
    media = frozenset[Medium]({"comment", "page"})
    yield Section(key="made", title="How this run was made", blocks=made, only=media, tab="run", place="top")


def _dimensions(totals: SelectionTotals) -> Iterable[Section]:
    if not totals.by_dimension:
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
        where = (None if turns else Description(meaning="in no target"), count(turns), count(far) if far else None)
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


def _groups(report: RunNumbers, kind: str, groups: Sequence[Group], *, rank: int, tab: Tab = "overview") -> Section:
    """The headline by group, for selections with the metrics beside it; a workbook has their other metrics, too."""
    beside = report.beside
    others = [name for name in report.infos if beside and name != report.leading and name not in dict(beside).values()]
    of_turns = kind in ("turn", "dataset")  # a case has several of them, and no filter shows them
    counted = "turns" if of_turns else "cases"
    shares = {row.metric: row.share for row in report.metrics}
    titles = columns(
        kind,
        Column(title=counted, only=frozenset({"book"})),
        Column(
            title="exact" if report.of_selections else "value",
            long=report.headline_metric,
            bar="" if report.of_selections else "share",
            counted=counted,
            style="percent" if shares.get(report.headline_metric, True) else "number",
        ),
        *(Column(title=name.removeprefix("macro "), long=name) for name, _ in beside),
        *(Column(long=one_line(metric), only=frozenset({"book"})) for metric in others),
    )

    def mean(group: Group, metric: str) -> Number:
        figure = report.figure(group, metric)
        style: Literal["percent", "number"] = "percent" if shares[one_line(metric)] else "number"
        return Number(value=figure.rate.value, text=figure.text, style=style)

    def row(group: Group) -> Row:
        value = "" if group.name is None or of_turns else one_line(group.name, limit=60 if kind == "tag" else 80)
        name = Name(text=report.group_name(group), link=((kind, value),) if value else ())
        means = (mean(group, metric) for metric in (*dict(beside).values(), *others))
        cells: tuple[Cell, ...] = (name, count(group.cases), report.figure(group, report.leading), *means)
        return Row(cells=cells, weight=group.cases)

    most: dict[Medium, int] = {**dict.fromkeys(LINES, _GROUPS_IN_LINES), "comment": _GROUPS_IN_COMMENT}
    if not report.of_selections and kind in GROUP_ROWS:
        most["page"] = GROUP_ROWS[kind]
    made = Table(
        columns=titles,
        rows=tuple(map(row, groups)),
        look="grid" if report.of_selections else "figures",
        headed=report.of_selections,
        more="with fewer cases",
        most=most,
        ranked=not report.of_selections and kind not in ("difficulty", "turn"),
        bars=tuple(range(3, 3 + len(beside))),
    )
    place: Literal["top", "columns"] = "top" if report.of_selections else "columns"
    title = f"{report.headline_name} by {kind}"
    return Section(key=f"by-{kind}", title=title, blocks=(made,), tab=tab, place=place, rank=rank)


def _metrics(report: RunNumbers) -> Section:
    lines = []
    for one in report.metrics:
        name = Name(text=one.metric, strong=one.headline, link=(("metric", one.metric), ("sort", "metric")))
        style: Literal["percent", "number"] = "percent" if one.share else "number"
        cells = (name, one.figure, Description(meaning=one.meaning))
        lines.append(Row(cells=cells, strong=one.headline, style=style))
    meaning = Column(title="meaning", only=frozenset({"wide", "page", "book"}))
    table = Table(columns=columns("metric", "value", meaning), rows=tuple(lines), look="figures", headed=False)
    blocks = (table, *explained({one.metric: one.meaning for one in report.metrics if one.info.label}))
    aside = f"over all cases, {report.confidence} intervals"
    return Section(key="metrics", title="Metrics", aside=aside, blocks=blocks, tab="metrics", rank=-1)


def explained(meanings: Mapping[str, str], only: frozenset[Medium] = _NO_ROOM) -> Iterable[Block]:
    """The meaning of metric names that only their own package explains, for media without a column for it."""
    if meanings:
        yield Paragraph(lines=tuple(f"{name}: {meaning}" for name, meaning in meanings.items()), only=only)


def _disagreements(report: RunNumbers) -> Section:
    """Cases that only one of two metrics accepts: the headline's pairs, or all if it has none."""
    pairs = report.disagreements
    alone = {(pair.first, pair.second): pair.only_first for pair in pairs}
    alone |= {(pair.second, pair.first): pair.only_second for pair in pairs}
    metrics = [metric for metric in report.infos if any(metric in pair for pair in alone)]

    def number(says: str, denies: str) -> Number:
        link = (("only", only_by(one_line(says), one_line(denies))),)
        return count(len(report.linked(alone.get((says, denies), ()))), link=link)

    matrix = Matrix(
        names=tuple(map(one_line, metrics)),
        cells=tuple(tuple(None if one == other else number(one, other) for other in metrics) for one in metrics),
        caption="yes by the row, no by the column",
    )
    leading = [pair for pair in pairs if report.leads(pair)]
    sides = [side for pair in leading or pairs for side in ((pair.first, pair.second), (pair.second, pair.first))]
    table = Table(
        columns=columns("accepted only by", "but not by", Column(title="cases", strong=True), "which"),
        rows=rows(
            (Name(text=one_line(one)), Name(text=one_line(two)), number(one, two), report.linked(alone[one, two]))
            for one, two in sides
            if alone[one, two]
        ),
        look="pairs",
        most={"comment": 12},
        only=TEXT_AND_PAGE if leading else TEXT,
    )
    blocks = (matrix, table, _pairs(report))
    return Section(key="cross", title="Cases on which two metrics disagree", blocks=blocks, tab="metrics")


def only_by(says: str, denies: str) -> str:
    """The filter label of cases that one metric accepts and another does not."""
    return f"{says}, not {denies}"


def _pairs(report: RunNumbers) -> Table:
    """Every pair of metrics in full, for workbook sheets."""

    def line(pair: Disagreement) -> tuple[Cell, ...]:
        # Of several answers to one question, each metric may accept a different one.
        differing = len({*pair.only_first, *pair.only_second})
        counts = (differing, len(pair.only_first), len(pair.only_second), pair.both, pair.neither)
        return Name(text=one_line(pair.first)), Name(text=one_line(pair.second)), None, *map(count, counts)

    titles = columns("one", "the other", "", "cases", "only one", "only other", "both", "neither")
    return Table(columns=titles, rows=rows(map(line, report.disagreements)), only=frozenset({"book"}))


def _costs(report: RunNumbers) -> Iterable[Section]:
    times, usage = report.numbers.times, report.numbers.usage
    blocks: list[Block] = [Times(rows=times)] if times else []
    lines = [] if usage is None else [*_usage(usage, len(report.run.evidence))]
    if lines:
        page = frozenset[Medium]({"page"})
        titles = columns(
            Column(long="What"),
            Column(title="in all", right=True, strong=True),
            Column(title="per answer", right=True),
            Column(only=page),
            Column(title="said by", only=EVERYWHERE - page),
        )
        title = "Tokens and cost, as the answers say them"
        blocks.append(Table(title=title, columns=titles, rows=rows(lines), look="usage"))
    if blocks:
        yield Section(key="latency", title="Latency and cost", blocks=tuple(blocks), tab="run", place="bottom")


def _usage(usage: UsageTotals, answers: int) -> Iterable[tuple[Cell, ...]]:
    """Tokens and cost: in all, per answer that reports them, and how many do."""

    def line(name: str, total: str, each: str, saying: int) -> tuple[Cell, ...]:
        said = f"{saying:,} of {plural(answers, 'answer')}" if saying else ""
        return name, total, each if saying else "", Description(meaning=f"said by {said}" if said else ""), said

    counts = (
        ("tokens in", usage.input, usage.answers_with_input),
        ("tokens out", usage.output, usage.answers_with_output),
        ("tokens in all", usage.total, usage.answers_with_total),
    )
    for name, total, saying in counts:
        if total is not None:
            yield line(name, f"{total:,}", f"{total / (saying or 1):,.0f}", saying)
    if (cost := usage.cost_usd) is not None:
        saying = usage.answers_with_cost
        yield line("cost", f"{cost:,.4f} USD", f"{cost / (saying or 1):,.6f} USD", saying)


def _slowest(report: RunNumbers) -> Iterable[tuple[Cell, ...]]:
    for case, side, execution in report.collected.slowest.found(report.run):
        time = Number(value=execution.wall_time_s, text=seconds(execution.wall_time_s), style="fine_seconds")
        status = Description(meaning=rows_and_time(execution, timed=False))
        link = report.collected.link_of(case.case_id, case.repeat)
        yield time, side, status, (link,), Query(text=one_line(clipped(execution.query, limit=2000), limit=300))
