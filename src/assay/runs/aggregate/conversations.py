"""How whole conversations of queries fare, each turn of which is a case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.model import ConversationTotals, Outcome, Rate
from assay.model.summary import CaseSummary
from assay.runs.aggregate.rates import Answers, Values, mean_of_each, rate_of


def conversation_totals(summaries: Sequence[CaseSummary], answers: Answers) -> ConversationTotals | None:
    """None where no case is part of a conversation.

    A conversation is right where every turn of it is (interaction match: Yu et al., SParC, 2019, and CoSQL, 2019). One
    with an unscored turn and no wrong one is unscored. Where the system was asked repeatedly, the n-th answers to its
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
