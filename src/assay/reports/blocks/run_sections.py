"""The sections of a run's report, made from its aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Literal

from assay.model import Disagreement, Group, SelectionTotals, TermCounts, TimeSpread, UsageTotals
from assay.reports.blocks import counts, reliability, repeats, reviewers, reviews, run_notes, strengths
from assay.reports.blocks.gates import gates_section
from assay.reports.blocks.run_numbers import RunNumbers
from assay.reports.blocks.values import (
    Block,
    Cell,
    Column,
    Description,
    KeyValues,
    Name,
    Number,
    Query,
    Row,
    Section,
    Tab,
    Table,
    Text,
    Times,
    columns,
    count,
    matrix,
    rows,
)
from assay.reports.cases.case import rows_and_time
from assay.reports.text.plain import binary_size, clipped, one_line, percent, plural, seconds

_SLOWEST = 5


def sections(report: RunNumbers) -> Iterable[Section]:
    """Every section between the headline and the cases of a run's report, the most important first."""
    numbers = report.numbers
    if report.run.gates:
        yield gates_section(report.run.gates, report.links)
    if numbers.reviews is not None:
        yield reviews.section(report, numbers.reviews)
        if numbers.reviews.agreement is not None:
            yield reviewers.section(numbers.reviews.agreement, report.links)
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
        yield from _disagreements(report)
    if not report.of_selections:
        for kind, groups in report.groups:
            if (kind, groups) not in first:
                yield _groups(report, kind, groups, rank=0 if kind == "database" else 4, tab="metrics")
    yield from _costs(report)
    if slowest := rows(_slowest(report)):
        result = Column(title="result", detail="full")
        titles = columns(Column(title="time", strong=True), "side", result, "case", "query")
        blocks = (Table(columns=titles, rows=slowest, look="slow"),)
        yield Section(key="slowest", title="Slowest queries", blocks=blocks, tab="run", place="bottom")
    made = (KeyValues(rows=tuple(run_notes.facts(report)), detail="full"),)
    yield Section(key="made", title="How this run was made", blocks=made, tab="run", place="top")


def _dimensions(totals: SelectionTotals) -> Iterable[Section]:
    if not totals.by_dimension:
        return
    beyond = any(one.turns_beyond_target for one in totals.by_dimension)
    titles = columns(
        "dimension",
        Column(title="turns", minor=True),
        Column(title="beyond", minor=True),
        Column(title="recall", strong=True),
        Column(title="precision", strong=True),
        "F1",
        Column(title="TP", long="true positives"),
        Column(title="FP", long="false positives"),
        Column(title="FN", long="false negatives"),
        Column(title="mean recall", rank=1),
        Column(title="mean precision", rank=2),
    )

    def cells(name: str, turns: int, far: int, counts: TermCounts, *means: float | None) -> tuple[Cell, ...]:
        rates = map(_rate, (counts.recall, counts.precision, counts.f1))
        sorted_terms = map(count, (counts.true_positives, counts.false_positives, counts.false_negatives))
        beyond_target = count(far) if far else None
        means_or_none = map(_rate, means) if means else (None, None)
        return Name(text=name), count(turns), beyond_target, *rates, *sorted_terms, *means_or_none

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
    if any(not one.turns for one in totals.by_dimension):
        legend += "; a dimension with 0 turns is in no target"
    if beyond:
        legend += "; beyond: turns that selected in a dimension that their target does not have"
    table = Table(columns=titles, rows=(*rows(each), pooled), look="grid", foot=f"{legend}.", bars=(3, 4))
    table = table.only(lambda column, _: beyond or column.title != "beyond")
    yield Section(key="dimensions", title="Terms by dimension", blocks=(table,), place="bottom")


def _rate(value: float | None) -> Number:
    return Number(value=value, text=percent(value), style="percent")


