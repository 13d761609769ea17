"""Make the view of a leaderboard. Nothing is computed here: the numbers are the record's."""

from __future__ import annotations

from collections.abc import Iterable

from assay.model import Leaderboard, MetricDiff, MetricInfo, Rate, Standing, StandingPair, UsageTotals
from assay.reports.blocks.values import Figure
from assay.reports.text.plain import interval, number, one_line, percent, plural, seconds
from assay.reports.views.diff_build import facts_of, label_of, metric_name
from assay.reports.views.diff_text import p_text, points, points_interval
from assay.reports.views.leaderboard import AloneRow, LeaderboardView, PairFigure, RateGrid, StandingRow
from assay.runs.metric_infos import info_of
from assay.stats import is_significant

SAME = "="
_NAMED = 3
"""Runs that the headline names; of more it names the first, and counts the others."""


def view_of_leaderboard(board: Leaderboard) -> LeaderboardView:
    """The view of a leaderboard."""
    metric, info = metric_name(board.metric), _info(board)
    binary = all(pair.diff.binary for pair in board.pairs)
    return LeaderboardView(
        title=f"{plural(len(board.standings), 'run')} by {metric}",
        metric=metric,
        confidence=f"{board.settings.confidence * 100:g} %",
        lead=_lead(board),
        cases=_cases(board),
        notes=tuple(map(one_line, (*([f"{metric}: {info.said}"] if info.label else []), *board.notes))),
        standings=tuple(_standing(one, binary=binary, share=_is_share(board)) for one in board.standings),
        matrix=_matrix(board),
        pairs=tuple(_pair(pair, board) for pair in board.pairs),
        legend=tuple(_legend(board)),
        grids=tuple(_grids(board)),
        only_right=_only_right(board),
        alone=_alone(board),
        agreed=_agreed(board),
    )


_KINDS = {
    "difficulty": ("By difficulty", "no difficulty"),
    "database": ("By database", "no database"),
    "tag": ("By tag", "no tag"),
}


def _grids(board: Leaderboard) -> Iterable[RateGrid]:
    detail = board.detail
    if detail is None:
        return
    settings = board.standings[0].run.settings if board.standings else None
    overall = detail.groups[0]
    infos = [info_of(name, settings) for name in detail.metrics]
    shares = [info.reads_as_share(*(line[at].value for line in overall.rates)) for at, info in enumerate(infos)]
    yield RateGrid(
        key="metrics",
        title="Every metric",
        columns=tuple(map(metric_name, detail.metrics)),
        cases=(),
        cells=tuple(
            tuple(_figure(rate, share=share) for rate, share in zip(line, shares, strict=True))
            for line in overall.rates
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
                    tuple(_figure(one.rates[at][0], share=shares[0]) for one in groups)
                    for at in range(len(board.standings))
                ),
            )


def _figure(rate: Rate, *, share: bool) -> Figure:
    whole = float(rate.numerator).is_integer()
    tally = f"{number(rate.numerator)} of {rate.n:,}" if whole else f"mean of {rate.n:,}"
    return Figure(
        rate=rate,
        text=percent(rate.value, share=share),
        interval=interval(rate, share=share),
        tally=tally if rate.n else "no scored case",
        share=share,
    )


def _only_right(board: Leaderboard) -> tuple[tuple[int | None, ...], ...]:
    found = () if board.detail is None or len(board.standings) < 2 else board.detail.only_right
    return tuple(
        tuple(None if at == other else count for other, count in enumerate(line)) for at, line in enumerate(found)
    )


