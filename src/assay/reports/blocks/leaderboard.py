"""A leaderboard as every format draws it: who is first, how sure that is, and its blocks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from msgspec import Struct

from assay.model import BoardDetail, Leaderboard, MetricDiff, Rate, Standing, StandingPair, UsageTotals
from assay.platform.surface import option
from assay.reports.blocks.diff import facts_of, label_of
from assay.reports.blocks.diff_answer import metric_name
from assay.reports.blocks.values import (
    HOLM,
    Cell,
    Column,
    Figure,
    IdList,
    KeyValues,
    Name,
    Number,
    Section,
    Table,
    Text,
    columns,
    count,
    figure,
    matrix,
    rows,
)
from assay.reports.text.plain import (
    interval,
    number,
    one_line,
    p_text,
    percent,
    plural,
    points,
    points_interval,
    seconds,
)
from assay.runs.aggregate.metric_infos import info_of
from assay.stats import is_significant

SAME = "="
_NAMED = 3
"""Runs that the headline names; of more it names the first, and counts the others."""
_ROWS, _COLUMNS = 100, 12
_PAIRS = 45
"""How many pairs plain lines show: those of ten runs."""
_KINDS = {
    "difficulty": ("By difficulty", "no difficulty"),
    "database": ("By database", "no database"),
    "tag": ("By tag", "no tag"),
}


class RateGrid(Struct, frozen=True, kw_only=True):
    """Rates of every run: by metric, or the leading metric's by group."""

    key: str
    """``metrics``, ``difficulty``, ``database``, ``tag``."""
    title: str
    columns: tuple[str, ...]
    cases: tuple[int, ...]
    """For each column its cases; empty if all columns have all of them."""
    cells: tuple[tuple[Figure, ...], ...]
    """``cells[run][column]``."""