def _groups(report: RunNumbers, kind: str, groups: Sequence[Group], *, rank: int, tab: Tab = "overview") -> Section:
    """The headline by group, for selections with further metrics; a workbook has their other metrics, too."""
    beside = report.beside
    others = [name for name in report.infos if beside and name != report.leading and name not in dict(beside).values()]
    of_turns = kind in ("turn", "dataset")  # a case has several of them, and no filter shows them
    counted = "turns" if of_turns else "cases"
    shares = {row.metric: row.share for row in report.metrics}
    titles = columns(
        kind,
        counted,
        Column(
            title="exact" if report.of_selections else "value",
            long=report.headline_metric,
            bar="" if report.of_selections else "share",
            counted=counted,
            style="percent" if shares.get(report.headline_metric, True) else "number",
        ),
        *(Column(title=name.removeprefix("macro "), long=name) for name, _ in beside),
        *(Column(long=one_line(metric)) for metric in others),
    )

    def mean(group: Group, metric: str) -> Number:
        figure = report.figure(group, metric)
        style: Literal["percent", "number"] = "percent" if shares[one_line(metric)] else "number"
        return Number(value=figure.rate.value, text="" if metric in others else figure.text, style=style)

    def row(group: Group) -> Row:
        value = "" if group.name is None or of_turns else one_line(group.name, limit=60 if kind == "tag" else 80)
        name = Name(text=report.group_name(group), link=((kind, value),) if value else ())
        means = (mean(group, metric) for metric in (*dict(beside).values(), *others))
        cells: tuple[Cell, ...] = (
            name,
            Number(value=group.cases, text=""),
            report.figure(group, report.leading),
            *means,
        )
        return Row(cells=cells, weight=group.cases)

    made = Table(
        columns=titles,
        rows=tuple(map(row, groups)),
        look="grid" if report.of_selections else "figures",
        headed=report.of_selections,
        more="with fewer cases",
        most_in_lines=8,
        most=25,
        ranked=not report.of_selections and kind not in ("difficulty", "turn"),
        bars=tuple(range(3, 3 + len(beside))),
    )
    place: Literal["top", "columns"] = "top" if report.of_selections else "columns"
    title = f"{report.headline_name} by {kind}"
    return Section(key=f"by-{kind}", title=title, blocks=(made,), tab=tab, place=place, rank=rank)


def _metrics(report: RunNumbers) -> Section:
    lines = (
        counts.figure_row(
            one.metric,
            one.figure,
            one.meaning,
            leads=one.headline,
            number=not one.share,
            link=(("metric", one.metric), ("sort", "metric")),
        )
        for one in report.metrics
    )
    table = counts.figure_table("metric", lines)
    blocks = (table, *explained({one.metric: one.meaning for one in report.metrics if one.info.label}))
    aside = f"over all cases, {report.confidence} intervals"
    return Section(key="metrics", title="Metrics", aside=aside, blocks=blocks, tab="metrics", rank=-1)


def explained(meanings: Mapping[str, str]) -> Iterable[Block]:
    """The meaning of metric names that only their own package explains, for a summary, which has no column for it."""
    if meanings:
        yield Text(lines=tuple(f"{name}: {meaning}" for name, meaning in meanings.items()), detail="summary")


def _disagreements(report: RunNumbers) -> Iterable[Section]:
    """Cases that only one of two metrics accepts: the headline's pairs, or all without any. Then every pair in full."""
    pairs = report.disagreements
    alone = {(pair.first, pair.second): pair.only_first for pair in pairs}
    alone |= {(pair.second, pair.first): pair.only_second for pair in pairs}
    metrics = [metric for metric in report.infos if any(metric in pair for pair in alone)]

    def number(says: str, denies: str) -> Number:
        link = (("only", only_by(one_line(says), one_line(denies))),)
        return count(len(report.linked(alone.get((says, denies), ()))), link=link)

    grid = matrix(
        [one_line(metric) for metric in metrics],
        ((None if one == other else number(one, other) for other in metrics) for one in metrics),
        "cases that the row's metric accepts and the column's does not",
    )
    leading = [pair for pair in pairs if report.leads(pair)]
    sides = [side for pair in leading or pairs for side in ((pair.first, pair.second), (pair.second, pair.first))]
    table = Table(
        columns=columns("accepted only by", "but not by", Column(title="cases", strong=True), "case ids"),
        rows=rows(
            (Name(text=one_line(one)), Name(text=one_line(two)), number(one, two), report.linked(alone[one, two]))
            for one, two in sides
            if alone[one, two]
        ),
        look="pairs",
        most=12,
    )
    yield Section(key="cross", title="Cases on which two metrics disagree", blocks=(grid, table), tab="metrics")

    def line(pair: Disagreement) -> tuple[Cell, ...]:
        # Of several answers to one question, each metric may accept a different one.
        differing = len({*pair.only_first, *pair.only_second})
        counts = (differing, len(pair.only_first), len(pair.only_second), pair.both, pair.neither)
        return Name(text=one_line(pair.first)), Name(text=one_line(pair.second)), *map(count, counts)

    titles = columns("one", "the other", "cases", "only one", "only other", "both", "neither")
    every = Table(columns=titles, rows=rows(map(line, pairs)), look="grid", most=12)
    title = "Every two metrics that disagree"
    yield Section(key="pairs", title=title, blocks=(every,), tab="metrics", place="bottom", folded=True, detail="full")


