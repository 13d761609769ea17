"""Which causes of wrong answers a candidate mended, and which it brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.model import CaseChange
from assay.reports.text.plain import one_line
from assay.reports.views.diff import CauseRow


def cause_rows(changes: Sequence[CaseChange]) -> tuple[CauseRow, ...]:
    """A row per cause, the most frequent first. A case whose cause changed has one fixed and one new."""
    before = Counter(one.baseline.cause for one in changes if one.baseline.cause)
    after = Counter(one.candidate.cause for one in changes if one.candidate.cause)
    changed = [one for one in changes if one.baseline.cause != one.candidate.cause]
    fixed = Counter(one.baseline.cause for one in changed if one.baseline.cause)
    new = Counter(one.candidate.cause for one in changed if one.candidate.cause)
    names = sorted(before | after, key=lambda name: (-max(before[name], after[name]), name))
    return tuple(
        CauseRow(
            name=one_line(name, limit=80),
            baseline=before[name],
            candidate=after[name],
            fixed=fixed[name],
            new=new[name],
        )
        for name in names
    )