class LeaderboardReport:
    """Several runs, best first, with the text of their numbers, from which every format draws.

    The numbers are the record's; nothing is computed here. All text is safe to show
    (`assay.reports.text.plain.visible`), but not escaped for any format.
    """

    def __init__(self, board: Leaderboard) -> None:
        self.board = board
        settings = board.standings[0].run.settings if board.standings else None
        self.info = info_of(board.metric, settings)
        self.share = self.info.reads_as_share(*(one.rate.value for one in board.standings))
        self.metric = metric_name(board.metric)
        self.title = f"{plural(len(board.standings), 'run')} by {self.metric}"
        self.confidence = f"{board.settings.confidence * 100:g} %"
        self.labels = [label_of(one.run) for one in board.standings]
        said = f"{self.metric}: {self.info.said}"
        self.notes = tuple(map(one_line, (*([said] if self.info.label else []), *board.notes)))
        self._binary = all(pair.diff.binary for pair in board.pairs)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Every section below the answer of a leaderboard."""
        return tuple(_sections(self))

    @property
    def cases(self) -> str:
        """The cases that the runs are ranked over, and the units of the numbers."""
        return f"{self._common} {self._units}".rstrip()

    @property
    def _common(self) -> str:
        said = f"Over the {plural(self.board.cases, 'case')} that all runs have and score"
        left_out = self.board.left_out
        if left_out:
            why = "since a run lacks them, has them with other content or leaves them unscored"
            return f"{said}; {left_out:,} left out, {why}."
        return f"{said}."

    @property
    def _units(self) -> str:
        """What the intervals and the letters are about, if they could be about two things."""
        databases = max((pair.diff.clusters or 0 for pair in self.board.pairs), default=0)
        if databases:
            by_case = option("--by", "case")
            return f"Intervals are by case; letters and places are by database ({databases:,}), unless {by_case}."
        if self.board.settings.by == "case" and self.board.pairs:
            return "Intervals, letters and places are by case: they hold for these databases."
        return ""

    @property
    def lead(self) -> str:
        """Which run is first, and whether another may be: a sentence."""
        board, metric, higher = self.board, self.metric, self.info.higher_is_better
        if not board.standings:
            return "No runs to rank."
        first, name = board.standings[0], self.labels[0]
        value = f"{percent(first.rate.value, share=self.share)} {interval(first.rate, share=self.share)}".strip()
        if len(board.standings) == 1 and first.rate.value is not None:
            return f"One run, {name}: {metric} {value}."
        if first.rate.value is None:
            return "Nothing to rank: no case is scored in every run."
        pairs = [pair for pair in board.pairs if 0 in (pair.first, pair.second)]
        tied = sorted(pair.first + pair.second for pair in pairs if not is_apart(pair, board))
        if not tied:
            ending = f", significantly {'above' if higher else 'below'} every other run" if pairs else ""
            return f"{name} is first: {metric} {value}{ending}."
        others = [self.labels[place] for place in tied]
        equals = [label_of(one.run) for one in board.standings[1:] if one.rank == first.rank]
        if equals:
            rest = [self.labels[place] for place in tied if board.standings[place].rank > 1]
            ending = f", and the lead over {_listed(rest)} may be chance" if rest else ""
            return f"No single best run: {_listed([name, *equals])} have the same {metric}, {value}{ending}."
        best = f"{name} has the {'highest' if higher else 'lowest'} {metric}, {value}"
        if len(tied) == len(board.standings) - 1 and len(tied) > 1:
            return f"No best run: {best}, but its lead over every other run may be chance."
        return f"No single best run: {best}, but its lead over {_listed(others)} may be chance."

    @cached_property
    def legend(self) -> tuple[str, ...]:
        """What places, letters and signs mean, and how they were computed: sentences."""
        return tuple(_legend(self.board))

    @cached_property
    def grids(self) -> tuple[RateGrid, ...]:
        """Every metric, and the leading one by group."""
        return () if self.board.detail is None else tuple(_grids(self.board, self.board.detail))

    def figure(self, one: Standing) -> Figure:
        """The leading metric of a run."""
        # Means of several answers may also add up to a whole number, which is then not a count of cases.
        return _figure(one.rate, share=self.share, counted=self._binary and one.run.repeats == 1)

    def points(self, difference: float | None) -> str:
        """A difference between two runs."""
        return points(difference, share=self.share)


def possible(one: Standing) -> str:
    """``1-3``: the places that the data leave possible."""
    return f"{one.rank_low:,}" if one.rank_low == one.rank_high else f"{one.rank_low:,}-{one.rank_high:,}"


def _figure(rate: Rate, *, share: bool, counted: bool) -> Figure:
    return figure(rate, share=share, counted=counted and float(rate.numerator).is_integer())


def _grids(board: Leaderboard, detail: BoardDetail) -> Iterable[RateGrid]:
    settings = board.standings[0].run.settings if board.standings else None
    overall = detail.groups[0].rates
    infos = [info_of(name, settings) for name in detail.metrics]
    shares = [info.reads_as_share(*(line[at].value for line in overall)) for at, info in enumerate(infos)]
    yield RateGrid(
        key="metrics",
        title="Every metric",
        columns=tuple(map(metric_name, detail.metrics)),
        cases=(),
        cells=tuple(
            tuple(_figure(rate, share=share, counted=True) for rate, share in zip(line, shares, strict=True))
            for line in overall
        ),
    )
    for kind, (title, without) in _KINDS.items():
        groups = [one for one in detail.groups if one.kind == kind]
        if groups:
            yield RateGrid(
                key=kind,
                title=title,
                columns=tuple(without if one.name is None else one_line(one.name, limit=40) for one in groups),
                cases=tuple(one.cases for one in groups),
                cells=tuple(
                    tuple(_figure(one.rates[at][0], share=shares[0], counted=True) for one in groups)
                    for at in range(len(board.standings))
                ),
            )


def is_apart(pair: StandingPair, board: Leaderboard) -> bool:
    """Whether the two runs differ by more than chance, after the correction across all pairs."""
    one = pair.diff
    p_value = one.p_value if one.adjusted_p_value is None else one.adjusted_p_value
    return is_significant(p_value, board.settings.alpha) and bool(one.difference)


def _holds_zero(one: MetricDiff) -> bool:
    return one.clusters is not None and one.low is not None and one.high is not None and one.low <= 0.0 <= one.high


def _listed(names: list[str]) -> str:
    if len(names) > _NAMED:
        return f"{names[0]} and {len(names) - 1:,} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _used(one: Standing) -> dict[str, str]:
    """What a run took, as far as it is known: the median time of an answer, its tokens, the cost of all answers."""
    usage, tokens = one.usage, tokens_in_all(one.usage)
    found = {}
    if one.answer_time is not None:
        found["time"] = seconds(one.answer_time.median_s)
    if usage is not None and tokens is not None and usage.answers_with_tokens:
        found["tokens"] = number(round(tokens / usage.answers_with_tokens))
    if usage is not None and usage.cost_usd is not None:
        cost = usage.cost_usd
        found["cost"] = f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.2g}"
    return found


def tokens_in_all(usage: UsageTotals | None) -> int | None:
    """The total that the answers state, else what went in and came out; None if they state neither."""
    if usage is None or usage.total is not None:
        return None if usage is None else usage.total
    return None if usage.input is None and usage.output is None else (usage.input or 0) + (usage.output or 0)


def _legend(board: Leaderboard) -> Iterable[str]:
    settings = board.settings
    if len(board.standings) > 1:
        yield (
            "Runs that share a letter do not differ significantly. 'possible' is the range of places that the data "
            "allow."
        )
        yield (
            f"Pairs: paired tests over the same cases, at α = {settings.alpha:g} after Holm's correction across "
            f"{plural(len(board.pairs), 'pair')}."
        )
    databases = max((pair.diff.clusters or 0 for pair in board.pairs), default=0)
    if databases:
        yield (
            f"Tests and the intervals of differences treat the cases of each of the {databases:,} databases as one "
            "unit, so letters and places hold for new databases, too."
        )
    if any(is_apart(pair, board) and _holds_zero(pair.diff) for pair in board.pairs):
        yield (
            "An interval can contain 0 although the test finds a significant difference: they ask different questions."
        )


def _sections(report: LeaderboardReport) -> Iterable[Section]:
    board, detail = report.board, report.board.detail
    if board.standings:
        yield _ranking(report)
    if any(one.reviewed is not None for one in board.standings):
        yield _reviewed(report)
    yield from (_grid(report, grid) for grid in report.grids)
    if board.pairs:
        yield _apart(report)
    if detail is not None and len(board.standings) > 1:
        yield _alone(report, detail)
        yield _only_right(report, detail)
    if board.pairs:
        yield _pairs(report)
    if report.legend:
        yield Section(key="legend", title="How to read it", blocks=(Text(lines=report.legend),))
    facts = tuple(
        (label, ", ".join(f"{name} {value}" for name, value in facts_of(one.run)))
        for label, one in zip(report.labels[:_ROWS], board.standings, strict=False)
    )
    yield Section(key="runs", title="The runs", blocks=(KeyValues(rows=facts, detail="full"),), folded=True)


def _ranking(report: LeaderboardReport) -> Section:
    meant = {"time": "time: the median of an answer", "tokens": "tokens: per answer", "cost": "cost: of all answers"}
    used = [_used(one) for one in report.board.standings]
    extra = [name for name in meant if any(name in found for found in used)]
    titles = columns(
        Column(title="place", right=True, strong=True),
        Column(title="possible", right=True),
        "letters",
        "run",
        Column(title=report.metric, bar="range", parts="tally"),
        *(Column(title=title, right=True, minor=True, rank=1) for title in extra),
    )
    lines: list[tuple[Cell, ...]] = []
    for one, label, found in zip(report.board.standings, report.labels, used, strict=True):
        name, rest = Name(text=label, strong=True), (found.get(title, "") for title in extra)
        lines.append((f"{one.rank:,}", possible(one), one_line(one.groups), name, report.figure(one), *rest))
    foot = "; ".join(meant[title] for title in extra)
    table = Table(look="grid", columns=titles, rows=rows(lines), most=_ROWS, foot=foot)
    return Section(key="ranking", title="Ranking", blocks=(table,), place="top")


def _reviewed(report: LeaderboardReport) -> Section:
    """The places before and after people's reviews."""
    titles = columns(
        Column(title="place after", right=True, strong=True),
        Column(title="before", right=True),
        "run",
        Column(title="after reviews", bar="range", parts="tally"),
        Column(title=f"{report.metric} before", right=True),
    )
    lines = [
        (
            "" if one.reviewed_rank is None else f"{one.reviewed_rank:,}",
            f"{one.rank:,}",
            Name(text=label, strong=True),
            _figure(one.reviewed, share=True, counted=True),
            report.figure(one).text,
        )
        for one, label in sorted(
            zip(report.board.standings, report.labels, strict=True), key=lambda pair: pair[0].reviewed_rank or 0
        )
        if one.reviewed is not None
    ]
    foot = "The share of right answers by what people decided, over the cases that all runs have and score then."
    table = Table(look="grid", columns=titles, rows=rows(lines), most=_ROWS, foot=foot)
    return Section(key="reviews", title="After people's reviews", blocks=(table,), place="top")