def _alone(board: Leaderboard) -> tuple[AloneRow, ...]:
    detail = board.detail
    if detail is None or len(board.standings) < 2:
        return ()

    def shown(ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(one_line(one, limit=80) for one in ids)

    lines = zip(board.standings, detail.alone_right, detail.alone_wrong, strict=True)
    return tuple(
        AloneRow(label=label_of(one.run), right=shown(right), wrong=shown(wrong)) for one, right, wrong in lines
    )


def _agreed(board: Leaderboard) -> str:
    detail = board.detail
    if detail is None or len(board.standings) < 2:
        return ""
    rest = board.cases - detail.all_right - detail.none_right
    return (
        f"All runs have {plural(detail.all_right, 'case')} right, none has {plural(detail.none_right, 'case')}; "
        f"on {plural(rest, 'case')} they disagree."
    )


def _info(board: Leaderboard) -> MetricInfo:
    return info_of(board.metric, board.standings[0].run.settings if board.standings else None)


def _is_share(board: Leaderboard) -> bool:
    return _info(board).reads_as_share(*(one.rate.value for one in board.standings))


def is_apart(pair: StandingPair, board: Leaderboard) -> bool:
    """Whether the two runs differ by more than chance, after the correction across all pairs."""
    one = pair.diff
    p_value = one.p_value if one.adjusted_p_value is None else one.adjusted_p_value
    return is_significant(p_value, board.settings.alpha) and bool(one.difference)


def _holds_zero(one: MetricDiff) -> bool:
    return one.clusters is not None and one.low is not None and one.high is not None and one.low <= 0.0 <= one.high


def _lead(board: Leaderboard) -> str:
    if not board.standings:
        return "There is no run to rank."
    first, metric, higher = board.standings[0], metric_name(board.metric), _info(board).higher_is_better
    best = "highest" if higher else "lowest"
    if len(board.standings) == 1 and first.rate.value is not None:
        share = _is_share(board)
        return (
            f"One run, {label_of(first.run)}: {metric} "
            f"{percent(first.rate.value, share=share)} {interval(first.rate, share=share)}".rstrip()
            + "."
        )
    if first.rate.value is None:
        return "Nothing to rank: no case is scored in every run."
    share = _is_share(board)
    value = f"{percent(first.rate.value, share=share)} {interval(first.rate, share=share)}".strip()
    name = label_of(first.run)
    pairs = [pair for pair in board.pairs if 0 in (pair.first, pair.second)]
    tied = [pair.first + pair.second for pair in pairs if not is_apart(pair, board)]
    if not tied:
        ending = f", significantly {'above' if higher else 'below'} every other run" if pairs else ""
        return f"{name} is first: {metric} {value}{ending}."
    others = [label_of(board.standings[place].run) for place in sorted(tied)]
    equals = [label_of(one.run) for one in board.standings[1:] if one.rank == first.rank]
    if equals:
        rest = [name for place, name in zip(sorted(tied), others, strict=True) if board.standings[place].rank > 1]
        ending = f", and {_listed(rest)} cannot be told apart from {name}" if rest else ""
        return f"No single best run: {_listed([name, *equals])} have the same {metric}, {value}{ending}."
    if len(tied) == len(board.standings) - 1 and len(tied) > 1:
        return f"No best run: {name} has the {best} {metric}, {value}, but no other can be told apart from it."
    return (
        f"No single best run: {name} has the {best} {metric}, {value}, "
        f"but {_listed(others)} cannot be told apart from it."
    )


def _listed(names: list[str]) -> str:
    if len(names) > _NAMED:
        return f"{names[0]} and {len(names) - 1:,} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _cases(board: Leaderboard) -> str:
    said = f"Over the {plural(board.cases, 'case')} that all runs have and score"
    if board.left_out:
        return f"{said}; {board.left_out:,} left out: lacking, different or unscored in some run."
    return f"{said}."


def _standing(one: Standing, *, binary: bool, share: bool) -> StandingRow:
    rate = one.rate
    # Means of several answers may also add up to a whole number, which is then not a count of cases.
    whole = binary and one.run.repeats == 1 and float(rate.numerator).is_integer()
    tally = f"{number(rate.numerator)} of {rate.n:,}" if whole else f"mean of {rate.n:,}"
    possible = f"{one.rank_low:,}" if one.rank_low == one.rank_high else f"{one.rank_low:,}-{one.rank_high:,}"
    return StandingRow(
        place=f"{one.rank:,}",
        possible=possible,
        letters=one_line(one.groups),
        label=label_of(one.run),
        figure=Figure(
            rate=rate,
            text=percent(rate.value, share=share),
            interval=interval(rate, share=share),
            tally=tally if rate.n else "no scored case",
            share=share,
        ),
        facts=facts_of(one.run),
        time="" if one.answer_time is None else seconds(one.answer_time.median_s),
        time_s=None if one.answer_time is None else one.answer_time.median_s,
        tokens=_tokens(one.usage),
        cost="" if one.usage is None or one.usage.cost_usd is None else _dollars(one.usage.cost_usd),
        cost_usd=None if one.usage is None else one.usage.cost_usd,
    )


def _tokens(usage: UsageTotals | None) -> str:
    """Tokens per answer that states them, in all or in and out."""
    known = tokens_in_all(usage)
    if usage is None or known is None or not usage.answers_with_tokens:
        return ""
    return number(round(known / usage.answers_with_tokens))


def tokens_in_all(usage: UsageTotals | None) -> int | None:
    """The total that the answers state, else what went in and came out; None where they state neither."""
    if usage is None or usage.total is not None:
        return None if usage is None else usage.total
    return None if usage.input is None and usage.output is None else (usage.input or 0) + (usage.output or 0)


def _dollars(cost: float) -> str:
    return f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.2g}"


def _matrix(board: Leaderboard) -> tuple[tuple[str | None, ...], ...]:
    count, share = len(board.standings), _is_share(board)
    cells: list[list[str | None]] = [[None] * count for _ in range(count)]
    for pair in board.pairs:
        difference = pair.diff.difference
        apart = is_apart(pair, board) and difference is not None
        cells[pair.second][pair.first] = points(difference, share=share) if apart else SAME
        cells[pair.first][pair.second] = points(-(difference or 0.0), share=share) if apart else SAME
    return tuple(map(tuple, cells))


def _pair(pair: StandingPair, board: Leaderboard) -> PairFigure:
    """The first run's lead over the second: the record has the second's rate less the first's."""
    one, alpha, share = pair.diff, board.settings.alpha, _is_share(board)
    lead, least, most = (None if value is None else -value for value in (one.difference, one.high, one.low))
    return PairFigure(
        first=label_of(board.standings[pair.first].run),
        second=label_of(board.standings[pair.second].run),
        diff=one,
        difference=points(lead, share=share),
        interval=points_interval(least, most, share=share),
        p_value=p_text(one.p_value, alpha=alpha),
        adjusted_p_value=p_text(one.adjusted_p_value, alpha=alpha),
        apart=is_apart(pair, board),
    )


def _legend(board: Leaderboard) -> Iterable[str]:
    settings = board.settings
    if len(board.standings) > 1:
        yield (
            "Runs that share a letter cannot be told apart: their difference may be chance. Places are those that the "
            "data leave possible."
        )
        yield (
            f"Pairs: paired tests over the same cases, at α = {settings.alpha:g} after Holm's correction across "
            f"{plural(len(board.pairs), 'pair')}."
        )
    databases = max((pair.diff.clusters or 0 for pair in board.pairs), default=0)
    if databases:
        yield (
            f"The tests flip the signs of whole databases ({databases:,}), as the intervals resample them: letters and "
            "places allow for other databases."
        )
    if any(is_apart(pair, board) and _holds_zero(pair.diff) for pair in board.pairs):
        yield (
            "Interval and test ask different questions: at the edge an interval may hold 0 where two runs can be told "
            "apart."
        )
