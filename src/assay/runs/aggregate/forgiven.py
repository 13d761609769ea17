"""What would accuracy be if one kind of near miss were forgiven? It supplements the verdicts, never replaces them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.model import Forgiven, NearMissKind, Rate
from assay.runs.aggregate.rates import each
from assay.runs.metric_infos import VERDICT

if TYPE_CHECKING:  # it needs msgspec, which adding up does not
    from assay.runs.store.fact_table import Judged

FORGIVABLE: tuple[NearMissKind, ...] = (
    "superset_columns",
    "column_order_only",
    "duplicates_only",
    "order_only",
    "rounding_only",
    "type_only",
    "case_or_whitespace_only",
)
"""Kinds of near misses that some users may not count as mistakes. Missing rows or columns are always mistakes."""


def forgiven_of(evidence: Sequence[Judged], rate: Callable[[Sequence[float | None]], Rate]) -> tuple[Forgiven, ...]:
    """One entry for each kind that would make some case right. ``rate`` computes the rate from one value per answer."""
    scores = each(evidence, lambda item: item.score(VERDICT[0]))
    if not any(scores):
        return ()
    values = [None if score is None else score.value for score in scores]
    excused: dict[NearMissKind, list[int]] = {kind: [] for kind in FORGIVABLE}
    """Per kind, the places of the answers that forgiving it would make right."""
    for place, (value, item) in enumerate(zip(values, evidence, strict=True)):
        if value == 0.0 and item.comparison is not None and item.verdict.outcome == "incorrect":
            for kind in {miss.kind for miss in item.comparison.near_misses}.intersection(FORGIVABLE):
                excused[kind].append(place)
    found = []
    for kind, places in excused.items():
        if places:
            ids = dict.fromkeys(evidence[place].case.id for place in places)
            lenient = list(values)
            for place in places:
                lenient[place] = 1.0
            found.append(Forgiven(kind=kind, count=len(ids), rate=rate(lenient), case_ids=tuple(ids)))
    return tuple(found)
