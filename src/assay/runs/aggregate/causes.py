"""Where the causes of wrong answers are: by difficulty, database, table, column, and feature of gold's SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
        table, column = case.cause_table, case.cause_column
        shared: dict[CauseGroupKind, Iterable[str]] = {
            "difficulty": named(case.difficulty or None),
            "database": named(case.database or None),
            "table": named(table or None),
            "column": named((f"{table}.{column}" if table else column) if column else None),
            "feature": case.gold_features,
        }
        for kind, names in shared.items():
            for name in names:
                found.setdefault((kind, name), {})[case.case_id, case.cause] = None
    groups = []
    for (kind, name), members in found.items():
        ids = tuple(dict.fromkeys(case_id for case_id, _ in members))
        causes = Counter(cause for _, cause in members)
        ranked = tuple(sorted(causes.items(), key=lambda cause: (-cause[1], cause[0])))
        groups.append(CauseGroup(kind=kind, name=name, count=len(ids), causes=ranked, case_ids=ids))
    kinds = get_args(CauseGroupKind)
    return tuple(sorted(groups, key=lambda group: (kinds.index(group.kind), -group.count, group.name)))