def only_by(says: str, denies: str) -> str:
    """The filter label of cases that one metric accepts and another does not."""
    return f"{says}, not {denies}"


def _costs(report: RunNumbers) -> Iterable[Section]:
    times, usage = report.numbers.times, report.numbers.usage
    blocks: list[Block] = [Times(spreads=times, table=_times(times))] if times else []
    lines = [] if usage is None else [*_usage(usage, len(report.run.evidence))]
    if lines:
        titles = columns(
            Column(long="What"),
            Column(title="in all", right=True, strong=True),
            Column(title="per answer", right=True),
            "said by",
        )
        title = "Tokens and cost, as the answers say them"
        blocks.append(Table(title=title, columns=titles, rows=rows(lines), look="usage"))
    if (cost := report.numbers.billed) is not None:
        titles = columns(Column(long="What"), Column(title="in all", right=True, strong=True), "of")
        amounts = (("bytes billed", cost.bytes_billed, binary_size), ("credits", cost.credits, "{:,.4g}".format))
        lines = [
            (name, show(amount), plural(cost.queries, "query", "queries"))
            for name, amount, show in amounts
            if amount is not None
        ]
        blocks.append(Table(title="What the warehouse bills", columns=titles, rows=rows(lines), look="usage"))
    if blocks:
        yield Section(key="latency", title="Latency and cost", blocks=tuple(blocks), tab="run", place="bottom")


def _times(spreads: Sequence[TimeSpread]) -> Table:
    """The times as rows."""

    def line(spread: TimeSpread) -> tuple[Cell, ...]:
        times = (spread.median_s, spread.p90_s, spread.max_s, spread.mean_s)
        taken = (Number(value=time_s, text=seconds(time_s), style="fine_seconds") for time_s in times)
        return spread.name, *taken, counted(spread), Number(value=spread.n, text="")

    titles = columns("time", "median", "90 % within", "longest", "mean", "of", Column(long="n"))
    return Table(title="What answers and queries took", columns=titles, rows=rows(map(line, spreads)))


def counted(spread: TimeSpread) -> str:
    """``1,034 answers``, ``564 different gold queries``: a query that several cases share is run, and counted, once."""
    if not spread.name.endswith("y"):
        return plural(spread.n, spread.name)
    different = "different " if spread.n != 1 else ""
    return plural(spread.n, f"{different}{spread.name}", f"{different}{spread.name[:-1]}ies")


def _usage(usage: UsageTotals, answers: int) -> Iterable[tuple[Cell, ...]]:
    """Tokens and cost: in all, per answer that reports them, and how many do."""

    def line(name: str, total: str, each: str, saying: int) -> tuple[Cell, ...]:
        said = f"{saying:,} of {plural(answers, 'answer')}" if saying else ""
        return name, total, each if saying else "", Description(meaning=said)

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
    """The slowest distinct queries, the slowest first: a query that several cases share ran once."""
    cases, evidence = report.run.summaries, report.run.evidence
    slowest: dict[tuple[str | None, int], tuple[float, int, int]] = {}
    for place, case in enumerate(cases):
        for index, one in enumerate(case.executions):
            key = (case.database, one.query_hash)
            if one.wall_time_s is not None and (key not in slowest or -one.wall_time_s < slowest[key][0]):
                slowest[key] = (-one.wall_time_s, place, index)
    for _, place, index in nsmallest(_SLOWEST, slowest.values()):
        case, item = cases[place], evidence[place]
        predicted = index == len(case.golds)
        execution, side = (
            (item.predicted_execution, "predicted") if predicted else (item.gold_executions[index], "gold")
        )
        assert execution is not None  # the summary has its time
        time = Number(value=execution.wall_time_s, text=seconds(execution.wall_time_s), style="fine_seconds")
        status = Description(meaning=rows_and_time(execution, timed=False))
        link = report.collected.link_of(case.case_id, case.repeat)
        yield time, side, status, (link,), Query(text=one_line(clipped(execution.query, limit=2000), limit=300))
