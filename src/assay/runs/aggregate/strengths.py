"""How sure the matches of a run are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.model import Count, Rate, WitnessTotals
from assay.model.verdict import MATCH_STRENGTHS

if TYPE_CHECKING:  # it needs msgspec, which adding up does not
    from assay.runs.aggregate.rates import Values
    from assay.runs.store.fact_table import Judged


def witness_totals(evidence: Sequence[Judged], rate: Callable[[Values], Rate]) -> WitnessTotals | None:
    """The matches by their strength, and accuracy as it stands after witnesses; None where nobody looked for any.

    ``rate`` makes the rate of one value per answer.
    """
    if not any(item.refutation is not None for item in evidence):
        return None
    ids: dict[str, dict[str, None]] = {name: {} for name in MATCH_STRENGTHS}
    counts = dict.fromkeys(MATCH_STRENGTHS, 0)
    claimed: list[float | None] = []
    after: list[float | None] = []
    at_worst: list[float | None] = []
    searched = 0
    for item in evidence:
        verdict = item.verdict
        right = verdict.outcome == "correct"
        value = None if verdict.outcome == "unscored" else float(right)
        claimed.append(value)
        after.append(0.0 if right and verdict.strength == "refuted" else value)
        at_worst.append(0.0 if right and verdict.strength in ("refuted", "conditional") else value)
        if right and verdict.decision is None:
            searched += item.refutation is not None
            ids[verdict.strength][item.case.id] = None
            counts[verdict.strength] += 1
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