def _grid(report: LeaderboardReport, grid: RateGrid) -> Section:
    """Every run's rates; if there are many columns, those of the most cases."""
    places = range(len(grid.columns))
    kept = sorted(sorted(places, key=lambda at: -(grid.cases[at] if grid.cases else 0))[:_COLUMNS])
    lines: list[tuple[Cell, ...]] = []
    fewer = [
        at for at in kept if grid.key == "metrics" and any(line[at].rate.n != report.board.cases for line in grid.cells)
    ]
    for label, figures in zip(report.labels, grid.cells, strict=True):
        lines.append((Name(text=label), *(_number(figures[at], counted=at in fewer) for at in kept)))
    aside = f"not over all cases: {_listed([grid.columns[at] for at in fewer])}" if fewer else ""
    if grid.cases:
        lines.append(("cases", *(count(grid.cases[at]) for at in kept)))
        cut = len(grid.columns) > len(kept)
        most = f"; the {len(kept)} of {len(grid.columns):,} with the most cases" if cut else ""
        aside = f"{report.metric}{most}"
    titles = columns("run", *(Column(title=grid.columns[at], right=True, rank=rank) for rank, at in enumerate(kept)))
    table = Table(look="grid", columns=titles, rows=rows(lines), most=_ROWS)
    return Section(key=f"grid-{grid.key}", title=grid.title, aside=aside, blocks=(table,), place="top", folded=True)


