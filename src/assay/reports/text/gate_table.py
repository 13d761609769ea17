"""The table of gates, for summaries and on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.model import GateResult
from assay.reports.text.plain import one_line
from assay.reports.views.figures import CaseLink
from assay.reports.views.run import GateRow, named_ids

_NAME_LENGTH = 120


def gate_rows(results: Sequence[GateResult], links: Mapping[str, CaseLink] | None = None) -> tuple[GateRow, ...]:
    """The results ready to draw. ``links`` has the cases of the report by id; without it there are no links."""

    def link(case_id: str) -> CaseLink:
        return (links or {}).get(case_id) or CaseLink(id=one_line(case_id, limit=80), anchor="")

    return tuple(
        GateRow(
            gate=one_line(result.gate, limit=_NAME_LENGTH),
            passed=result.passed,
            wanted=one_line(result.wanted),
            found=one_line(result.found),
            missed_by=one_line(result.missed_by or ""),
            cases=tuple(map(link, result.case_ids)),
        )
        for result in results
    )


def conclusion(results: Sequence[GateResult]) -> str:
    """``gates: 3 of 4 passed``, and which are missed."""
    missed = [one_line(result.gate, limit=_NAME_LENGTH) for result in results if not result.passed]
    said = f"gates: {len(results) - len(missed):,} of {len(results):,} passed"
    return f"{said}; missed: {', '.join(missed)}" if missed else said


def missed(row: GateRow) -> str:
    """``missed by 3.8 points; not as wanted: q17, q21, +12``; empty where the gate passed."""
    if row.passed:
        return ""
    said = f"missed by {row.missed_by}" if row.missed_by else "missed"
    return f"{said}; not as wanted: {named_ids(row.cases)}" if row.cases else said
