"""A lint on one screen: what it found, the root causes, the severest findings, the rules, and what it found again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.model.lint import SEVERITIES, LintFinding, LintReport
from assay.reports.lint.table import accuracy_lines, conclusion, gap_lines, place_of, root_cause_lines
from assay.reports.screen.lines import Line, Span, cut, line, padded, wrapped
from assay.reports.screen.parts import WIDTH, Part, notes_part, screen
from assay.reports.screen.run import steps_part
from assay.reports.text.plain import columns_of, one_line

_FINDINGS = 10
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "dim"}


def lint_screen(report: LintReport, *, width: int = WIDTH, typed: Sequence[str] = ()) -> list[Line]:
    """The summary of a lint for lines of ``width`` columns. ``typed``: the words of the command, to be repeated."""
    headline = wrapped(conclusion(report), width, rest="  ", most=3, style="bold")
    accuracies = tuple(
        (one,) for text in accuracy_lines(report) for one in wrapped(text, width, first="  ", rest="    ")
    )
    notes = [*gap_lines(report), *(one_line(note, limit=300) for note in report.notes)]
    findings = _severest(report)
    roots = [wrapped(text, width, first="  ", rest="    ", most=2) for text in root_cause_lines(report)]
    counts = report.counts()
    parts = [
        notes_part(notes, width, lines=4, least=2, most=4, rank=1),
        Part(title="Root causes that findings share", items=tuple(roots), least=2, most=5, rank=3),
        Part(
            title="Findings, the severest first",
            items=tuple(tuple(_finding(one, width)) for one in findings[:_FINDINGS]),
            least=3,
            most=_FINDINGS,
            rank=2,
            total=len(report.findings),
        ),
        Part(title="Findings by rule", items=_rules(report, width), least=3, most=8, rank=4, total=len(counts)),
        Part(title="Accuracy of the runs", items=accuracies, least=2, most=5, rank=5),
    ]
    if report.findings and typed:
        steps = [
            ("every finding", (*typed, "--full")),
            ("in a browser", (*typed, "--html", "lint.html")),
        ]
        parts.append(steps_part(steps, width))
    last = headline if any(one.items for one in parts) else ()
    return screen(headline, [one for one in parts if one.items], last, width=width)


def _severest(report: LintReport) -> list[LintFinding]:
    """The severest findings: one of each root cause, then the others."""
    by_severity = sorted(report.findings, key=lambda one: SEVERITIES.index(one.severity))
    repeated = {id(one) for group in report.root_causes() for one in group.findings[1:]}
    return sorted(by_severity, key=lambda one: (SEVERITIES.index(one.severity), id(one) in repeated))


def _finding(finding: LintFinding, width: int) -> Iterable[Line]:
    """Severity, rule and place; the evidence; the remedy."""
    place = place_of(finding)
    yield line(Span(f"  {finding.severity}", _STYLES[finding.severity]), Span(cut(f"  {finding.rule}  {place}", width)))
    yield from wrapped(one_line(finding.evidence, limit=400), width, first="    ", rest="    ", most=2)
    yield from wrapped(one_line(finding.remedy, limit=300), width, first="    → ", rest="      ", most=1, style="dim")


def _rules(report: LintReport, width: int) -> tuple[tuple[Line, ...], ...]:
    counts = list(report.counts().items())[:8]
    room = max((columns_of(rule) for rule, _ in counts), default=0)
    return tuple((line(f"  {padded(rule, min(room, width - 12))}  {count:>6,}"),) for rule, count in counts)
