"""How sure the matches of a run are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.model import Count, Rate, WitnessTotals
from assay.model.summary import CaseSummary
from assay.model.verdict import MATCH_STRENGTHS
from assay.runs.aggregate.rates import Values


def witness_totals(summaries: Sequence[CaseSummary], rate: Callable[[Values], Rate]) -> WitnessTotals | None:
    """The matches by their strength, and accuracy as it stands after witnesses; None where nobody looked for any.

    ``rate`` makes the rate of one value per answer.
    """
    if not any(case.search is not None for case in summaries):
        return None
    ids: dict[str, dict[str, None]] = {name: {} for name in MATCH_STRENGTHS}
    counts = dict.fromkeys(MATCH_STRENGTHS, 0)
    claimed: list[float | None] = []
    after: list[float | None] = []
    at_worst: list[float | None] = []
    searched = 0
    for case in summaries:
        right = case.outcome == "correct"
        value = None if case.outcome == "unscored" else float(right)
        claimed.append(value)
        after.append(0.0 if right and case.strength == "refuted" else value)
        at_worst.append(0.0 if right and case.strength in ("refuted", "conditional") else value)
        if right and case.decision is None:
            searched += case.search is not None
            ids[case.strength][case.case_id] = None
            counts[case.strength] += 1
    return WitnessTotals(
        matches=sum(counts.values()),
        searched=searched,
        strengths=tuple(
            Count(name=name, count=counts[name], case_ids=tuple(ids[name])) for name in MATCH_STRENGTHS if counts[name]
        ),
        claimed=rate(claimed),
        after=rate(after),
        at_worst=rate(at_worst),
    )
