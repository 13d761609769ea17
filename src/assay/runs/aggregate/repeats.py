"""The numbers of a run that asked each question several times.

Answers to one question are no independent sample of questions: every rate is over cases, each by the mean of its
scored answers, so that an interval knows how many questions there were, not how many answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, groupby
from statistics import fmean
from typing import TypeVar

from assay.errors import UsageError
from assay.model import Aggregates, Case, Count, Disagreement, Evidence, MetricInfo, PassRate, Rate, RepeatTotals
from assay.runs.aggregate.forgiven import forgiven_of
from assay.runs.aggregate.spread import ANSWER_TIME, spreads_of
from assay.runs.aggregate.totals import (
    Values,
    aggregate,
    causes_of,
    column_of,
    counts_of,
    failures_of,
    flags_of,
    groups_of,
    is_unanswered,
    near_misses_of,
    rate_of,
    usage_of,
)
from assay.stats import pass_all_k, pass_at_k

_Item = TypeVar("_Item")


def check_repeats(repeats: int, *, live: bool) -> None:
    """Raise UsageError for less than one answer to each question, and for more from what is not asked."""
    if repeats < 1:
        raise UsageError(f"repeats is {repeats}: ask each question at least once")
    if repeats > 1 and not live:
        raise UsageError(
            f"each question was to be asked {repeats} times, and only a live system can be asked: give --system "
            "(in Python open_system(...)), or leave --repeat out for answers that there are already"
        )


def repeated(cases: Sequence[Case], repeats: int) -> tuple[Case, ...]:
    """Each case as often as it was asked, as the answers to it follow one another."""
    return tuple(case for case in cases for _ in range(repeats))


def aggregate_answers(
    evidence: Sequence[Evidence], metrics: Sequence[MetricInfo], *, repeats: int, confidence: float = 0.95
) -> Aggregates:
    """The numbers of a run in which each question was asked ``repeats`` times; of one, those of `aggregate`.

    The answers to a case follow one another. Rates and times are over cases, each by the mean of its answers that
    have one; a case is unscored for a metric where no answer has a value. Flags, near misses, failures and causes
    count the cases that have some answer with them.
    """
    if repeats == 1:
        return aggregate(evidence, metrics, confidence=confidence)
    sizes = _sizes(evidence)
    firsts = [items[0] for items in _split(evidence, sizes)]
    columns = [column_of(evidence, metric) for metric in metrics]
    times = [item.prediction.timing_s(ANSWER_TIME) for item in evidence]
    groups = groups_of(
        firsts,
        [MetricInfo(name=metric.name) for metric in metrics],  # means are no longer 0 and 1 alone
        [mean_of_each(_split(column, sizes)) for column in columns],
        mean_of_each(_split(times, sizes)),
        confidence=confidence,
    )
    outcomes = [item.verdict.outcome for item in evidence]
    return Aggregates(
        cases=len(firsts),
        correct=outcomes.count("correct"),
        incorrect=outcomes.count("incorrect"),
        unscored=outcomes.count("unscored"),
        unanswered=sum(map(is_unanswered, evidence)),
        overall=groups.overall,
        by_difficulty=groups.by_difficulty,
        by_database=groups.by_database,
        by_tag=groups.by_tag,
        determined=groups.determined,
        disagreements=_disagreements(firsts, metrics, [_split(column, sizes) for column in columns]),
        flags=cases_of(evidence, flags_of),
        near_misses=cases_of(evidence, near_misses_of),
        failures=cases_of(evidence, failures_of),
        causes=cases_of(evidence, causes_of),
        forgiven=forgiven_of(
            evidence,
            lambda values: rate_of(mean_of_each(_split(values, sizes)), binary=False, confidence=confidence),
        ),
        repeats=repeat_totals(evidence, asked=repeats, confidence=confidence),
        usage=usage_of([item.prediction for item in evidence]),
        times=spreads_of(evidence, times),
    )


def repeat_totals(evidence: Sequence[Evidence], *, asked: int, confidence: float = 0.95) -> RepeatTotals:
    """How steady the answers are, by their verdicts, and what ``k`` of them come to.

    pass@k and pass^k of a case are the unbiased estimates of `pass_at_k` and `pass_all_k` from its scored answers;
    a case with fewer than ``k`` of these is in none of that ``k``'s numbers but ``unscored``.
    """
    ids = []
    counts: list[tuple[int, int]] = []  # scored and right answers, by case
    for items in _split(evidence, _sizes(evidence)):
        ids.append(items[0].case.id)
        outcomes = [item.outcome for item in items]
        right = outcomes.count("correct")
        counts.append((right + outcomes.count("incorrect"), right))

    def pass_rate(k: int) -> PassRate:
        def rate(estimate: Callable[[int, int, int], float | None]) -> Rate:
            return rate_of([estimate(n, c, k) for n, c in counts], binary=False, confidence=confidence)

        return PassRate(k=k, any=rate(pass_at_k), all=rate(pass_all_k))

    return RepeatTotals(
        asked=asked,
        stable_right=sum(n > 0 and right == n for n, right in counts),
        stable_wrong=sum(n > 0 and right == 0 for n, right in counts),
        flaky=tuple(id_ for id_, (n, right) in zip(ids, counts, strict=True) if 0 < right < n),
        unscored=sum(n == 0 for n, _ in counts),
        pass_rates=tuple(map(pass_rate, range(1, asked + 1))),
    )


def cases_of(evidence: Sequence[Evidence], names_of: Callable[[Evidence], Iterable[str]]) -> tuple[Count, ...]:
    """As `counts_of`, a case counting once for a name however many of its answers carry it."""
    ids = {count.name: tuple(dict.fromkeys(count.case_ids)) for count in counts_of(evidence, names_of)}
    counts = (Count(name=name, count=len(found), case_ids=found) for name, found in ids.items())
    return tuple(sorted(counts, key=lambda count: (-count.count, count.name)))


def mean_of_each(groups: Iterable[Values]) -> list[float | None]:
    """The mean of what each group has; None where it has nothing."""
    known = ([value for value in values if value is not None] for values in groups)
    return [fmean(values) if values else None for values in known]


def _sizes(evidence: Sequence[Evidence]) -> list[int]:
    """How many answers there are to each case, in the run's order."""
    return [sum(1 for _ in items) for _, items in groupby(evidence, key=lambda item: item.case.id)]


