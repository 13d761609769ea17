"""How consistently a system answers that was asked each question several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from assay.errors import UsageError
from assay.model import Case, ConversationTotals, Outcome, PassRate, Rate, RepeatTotals
from assay.model.verdicts.summary import CaseSummary
from assay.platform.surface import argument, on_command_line
from assay.runs.aggregate.rates import Answers, Values, mean_of_each, rate_of
from assay.stats import pass_all_k, pass_at_k


def check_repeats(repeats: int, *, several: bool) -> None:
    """Raise UsageError for fewer than one answer per question, and for more than one if ``several`` are not possible:
    neither a live system is asked nor answers are read.
    """
    if repeats < 1:
        raise UsageError(f"repeats is {repeats}: ask each question at least once")
    if repeats > 1 and not several:
        system = "--system" if on_command_line() else "open_system(...)"
        raise UsageError(
            f"each question was to be asked {repeats} times, and only a live system can be asked: give {system}, or "
            f"leave {argument('--repeat')} out"
        )


def repeated(cases: Sequence[Case], repeats: int) -> Sequence[Case]:
    """The cases, each repeated as often as it was asked, in the order of the answers."""
    return cases if repeats == 1 else tuple(case for case in cases for _ in range(repeats))


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


def conversation_totals(summaries: Sequence[CaseSummary], answers: Answers) -> ConversationTotals | None:
    """None if no case is part of a conversation.

    A conversation is right if every turn of it is (interaction match: Yu et al., SParC, 2019, and CoSQL, 2019). One
    with an unscored turn and no wrong one is unscored. If the system was asked repeatedly, the n-th answers to its
    turns are one conversation, and a conversation counts by the mean of its own.
    """
    found: dict[str, list[tuple[int, Values]]] = {}
    for items in answers.split(summaries):
        name = items[0].conversation
        if name is not None:
            found.setdefault(name, []).append((items[0].turn or 0, [_VALUE[one.outcome] for one in items]))
    if not found:
        return None
    whole: list[float | None] = []
    failed: list[str] = []
    first_wrong: Counter[int] = Counter()
    by_turn: dict[int, list[float | None]] = {}
    for name, turns in found.items():
        turns.sort(key=lambda turn: turn[0])
        # The n-th answers to all turns. A turn may have fewer answers than another.
        talks = list(zip(*(values for _, values in turns), strict=False))
        whole += mean_of_each([[0.0 if 0.0 in talk else None if None in talk else 1.0 for talk in talks]])
        wrong = [talk.index(0.0) for talk in talks if 0.0 in talk]
        first_wrong.update(turns[place][0] for place in wrong)
        failed += [name] if wrong else []
        for place, values in turns:
            by_turn.setdefault(place, []).extend(mean_of_each([values]))

    def rate(values: Values) -> Rate:
        return rate_of(values, binary=answers.once, confidence=answers.confidence)

    return ConversationTotals(
        conversations=len(found),
        turns=sum(map(len, found.values())),
        whole=rate(whole),
        by_turn=tuple((place, rate(values)) for place, values in sorted(by_turn.items())),
        first_wrong=tuple(sorted(first_wrong.items())),
        failed=tuple(failed),
    )


_VALUE: dict[Outcome, float | None] = {"correct": 1.0, "incorrect": 0.0, "unscored": None}
