"""Where the causes are: by difficulty, database, table, column and feature of SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from assay.model import CauseGroup, CauseGroupKind
from assay.reports.text.plain import one_line
from assay.reports.views.figures import CaseLink
from assay.reports.views.run import CauseGroupRow

_KINDS: Mapping[CauseGroupKind, str] = {
    "difficulty": "difficulty",
    "database": "database",
    "table": "table",
    "column": "column",
    "feature": "gold's SQL",
}
_MOST_CAUSES = 3


def cause_group_rows(
    groups: Sequence[CauseGroup],
    linked: Callable[[Sequence[str]], tuple[CaseLink, ...]],
    *,
    of_selections: bool,
) -> tuple[CauseGroupRow, ...]:
    """A row a group, but for kinds with one group only. ``linked`` gives the cases of some ids."""
    sizes = Counter(group.kind for group in groups)
    return tuple(
        CauseGroupRow(
            kind="dimension" if of_selections and group.kind == "column" else _KINDS[group.kind],
            name=one_line(group.name, limit=80),
            count=group.count,
            said=_most_frequent(group.causes),
            cases=linked(group.case_ids),
            facet=(group.kind, one_line(group.name, limit=80)),
        )
        for group in groups
        if sizes[group.kind] > 1
    )


def _most_frequent(causes: Sequence[tuple[str, int]]) -> str:
    said = ", ".join(f"{one_line(name, limit=60)} {count:,}" for name, count in causes[:_MOST_CAUSES])
    rest = sum(count for _, count in causes[_MOST_CAUSES:])
    return f"{said}, others {rest:,}" if rest else said
