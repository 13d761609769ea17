"""How whole conversations of queries fare, each turn of which is a case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.model import ConversationTotals, Outcome
from assay.model.summary import CaseSummary
from assay.runs.aggregate.rates import Answers, mean_of_each
from assay.runs.aggregate.reliability import RateOf


def conversation_totals(summaries: Sequence[CaseSummary], answers: Answers, rate: RateOf) -> ConversationTotals | None:
    """None where no case is part of a conversation. ``rate`` makes the rate of values, which may be all 0 or 1.

    A conversation is right where every turn of it is (interaction match: Yu et al., SParC, 2019, and CoSQL, 2019). One
    with an unscored turn and no wrong one is unscored. Where the system was asked repeatedly, the n-th answers to its
    turns are one conversation, and a conversation counts by the mean of its own.
    """
    found: dict[str, list[tuple[int, Sequence[float | None]]]] = {}
    for items in answers.split(summaries):
        name = items[0].conversation
        if name is not None:
            found.setdefault(name, []).append((items[0].turn or 0, [_VALUE[one.outcome] for one in items]))
    if not found:
        return None
    whole: list[float | None] = []
    failed: list[str] = []
    first: Counter[int] = Counter()
    by_turn: dict[int, list[float | None]] = {}
    for name, turns in found.items():
        turns.sort(key=lambda turn: turn[0])
        times = min(len(values) for _, values in turns)
        each = [_all([values[time] for _, values in turns]) for time in range(times)]
        whole += mean_of_each([each])
        if 0.0 in each:
            failed.append(name)
        first.update(place for place in (_first_wrong(turns, time) for time in range(times)) if place is not None)
        for place, values in turns:
            by_turn.setdefault(place, []).extend(mean_of_each([values]))
    binary = len(answers.starts) == answers.count
    return ConversationTotals(
        conversations=len(found),
        turns=sum(map(len, found.values())),
        whole=rate(whole, binary=binary),
        by_turn=tuple((place, rate(by_turn[place], binary=binary)) for place in sorted(by_turn)),
        first_wrong=tuple(sorted(first.items())),
        failed=tuple(failed),
    )


_VALUE: dict[Outcome, float | None] = {"correct": 1.0, "incorrect": 0.0, "unscored": None}


def _all(values: Sequence[float | None]) -> float | None:
    return 0.0 if 0.0 in values else None if None in values else 1.0


def _first_wrong(turns: Sequence[tuple[int, Sequence[float | None]]], time: int) -> int | None:
    return next((place for place, values in turns if values[time] == 0.0), None)
