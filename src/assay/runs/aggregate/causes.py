"""Where the causes of wrong answers are: by difficulty, database, table, column, and feature of gold's SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from assay.model import CauseGroup, CauseGroupKind
from assay.model.summary import CaseSummary
from assay.runs.difficulties import named


def cause_groups(summaries: Sequence[CaseSummary]) -> tuple[CauseGroup, ...]:
    """The groups of each kind, the largest first, then by name. A case counts once in each group and cause."""
    found: dict[tuple[CauseGroupKind, str], dict[tuple[str, str], None]] = {}
    for case in summaries:
        if not case.cause:
            continue
        for kind, names in _shared_by(case).items():
            for name in names:
                found.setdefault((kind, name), {})[case.case_id, case.cause] = None
    groups = [_group(kind, name, list(held)) for (kind, name), held in found.items()]
    kinds = get_args(CauseGroupKind)
    return tuple(sorted(groups, key=lambda one: (kinds.index(one.kind), -one.count, one.name)))


def _group(kind: CauseGroupKind, name: str, held: Sequence[tuple[str, str]]) -> CauseGroup:
    ids = tuple(dict.fromkeys(case_id for case_id, _ in held))
    causes = Counter(cause for _, cause in held)
    ranked = tuple(sorted(causes.items(), key=lambda one: (-one[1], one[0])))
    return CauseGroup(kind=kind, name=name, count=len(ids), causes=ranked, case_ids=ids)


def _shared_by(case: CaseSummary) -> Mapping[CauseGroupKind, Iterable[str]]:
    table, column = case.cause_table, case.cause_column
    return {
        "difficulty": named(case.difficulty or None),
        "database": named(case.database or None),
        "table": named(table or None),
        "column": named((f"{table}.{column}" if table else column) if column else None),
        "feature": case.gold_features,
    }
