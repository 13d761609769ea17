"""How consistently a system answers that was asked each question several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.errors import UsageError
from assay.model import Case, PassRate, Rate, RepeatTotals
from assay.model.summary import CaseSummary
from assay.runs.aggregate.rates import Answers, rate_of
from assay.stats import pass_all_k, pass_at_k


def check_repeats(repeats: int, *, live: bool) -> None:
    """Raise UsageError for fewer than one answer per question, and for more than one where no live system is asked."""
    if repeats < 1:
        raise UsageError(f"repeats is {repeats}: ask each question at least once")
    if repeats > 1 and not live:
        raise UsageError(
            f"each question was to be asked {repeats} times, and only a live system can be asked: give --system "
            "(in Python open_system(...)), or leave --repeat out for answers that there are already"
        )


def repeated(cases: Sequence[Case], repeats: int) -> tuple[Case, ...]:
    """The cases, each repeated as often as it was asked, in the order of the answers."""
    return tuple(case for case in cases for _ in range(repeats))


def repeat_totals(summaries: Sequence[CaseSummary], *, asked: int, confidence: float = 0.95) -> RepeatTotals:
    """How consistent the answers are, by their verdicts, with pass@k and pass^k.

    pass@k and pass^k of a case are the unbiased estimates of `pass_at_k` and `pass_all_k` from its scored answers;
    a case with fewer than ``k`` of these counts only in that ``k``'s ``unscored``.
    """
    ids = []
    counts: list[tuple[int, int]] = []  # scored and right answers, by case
    for items in Answers.of(summaries, repeats=asked).split(summaries):
        ids.append(items[0].case_id)
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