def _number(one: Figure, *, counted: bool) -> Number:
    """The figure; ``counted``: with its number of cases."""
    text = f"{one.text} (n={one.rate.n:,})" if counted else one.text
    return Number(value=one.rate.value, text=text, style="percent" if one.share else "number")


def _alone(report: LeaderboardReport, detail: BoardDetail) -> Section:
    titles = columns(
        "run",
        Column(title="alone right", right=True),
        Column(title="case ids", rank=2),
        Column(title="alone wrong", right=True),
        Column(title="case ids", rank=1),
    )

    def named(ids: tuple[str, ...]) -> tuple[Cell, Cell]:
        return count(len(ids)), IdList(names=tuple(one_line(one, limit=80) for one in ids))

    lines = zip(report.labels, detail.alone_right, detail.alone_wrong, strict=True)
    table = Table(
        columns=titles,
        rows=rows((Name(text=label), *named(right), *named(wrong)) for label, right, wrong in lines),
        most=_ROWS,
    )
    rest = report.board.cases - detail.all_right - detail.none_right
    agreed = (
        f"All runs have {plural(detail.all_right, 'case')} right, none has {plural(detail.none_right, 'case')}; "
        f"on {plural(rest, 'case')} they disagree."
    )
    title = "Who alone is right, who alone is wrong"
    return Section(key="alone", title=title, blocks=(table, Text(lines=(agreed,))), place="top", folded=True)


def _only_right(report: LeaderboardReport, detail: BoardDetail) -> Section:
    cells = (
        (None if at == other else count(cases) for other, cases in enumerate(line))
        for at, line in enumerate(detail.only_right)
    )
    caption = "How many cases the run of a line has right and that of a column wrong."
    table = matrix(report.labels, cells, caption)
    return Section(key="disagree", title="Cases on which two runs disagree", blocks=(table,), folded=True)


def _apart(report: LeaderboardReport) -> Section:
    """By how many points a run lies above or below another, ``=`` if the difference is not significant."""
    places = range(len(report.labels))
    cells: list[list[Number | None]] = [[None for _ in places] for _ in places]
    for pair in report.board.pairs:
        difference = pair.diff.difference or 0.0
        for line, column, sign in ((pair.second, pair.first, 1), (pair.first, pair.second, -1)):
            apart = sign * difference if is_apart(pair, report.board) else None
            text = SAME if apart is None else report.points(apart)
            cells[line][column] = Number(value=apart, text=text, style="percent" if report.share else "number")
    caption = (
        "Points by which the run of a row is above (+) or below (-) that of a column; "
        f"{SAME} no significant difference."
    )
    return Section(key="apart", title="Significant differences", blocks=(matrix(report.labels, cells, caption),))


def _pairs(report: LeaderboardReport) -> Section:
    """The first run's lead over the second: the record has the second's rate less the first's."""

    def line(pair: StandingPair) -> tuple[Cell, ...]:
        one, alpha = pair.diff, report.board.settings.alpha
        lead, least, most = (None if value is None else -value for value in (one.difference, one.high, one.low))
        names = (Name(text=report.labels[place]) for place in (pair.first, pair.second))
        bounds = points_interval(least, most, share=report.share)
        chances = (p_text(value, alpha=alpha) for value in (one.p_value, one.adjusted_p_value))
        return *names, report.points(lead), bounds, *chances, "yes" if is_apart(pair, report.board) else "no"

    titles = columns("run", "against", Column(title="points", right=True), "interval", "p", HOLM, "significant")
    table = Table(
        columns=titles,
        rows=rows(map(line, report.board.pairs)),
        look="grid",
        more="more in the JSON report",
        most_in_lines=_PAIRS,
        most=_ROWS,
        detail="full",
    )
    return Section(key="pairs", title="Every pair", blocks=(table,), folded=True)
