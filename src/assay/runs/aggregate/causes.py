"""Where the causes of wrong answers are: by difficulty, database, table, column, and feature of gold's SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from assay.model import Case, CauseGroup, CauseGroupKind
from assay.sql.features import features_of

if TYPE_CHECKING:
    from assay.runs.store.fact_table import Judged
    from assay.runs.store.facts import CaseName


def cause_groups(evidence: Sequence[Judged]) -> tuple[CauseGroup, ...]:
    """The groups of each kind, the largest first, then by name. A case counts once in each group and cause."""
    found: dict[tuple[CauseGroupKind, str], dict[tuple[str, str], None]] = {}
    for item in evidence:
        if not item.cause:
            continue
        for kind, names in _places(item).items():
            for name in names:
                found.setdefault((kind, name), {})[item.case.id, item.cause] = None
    groups = [_group(kind, name, list(held)) for (kind, name), held in found.items()]
    return tuple(sorted(groups, key=lambda one: (_KINDS.index(one.kind), -one.count, one.name)))


_KINDS: tuple[CauseGroupKind, ...] = ("difficulty", "database", "table", "column", "feature")


def _group(kind: CauseGroupKind, name: str, held: Sequence[tuple[str, str]]) -> CauseGroup:
    ids = tuple(dict.fromkeys(case_id for case_id, _ in held))
    causes = Counter(cause for _, cause in held)
    ranked = tuple(sorted(causes.items(), key=lambda one: (-one[1], one[0])))
    return CauseGroup(kind=kind, name=name, count=len(ids), causes=ranked, case_ids=ids)


def _places(item: Judged) -> Mapping[CauseGroupKind, Iterable[str]]:
    diagnosis = item.diagnosis
    first = diagnosis.causes[0] if diagnosis is not None and diagnosis.causes else None
    table, column = ("", "") if first is None else (first.table, first.column)
    return {
        "difficulty": [item.case.difficulty] if item.case.difficulty else (),
        "database": [item.case.database] if item.case.database else (),
        "table": [table] if table else (),
        "column": [f"{table}.{column}" if table else column] if column else (),
        "feature": _features(item.case),
    }


def _features(case: Case | CaseName) -> Iterable[str]:
    if isinstance(case, Case):
        return features_of(case.golds[0]) if case.golds else ()
    return case.features
