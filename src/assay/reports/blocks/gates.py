"""Gates: what was demanded of a run or a comparison, and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.model import GateResult
from assay.reports.blocks.values import (
    CaseLink,
    Cell,
    Column,
    Description,
    Name,
    Row,
    Section,
    Status,
    Table,
    columns,
    named_ids,
)
from assay.reports.text.plain import one_line

_NAME_LENGTH = 120
_NAMED = 3


def gates_section(results: Sequence[GateResult], links: Mapping[str, CaseLink] | None = None) -> Section:
    """The gates, in the order in which they were demanded. ``links`` has the cases of the report by id."""

    def line(result: GateResult) -> tuple[Cell, ...]:
        wanted, found = one_line(result.wanted), one_line(result.found)
        said = "\n".join(filter(None, (f"wanted {wanted}", f"found {found}", missed(result, links))))
        state = Status(text=state_of(result), good=result.passed)
        by = one_line(result.missed_by or "")
        return (
            Name(text=gate_name(result), strong=True),
            state,
            wanted,
            found,
            by,
            _cases(result, links),
            Description(meaning=said),
        )

    titles = (Column(title=title, detail="full") for title in ("wanted", "found", "missed by", "case ids"))
    table = Table(
        columns=columns("gate", "state", *titles, Column(title="found", detail="summary")),
        rows=tuple(Row(cells=line(one), weight=not one.passed) for one in results),
        look="gates",
        wraps=True,
        most=30,
    )
    passed = f"{sum(result.passed for result in results):,} of {len(results):,} passed"
    return Section(key="gates", title="Gates", aside=passed, blocks=(table,), place="top")


def gate_name(result: GateResult) -> str:
    """The gate as it was demanded."""
    return one_line(result.gate, limit=_NAME_LENGTH)


def state_of(result: GateResult) -> str:
    """The outcome as a word."""
    return "passed" if result.passed else "missed"


def missed(result: GateResult, links: Mapping[str, CaseLink] | None = None) -> str:
    """``missed by 3.8 points; cases: q17, q21, +12``; empty if the gate passed."""
    return "; ".join(filter(None, (missed_by(result), missed_cases(result, links))))


def missed_by(result: GateResult) -> str:
    """``missed by 3.8 points``; empty if the gate passed."""
    if result.passed:
        return ""
    return f"missed by {one_line(result.missed_by)}" if result.missed_by else "missed"


def missed_cases(result: GateResult, links: Mapping[str, CaseLink] | None = None) -> str:
    """``cases: q17, q21, +12``; empty if no case misses the gate."""
    return f"cases: {named_ids(_cases(result, links))}" if result.case_ids and not result.passed else ""


def conclusion(results: Sequence[GateResult]) -> str:
    """``gates: 3 of 4 passed``, and which are missed."""
    names = [gate_name(result) for result in results if not result.passed]
    said = f"gates: {len(results) - len(names):,} of {len(results):,} passed"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{said}; missed: {', '.join(names[:_NAMED])}{more}" if names else said


def _cases(result: GateResult, links: Mapping[str, CaseLink] | None) -> tuple[CaseLink, ...]:
    """The cases that miss the gate; without ``links`` they lead nowhere."""
    return tuple(
        (links or {}).get(case_id) or CaseLink(id=one_line(case_id, limit=80), anchor="") for case_id in result.case_ids
    )
