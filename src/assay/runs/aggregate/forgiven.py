"""What would accuracy be if one kind of near miss were forgiven? It supplements the verdicts, never replaces them."""

from __future__ import annotations

from collections.abc import Sequence

from assay.model import Forgiven, NearMissKind
from assay.model.summary import CaseSummary
from assay.runs.aggregate.rates import Answers
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
"""Kinds of near misses that some users may not count as mistakes. Missing rows or columns are always mistakes."""


def forgiven_of(summaries: Sequence[CaseSummary], answers: Answers) -> tuple[Forgiven, ...]:
    """One entry for each kind that would make some case right."""
    scores = [case.score(VERDICT[0]) for case in summaries]
    if not any(scores):
        return ()
    values = [None if score is None else score.value for score in scores]
    excused: dict[NearMissKind, list[int]] = {kind: [] for kind in FORGIVABLE}
    """Per kind, the places of the answers that forgiving it would make right."""
    for place, (value, case) in enumerate(zip(values, summaries, strict=True)):
        if value == 0.0:
            for kind in set(case.near_misses).intersection(FORGIVABLE):
                excused[kind].append(place)
    found = []
    for kind, places in excused.items():
        if places:
            ids = dict.fromkeys(summaries[place].case_id for place in places)
            lenient = list(values)
            for place in places:
                lenient[place] = 1.0
            found.append(Forgiven(kind=kind, count=len(ids), rate=answers.rate(lenient), case_ids=tuple(ids)))
    return tuple(found)
