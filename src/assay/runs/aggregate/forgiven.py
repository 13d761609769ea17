"""What would accuracy be if one kind of near miss were forgiven? Beside the verdicts, never in place of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.model import Evidence, Forgiven, NearMissKind, Rate
from assay.runs.metric_infos import VERDICT

FORGIVABLE: tuple[NearMissKind, ...] = (
    "superset_columns",
    "column_order_only",
    "duplicates_only",
    "order_only",
    "rounding_only",
    "type_only",
    "case_or_whitespace_only",
)
"""Kinds of near misses that somebody may hold to be no mistake. What lacks rows or columns is one to anybody."""


def forgiven_of(evidence: Sequence[Evidence], rate: Callable[[Sequence[float | None]], Rate]) -> tuple[Forgiven, ...]:
    """One entry for each kind that would make some case right. ``rate`` makes the rate of one value per answer."""
    scores = [item.score(VERDICT[0]) for item in evidence]
    if not any(scores):
        return ()
    values = [None if score is None else score.value for score in scores]
    found = []
    for kind in FORGIVABLE:
        excused = [value == 0.0 and _misses_by(item, kind) for value, item in zip(values, evidence, strict=True)]
        ids = dict.fromkeys(item.case.id for item, yes in zip(evidence, excused, strict=True) if yes)
        if ids:
            lenient = [1.0 if yes else value for value, yes in zip(values, excused, strict=True)]
            found.append(Forgiven(kind=kind, count=len(ids), rate=rate(lenient), case_ids=tuple(ids)))
    return tuple(found)


def _misses_by(item: Evidence, kind: NearMissKind) -> bool:
    misses = item.comparison.near_misses if item.comparison is not None else ()
    return item.outcome == "incorrect" and any(miss.kind == kind for miss in misses)