def _split(items: Sequence[_Item], sizes: Sequence[int]) -> list[Sequence[_Item]]:
    """The items of each case."""
    parts = []
    start = 0
    for size in sizes:
        parts.append(items[start : start + size])
        start += size
    return parts


def _disagreements(
    firsts: Sequence[Evidence], metrics: Sequence[MetricInfo], columns: Sequence[Sequence[Values]]
) -> tuple[Disagreement, ...]:
    """Every pair of yes/no metrics that differ on some answer, in the metrics' order.

    A case is named on each side that some answer of it is accepted by alone. One whose answers all agree counts as
    ``both`` where both accept any of them, else as ``neither``.
    """
    found = []
    binary = [(metric.name, column) for metric, column in zip(metrics, columns, strict=True) if metric.binary]
    for (first, left), (second, right) in combinations(binary, 2):
        only_first: list[str] = []
        only_second: list[str] = []
        both = neither = 0
        for item, ones, others in zip(firsts, left, right, strict=True):
            pairs = {pair for pair in zip(ones, others, strict=True) if None not in pair}
            if (1.0, 0.0) in pairs:
                only_first.append(item.case.id)
            if (0.0, 1.0) in pairs:
                only_second.append(item.case.id)
            if pairs and all(one == other for one, other in pairs):
                both += (1.0, 1.0) in pairs
                neither += (1.0, 1.0) not in pairs
        if only_first or only_second:
            found.append(
                Disagreement(
                    first=first,
                    second=second,
                    both=both,
                    neither=neither,
                    only_first=tuple(only_first),
                    only_second=tuple(only_second),
                )
            )
    return tuple(found)
